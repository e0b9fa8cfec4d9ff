// The dims of a graph that have one element per class of a classifier.
#ifndef COMPILER_IMPORT_TRANSFER_CLASSDIMS_H
#define COMPILER_IMPORT_TRANSFER_CLASSDIMS_H

#include "compiler/import/transfer/GraphUses.h"

#include <deque>
#include <map>

namespace gradc {

/// The axes of a graph that have one element per class. Negative axes count from the back.
struct ClassDims {
  std::map<std::string, int> parameters; ///< initializers, each with the axis of classes
  std::map<std::string, int> values;     ///< computed values that have classes
  /// The Reshape nodes, keyed by output: their shape, and the position of the classes in it.
  struct Target {
    llvm::SmallVector<int64_t> shape;
    int position;
  };
  std::map<std::string, Target> reshapes;
};

/// Follows the classes of one classifier through the nodes after it.
class ClassDimWalk {
public:
  ClassDimWalk(const OnnxModel &model, const GraphUses &uses, mlir::Location where)
      : model(model), uses(uses), where(where) {}

  /// Starts at the node that multiplies by an initializer. Reports a use of the initializer that is
  /// not a single Gemm, MatMul, or Conv.
  mlir::FailureOr<ClassDims> fromWeight(llvm::StringRef weight);
  /// Starts at the last such node before `output`.
  mlir::FailureOr<ClassDims> fromOutput(llvm::StringRef output);
  int64_t classes() const { return count; }

private:
  mlir::LogicalResult fromNode(const onnx::NodeProto &node, llvm::StringRef weight, int axis);
  mlir::LogicalResult walk();
  mlir::LogicalResult visit(const ValueUse &use, llvm::StringRef value, int axis);
  mlir::LogicalResult combine(const ValueUse &use, int axis);
  mlir::LogicalResult addParameter(const onnx::NodeProto &node, llvm::StringRef name, int axis);
  mlir::LogicalResult reshape(const onnx::NodeProto &node, int axis);
  mlir::LogicalResult reduce(const onnx::NodeProto &node, int axis);
  mlir::LogicalResult transpose(const onnx::NodeProto &node, int axis);
  void carry(const onnx::NodeProto &node, int axis);
  mlir::LogicalResult refuse(const onnx::NodeProto &node, const llvm::Twine &why);

  const OnnxModel &model;
  const GraphUses &uses;
  mlir::Location where;
  int64_t count = 0;
  ClassDims dims;
  std::deque<std::string> queue;
  std::vector<ValueUse> pending; ///< sums with a value that is not known to have classes
};

} // namespace gradc

#endif
