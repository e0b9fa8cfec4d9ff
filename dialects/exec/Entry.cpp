// The planned form: the accesses of its nodes, and verification that the runtime can execute it.
#include "dialects/exec/Exec.h"

using namespace mlir;
using namespace mlir::exec;

SmallVector<Operation *> exec::nodesOf(EntryOp entry) {
  SmallVector<Operation *> nodes;
  entry.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) { nodes.push_back(op); });
  return nodes;
}

SmallVector<LoopOp> exec::loopsAround(Operation *node) {
  SmallVector<LoopOp> loops;
  for (auto loop = node->getParentOfType<LoopOp>(); loop; loop = loop->getParentOfType<LoopOp>())
    loops.push_back(loop);
  std::reverse(loops.begin(), loops.end());
  return loops;
}

double exec::runsOf(Operation *node) {
  // The bound of a loop that ends at a condition tells little: it may be the largest number.
  constexpr int64_t likelyTrips = 16;
  double runs = 1;
  for (LoopOp loop : loopsAround(node)) {
    int64_t trips = loop.getTrips();
    runs *= double(loop.getConditionAttr() ? std::min(trips, likelyTrips) : trips);
  }
  return runs;
}

std::pair<int64_t, int64_t> Access::getReach(ArrayRef<LoopOp> loops) const {
  int64_t begin = slice.getOffset(), end = begin + getBytes();
  for (auto [i, stride] : llvm::enumerate(slice.getStrides())) {
    int64_t last = stride * std::max<int64_t>(int64_t(LoopOp(loops[i]).getTrips()) - 1, 0);
    (last < 0 ? begin : end) += last;
  }
  return {begin, end};
}

SmallVector<Access> exec::accessesOf(Operation *node, SymbolTableCollection &tables) {
  SmallVector<Access> accesses;
  if (auto dispatch = dyn_cast<DispatchOp>(node)) {
    auto kernel = tables.lookupNearestSymbolFrom<KernelOp>(node, dispatch.getKernelAttr());
    // If all operands are overwritten in place, both lists are the same attribute.
    for (bool isWrite : {false, true}) {
      ArrayAttr slices = isWrite ? dispatch.getWrites() : dispatch.getReads();
      for (auto slice : slices.getAsRange<SliceAttr>())
        accesses.push_back({slice, kernel.getLayout(accesses.size()), isWrite});
    }
  } else if (auto copy = dyn_cast<CopyOp>(node)) {
    accesses = {{copy.getFrom(), nullptr, false}, {copy.getTo(), nullptr, true}};
  } else if (auto collective = dyn_cast<CollectiveOp>(node)) {
    for (bool isWrite : {false, true})
      for (auto slice : collective.getSlices().getAsRange<SliceAttr>())
        accesses.push_back({slice, nullptr, isWrite});
  } else if (auto transfer = dyn_cast<TransferOp>(node)) {
    accesses = {{transfer.getSlice(), nullptr, !transfer.getSend()}};
  } else if (auto branch = dyn_cast<IfOp>(node)) {
    accesses = {{branch.getCondition(), nullptr, false}};
  } else if (auto loop = dyn_cast<LoopOp>(node)) {
    for (SliceAttr slice : {loop.getCountAttr(), loop.getConditionAttr()})
      if (slice)
        accesses.push_back({slice, nullptr, false});
  }
  return accesses;
}

std::string exec::nodesText(ArrayAttr nodes) {
  constexpr size_t most = 6;
  std::string text;
  for (auto [i, node] : llvm::enumerate(nodes.getAsRange<StringAttr>())) {
    text += i == 0 ? "" : " + ";
    if (i == most && nodes.size() > most + 1)
      return text + std::to_string(nodes.size() - most) + " more";
    text += node.getValue();
  }
  return text;
}

std::string exec::nodesText(Operation *node) {
  auto nodes = node->getAttrOfType<ArrayAttr>("nodes");
  return nodes ? nodesText(nodes) : "";
}

static LogicalResult verifyPorts(EntryOp entry, ArrayAttr ports) {
  for (Attribute port : ports) {
    auto attributes = dyn_cast<DictionaryAttr>(port);
    auto type = attributes ? attributes.getAs<TypeAttr>("type") : TypeAttr();
    if (!type || !isa<RankedTensorType>(type.getValue()))
      return entry.emitOpError("expected inputs and outputs to be dictionaries with the type of a "
                               "tensor, found ")
             << port;
  }
  return success();
}

namespace {
/// Checks the places of an entry's slices, like the runtime when it opens an artifact.
class SliceVerifier {
public:
  SliceVerifier(EntryOp entry, SymbolTableCollection &tables) : entry(entry), tables(tables) {}

