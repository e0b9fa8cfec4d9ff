// Walks nodes in execution order. If possible, a value is placed at its final destination: an
// output, a buffer, a step of a stack, or a carried value of the next iteration. Otherwise it
// overwrites an operand that dies, or gets its own region.
#include "passes/memory/Placement.h"

#include "dialects/grad/control/Control.h"
#include "passes/entry/NodeOrder.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;
using exec::SliceAttr;
using exec::Space;

LogicalResult Placement::run() {
  Block &block = function.getBody().front();
  for (BlockArgument argument : block.getArguments())
    setPlace(argument, Place(Space::input, argument.getArgNumber()));
  findOutputs();
  if (failed(placeBlock(block, nodes)))
    return failure();
  // Returned tensors live to the end.
  for (Value v : block.getTerminator()->getOperands()) {
    if (!places.contains(storageRoot(v)))
      return function.emitOpError("expected every result to have a place");
    touch(tensorOf(v), /*isWrite=*/false);
  }
  // So do those that are received but not read: a node in their memory would wait for the sender,
  // which may wait for what this rank sends after that node.
  for (auto receive : block.getOps<ReceiveOp>())
    if (llvm::all_of(receive->getUsers(), llvm::IsaPred<ReceiveOp>))
      touch(tensorOf(receive.getResult()), /*isWrite=*/false);
  arena.allocate();
  return success();
}

/// Computed results of the entry are contiguous in the output space, so that a single copy
/// transfers all of them to the caller. An input or a state that is returned stays in place.
/// Outputs have no room for the padding of a layout.
void Placement::findOutputs() {
  for (auto [i, v] : llvm::enumerate(function.front().getTerminator()->getOperands())) {
    auto root = dyn_cast<OpResult>(storageRoot(v));
    if (!root || !isNode(root.getOwner()) || storedBuffer(root))
      continue;
    if (!layoutOf(root, symbols))
      outputs.try_emplace(root, Place(Space::output, int64_t(i)));
  }
}

LogicalResult Placement::placeBlock(Block &block, Nodes &into) {
  auto order = orderNodes(nodesBefore(block));
  if (!order)
    return function.emitOpError("expected launches without cyclic order: a buffer's new value is "
                                "needed by a launch that reads its old one");
  for (auto load : block.getOps<exec::LoadOp>()) {
    setPlace(load.getResult(), Place(Space::buffer, 0, load.getBufferAttr()));
  }
  for (Operation *node : *order) {
    if (auto launch = dyn_cast<exec::LaunchOp>(node))
      placeLaunch(launch, into);
    else if (auto branch = dyn_cast<IfOp>(node); branch && failed(placeIf(branch, into)))
      return failure();
    else if (auto scan = dyn_cast<ScanOp>(node); scan && failed(placeScan(scan, into)))
      return failure();
    else if (isa<CollectiveOpInterface>(node))
      placeCollective(node, into);
    else if (auto transfer = TransferHalf::of(node))
      placeTransfer(node, *transfer, into);
    placed.insert(node);
  }
  return success();
}

void Placement::placeLaunch(exec::LaunchOp launch, Nodes &into) {
  PlacedNode node(launch, launch.getLoc());
  exec::PatchAttr patch = kernelOf(launch).getPatchAttr();
  if (patch)
    placePatch(launch, patch, into);
  for (auto [i, v] : llvm::enumerate(launch.getOperands())) {
    bool isTable = patch && int64_t(i) == patch.getTable(); // which is in the result's place by now
    node.reads.push_back(tensorOf(isTable ? Value(launch.getResult(0)) : v));
    touch(node.reads.back(), /*isWrite=*/false);
  }
  for (OpResult v : launch.getResults()) {
    if (!places.contains(v))
      setPlace(v, placeResult(launch, v));
    node.writes.push_back(tensorOf(v));
  }
  for (const PlacedTensor &tensor : node.writes)
    touch(tensor, /*isWrite=*/true);
  arena.advance();
  into.push_back(std::move(node));
}

/// The kernel writes some rows of the table, so the result is placed over the table, or over a copy
/// of it where the table is read later or belongs elsewhere.
void Placement::placePatch(exec::LaunchOp launch, exec::PatchAttr patch, Nodes &into) {
  OpResult result = launch->getResult(0);
  setPlace(result, placeResult(launch, result));
  copy(launch.getLoc(), tensorOf(launch.getOperand(patch.getTable())), tensorOf(result), into);
}

