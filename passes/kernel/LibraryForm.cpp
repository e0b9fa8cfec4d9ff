// Matches row-major products to cuBLASLt, and convolutions to one of cuDNN's three kinds. Epilogue
// ops are matched by name, because they are the library's own vocabulary.
#include "passes/kernel/LibraryForm.h"

#include "dialects/grad/Grad.h"
#include "dialects/grad/TensorTypes.h"

using namespace mlir;
using namespace mlir::grad;
using exec::Epilogue;
using exec::LibraryRole;

namespace gradc {
namespace {

SmallVector<int64_t> rowMajorStrides(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;)
    strides[d - 1] = strides[d] * shape[d];
  return strides;
}

/// The letters of an ordinary product: one that only the lhs has, one that only the rhs has, and
/// the contracted one.
struct Parts {
  char left = 0, right = 0, summed = 0;
};

std::optional<Parts> findParts(const ContractionLetters &letters) {
  if (letters.lhs.size() != 2 || letters.rhs.size() != 2 || letters.result.size() != 2)
    return std::nullopt;
  Parts parts;
  for (char c : letters.lhs + letters.rhs)
    if (letters.isRow(c))
      parts.left = c;
    else if (letters.isColumn(c))
      parts.right = c;
    else if (letters.isSummed(c))
      parts.summed = c;
  return parts.left && parts.right && parts.summed ? std::optional(parts) : std::nullopt;
}

LibraryTensor matrix(RankedTensorType type, bool transposed) {
  ArrayRef<int64_t> shape = type.getShape();
  int64_t rank = shape.size(), batch = 1;
  for (int64_t size : shape.drop_back(2))
    batch *= size;
  SmallVector<int64_t> strides = rowMajorStrides(shape);
  LibraryTensor t{{batch, shape[rank - 2], shape[rank - 1]},
                  {shape[rank - 2] * shape[rank - 1], strides[rank - 2], strides[rank - 1]}};
  if (transposed) {
    std::swap(t.sizes[1], t.sizes[2]);
    std::swap(t.strides[1], t.strides[2]);
  }
  return t;
}

/// A tensor whose dims are two spatial dims, then `letters`; the library's order begins with the
/// dims of `first` and `second`.
LibraryTensor picture(RankedTensorType type, StringRef letters, char first, char second) {
  ArrayRef<int64_t> shape = type.getShape();
  SmallVector<int64_t> strides = rowMajorStrides(shape);
  LibraryTensor t;
  for (size_t d : {2 + letters.find(first), 2 + letters.find(second), size_t(0), size_t(1)}) {
    t.sizes.push_back(shape[d]);
    t.strides.push_back(strides[d]);
  }
  return t;
}

/// The paddings of the forward convolution, without padding after the last window.
void setHigh(LibraryGeometry &g, ArrayRef<int64_t> data, ArrayRef<int64_t> filter,
             ArrayRef<int64_t> result) {
  for (int64_t d = 0; d < 2; ++d) {
    int64_t reach = (result[d] - 1) * g.stride[d] + (filter[d] - 1) * g.dilation[d] + 1;
    g.high.push_back(std::max<int64_t>(0, reach - data[d] - g.low[d]));
  }
}

/// The geometry of a contraction as a call.
LibraryGeometry geometryOf(ContractionOpInterface op, LibraryRole role) {
  LibraryGeometry g;
  ContractionLetters letters = op.getLetters();
  RankedTensorType left = typeOf(op->getOperand(0)), right = typeOf(op->getOperand(1)),
                   type = typeOf(op->getResult(0));
  auto &[lhs, rhs, result, window] = letters;
  if (role == LibraryRole::matmul) {
    g.lhs = matrix(left, lhs.back() == result[result.size() - 2]);
    g.rhs = matrix(right, rhs.back() != result.back());
    g.result = matrix(type, false);
    return g;
  }
  Parts parts = *findParts(letters);
  auto spatial = [](RankedTensorType type) { return type.getShape().take_front(2); };
  switch (role) {
  case LibraryRole::filter_gradient:
    // lhs: data [n, c], rhs: result's gradient [n, o], result: filter
    g.lhs = picture(left, lhs, parts.summed, parts.left);
    g.rhs = picture(right, rhs, parts.summed, parts.right);
    g.result = picture(type, result, parts.right, parts.left);
    g.low = llvm::to_vector(window.getLow());
    g.stride = llvm::to_vector(window.getDilation());
    g.dilation = llvm::to_vector(window.getStride());
    setHigh(g, spatial(left), spatial(type), spatial(right));
    break;
  case LibraryRole::data_gradient:
    // lhs: result's gradient [n, o], rhs: filter, result: data [n, c]
    g.lhs = picture(left, lhs, parts.left, parts.summed);
    g.rhs = picture(right, rhs, parts.summed, parts.right);
    g.result = picture(type, result, parts.left, parts.right);
    g.stride = llvm::to_vector(window.getBase());
    g.dilation = llvm::to_vector(window.getDilation());
    for (int64_t d = 0; d < 2; ++d)
      g.low.push_back((window.getSize()[d] - 1) * g.dilation[d] - window.getLow()[d]);
    setHigh(g, spatial(type), spatial(right), spatial(left));
    break;
  default:
    // lhs: data [n, c], rhs: filter, result [n, o]
    g.lhs = picture(left, lhs, parts.left, parts.summed);
    g.rhs = picture(right, rhs, parts.right, parts.summed);
    g.result = picture(type, result, parts.left, parts.right);
    g.low = llvm::to_vector(window.getLow());
    g.stride = llvm::to_vector(window.getStride());
    g.dilation = llvm::to_vector(window.getDilation());
    setHigh(g, spatial(left), spatial(right), spatial(type));
  }
  return g;
}

/// Whether the library takes the filter, whose order has to be [y, x, in, out], and the forward
/// convolution has all windows that fit: one that crops elements at the end may have fewer.
bool fits(ContractionOpInterface op, LibraryRole role) {
  LibraryGeometry g = geometryOf(op, role);
  bool ofData = role == LibraryRole::data_gradient, ofFilter = role == LibraryRole::filter_gradient;
  const LibraryTensor &data = ofData ? g.result : g.lhs, &filter = ofFilter ? g.result : g.rhs,
                      &forward = ofData     ? g.lhs
                                 : ofFilter ? g.rhs
                                            : g.result;
  if (filter.strides[0] != 1 || filter.strides[1] != filter.sizes[0])
    return false;
  for (int64_t d = 0; d < 2; ++d) {
    int64_t padded = data.sizes[2 + d] + g.low[d] + g.high[d];
    int64_t reach = (filter.sizes[2 + d] - 1) * g.dilation[d] + 1;
    if (g.low[d] < 0 || padded < reach ||
        forward.sizes[2 + d] != (padded - reach) / g.stride[d] + 1)
      return false;
  }
  return true;
}

/// Whether the last two dims are matrix dims, and the others are batch dims in the same order.
bool isMatrixProduct(const ContractionLetters &letters) {
  StringRef lhs = letters.lhs, rhs = letters.rhs, result = letters.result;
  if (result.size() < 2 || lhs.size() != result.size() || rhs.size() != result.size())
    return false;
  StringRef batch = result.drop_back(2);
  return lhs.starts_with(batch) && rhs.starts_with(batch) && letters.isRow(result.end()[-2]) &&
         letters.isColumn(result.back());
}

/// Whether a contraction is a matrix product or one of cuDNN's three kinds of convolution; none if
/// no call can express its geometry.
std::optional<LibraryRole> roleOf(ContractionOpInterface op) {
  for (Value operand : op->getOperands())
    if (!isa<BlockArgument>(operand) || !typeOf(operand).getElementType().isF32())
      return std::nullopt;
  if (typeOf(op->getResult(0)).getNumElements() == 0)
    return std::nullopt;
  ContractionLetters letters = op.getLetters();
  if (!letters.window)
    return isMatrixProduct(letters) ? std::optional(LibraryRole::matmul) : std::nullopt;
  std::optional<ConvolutionPart> part = op.getConvolutionPart();
  if (!part || letters.window.getRank() != 2 || !findParts(letters))
    return std::nullopt;
  LibraryRole role = *part == ConvolutionPart::forward         ? LibraryRole::convolution
                     : *part == ConvolutionPart::data_gradient ? LibraryRole::data_gradient
                                                               : LibraryRole::filter_gradient;
  return fits(op, role) ? std::optional(role) : std::nullopt;
}

Operation *onlyUser(Value v) { return v.hasOneUse() ? *v.user_begin() : nullptr; }

/// The argument that an addition broadcasts along the rows of `sum`; null for other additions.
BlockArgument biasOf(AddOp add, Value sum) {
  Value other = add.getLhs() == sum ? add.getRhs() : add.getLhs();
  auto broadcast = other.getDefiningOp<BroadcastOp>();
  if (!broadcast || !broadcast->hasOneUse() ||
      broadcast.getDims() != ArrayRef<int64_t>{typeOf(sum).getRank() - 1})
    return {};
  auto bias = dyn_cast<BlockArgument>(broadcast.getOperand());
  return bias && typeOf(bias).getShape() == typeOf(sum).getShape().take_back() ? bias
                                                                               : BlockArgument();
}

/// Whether a forward convolution's last dim is the filters: a bias has one value per filter.
bool endsWithChannels(ContractionOpInterface op, LibraryRole role) {
  if (role != LibraryRole::convolution)
    return false;
  ContractionLetters letters = op.getLetters();
  return letters.isColumn(letters.result.back());
}

/// Follows a contraction's result through the epilogue that its library supports.
class Epilogues {
public:
  Epilogues(exec::KernelOp kernel, ContractionOpInterface contraction, LibraryRole role)
      : kernel(kernel), role(role), sum(contraction->getResult(0)) {
    for (Value operand : contraction->getOperands())
      addOperand(operand);
    bool isMatmul = role == LibraryRole::matmul;
    bool hasBias = (isMatmul || endsWithChannels(contraction, role)) && takeBias();
    if (isMatmul && (takeGelu() || (!hasBias && takeGeluGrad())))
      return;
    // A ReLU directly after a convolution is not matched: networks have a bias or a norm in
    // between.
    if (isMatmul || hasBias)
      takeRelu();
  }

