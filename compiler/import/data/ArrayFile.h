// Reads the headers of .npy and .npz files: what arrays they hold, not their elements.
#ifndef COMPILER_IMPORT_ARRAYFILE_H
#define COMPILER_IMPORT_ARRAYFILE_H

#include "llvm/Support/Error.h"
#include <map>
#include <string>
#include <vector>

namespace gradc {

struct ArrayInfo {
  std::string dtype; ///< numpy's: "<f4"
  std::vector<int64_t> shape;
  bool fortranOrder = false;
};

llvm::Expected<ArrayInfo> readNpy(llvm::StringRef path);
/// At most the first `most` bytes of what a stream inflates to: enough for a header. Empty where it
/// is none. `windowBits` as zlib's inflateInit2 has them: -MAX_WBITS raw, MAX_WBITS + 16 gzip.
std::string inflateStart(llvm::StringRef bytes, int windowBits, size_t most);
/// The arrays of an archive, stored or deflated, by name.
llvm::Expected<std::map<std::string, ArrayInfo>> readNpz(llvm::StringRef path);

} // namespace gradc

#endif
