// Random numbers for initial values.
#ifndef COMPILER_IMPORT_TRANSFER_DRAWS_H
#define COMPILER_IMPORT_TRANSFER_DRAWS_H

#include "llvm/ADT/StringRef.h"

#include <array>
#include <cstdint>

namespace gradc {

/// Random numbers determined by a seed, a name, and a position, with the same bits on every
/// machine.
class Draws {
public:
  Draws(int64_t seed, llvm::StringRef name);

  /// Uniform in [0, 1), a multiple of 2^-32.
  double uniform(uint64_t position) const;
  /// Normal, with mean 0 and deviation 1.
  double normal(uint64_t position) const;

private:
  std::array<uint32_t, 4> words(uint64_t position, uint32_t attempt) const;

  std::array<uint32_t, 2> key;
};

} // namespace gradc

#endif
