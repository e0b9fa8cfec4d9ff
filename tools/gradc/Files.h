// Checks of the files that commands read and write.
#ifndef TOOLS_GRADC_FILES_H
#define TOOLS_GRADC_FILES_H

#include "compiler/import/Import.h"
#include "llvm/ADT/ArrayRef.h"

#include <string>
#include <vector>

namespace gradc {

/// 0 where the file can be read from beginning to end, else the exit code, said on stderr. Folders,
/// pipes and devices cannot.
int expectFile(llvm::StringRef path);

/// Refuses to write `output` over one of the files that are read: the exit code, said on stderr, or
/// 0.
int expectNoneOf(llvm::StringRef output, llvm::ArrayRef<std::string> inputs);

/// Refuses a spec's export that the run could not write, or only over what it reads: the exit code,
/// said on stderr, or 0.
int expectExport(llvm::StringRef file, const Imported &imported);

/// The files that a compilation of `file` read, and that its job will: the model and the data of
/// the spec.
std::vector<std::string> inputFiles(llvm::StringRef file, const Imported &imported);

} // namespace gradc

#endif