Place Placement::placeResult(exec::LaunchOp launch, OpResult result) {
  if (auto output = outputs.find(result); output != outputs.end())
    return output->second;
  if (auto buffer = storedBuffer(result))
    return Place(Space::buffer, 0, buffer);
  if (auto wanted = placeAtYield(launch, result))
    return *wanted;
  if (auto over = placeOverOperand(launch, result.getResultNumber()))
    return *over;
  return newRegion(layoutBytes(result, symbols));
}

/// The destination, chosen by the op around a launch, of a result that its region yields.
std::optional<Place> Placement::placeAtYield(exec::LaunchOp launch, OpResult result) {
  Operation *around = launch->getParentOp();
  auto scan = dyn_cast<ScanOp>(around);
  if (!scan && !isa<IfOp>(around))
    return std::nullopt;
  std::optional<Place> wanted;
  for (auto [i, v] : llvm::enumerate(launch->getBlock()->getTerminator()->getOperands())) {
    if (storageRoot(v) != result)
      continue;
    if (!scan)
      return places.lookup(around->getResult(i));
    auto type = cast<RankedTensorType>(result.getType());
    if (i >= scan.getCarriedCount())
      return stepOf(places.lookup(scan.getResult(i)), type, scan);
    if (isLastRead(scan.getCarried()[i], launch, result.getResultNumber()))
      wanted = places.lookup(scan.getResult(i));
  }
  return wanted;
}

/// Whether a carried value has no reader after `launch` has written its result. Yields to a stack
/// do not count, because they are copied at the beginning of the region.
bool Placement::isLastRead(Value carried, exec::LaunchOp launch, unsigned result) const {
  SmallVector<Value> views = {carried};
  while (!views.empty()) {
    Value v = views.pop_back_val();
    for (OpOperand &use : v.getUses()) {
      Operation *owner = use.getOwner();
      if (isa<ReshapeOp>(owner)) {
        views.push_back(owner->getResult(0));
      } else if (owner == launch) {
        if (!kernelOf(launch).mayOverwrite(use.getOperandNumber(), result))
          return false;
      } else if (auto yield = dyn_cast<YieldOp>(owner)) {
        auto scan = cast<ScanOp>(yield->getParentOp());
        if (use.getOperandNumber() < scan.getCarriedCount())
          return false;
      } else if (!placed.contains(owner)) {
        return false;
      }
    }
  }
  return true;
}

/// Places a result over an operand that dies here, if the kernel allows it.
std::optional<Place> Placement::placeOverOperand(exec::LaunchOp launch, unsigned result) {
  exec::KernelOp kernel = kernelOf(launch);
  for (unsigned i = 0; i < launch.getNumOperands(); ++i) {
    Value operand = storageRoot(launch.getOperand(i));
    Place place = places.lookup(operand);
    if (place.region >= 0 && kernel.mayOverwrite(i, result) && diesAt(operand, launch))
      return place;
  }
  return std::nullopt;
}

/// Whether `node` is the last user of the memory of `value`, and uses it once. Values from outside
/// the loop around a node are needed again in its next iteration.
bool Placement::diesAt(Value value, Operation *node) const {
  int64_t region = places.lookup(value).region;
  auto loop = node->getParentOfType<ScanOp>();
  unsigned uses = 0;
  for (Value other : inRegion[region]) {
    if (loop && !loop->isAncestor(other.getParentBlock()->getParentOp()))
      return false;
    SmallVector<Value> views = {other};
    while (!views.empty()) {
      Value v = views.pop_back_val();
      for (OpOperand &use : v.getUses()) {
        if (isa<ReshapeOp>(use.getOwner()))
          views.push_back(use.getOwner()->getResult(0));
        else if (use.getOwner() == node)
          ++uses;
        else if (!placed.contains(use.getOwner()))
          return false;
      }
    }
  }
  return uses == 1;
}

/// The place of a collective's result, or of a result that the regions of an op write.
Place Placement::placeFor(OpResult result) {
  if (auto output = outputs.find(result); output != outputs.end())
    return output->second;
  if (auto buffer = storedBuffer(result); buffer && isa<CollectiveOpInterface>(result.getOwner()))
    return Place(Space::buffer, 0, buffer);
  auto type = cast<RankedTensorType>(result.getType());
  if (auto scan = dyn_cast<ScanOp>(result.getOwner()->getParentOp()))
    for (auto [v, stack] : llvm::zip_equal(scan.getYieldedSteps(), scan.getStackResults()))
      if (storageRoot(v) == result)
        return stepOf(places.lookup(stack), type, scan);
  return newRegion(layoutBytes(result, symbols));
}

