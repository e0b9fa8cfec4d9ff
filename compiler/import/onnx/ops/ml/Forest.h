// Decision trees of ai.onnx.ml in one numbering.
#ifndef COMPILER_IMPORT_ONNX_OPS_ML_FOREST_H
#define COMPILER_IMPORT_ONNX_OPS_ML_FOREST_H

#include "compiler/import/onnx/Node.h"

#include <map>

namespace gradc {

/// All nodes of all trees, with the two children of a branch next to each other. A row goes to the
/// first child of a branch if its feature is at most the threshold.
struct Forest {
  llvm::SmallVector<int64_t> features; ///< of a leaf: the number of features
  llvm::SmallVector<double> thresholds;
  llvm::SmallVector<int64_t> children;   ///< the first child of a branch; a leaf itself
  llvm::SmallVector<int64_t> nanIsFirst; ///< 1 if a missing value goes to the first child, else 0
  llvm::SmallVector<int64_t> roots;
  int64_t depth = 0; ///< the most branches on a way from a root to a leaf
  /// By the tree's and the node's number in the file.
  std::map<std::pair<int64_t, int64_t>, int64_t> places;

  int64_t size() const { return features.size(); }
};

/// Reads the trees from the attributes `nodes_*`. Each row has this number of features, in f64 if
/// `isDouble`, else in f32.
mlir::FailureOr<Forest> readForest(Node &node, int64_t features, bool isDouble);
/// The numbers of an attribute, which may be the tensor `name`_as_tensor instead.
mlir::FailureOr<llvm::SmallVector<double>> realsOrTensor(Node &n, const std::string &name);

} // namespace gradc

#endif
