// Plain data: the options of an import, and its verdicts on initializers.
#ifndef COMPILER_IMPORT_ONNX_MODEL_IMPORTTYPES_H
#define COMPILER_IMPORT_ONNX_MODEL_IMPORTTYPES_H

#include "dialects/grad/HostTensor.h"

#include <map>
#include <string>
#include <vector>

namespace gradc {

struct ImportOptions {
  /// Complete shapes by graph input: `--shape x=32x3x224x224`.
  std::map<std::string, std::vector<int64_t>> shapes = {};
  /// Shapes that replace some of these in a further entry over the same weights, by its name:
  /// `--entry-shape step:x=1x3x224x224`.
  std::map<std::string, std::map<std::string, std::vector<int64_t>>> entryShapes = {};
  /// The entry of `entryShapes` whose shapes are in `shapes`; empty for all other entries.
  std::string entry = {};
  /// Sizes by symbolic dim.
  std::map<std::string, int64_t> dims = {};
  /// Whether a symbolic dim has one size in all graph inputs: errors name it once.
  bool sharesDims = false;
  /// Tensors given for graph inputs, `--input x=FILE`. They bind shapes that `shapes` leaves open,
  /// and provide the values of operands that must be known at compile time.
  std::map<std::string, mlir::grad::HostTensor> inputs = {};
  /// Batch sizes below the largest one that get an entry: `--buckets 1,8`.
  std::vector<int64_t> buckets = {};
  /// The maximum number of bytes in a string of a graph input.
  int64_t stringBytes = 64;
};

/// The position of an initializer in a serialized model.
struct InitializerRange {
  std::string state; ///< that an export writes there, or empty
  uint64_t offset, bytes;
  bool transposed = false; ///< tied to the state that is its transpose
};

/// Numbers that a run finds in its data, and the initializers that hold them.
struct FittedNumbers {
  std::string key; ///< what the run keeps them as
  std::string means, scales;
  double epsilon;
};

/// The role of an initializer, and the reason for it.
struct Verdict {
  std::string initializer;
  std::string type; ///< "f32 [64, 128]"
  bool trains;
  std::string reason;
  std::string group = {};     ///< the pattern that put it into a parameter group
  std::string quantized = {}; ///< as a weight, how; empty: it is not
  std::string pruned = {};    ///< how much, and in which steps; empty: it is not
};

} // namespace gradc

#endif
