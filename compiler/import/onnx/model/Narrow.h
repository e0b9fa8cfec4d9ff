// ONNX's element types that no kernel computes on: float8, float4, and integers of 4 or 2 bits.
#ifndef COMPILER_IMPORT_ONNX_MODEL_NARROW_H
#define COMPILER_IMPORT_ONNX_MODEL_NARROW_H

#include "compiler/import/onnx/model/OnnxModel.h"
#include "dialects/grad/Build.h"

namespace gradc {

/// Each element is one byte, of type u8 in the graph: its bits, sign-extended for signed integers.
/// Files may pack elements of less than 8 bits.
struct NarrowType {
  int32_t number; ///< TensorProto.DataType
  enum Family { integer, floating, exponent } family;
  unsigned bits;
  bool isSigned = true;
  unsigned mantissa = 0; ///< bits of the mantissa; the exponent has the others but the sign's
  int bias = 0;          ///< of the exponent
  unsigned most = 0;     ///< the code of the largest finite number
  unsigned nan = 0;      ///< the code that NaN becomes; of float4e2m1, which has no NaN, -0
  bool hasInfinity = false;
  bool hasMinusZero = true;

  bool hasNan() const { return bits == 8; }
};

/// The narrow type with that number, or null for other types.
const NarrowType *findNarrow(int32_t number);

/// The element type with that number in files and at the C interface, narrow types included; null
/// if gradc does not support it.
mlir::Type fileElementType(mlir::MLIRContext &context, int32_t number);

/// For example "float8e4m3fn [4]"; without a narrow type, that of the tensor itself.
std::string describeNarrow(mlir::RankedTensorType type, const NarrowType *narrow);

/// One byte per element, from the packed bytes of a file.
std::vector<char> unpacked(llvm::ArrayRef<char> packed, const NarrowType &type, int64_t count);

/// The numbers represented by `codes` (u8): i32 for integers, f32 for floats.
mlir::grad::Expr decode(mlir::grad::Expr codes, const NarrowType &type);

/// How numbers are converted to a narrow type.
struct Narrowing {
  bool saturates = true; ///< floats out of range become the largest number, not infinity or NaN
  enum Rounding { up, down, nearest } rounding = up; ///< of float8e8m0, which has no mantissa
};
/// The codes (u8) of numbers. Floats round to nearest even; integers round toward zero, and lose
/// their higher bits if out of range.
mlir::grad::Expr encode(mlir::grad::Expr x, const NarrowType &type, Narrowing how = {});

} // namespace gradc

#endif
