// The kind of a file that was taken for another.
#ifndef COMPILER_IMPORT_FILEKIND_H
#define COMPILER_IMPORT_FILEKIND_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace gradc {

/// "a .npy array", as the file's first bytes tell; empty where they tell nothing.
std::string fileKind(llvm::StringRef bytes);

} // namespace gradc

#endif
