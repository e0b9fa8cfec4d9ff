// Propagates extents forward through indexing maps; a reshape keeps them if rows stay together and,
// unless inner rows are followed, outermost.
#include "passes/entry/Extents.h"

#include "dialects/grad/RepeatedDims.h"
#include "dialects/grad/indexing/Index.h"
#include "dialects/grad/math/Count.h"
#include "dialects/grad/training/Transfer.h"
#include "passes/entry/Ports.h"

#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace gradc;

const Extents *ExtentAnalysis::find(Value value) const {
  auto at = known.find(value);
  return at == known.end() ? nullptr : &at->second;
}

SmallVector<Extents> ExtentAnalysis::of(ValueRange values) const {
  return llvm::map_to_vector(values, [&](Value v) {
    Extents extents = *find(v);
    llvm::replace(extents, extent::numbered, extent::free);
    llvm::replace(extents, extent::perRow, extent::free);
    return extents;
  });
}

bool ExtentAnalysis::isBatched(Value value) const {
  const Extents *extents = find(value);
  return extents && llvm::any_of(*extents, [](int64_t e) { return e > 0; });
}

bool ExtentAnalysis::holdsRowsInside(Value value) const {
  const Extents *extents = find(value);
  if (!extents)
    return false;
  int64_t before = 1;
  for (auto [size, extent] :
       llvm::zip(cast<RankedTensorType>(value.getType()).getShape(), *extents)) {
    if (extent > 0 && before * extent::outerOf(extent) != 1)
      return true;
    before *= size;
  }
  return false;
}

LogicalResult ExtentAnalysis::fail(const Twine &why) {
  reason = why.str();
  return failure();
}

void ExtentAnalysis::setAll(Value value, int64_t extent) {
  known[value] = Extents(cast<RankedTensorType>(value.getType()).getRank(), extent);
}

void ExtentAnalysis::setArguments(func::FuncOp function) {
  for (BlockArgument argument : function.getArguments()) {
    setAll(argument, extent::whole);
    if (function.getArgAttr(argument.getArgNumber(), grad::batchedName))
      known[argument][0] = rowUnitOf(function);
  }
}

LogicalResult ExtentAnalysis::visit(Block &block) {
  for (Operation &op : block.without_terminator())
    if (failed(visit(&op)))
      return failure();
  return success();
}

LogicalResult ExtentAnalysis::visit(Operation *op) {
  if (other)
    if (std::optional<LogicalResult> answer = other(op))
      return *answer;
  if (auto read = dyn_cast<grad::ReadOp>(op)) {
    setAll(read, extent::whole);
    return success();
  }
  // The results of a gradient request have the extents of its targets.
  if (auto request = dyn_cast<grad::GradientOp>(op)) {
    for (auto [result, target] : llvm::zip_equal(request.getResults(), request.getTargets()))
      set(result, Extents(*find(target)));
    return success();
  }
  if (std::optional<grad::TransferHalf> transfer = grad::TransferHalf::of(op)) {
    if (transfer->sends)
      return success();
    setAll(transfer->value, extent::whole);
    if (transfer->extents)
      set(transfer->value, Extents(*transfer->extents));
    return success();
  }
  if (auto branch = dyn_cast<grad::IfOp>(op))
    return visitIf(branch);
  if (auto scan = dyn_cast<grad::ScanOp>(op))
    return visitScan(scan);
  if (isa<grad::CollectiveOpInterface>(op))
    return visitCollective(op);
  if (grad::writesRows(op)) {
    if (llvm::any_of(op->getOperands(), [&](Value v) { return !find(v) || isBatched(v); }))
      return fail("it writes rows of a table, as many as the batch has");
    setAll(op->getResult(0), extent::whole);
    return success();
  }
  if (auto generic = dyn_cast<linalg::GenericOp>(op))
    return visitGeneric(generic);
  if (isa<linalg::FillOp, tensor::EmptyOp>(op)) {
    for (Value result : op->getResults())
      setAll(result, extent::free);
    return success();
  }
  if (op->hasTrait<OpTrait::ConstantLike>()) {
    setConstant(op->getResult(0));
    return success();
  }
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op)) {
    // Collapsed to one dim in between, rows that are not outermost would be lost.
    auto collapse = expand.getSrc().getDefiningOp<tensor::CollapseShapeOp>();
    return visitReshape(collapse ? collapse.getSrc() : expand.getSrc(), expand.getResult());
  }
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op)) {
    bool isExpanded = llvm::all_of(collapse->getUsers(), llvm::IsaPred<tensor::ExpandShapeOp>);
    return success(succeeded(visitReshape(collapse.getSrc(), collapse.getResult())) || isExpanded);
  }
  auto loops = dyn_cast<grad::LoopsOpInterface>(op);
  if (loops && loops.getLoopKind() == grad::LoopKind::view)
    return visitReshape(op->getOperand(0), op->getResult(0));
  if (loops)
    return visitExpansion(op, /*signless=*/true, [&](OpBuilder &b, ValueRange operands) {
      return loops.lowerToLoops(b, operands);
    });
  if (isa<grad::DecomposeOpInterface>(op))
    return visitExpansion(op, /*signless=*/false, [&](OpBuilder &b, ValueRange operands) {
      IRMapping map;
      map.map(op->getOperands(), operands);
      Operation *copy = b.clone(*op, map);
      b.setInsertionPoint(copy);
      SmallVector<Value> values = cast<grad::DecomposeOpInterface>(copy).decompose(b);
      copy->erase();
      return values;
    });
  if (isa<arith::ConstantOp>(op))
    return success();
  return fail("it has no loops");
}