  exec::LibraryAttr build() {
    return exec::LibraryAttr::get(kernel.getContext(), role, epilogue, operands, kept);
  }
  Value getSum() const { return sum; }

private:
  void addOperand(Value operand) {
    operands.push_back(cast<BlockArgument>(operand).getArgNumber());
  }
  void take(Operation *op, Epilogue part) {
    epilogue = Epilogue(uint32_t(epilogue) | uint32_t(part));
    sum = op->getResult(0);
  }

  bool takeBias() {
    auto add = dyn_cast_or_null<AddOp>(onlyUser(sum));
    BlockArgument bias = add ? biasOf(add, sum) : BlockArgument();
    if (!bias)
      return false;
    addOperand(bias);
    take(add, Epilogue::bias);
    return true;
  }

  void takeRelu() {
    if (auto relu = dyn_cast_or_null<ReluOp>(onlyUser(sum)))
      take(relu, Epilogue::relu);
  }

  /// The library's GELU is the tanh form. It may write its operand, too.
  bool takeGelu() {
    auto users = llvm::make_filter_range(
        sum.getUsers(), [](Operation *user) { return !user->hasTrait<OpTrait::IsTerminator>(); });
    auto gelu = llvm::hasSingleElement(users) ? dyn_cast<GeluOp>(*users.begin()) : GeluOp();
    if (!gelu || !gelu.getApproximate())
      return false;
    if (!sum.hasOneUse()) {
      ValueRange yielded = kernel.getYielded();
      if (!hasWholeVectors() || !gelu->hasOneUse() || yielded.size() != 2 ||
          !llvm::is_contained(yielded, sum) || !llvm::is_contained(yielded, gelu.getResult()))
        return false;
      kept = yielded[0] == sum ? 0 : 1;
    }
    take(gelu, Epilogue::gelu);
    return true;
  }

