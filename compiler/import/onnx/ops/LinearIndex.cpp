// Reads the form of an index off the ops that compute it, so that tensors of any size cost no work.
#include "dialects/Pch.h"

#include "compiler/import/onnx/ops/LinearIndex.h"
#include "dialects/grad/EntryAttributes.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

/// Larger numbers are not followed. Sums and products of these fit into 64 bits, and f32, the type
/// of counts, holds all of them.
constexpr int64_t mostNumber = int64_t(1) << 24;
/// A constant of more elements is not read: ops may reach it along many paths.
constexpr int64_t mostRead = int64_t(1) << 18;

static bool isSmall(int64_t number) { return number >= -mostNumber && number <= mostNumber; }

static std::optional<LinearIndex> ifSmall(LinearIndex index) {
  bool fits = isSmall(index.start) && llvm::all_of(index.strides, isSmall);
  return fits ? std::optional(std::move(index)) : std::nullopt;
}

static LinearIndex constantIndex(int64_t value, int64_t rank) {
  return {value, SmallVector<int64_t>(rank, 0)};
}

/// Element `i`, in row-major order, of an index of `shape`.
static int64_t elementOf(const LinearIndex &index, ArrayRef<int64_t> shape, int64_t i) {
  int64_t number = index.start;
  for (auto [stride, size] : llvm::reverse(llvm::zip_equal(index.strides, shape))) {
    number += stride * (i % size);
    i /= size;
  }
  return number;
}

/// The first steps along each dim tell the strides, and all elements have to agree.
static std::optional<LinearIndex> ofConstant(ElementsAttr attribute) {
  auto type = cast<RankedTensorType>(attribute.getType());
  if (type.getNumElements() == 0)
    return std::nullopt;
  auto dense = dyn_cast<DenseElementsAttr>(attribute);
  bool isSplat = dense && dense.isSplat();
  if (isSplat)
    attribute = dense.resizeSplat(dense.getType().clone({1}));
  else if (!isa<IntegerType>(type.getElementType()))
    return std::nullopt;
  else if (type.getNumElements() > mostRead)
    return std::nullopt;
  HostTensor values(attribute);
  double first = values.getFloat(0);
  if (!(std::abs(first) <= double(mostNumber)) || first != double(values.getInt(0)))
    return std::nullopt;
  LinearIndex index = constantIndex(values.getInt(0), type.getRank());
  if (isSplat)
    return index;
  int64_t inner = values.size();
  for (auto [stride, size] : llvm::zip_equal(index.strides, type.getShape())) {
    inner /= size;
    if (size == 1)
      continue;
    int64_t next = values.getInt(inner);
    if (!isSmall(next))
      return std::nullopt;
    stride = next - index.start;
  }
  for (int64_t i = 0; i < values.size(); ++i)
    if (values.getInt(i) != elementOf(index, type.getShape(), i))
      return std::nullopt;
  return index;
}

/// Strides in a shape that differs in dims of size 1 alone.
static std::optional<SmallVector<int64_t>>
reshapedStrides(ArrayRef<int64_t> strides, ArrayRef<int64_t> from, ArrayRef<int64_t> to) {
  SmallVector<int64_t> moved(to.size(), 0);
  size_t at = 0;
  for (auto [d, size] : llvm::enumerate(to)) {
    if (size == 1)
      continue;
    while (at < from.size() && from[at] == 1)
      ++at;
    if (at == from.size() || from[at] != size)
      return std::nullopt;
    moved[d] = strides[at++];
  }
  return moved;
}

static std::optional<LinearIndex> ofMovement(Operation *op, RunRows rows, int depth) {
  std::optional<LinearIndex> operand = findLinear(op->getOperand(0), rows, depth);
  if (!operand)
    return std::nullopt;
  auto from = cast<RankedTensorType>(op->getOperand(0).getType());
  auto to = cast<RankedTensorType>(op->getResult(0).getType());
  LinearIndex index = constantIndex(operand->start, to.getRank());
  if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
    for (auto [dim, stride] : llvm::zip_equal(broadcast.getDims(), operand->strides))
      index.strides[dim] = stride;
    return index;
  }
  auto strides = reshapedStrides(operand->strides, from.getShape(), to.getShape());
  if (!strides)
    return std::nullopt;
  index.strides = std::move(*strides);
  return index;
}

