// A tensor in host memory, which `evaluate` reads and writes.
#ifndef DIALECTS_GRAD_HOSTTENSOR_H
#define DIALECTS_GRAD_HOSTTENSOR_H

#include "mlir/IR/BuiltinAttributeInterfaces.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"
#include <memory>
#include <vector>

namespace mlir::grad {

/// Elements are in row-major order, packed by element type (bool: one byte, 0 or 1). Copies share
/// their bytes until one of them is written.
class HostTensor {
public:
  HostTensor() = default;
  /// Zeros.
  explicit HostTensor(RankedTensorType type);
  /// The attribute's elements; splats are expanded. Dense and dense-resource attributes only.
  explicit HostTensor(ElementsAttr attribute);
  HostTensor(RankedTensorType type, llvm::ArrayRef<char> bytes);

  RankedTensorType getType() const { return type; }
  llvm::ArrayRef<int64_t> getShape() const { return type.getShape(); }
  Type getElementType() const { return type.getElementType(); }
  int64_t size() const { return type.getNumElements(); }
  llvm::ArrayRef<char> bytes() const { return *data; }
  llvm::MutableArrayRef<char> mutableBytes();

  /// Element `i` in row-major order as f64 (from any element type).
  double getFloat(int64_t i) const;
  /// Element `i` as i64; floats truncate. Unsigned values keep their value up to 2^63.
  int64_t getInt(int64_t i) const;
  /// Stores, rounding once to nearest even. In integers, truncates toward 0; values out of range
  /// become the nearest limit and NaN becomes 0. Bools store != 0.
  void setFloat(int64_t i, double value);
  /// Stores, rounding once (floats) or wrapping (integers); bools store != 0.
  void setInt(int64_t i, int64_t value);

  /// Dense up to 1 KB or when all elements are equal (a splat), else a dense resource named `hint`.
  ElementsAttr toAttribute(llvm::StringRef hint = "folded") const;
  /// The same bytes in another shape.
  HostTensor reshaped(llvm::ArrayRef<int64_t> shape) const;

private:
  /// Floats only.
  void setFloat(int64_t i, llvm::APFloat value);

  RankedTensorType type;
  std::shared_ptr<std::vector<char>> data;
};

/// Bytes per element: bool 1, otherwise width / 8.
int64_t elementBytes(Type element);
/// Bytes of a tensor in memory, row-major. For a value, those of its type.
int64_t bytesOf(RankedTensorType type);
int64_t bytesOf(Value value);

/// Calls `body(index)` for every index of `shape` in row-major order.
void forEachIndex(llvm::ArrayRef<int64_t> shape,
                  llvm::function_ref<void(llvm::ArrayRef<int64_t>)> body);
/// The row-major position of `index` in `shape`.
int64_t linearize(llvm::ArrayRef<int64_t> index, llvm::ArrayRef<int64_t> shape);

} // namespace mlir::grad

#endif
