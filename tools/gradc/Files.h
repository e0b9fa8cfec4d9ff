// Checks the files that commands read and write.
#ifndef TOOLS_GRADC_FILES_H
#define TOOLS_GRADC_FILES_H

#include "compiler/import/Import.h"
#include "llvm/ADT/ArrayRef.h"

#include <string>
#include <vector>

namespace gradc {

/// Returns 0 if the file can be read from beginning to end, else an exit code after an error on
/// stderr. Folders, pipes, and devices are refused.
int expectFile(llvm::StringRef path);

/// Refuses to write `output` over an input file or a checkpoint. Returns 0, or an exit code after
/// an error on stderr.
int expectNoneOf(llvm::StringRef output, llvm::ArrayRef<std::string> inputs);

/// Refuses a spec's export that the run could not write, or that would overwrite a file it reads.
/// Returns 0, or an exit code after an error on stderr.
int expectExport(llvm::StringRef file, const Imported &imported);

/// The files that the compilation of `file` has read, and those that its job will read: the model
/// and the data of the spec.
std::vector<std::string> inputFiles(llvm::StringRef file, const Imported &imported);

} // namespace gradc

#endif
