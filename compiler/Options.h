// The options of a compilation: a single struct, passed as a whole.
#ifndef COMPILER_OPTIONS_H
#define COMPILER_OPTIONS_H

#include "dialects/grad/HostTensor.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace gradc {

struct CompileOptions {
  /// Levels to compile for; if empty, the highest that this machine executes.
  std::vector<std::string> levels;
  /// Shapes bound to graph inputs by name.
  std::map<std::string, std::vector<int64_t>> shapes;
  /// By entry, shapes that replace some of these: `--entry-shape step:x=1x3x224x224`.
  std::map<std::string, std::map<std::string, std::vector<int64_t>>> entryShapes;
  /// Tensors given for graph inputs: they bind dims that `shapes` leaves open, and operands that
  /// must be known.
  std::map<std::string, mlir::grad::HostTensor> inputs;
  /// Numbers of rows, below the largest batch, for which a model gets an entry. Inference on at
  /// most that many rows uses the entry.
  std::vector<int64_t> buckets;
  /// The maximum number of bytes in a string of a graph input.
  int64_t stringBytes = 64;
  /// Folder for the IR after each pass, one file per pass; empty for none.
  std::string dumpDirectory;
  /// The maximum number of bytes for states and the arena of one entry; 0 for no limit.
  int64_t memoryBudget = 0;
  /// Folder that caches the machine code of kernels between compilations; empty for none.
  std::string cacheDirectory;
  /// File of measured schedules; empty for none.
  std::string tuning;
  /// Print the time of each phase and pass to stderr.
  bool timing = false;
  /// The kernel that the test-only corruption pass changes; empty for none.
  std::string corruptKernel;
  /// Images of CUDA levels contain LLVM bitcode, for the tests' simulated device.
  bool llvmImage = false;
  /// Whether kernels are split so that a library computes a part: "auto" or "always"; with "never",
  /// no library is used at all.
  std::string libraries = "auto";
  /// Convert the program to f64 (gradient checks).
  bool retypeF64 = false;
};

} // namespace gradc

#endif
