// The training spec as the artifact's tree of named values.
#ifndef COMPILER_ARTIFACT_JOB_H
#define COMPILER_ARTIFACT_JOB_H

#include "compiler/artifact/Blob.h"
#include "compiler/import/Import.h"

namespace gradc {

/// Appends the job section: the spec as a tree. The root also has `directory`, where relative paths
/// start; `exported_inputs`, for people, where maps change the model's inputs; `exported_files`, of
/// a model whose weights have their own, with `graph_bytes` and a `location` for each;
/// `external_data`, each file that the model's tensors were read from; and a `fitted` for each
/// standardize of an export with preprocessing: `key`, `epsilon`, and the states `means` and
/// `scales`.
gradc_range appendJob(Blob &blob, const Imported &imported, llvm::StringRef directory);

} // namespace gradc

#endif