/// Names the ops: a sum of linear forms is one, and so is a product with a constant.
static std::optional<LinearIndex> ofArithmetic(Operation *op, RunRows rows, int depth) {
  auto a = findLinear(op->getOperand(0), rows, depth);
  auto b = findLinear(op->getOperand(1), rows, depth);
  if (!a || !b)
    return std::nullopt;
  if (isa<MulOp>(op)) {
    auto isConstant = [](const LinearIndex &index) {
      return llvm::all_of(index.strides, [](int64_t stride) { return stride == 0; });
    };
    if (!isConstant(*b))
      std::swap(a, b);
    if (!isConstant(*b))
      return std::nullopt;
    a->start *= b->start;
    for (int64_t &stride : a->strides)
      stride *= b->start;
    return ifSmall(*a);
  }
  int64_t sign = isa<SubOp>(op) ? -1 : 1;
  a->start += sign * b->start;
  for (auto [stride, other] : llvm::zip_equal(a->strides, b->strides))
    stride += sign * other;
  return ifSmall(*a);
}

/// The rows of the largest batch of the entry that an op is in; 0: not known.
static int64_t batchAround(Operation *op) {
  auto function = op ? op->getParentOfType<func::FuncOp>() : func::FuncOp();
  auto batch = function ? function->getAttrOfType<IntegerAttr>(batchName) : IntegerAttr();
  return batch ? batch.getInt() : 0;
}

static int64_t elementsOf(CountOp count, RunRows rows) {
  int64_t elements = 1, batch = batchAround(count);
  for (int64_t d : count.getDims())
    elements *= cast<RankedTensorType>(count.getOperand().getType()).getDimSize(d);
  bool mayCountRows = batch > 1 && elements % batch == 0;
  return rows == RunRows::oneLess && mayCountRows ? elements / batch * (batch - 1) : elements;
}

std::optional<LinearIndex> gradc::findLinear(Value value, RunRows rows, int depth) {
  if (ElementsAttr constant; matchPattern(value, m_Constant(&constant)))
    return ofConstant(constant);
  Operation *op = value.getDefiningOp();
  if (!op || depth-- == 0)
    return std::nullopt;
  auto type = cast<RankedTensorType>(value.getType());
  if (auto count = dyn_cast<CountOp>(op))
    return ifSmall(constantIndex(elementsOf(count, rows), type.getRank()));
  if (!type.getElementType().isSignlessInteger(32) && !type.getElementType().isSignlessInteger(64))
    return std::nullopt;
  if (auto iota = dyn_cast<IotaOp>(op)) {
    LinearIndex index = constantIndex(0, type.getRank());
    index.strides[iota.getDim()] = type.getDimSize(int64_t(iota.getDim())) > 1;
    return index;
  }
  if (isa<CastOp>(op))
    return findLinear(op->getOperand(0), rows, depth);
  if (isa<BroadcastOp, ReshapeOp>(op))
    return ofMovement(op, rows, depth);
  return isa<AddOp, SubOp, MulOp>(op) ? ofArithmetic(op, rows, depth) : std::nullopt;
}

std::optional<int64_t> gradc::dimCountedBy(Value index, int64_t size, int64_t from) {
  std::optional<LinearIndex> linear = findLinear(index);
  if (!linear || linear->start != 0 || size == 0)
    return std::nullopt;
  ArrayRef<int64_t> shape = cast<RankedTensorType>(index.getType()).getShape();
  for (int64_t d = from; d < int64_t(shape.size()); ++d) {
    SmallVector<int64_t> expected(shape.size(), 0);
    expected[d] = size > 1;
    if (shape[d] != size || linear->strides != expected)
      continue;
    std::optional<LinearIndex> fewer = findLinear(index, RunRows::oneLess);
    bool isSame = fewer && fewer->start == 0 && fewer->strides == expected;
    return isSame ? std::optional(d) : std::nullopt;
  }
  return std::nullopt;
}

bool gradc::countsInOrder(Value indices, int64_t size) {
  std::optional<LinearIndex> linear = findLinear(indices);
  if (!linear || linear->start != 0)
    return false;
  ArrayRef<int64_t> shape = cast<RankedTensorType>(indices.getType()).getShape();
  int64_t inner = 1;
  for (auto [stride, dim] : llvm::reverse(llvm::zip_equal(linear->strides, shape))) {
    if (dim > 1 && stride != inner)
      return false;
    inner *= dim;
  }
  if (size <= 0 || inner != size)
    return false;
  std::optional<LinearIndex> fewer = findLinear(indices, RunRows::oneLess);
  if (!fewer || fewer->start != 0)
    return false;
  // A stride is the number of elements behind a dim, and these may be for each row.
  int64_t batch = batchAround(indices.getDefiningOp());
  return llvm::all_of(llvm::zip_equal(linear->strides, fewer->strides), [&](auto pair) {
    auto [most, now] = pair;
    return now == most || now * batch == most * (batch - 1);
  });
}