LogicalResult ExtentAnalysis::failAtReader(grad::CountOp count) {
  auto reader = count->getAttrOfType<StringAttr>(grad::readByName);
  return fail("node \"" + (reader ? reader.getValue() : StringRef()) +
              "\" is compiled for a number that follows the rows");
}

LogicalResult ExtentAnalysis::visitSizes(grad::CountOp count) {
  Extents extents = *find(count.getOperand());
  if (auto sizes = count->getAttrOfType<DenseI64ArrayAttr>(grad::sizesName))
    if (llvm::any_of(count.getDims(), [&](int64_t d) { return extents[d] > 0; }))
      sizedByRows.insert_range(sizes.asArrayRef());
  auto number = count->getAttrOfType<IntegerAttr>(grad::sizedByName);
  if (!number || !sizedByRows.contains(number.getInt()))
    return success();
  for (int64_t d : count.getDims()) {
    if (extents[d] == extent::whole)
      return failAtReader(count);
    if (extent::isFree(extents[d]))
      extents[d] = extent::perRow;
  }
  set(count.getOperand(), std::move(extents));
  return success();
}

/// A constant has as many elements as a run needs along dims where all of them are equal: all dims
/// of a splat, and the rows of what an exporter has repeated for each row of the batch.
void ExtentAnalysis::setConstant(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  ElementsAttr elements;
  if (!type || !matchPattern(value, m_Constant(&elements)))
    return;
  auto dense = dyn_cast<DenseElementsAttr>(elements);
  if (dense && dense.isSplat()) {
    setAll(value, extent::free);
    return;
  }
  Extents extents;
  for (bool isRepeated : grad::repeatedDims(grad::HostTensor(elements)))
    extents.push_back(isRepeated ? extent::free : extent::whole);
  set(value, std::move(extents));
}

LogicalResult ExtentAnalysis::visitCollective(Operation *op) {
  for (auto [operand, result] : llvm::zip_equal(op->getOperands(), op->getResults())) {
    if (!find(operand))
      return fail("an operand has none");
    if (cast<grad::CollectiveOpInterface>(op).holdsRows()) {
      set(result, Extents(*find(operand)));
      continue;
    }
    if (isBatched(operand))
      return fail("it sums rows of the batch over ranks, which have different numbers of them");
    setAll(result, extent::whole);
  }
  return success();
}

LogicalResult ExtentAnalysis::visitExpansion(Operation *op, bool signless, Build build) {
  llvm::SaveAndRestore expanding(isExpanding, true);
  Block block;
  SmallVector<Value> standIns;
  for (Value operand : op->getOperands()) {
    Type type = signless ? Type(grad::signlessType(operand.getType())) : operand.getType();
    Value standIn = block.addArgument(type, op->getLoc());
    const Extents *extents = find(operand);
    if (!extents)
      return fail("an operand has none");
    set(standIn, *extents);
    standIns.push_back(standIn);
  }
  OpBuilder builder(op->getContext());
  builder.setInsertionPointToEnd(&block);
  SmallVector<Value> values = build(builder, standIns);
  LogicalResult visited = success();
  for (Operation &inner : block)
    if (visited = visit(&inner); failed(visited))
      break;
  if (succeeded(visited))
    for (auto [result, value] : llvm::zip_equal(op->getResults(), values)) {
      const Extents *extents = find(value);
      if (!extents)
        visited = fail("a result has none");
      else
        set(result, Extents(*extents));
    }
  for (Value argument : block.getArguments())
    known.erase(argument);
  for (Operation &inner : block)
    for (Value result : inner.getResults())
      known.erase(result);
  return visited;
}