/// Places a collective's results over its operands if these die there. Operands that stay alive, or
/// whose results belong elsewhere, are copied first.
void Placement::placeCollective(Operation *op, Nodes &into) {
  PlacedNode node(op, op->getLoc());
  for (auto [operand, result] : llvm::zip_equal(op->getOperands(), op->getResults())) {
    Value root = storageRoot(operand);
    Place place = places.lookup(root);
    bool stays =
        place.region >= 0 && !outputs.contains(result) && !storedBuffer(result) && diesAt(root, op);
    setPlace(result, stays ? place : placeFor(result));
    // Ranks exchange what is stored, padding included.
    PlacedTensor from = tensorOf(operand), to = tensorOf(result);
    if (layoutOf(result, symbols))
      from.type = to.type = RankedTensorType::get(
          {layoutBytes(result, symbols) / elementBytes(to.type.getElementType())},
          to.type.getElementType());
    copy(op->getLoc(), from, to, into);
    node.writes.push_back(to);
  }
  for (const PlacedTensor &tensor : node.writes) {
    touch(tensor, /*isWrite=*/false);
    touch(tensor, /*isWrite=*/true);
  }
  arena.advance();
  into.push_back(std::move(node));
}

/// A send reads its operand, and a receive writes its result.
void Placement::placeTransfer(Operation *op, const TransferHalf &transfer, Nodes &into) {
  PlacedNode node(op, op->getLoc());
  if (!transfer.sends)
    setPlace(transfer.value, placeFor(cast<OpResult>(transfer.value)));
  PlacedTensor value = tensorOf(transfer.value);
  (transfer.sends ? node.reads : node.writes).push_back(value);
  touch(value, /*isWrite=*/!transfer.sends);
  arena.advance();
  into.push_back(std::move(node));
}

// If ----------------------------------------------------------------------------------------------

LogicalResult Placement::placeIf(IfOp branch, Nodes &into) {
  PlacedNode node(branch, branch.getLoc());
  node.reads.push_back(tensorOf(branch.getCondition()));
  touch(node.reads.back(), /*isWrite=*/false);
  arena.advance();
  for (OpResult result : branch.getResults())
    setPlace(result, placeFor(result));
  if (failed(placeBranch(branch, branch.getBody().front(), node.body)) ||
      failed(placeBranch(branch, branch.getOtherwise().front(), node.otherwise)))
    return failure();
  into.push_back(std::move(node));
  return success();
}

LogicalResult Placement::placeBranch(IfOp branch, Block &block, Nodes &into) {
  arena.enter(/*isLoop=*/false);
  for (auto [argument, operand] : llvm::zip_equal(block.getArguments(), branch.getInputs()))
    setPlace(argument, Place(places.lookup(storageRoot(operand))));
  if (failed(placeBlock(block, into)))
    return failure();
  for (auto [v, result] :
       llvm::zip_equal(block.getTerminator()->getOperands(), branch.getResults()))
    copy(branch.getLoc(), tensorOf(v), tensorOf(result), into);
  placed.insert(block.getTerminator());
  arena.leave();
  return success();
}

// Scan --------------------------------------------------------------------------------------------

LogicalResult Placement::placeScan(ScanOp scan, Nodes &into) {
  placeArguments(scan);
  for (auto [initial, carried] : llvm::zip_equal(scan.getInitial(), scan.getCarried()))
    copy(scan.getLoc(), tensorOf(initial), tensorOf(carried), into);
  PlacedNode node(scan, scan.getLoc());
  arena.enter(/*isLoop=*/true);
  if (scan.mayEndEarly()) {
    node.reads.push_back(tensorOf(scan.getCarried()[scan.getCondition()]));
    touch(node.reads.back(), /*isWrite=*/false);
  }
  for (auto [v, stack] : llvm::zip_equal(scan.getYieldedSteps(), scan.getStackResults()))
    if (isa<BlockArgument>(storageRoot(v))) {
      RankedTensorType type = stepType(stack.getType());
      copy(scan.getLoc(), tensorOf(v), {stepOf(places.lookup(stack), type, scan), type}, node.body);
    }
  if (failed(placeBlock(scan.getBlock(), node.body)))
    return failure();
  copyYielded(scan, node.body);
  placed.insert(scan.getBlock().getTerminator());
  arena.leave();
  into.push_back(std::move(node));
  return success();
}

