// The training spec as a tree of named values in the artifact.
#ifndef COMPILER_ARTIFACT_JOB_H
#define COMPILER_ARTIFACT_JOB_H

#include "compiler/artifact/Blob.h"
#include "compiler/import/Import.h"

namespace gradc {

/// Appends the job section: the spec as a tree. The root also has `directory`, the base of relative
/// paths; `spec`, the file's name in it; `exported_inputs`, a readable description, if maps change
/// the model's inputs; `exported_files` for a model with a separate file of weights, with
/// `graph_bytes` and a `location` per place; `external_data`, each file that the model's tensors
/// were read from; and a `fitted` per standardize of an export with preprocessing: `key`,
/// `epsilon`, and the states `means` and `scales`.
gradc_range appendJob(Blob &blob, const Imported &imported, llvm::StringRef directory);

} // namespace gradc

#endif
