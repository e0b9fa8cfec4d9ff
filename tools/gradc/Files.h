// What every command asks of the files that it reads and writes.
#ifndef TOOLS_GRADC_FILES_H
#define TOOLS_GRADC_FILES_H

#include "compiler/import/spec/training.pb.h"
#include "llvm/ADT/ArrayRef.h"

#include <optional>
#include <string>
#include <vector>

namespace gradc {

/// 0 where the file can be read from beginning to end, else the exit code, said on stderr. Folders,
/// pipes and devices cannot.
int expectFile(llvm::StringRef path);

/// Refuses to write `output` over one of the files that are read: the exit code, said on stderr, or
/// 0.
int expectNoneOf(llvm::StringRef output, llvm::ArrayRef<std::string> inputs);

/// What a compilation of `file` read, and what its job will: the model and the data of the spec.
std::vector<std::string> inputFiles(llvm::StringRef file,
                                    const std::optional<spec::Training> &spec);

} // namespace gradc

#endif
