// Numbers that a node needs at compile time and that depend on the number of rows of the batch.
// Code that was compiled for such a number fits that number of rows alone.
#include "dialects/Pch.h"

#include "compiler/import/onnx/ImportGraph.h"
#include "dialects/grad/EntryAttributes.h"
#include "dialects/grad/math/Count.h"
#include "llvm/ADT/ScopeExit.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

bool EntryImport::isJudgedLater(Operation &op) {
  if (auto number = op.getAttrOfType<IntegerAttr>(sizedByName)) {
    bool isRead = llvm::any_of(op.getOperand(0).getUsers(),
                               [](Operation *user) { return !user->hasAttr(sizedByName); });
    if (isRead)
      judgedSizes.insert(number.getInt());
    return isRead;
  }
  auto numbers = op.getAttrOfType<DenseI64ArrayAttr>(sizesName);
  return op.hasAttr(readByName) ||
         (numbers && llvm::any_of(numbers.asArrayRef(),
                                  [&](int64_t number) { return judgedSizes.contains(number); }));
}

/// The CountOps that a value is computed from and whose dims may be of rows.
SmallVector<CountOp> EntryImport::countsBehind(Value value) {
  constexpr size_t most = 4096; // values; shape arithmetic is short
  SmallVector<CountOp> found;
  llvm::SetVector<Value> reached;
  reached.insert(value);
  for (size_t i = 0; i < reached.size() && i < most; ++i) {
    Value v = reached[i];
    if (Value captured = outside.lookup(v))
      reached.insert(captured);
    Operation *op = v.getDefiningOp();
    auto count = dyn_cast_or_null<CountOp>(op);
    if (!count && op)
      reached.insert(op->operand_begin(), op->operand_end());
    // A state has no rows.
    if (count && !count.getOperand().getDefiningOp<ReadOp>() &&
        mayHoldBatch(builder, cast<RankedTensorType>(count.getOperand().getType()),
                     count.getDims()))
      found.push_back(count);
  }
  return found;
}

/// Evaluates the value again with fewer rows. One row less changes most values that depend on the
/// rows; a single row also changes those that differ only far below the largest batch, such as
/// minima.
SmallVector<CountOp>
EntryImport::countsThatChange(Value value, llvm::function_ref<bool(int64_t, bool)> isChange) {
  auto batch = function->getAttrOfType<IntegerAttr>(batchName);
  int64_t rows = batch ? batch.getInt() : 0;
  SmallVector<CountOp> counts;
  if (rows > 1)
    counts = countsBehind(value);
  if (counts.empty())
    return {};
  uint64_t work = workLeft;
  llvm::DenseMap<Value, HostTensor> before = evaluated;
  llvm::scope_exit restore([&] {
    evaluated = std::move(before);
    workLeft = work;
  });
  std::optional<HostTensor> most = known(value);
  if (!most)
    return {};
  auto follows = [&](ArrayRef<CountOp> these, int64_t fewer) {
    evaluated = before; // results of branches and loops may depend on these counts
    for (CountOp count : these) {
      HostTensor assumed(cast<RankedTensorType>(count.getType()));
      int64_t elements = 1;
      for (int64_t d : count.getDims())
        elements *= cast<RankedTensorType>(count.getOperand().getType()).getDimSize(d);
      assumed.setFloat(0, double(elements / rows * fewer));
      evaluated[count.getResult()] = std::move(assumed);
    }
    std::optional<HostTensor> now = known(value);
    if (!now || now->size() != most->size())
      return now.has_value();
    return llvm::any_of(llvm::seq(most->size()), [&](int64_t i) {
      double a = now->getFloat(i), b = most->getFloat(i);
      return a != b && isChange(i, /*isProportional=*/a * double(rows) == b * double(fewer));
    });
  };
  auto followsAny = [&](ArrayRef<CountOp> these) {
    return follows(these, rows - 1) || follows(these, 1);
  };
  if (!followsAny(counts))
    return {};
  llvm::erase_if(counts, [&](CountOp count) { return !followsAny(count); });
  return counts;
}

void EntryImport::fixRows(Value value, StringRef node, bool mayBeProportional,
                          llvm::function_ref<bool(int64_t)> isRead) {
  auto isChange = [&](int64_t i, bool isProportional) {
    return isRead(i) && !(mayBeProportional && isProportional);
  };
  for (CountOp count : countsThatChange(value, isChange))
    count->setAttr(readByName, builder.getStringAttr(node));
}

void EntryImport::sizeByRows(Value sized, int64_t dim, Value sizes, int64_t element,
                             StringRef node) {
  if (!mayHoldBatch(builder, cast<RankedTensorType>(sized.getType()), dim))
    return;
  SmallVector<CountOp> counts = countsThatChange(
      sizes, [&](int64_t i, bool isProportional) { return i == element && isProportional; });
  if (counts.empty())
    return;
  auto size = CountOp::create(builder, sized.getLoc(), sized, dim, IntegerAttr());
  size->setAttr(sizedByName, builder.getI64IntegerAttr(sizedDims));
  size->setAttr(readByName, builder.getStringAttr(node));
  for (CountOp count : counts) {
    SmallVector<int64_t> numbers;
    if (auto known = count->getAttrOfType<DenseI64ArrayAttr>(sizesName))
      llvm::append_range(numbers, known.asArrayRef());
    numbers.push_back(sizedDims);
    count->setAttr(sizesName, builder.getDenseI64ArrayAttr(numbers));
  }
  ++sizedDims;
}

void EntryImport::numberRows(Value numbers, Value limit) {
  if (depth > 0) // a graph may be dropped with its ops
    return;
  SmallVector<CountOp> counts = countsThatChange(limit, [](int64_t, bool) { return true; });
  if (!counts.empty())
    rowNumbers[numbers] = std::move(counts);
}

/// How many elements of a constant belong to a row is not known. As long as a result has a dim that
/// may be of rows, its readers decide: an op with such a dim and rows needs both to be of one size.
void EntryImport::followRowNumbers(ValueRange operands, ValueRange results, StringRef node) {
  SmallVector<CountOp> counts;
  for (Value operand : operands)
    if (operand)
      llvm::append_range(counts, rowNumbers.lookup(operand));
  if (counts.empty() || depth > 0)
    return;
  uint64_t work = workLeft;
  llvm::scope_exit restore([&] { workLeft = work; });
  for (Value operand : operands)
    if (operand && !rowNumbers.contains(operand) && !known(operand))
      return;
  for (Value result : results) {
    auto type = result ? dyn_cast<RankedTensorType>(result.getType()) : RankedTensorType();
    bool isShape = type && llvm::any_of(countsBehind(result), [&](CountOp count) {
                     return rowNumbers.contains(count.getOperand());
                   });
    if (!type || isShape)
      continue;
    if (mayHoldBatch(builder, type, llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()))))
      rowNumbers[result] = counts;
    else
      for (CountOp count : counts)
        count->setAttr(readByName, builder.getStringAttr(node));
  }
}