FailureOr<Extents> ExtentAnalysis::loopsOf(linalg::GenericOp op) {
  Extents loops(op.getNumLoops(), extent::free);
  auto ranges = op.getStaticLoopRanges();
  auto join = [&](unsigned loop, int64_t extent) -> LogicalResult {
    std::optional<int64_t> joined = this->join(loops[loop], extent);
    if (!joined)
      return fail("a dim of " + Twine(ranges[loop]) +
                  " is the batch in one operand and not in another");
    loops[loop] = *joined;
    return success();
  };
  for (OpOperand &operand : op->getOpOperands()) {
    const Extents *extents = find(operand.get());
    if (!extents)
      return fail("an operand has none");
    AffineMap map = op.getMatchingIndexingMap(&operand);
    for (auto [result, extent] : llvm::zip_equal(map.getResults(), *extents)) {
      if (auto dim = dyn_cast<AffineDimExpr>(result)) {
        if (failed(join(dim.getPosition(), extent)))
          return failure();
        continue;
      }
      if (extent > 0)
        return fail("it reads or writes the batch elsewhere than row by row");
      for (unsigned loop = 0; loop < op.getNumLoops(); ++loop)
        if (extent != extent::free && result.isFunctionOfDim(loop) && failed(join(loop, extent)))
          return failure();
    }
  }
  if (op.getInputs().empty()) // nothing but numbers: an iota
    for (auto index : op.getOps<linalg::IndexOp>())
      if (failed(join(unsigned(index.getDim()), extent::numbered)))
        return failure();
  // The dims along which indices select are whole in every run.
  if (auto indexed = op->getAttrOfType<DenseI64ArrayAttr>(grad::indexedLoops))
    for (int64_t loop : indexed.asArrayRef())
      if (failed(join(loop, extent::whole)))
        return fail("it writes to rows of the batch that indices choose");
  for (auto extract : op.getOps<tensor::ExtractOp>()) {
    const Extents *extents = find(extract.getTensor());
    if (!extents)
      return fail("an operand has none");
    for (auto [coordinate, extent] : llvm::zip_equal(extract.getIndices(), *extents)) {
      auto index = coordinate.getDefiningOp<linalg::IndexOp>();
      if (!index && extent > 0)
        return fail("it reads rows of the batch that indices choose");
      if (index && failed(join(index.getDim(), extent)))
        return failure();
    }
  }
  for (auto index : op.getOps<linalg::IndexOp>()) // other than to read an operand there
    order |= extent::outerOf(loops[index.getDim()]) > 1 &&
             !llvm::all_of(index->getUsers(), llvm::IsaPred<tensor::ExtractOp>);
  return loops;
}

LogicalResult ExtentAnalysis::visitGeneric(linalg::GenericOp op) {
  FailureOr<Extents> loops = loopsOf(op);
  if (failed(loops))
    return failure();
  auto ranges = op.getStaticLoopRanges();
  bool hasRows = llvm::any_of(*loops, [](int64_t e) { return e > 0; });
  unsigned loopsOverRows = 0;
  for (auto [loop, iterator] : llvm::enumerate(op.getIteratorTypesArray())) {
    if ((*loops)[loop] > 0)
      couples |= iterator == utils::IteratorType::reduction || ++loopsOverRows > 1;
    bool mayBePerRow = (*loops)[loop] == extent::perRow ||
                       (extent::isFree((*loops)[loop]) && !hasRows && mayHoldRows(ranges[loop]));
    if (iterator == utils::IteratorType::reduction && mayBePerRow)
      return fail("it sums what is repeated " + Twine(ranges[loop]) +
                  " times, which may be for each row of the batch");
  }
  for (OpResult result : op->getResults()) {
    Extents extents;
    AffineMap map = op.getMatchingIndexingMap(op.getTiedOpOperand(result));
    for (auto [i, at] : llvm::enumerate(map.getResults())) {
      auto dim = dyn_cast<AffineDimExpr>(at);
      int64_t extent = dim ? (*loops)[dim.getPosition()] : extent::whole;
      if (!dim)
        for (unsigned loop = 0; loop < op.getNumLoops(); ++loop)
          if (at.isFunctionOfDim(loop) &&
              ((*loops)[loop] > 0 || (extent::isFree((*loops)[loop]) && mayHoldRows(ranges[loop]))))
            return fail("it places rows of the batch among others");
      extents.push_back(extent);
    }
    set(result, extents);
  }
  return success();
}

