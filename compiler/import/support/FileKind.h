// The actual kind of a file that is not of the expected kind.
#ifndef COMPILER_IMPORT_SUPPORT_FILEKIND_H
#define COMPILER_IMPORT_SUPPORT_FILEKIND_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace gradc {

/// For example "a .npy array", derived from the file's first bytes; empty if they are inconclusive.
std::string fileKind(llvm::StringRef bytes);

} // namespace gradc

#endif