  /// Errors are reported at `op`.
  LogicalResult verify(Operation *op, const Access &access, ArrayRef<LoopOp> loops) {
    SliceAttr slice = access.slice;
    if (slice.getStrides().size() > loops.size())
      return op->emitOpError("expected strides of at most ")
             << loops.size() << " loops, found " << slice;
    for (int64_t stride : slice.getStrides())
      if (stride % 64 != 0 || std::abs(stride) > maxIterations)
        return op->emitOpError("expected strides that are multiples of 64, found ") << slice;
    for (auto [stride, loop] : llvm::zip_first(slice.getStrides(), loops))
      if (stride != 0 && LoopOp(loop).getConditionAttr())
        return op->emitOpError("expected slices that stay in a loop that a condition ends, found ")
               << slice;
    std::optional<int64_t> limit = limitOf(slice);
    if (!limit)
      return op->emitOpError("expected a slice of a known input, output or buffer, found ")
             << slice;
    auto [begin, end] = access.getReach(loops);
    if (begin < 0 || end > *limit)
      return op->emitOpError("expected a slice within ")
             << *limit << " bytes, found bytes " << begin << " to " << end << " of " << slice;
    return success();
  }

private:
  /// Bytes of the slice's space; none if there is no such space.
  std::optional<int64_t> limitOf(SliceAttr slice) {
    auto ofPort = [&](ArrayAttr ports) -> std::optional<int64_t> {
      if (slice.getIndex() < 0 || slice.getIndex() >= int64_t(ports.size()))
        return std::nullopt;
      auto port = cast<DictionaryAttr>(ports[slice.getIndex()]);
      return layoutBytes(cast<RankedTensorType>(port.getAs<TypeAttr>("type").getValue()), nullptr);
    };
    switch (slice.getSpace()) {
    case Space::arena:
      return entry.getArena();
    case Space::input:
      return ofPort(entry.getInputs());
    case Space::output:
      return ofPort(entry.getOutputs());
    case Space::buffer:
      break;
    }
    auto buffer = slice.getBuffer()
                      ? tables.lookupNearestSymbolFrom<BufferOp>(entry, slice.getBuffer())
                      : BufferOp();
    return buffer ? std::optional<int64_t>(buffer.getBytes()) : std::nullopt;
  }

  EntryOp entry;
  SymbolTableCollection &tables;
};
} // namespace

static LogicalResult verifyCondition(Operation *node, SliceAttr condition) {
  RankedTensorType type = condition.getType();
  if (type.getNumElements() != 1 || !type.getElementType().isSignlessInteger(1))
    return node->emitOpError("expected a condition of one i1, found ") << condition;
  return success();
}

static LogicalResult verifyLoop(LoopOp loop, ArrayRef<LoopOp> around) {
  if (int64_t(around.size()) >= maxLoops)
    return loop.emitOpError("expected at most ") << maxLoops << " loops in each other";
  int64_t iterations = loop.getTrips();
  for (LoopOp outer : around)
    if (!loop.getConditionAttr() && !outer.getConditionAttr() && iterations >= 0 &&
        iterations <= maxIterations) // both below 2^31
      iterations *= std::max<int64_t>(outer.getTrips(), 1);
  if (int64_t(loop.getTrips()) < 0 || iterations > maxIterations)
    return loop.emitOpError("expected 0 to ")
           << maxIterations << " iterations with those of the loops around it, found "
           << int64_t(loop.getTrips());
  if (SliceAttr condition = loop.getConditionAttr();
      condition && failed(verifyCondition(loop, condition)))
    return failure();
  SliceAttr count = loop.getCountAttr();
  if (!count)
    return success();
  RankedTensorType type = count.getType();
  if (type.getNumElements() != 1 ||
      !(type.getElementType().isSignlessInteger(32) || type.getElementType().isSignlessInteger(64)))
    return loop.emitOpError("expected a count of one i32 or i64, found ") << count;
  return success();
}

LogicalResult CopyOp::verify() {
  if (getFrom().getType() != getTo().getType())
    return emitOpError("expected slices of one type, found ") << getFrom() << " and " << getTo();
  return success();
}

LogicalResult CollectiveOp::verify() {
  Type element;
  for (Attribute attribute : getSlices()) {
    auto slice = dyn_cast<SliceAttr>(attribute);
    Type found = slice ? slice.getType().getElementType() : Type();
    if (!found || (!found.isF32() && !found.isF64() && !found.isSignlessInteger(32) &&
                   !found.isSignlessInteger(64)))
      return emitOpError("expected slices of f32, f64, i32 or i64, found ") << attribute;
    if (element && element != found)
      return emitOpError("expected slices of one element type, found ")
             << element << " and " << found;
    element = found;
  }
  if (!element)
    return emitOpError("expected a slice, found none");
  if (getBf16() && !element.isF32())
    return emitOpError("expected f32 to travel as bf16, found ") << element;
  bool isCut = getKind() != CollectiveKind::sum;
  if (getBf16() && getKind() == CollectiveKind::gather)
    return emitOpError("expected a gather to bring values as they are, found bf16");
  size_t cuts = getCuts() ? getCuts()->size() : 0;
  if (cuts != (isCut ? getSlices().size() : 0))
    return emitOpError("expected ") << (isCut ? getSlices().size() : 0) << " cuts, found " << cuts;
  for (int64_t slice : getZeros())
    if (getKind() != CollectiveKind::scatter || slice < 0 || slice >= int64_t(getSlices().size()))
      return emitOpError("expected zeros in a slice of a scatter, found slice ") << slice;
  return success();
}

