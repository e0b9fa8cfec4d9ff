// The options of a compilation. One struct, passed whole.
#ifndef COMPILER_OPTIONS_H
#define COMPILER_OPTIONS_H

#include "dialects/grad/HostTensor.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace gradc {

struct CompileOptions {
  /// Levels to compile for; empty: the highest that this machine executes.
  std::vector<std::string> levels;
  /// Shapes bound to graph inputs by name.
  std::map<std::string, std::vector<int64_t>> shapes;
  /// Tensors given for graph inputs: they bind dims that `shapes` leaves open, and operands that
  /// must be known.
  std::map<std::string, mlir::grad::HostTensor> inputs;
  /// Numbers of rows, below the largest batch, that a model gets an entry for: inference on as many
  /// rows or fewer runs that one.
  std::vector<int64_t> buckets;
  /// Bytes that a string of a graph input may have.
  int64_t stringBytes = 64;
  /// Folder for the IR after each pass, one file per pass; empty: none.
  std::string dumpDirectory;
  /// Bytes that states and the arena of one entry may take; 0: as many as they need.
  int64_t memoryBudget = 0;
  /// Folder in which kernels' machine code is kept from one compilation to the next; empty: none.
  std::string cacheDirectory;
  /// Print the time of every phase and pass to stderr.
  bool timing = false;
  /// Kernel that the test-only corruption pass changes; empty: none.
  std::string corruptKernel;
  /// Images of CUDA levels hold LLVM bitcode for the tests' simulated device.
  bool llvmImage = false;
  /// When a kernel is cut so that a library computes a part of it: "auto" or "always"; "never": no
  /// library is used at all.
  std::string libraries = "auto";
  /// Convert the program to f64 (gradient checks).
  bool retypeF64 = false;
};

} // namespace gradc

#endif
