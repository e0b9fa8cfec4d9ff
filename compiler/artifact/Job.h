// The training spec as the artifact's tree of named values.
#ifndef COMPILER_ARTIFACT_JOB_H
#define COMPILER_ARTIFACT_JOB_H

#include "compiler/artifact/Blob.h"
#include "compiler/import/spec/training.pb.h"

namespace gradc {

/// Appends the job section: every set field, and every unset one that has a default. The root also
/// has `directory`, where relative paths start.
gradc_range appendJob(Blob &blob, const spec::Training &spec, llvm::StringRef directory);

} // namespace gradc

#endif