  bool takeGeluGrad() {
    auto gradient = dyn_cast_or_null<GeluGradOp>(onlyUser(sum));
    if (!gradient || !gradient.getApproximate() || gradient.getGradient() != sum ||
        !isa<BlockArgument>(gradient.getOperand()) || !hasWholeVectors())
      return false;
    addOperand(gradient.getOperand());
    take(gradient, Epilogue::gelu_grad);
    return true;
  }

  /// Whether rows have a multiple of 8 elements, as required of GELU's input if a library writes or
  /// reads it.
  bool hasWholeVectors() const { return typeOf(sum).getShape().back() % 8 == 0; }

  exec::KernelOp kernel;
  LibraryRole role;
  Value sum;
  SmallVector<int64_t> operands;
  Epilogue epilogue = Epilogue::none;
  int64_t kept = -1;
};

} // namespace

LibraryPrefix findLibraryPrefix(exec::KernelOp kernel) {
  auto contractions = kernel.getBlock().getOps<ContractionOpInterface>();
  if (!llvm::hasSingleElement(contractions))
    return {};
  ContractionOpInterface contraction = *contractions.begin();
  std::optional<LibraryRole> role = roleOf(contraction);
  if (!role)
    return {};
  Epilogues call(kernel, contraction, *role);
  return {call.build(), contraction, call.getSum().getDefiningOp()};
}

/// The rows of the run along a summed dim of `factor`, if any.
static SummedRows findSummedRows(exec::KernelOp kernel, Value factor,
                                 const ContractionLetters &letters, StringRef own) {
  ArrayRef<int64_t> shape = typeOf(factor).getShape();
  SmallVector<int64_t> extents = kernel.getExtentsOf(cast<BlockArgument>(factor).getArgNumber());
  for (char letter : own) {
    int64_t dim = letters.dimOf(own, letter);
    if (extents[dim] > 0 && letters.isSummed(letter))
      return {extents[dim] * llvm::product_of(shape.drop_front(dim + 1)),
              llvm::product_of(shape.take_front(dim))};
  }
  return {};
}

LibraryGeometry libraryGeometry(exec::KernelOp kernel) {
  auto contractions = kernel.getBlock().getOps<ContractionOpInterface>();
  assert(!contractions.empty() && "a library call computes a contraction");
  ContractionOpInterface op = *contractions.begin();
  LibraryGeometry geometry = geometryOf(op, kernel.getLibraryAttr().getRole());
  ContractionLetters letters = op.getLetters();
  geometry.summed[0] = findSummedRows(kernel, op->getOperand(0), letters, letters.lhs);
  geometry.summed[1] = findSummedRows(kernel, op->getOperand(1), letters, letters.rhs);
  return geometry;
}

} // namespace gradc