/// Groups of dims with the same product of sizes on both sides of a reshape. Dims of size 1 are in
/// no group.
namespace {
struct Group {
  SmallVector<int64_t> from, to;
};
} // namespace

static SmallVector<Group> matchDims(ArrayRef<int64_t> from, ArrayRef<int64_t> to) {
  SmallVector<Group> groups;
  size_t i = 0, j = 0;
  auto skip = [](ArrayRef<int64_t> shape, size_t &at) {
    while (at < shape.size() && shape[at] == 1)
      ++at;
  };
  for (skip(from, i), skip(to, j); i < from.size() && j < to.size(); skip(from, i), skip(to, j)) {
    Group group;
    int64_t left = from[i], right = to[j];
    group.from.push_back(int64_t(i++));
    group.to.push_back(int64_t(j++));
    while (left != right) {
      if (left < right) {
        left *= from[i];
        group.from.push_back(int64_t(i++));
      } else {
        right *= to[j];
        group.to.push_back(int64_t(j++));
      }
    }
    groups.push_back(group);
  }
  return groups;
}

LogicalResult ExtentAnalysis::visitReshape(Value from, Value to) {
  const Extents *extents = find(from);
  if (!extents)
    return fail("an operand has none");
  ArrayRef<int64_t> shape = cast<RankedTensorType>(from.getType()).getShape();
  ArrayRef<int64_t> wanted = cast<RankedTensorType>(to.getType()).getShape();
  Extents result(wanted.size(), extent::free);
  if (llvm::is_contained(shape, 0)) {
    if (isBatched(from))
      return fail("it reshapes no elements");
    set(to, Extents(wanted.size(), extent::whole));
    return success();
  }
  for (const Group &group : matchDims(shape, wanted)) {
    auto batched = llvm::find_if(group.from, [&](int64_t d) { return (*extents)[d] > 0; });
    int64_t repeated = extent::free;
    for (int64_t d : group.from)
      repeated = extent::isFree((*extents)[d])
                     ? join(repeated, (*extents)[d]).value_or(extent::whole)
                     : extent::whole;
    for (int64_t d : group.to)
      result[d] = repeated;
    if (batched == group.from.end()) {
      if (group.from.size() == 1 && group.to.size() == 1)
        result[group.to[0]] = (*extents)[group.from[0]];
      else if (group.to.size() == 1 && repeated == extent::whole &&
               mayRepeatPerRow((*extents)[group.from[0]], shape[group.from[0]]))
        result[group.to[0]] = std::min((*extents)[group.from[0]], extent::numbered);
      continue;
    }
    if (llvm::any_of(group.from, [&](int64_t d) { return (*extents)[d] == extent::perRow; }))
      return fail("it merges rows of the batch with what is repeated for each of them");
    // The group is [outer, rows, perRow].
    int64_t outer = extent::outerOf((*extents)[*batched]);
    int64_t perRow = extent::perRowOf((*extents)[*batched]);
    for (int64_t d : group.from)
      if (d != *batched)
        (d < *batched ? outer : perRow) *= shape[d];
    // Rows stay together in the dim that begins and ends in whole elements of these.
    int64_t before = 1, behind = 1;
    for (int64_t d : group.to)
      behind *= wanted[d];
    auto at = llvm::find_if(group.to, [&](int64_t d) {
      behind /= wanted[d];
      if (outer % before == 0 && perRow % behind == 0)
        return true;
      before *= wanted[d];
      return false;
    });
    if (at == group.to.end() || (outer != 1 && !isInnerFollowed))
      return fail("it reshapes across rows of the batch");
    result[*at] = extent::inner(outer / before, perRow / behind);
    order |= isExpanding && (extent::outerOf((*extents)[*batched]) > 1 || outer > before);
  }
  set(to, result);
  return success();
}

std::optional<LogicalResult> gradc::visitCountOrWrite(Operation *op, ExtentAnalysis &analysis) {
  if (auto count = dyn_cast<grad::CountOp>(op))
    analysis.set(count, {});
  return isa<grad::CountOp, grad::WriteOp>(op) ? std::optional(success()) : std::nullopt;
}

ExtentAnalysis gradc::analyzeFunction(func::FuncOp function) {
  ExtentAnalysis extents(batchOf(function).value_or(1));
  extents.setArguments(function);
  for (Operation &op : function.front().without_terminator())
    if (!isa<grad::WriteOp>(op) && failed(extents.visit(&op)))
      break;
  return extents;
}