static FailureOr<CutOp> findCut(Operation *node, FlatSymbolRefAttr name,
                                SymbolTableCollection &tables) {
  if (auto cut = tables.lookupNearestSymbolFrom<CutOp>(node, name))
    return cut;
  return node->emitOpError("expected ") << name << " to be an exec.cut";
}

LogicalResult CollectiveOp::verifySymbolUses(SymbolTableCollection &tables) {
  if (!getCuts())
    return success();
  for (auto [slice, name] : llvm::zip_equal(getSlices().getAsRange<SliceAttr>(),
                                            getCuts()->getAsRange<FlatSymbolRefAttr>())) {
    FailureOr<CutOp> cut = findCut(*this, name, tables);
    if (failed(cut))
      return failure();
    if (slice.getType().getNumElements() != int64_t(cut->getElements()))
      return emitOpError("expected a slice of ")
             << cut->getElements() << " elements, found " << slice;
  }
  return success();
}

LogicalResult IfOp::verify() { return verifyCondition(*this, getCondition()); }

LogicalResult DispatchOp::verifySymbolUses(SymbolTableCollection &tables) {
  auto kernel = tables.lookupNearestSymbolFrom<KernelOp>(*this, getKernelAttr());
  if (!kernel)
    return emitOpError("expected ") << getKernelAttr() << " to be an exec.kernel";
  auto verifyTypes = [&](StringRef what, ArrayAttr slices, ValueRange values) -> LogicalResult {
    if (slices.size() != values.size())
      return emitOpError("expected ")
             << values.size() << ' ' << what << ", found " << slices.size();
    for (auto [i, slice, value] : llvm::enumerate(slices, values)) {
      auto attribute = dyn_cast<SliceAttr>(slice);
      if (!attribute || attribute.getType() != value.getType())
        return emitOpError("expected of ") << what << " number " << i << " a slice of "
                                           << value.getType() << ", found " << slice;
    }
    return success();
  };
  if (failed(verifyTypes("operands", getReads(), kernel.getBlock().getArguments())) ||
      failed(verifyTypes("results", getWrites(), kernel.getYielded())))
    return failure();
  if (!getCutAttr())
    return success();
  FailureOr<CutOp> cut = findCut(*this, getCutAttr(), tables);
  if (failed(cut))
    return failure();
  if (!getPer())
    return emitOpError("expected a number of units per piece of ") << getCutAttr();
  if (!kernel.getScheduleAttr())
    return success();
  int64_t units = kernelUnits(kernel), per = int64_t(*getPer());
  if (per < 1 || int64_t(llvm::divideCeil(units, per)) != cut->getPieces())
    return emitOpError("expected ")
           << cut->getPieces() << " pieces of " << per << " units, found " << units << " units";
  return success();
}

LogicalResult EntryOp::verifySymbolUses(SymbolTableCollection &tables) {
  if (failed(verifyPorts(*this, getInputs())) || failed(verifyPorts(*this, getOutputs())))
    return failure();
  if (getEachRowAttr() && !getBody().front().empty())
    return emitOpError("expected no nodes beside each_row ") << getEachRowAttr();
  if (getEachRowAttr() && !tables.lookupNearestSymbolFrom(*this, getEachRowAttr()))
    return emitOpError("expected ") << getEachRowAttr() << " to be an entry";
  SliceVerifier slices(*this, tables);
  for (auto output : getOutputs().getAsRange<DictionaryAttr>())
    if (auto slice = output.getAs<SliceAttr>("slice"))
      if (failed(slices.verify(*this, {slice, nullptr}, {})))
        return failure();
  for (Operation *node : nodesOf(*this)) {
    if (!isa<DispatchOp, CopyOp, CollectiveOp, TransferOp, IfOp, LoopOp>(node))
      return node->emitOpError(
          "expected a dispatch, copy, collective, transfer, if or loop in an entry");
    if (auto dispatch = dyn_cast<DispatchOp>(node))
      if (failed(dispatch.verifySymbolUses(tables))) // the accesses below need it
        return failure();
    SmallVector<LoopOp> loops = loopsAround(node);
    for (const Access &access : accessesOf(node, tables)) {
      if (failed(slices.verify(node, access, loops)))
        return failure();
      if (access.slice.getOffset() % 64 != 0)
        return node->emitOpError("expected offsets that are multiples of 64, found ")
               << access.slice;
      if (access.isWrite && access.slice.getSpace() == Space::input)
        return node->emitOpError("expected no write of an input, found ") << access.slice;
    }
    if (auto loop = dyn_cast<LoopOp>(node))
      if (failed(verifyLoop(loop, loops)))
        return failure();
    int64_t depth = 0;
    for (Operation *body = node->getParentOp(); !isa<EntryOp>(body); body = body->getParentOp())
      ++depth;
    if (depth > maxDepth)
      return node->emitOpError("expected at most ") << maxDepth << " bodies around a node";
  }
  return success();
}