/// Places carried values at the destination of the last one, or over the initial one if that dies.
void Placement::placeArguments(ScanOp scan) {
  for (auto [i, initial] : llvm::enumerate(scan.getInitial())) {
    OpResult last = scan->getResult(i);
    Value root = storageRoot(initial);
    Place first = places.lookup(root);
    bool stays =
        first.region >= 0 && first.strides.empty() && !outputs.contains(last) && diesAt(root, scan);
    setPlace(last, stays ? first : placeFor(last));
    setPlace(scan.getCarried()[i], Place(places.lookup(last)));
  }
  for (OpResult stack : scan.getStackResults())
    setPlace(stack, placeFor(stack));
  for (auto [step, stack] : llvm::zip_equal(scan.getSteps(), scan.getStacks()))
    setPlace(step, stepOf(places.lookup(storageRoot(stack)), cast<RankedTensorType>(step.getType()),
                          scan));
  for (auto [argument, value] : llvm::zip_equal(scan.getInvariantArguments(), scan.getInvariants()))
    setPlace(argument, Place(places.lookup(storageRoot(value))));
}

/// The place of a scan's first step in a stack: the stack's begin, or its last step if reversed.
Place Placement::stepOf(const Place &stack, RankedTensorType step, ScanOp scan) const {
  int64_t bytes = bytesOf(step), depth = 0;
  for (auto outer = scan->getParentOfType<ScanOp>(); outer;
       outer = outer->getParentOfType<ScanOp>())
    ++depth;
  Place place = stack;
  place.strides.resize(depth);
  place.strides.push_back(scan.getReverse() ? -bytes : bytes);
  if (scan.getReverse())
    place.offset += std::max<int64_t>(scan.getTrips() - 1, 0) * bytes;
  return place;
}

/// Copies yielded values to their destinations. If a carried value moves to another one, it is read
/// before the other one is overwritten.
void Placement::copyYielded(ScanOp scan, Nodes &into) {
  unsigned carried = scan.getCarriedCount();
  for (auto [i, v] : llvm::enumerate(scan.getYieldedSteps())) {
    RankedTensorType type = stepType(scan.getStackResults()[i].getType());
    if (!isa<BlockArgument>(storageRoot(v)))
      copy(scan.getLoc(), tensorOf(v),
           {stepOf(places.lookup(scan.getStackResults()[i]), type, scan), type}, into);
  }
  SmallVector<PlacedTensor> next;
  for (auto [i, v] : llvm::enumerate(scan.getNextCarried())) {
    next.push_back(tensorOf(v));
    bool isAnother = llvm::is_contained(scan.getCarried(), storageRoot(v)) &&
                     storageRoot(v) != scan.getCarried()[i];
    if (!isAnother || carried < 2)
      continue;
    PlacedTensor aside{newRegion(bytesOf(next.back().type)), next.back().type};
    copy(scan.getLoc(), next.back(), aside, into);
    next.back() = aside;
  }
  for (auto [from, to] : llvm::zip_equal(next, scan.getCarried()))
    copy(scan.getLoc(), from, tensorOf(to), into);
}

// Places ------------------------------------------------------------------------------------------

void Placement::copy(Location location, PlacedTensor from, PlacedTensor to, Nodes &into) {
  if (from.place == to.place)
    return;
  to.type = from.type;
  touch(from, /*isWrite=*/false);
  touch(to, /*isWrite=*/true);
  arena.advance();
  PlacedNode &node = into.emplace_back(nullptr, location);
  node.reads = {from};
  node.writes = {to};
}

void Placement::touch(const PlacedTensor &tensor, bool isWrite) {
  if (tensor.place.region >= 0)
    arena.touch(tensor.place.region, isWrite, !tensor.place.strides.empty());
}

Place Placement::newRegion(int64_t bytes) {
  Place place;
  place.region = arena.add(bytes);
  inRegion.emplace_back();
  return place;
}

void Placement::setPlace(Value value, const Place &place) {
  places[value] = place;
  if (place.region >= 0)
    inRegion[place.region].push_back(value);
}

PlacedTensor Placement::tensorOf(Value value) const {
  return {places.lookup(storageRoot(value)), cast<RankedTensorType>(value.getType())};
}

SliceAttr Placement::sliceOf(const PlacedTensor &tensor) const {
  const Place &place = tensor.place;
  int64_t base = place.region >= 0 ? arena.offsetOf(place.region) : 0;
  return SliceAttr::get(symbols.getOp()->getContext(), place.space, place.index,
                        base + place.offset, place.strides, place.buffer, tensor.type);
}
