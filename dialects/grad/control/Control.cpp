// Ops with regions: evaluation, and verification of their regions.
#include "dialects/grad/control/Control.h"

#include "dialects/grad/Build.h"
#include "dialects/grad/Evaluate.h"

using namespace mlir;
using namespace mlir::grad;

RankedTensorType grad::stepType(Type stack) {
  auto type = cast<RankedTensorType>(stack);
  return type.clone(type.getShape().drop_front());
}

RankedTensorType grad::stackType(Type step, int64_t trips) {
  auto type = cast<RankedTensorType>(step);
  SmallVector<int64_t> shape{trips};
  llvm::append_range(shape, type.getShape());
  return type.clone(shape);
}

/// Flops of `times` executions, or the largest number: loops in loops that only a condition ends
/// may have any number of steps.
static int64_t flopsOf(Block &block, uint64_t times = 1) {
  uint64_t flops = 0;
  for (Operation &op : block)
    if (auto cost = dyn_cast<CostOpInterface>(op))
      flops = llvm::SaturatingMultiplyAdd<uint64_t>(times, uint64_t(cost.getFlops()), flops);
  return int64_t(std::min<uint64_t>(flops, std::numeric_limits<int64_t>::max()));
}

/// The role of an operand with these arguments: constant if any reader treats it so, else
/// parameter.
static OperandRole roleOf(ArrayRef<BlockArgument> arguments) {
  for (BlockArgument argument : arguments)
    for (OpOperand &use : argument.getUses())
      if (auto roles = dyn_cast<OperandRoleOpInterface>(use.getOwner());
          roles && roles.getOperandRole(use.getOperandNumber()) == OperandRole::constant)
        return OperandRole::constant;
  return OperandRole::parameter;
}

static LogicalResult verifyTypes(Operation *op, const Twine &what, TypeRange found,
                                 ArrayRef<Type> expected) {
  if (llvm::equal(found, expected))
    return success();
  auto error = op->emitOpError("expected ") << what << " of (";
  llvm::interleaveComma(expected, error);
  error << "), found (";
  llvm::interleaveComma(found, error);
  return error << ")";
}

// If ----------------------------------------------------------------------------------------------

LogicalResult IfOp::verifyRegions() {
  for (Region *region : getRegions()) {
    StringRef name = region == &getBody() ? "body" : "else";
    Block &block = region->front();
    if (failed(verifyTypes(*this, name + " to take arguments", block.getArgumentTypes(),
                           llvm::to_vector(getInputs().getTypes()))) ||
        failed(verifyTypes(*this, name + " to yield values",
                           block.getTerminator()->getOperandTypes(),
                           llvm::to_vector(getResultTypes()))))
      return failure();
  }
  return success();
}

void IfOp::evaluate(ArrayRef<HostTensor> operands, MutableArrayRef<HostTensor> results) {
  Region &taken = operands.front().getInt(0) ? getBody() : getOtherwise();
  llvm::copy(evaluateBlock(taken.front(), operands.drop_front()), results.begin());
}

int64_t IfOp::getFlops() {
  return std::max(flopsOf(getBody().front()), flopsOf(getOtherwise().front()));
}

OperandRole IfOp::getOperandRole(unsigned operand) {
  if (operand == 0)
    return OperandRole::constant;
  return roleOf({getBody().getArgument(operand - 1), getOtherwise().getArgument(operand - 1)});
}

// Scan --------------------------------------------------------------------------------------------

static LogicalResult verifyCondition(ScanOp scan) {
  if (!scan.mayEndEarly())
    return success();
  uint64_t number = scan.getCondition();
  auto type = number < scan.getCarriedCount() ? scan.getInitial()[number].getType() : Type();
  if (type != RankedTensorType::get({}, IntegerType::get(scan.getContext(), 1)))
    return scan.emitOpError("expected a condition that is a carried bool, found number ") << number;
  if (!scan.getStacks().empty() || !scan.getStackResults().empty())
    return scan.emitOpError("expected no stacks beside a condition");
  return success();
}

LogicalResult ScanOp::verifyRegions() {
  int64_t trips = getTrips();
  if (trips < 0)
    return emitOpError("expected 0 or more trips, found ") << trips;
  auto isStack = [&](Type type) {
    auto tensor = cast<RankedTensorType>(type);
    return tensor.getRank() > 0 && tensor.getDimSize(0) == trips;
  };
  SmallVector<Type> arguments(getInitial().getTypes());
  for (Type type : getStacks().getTypes()) {
    if (!isStack(type))
      return emitOpError("expected stacks of ") << trips << " steps, found " << type;
    arguments.push_back(stepType(type));
  }
  llvm::append_range(arguments, getInvariants().getTypes());
  if (failed(
          verifyTypes(*this, "a body to take arguments", getBlock().getArgumentTypes(), arguments)))
    return failure();
  SmallVector<Type> results(getInitial().getTypes());
  TypeRange yielded = getYielded().getTypes();
  for (Type type : yielded.drop_front(std::min(yielded.size(), results.size())))
    results.push_back(stackType(type, trips));
  if (failed(verifyTypes(*this, "results for what its body yields", getResultTypes(), results)))
    return failure();
  if (failed(verifyTypes(*this, "a body to yield carried values",
                         yielded.take_front(std::min<size_t>(yielded.size(), getCarriedCount())),
                         llvm::to_vector(getInitial().getTypes()))))
    return failure();
  if (int64_t saved = getSaved(); saved < 0 || saved > int64_t(getStackResults().size()))
    return emitOpError("expected 0 to ")
           << getStackResults().size() << " saved results, found " << saved;
  return verifyCondition(*this);
}

void ScanOp::evaluate(ArrayRef<HostTensor> operands, MutableArrayRef<HostTensor> results) {
  size_t carriedCount = getCarriedCount(), stackCount = getStacks().size();
  SmallVector<HostTensor> carried(operands.take_front(carriedCount));
  auto stepOf = [](const HostTensor &stack, int64_t i) {
    RankedTensorType type = stepType(stack.getType());
    size_t bytes = bytesOf(type);
    return HostTensor(type, stack.bytes().slice(i * bytes, bytes));
  };
  int64_t trips = getTrips();
  bool hasStacks = stackCount > 0 || results.size() > carriedCount;
  for (int64_t n = 0; n < trips; ++n) {
    if (mayEndEarly() && !carried[getCondition()].getInt(0))
      break;
    int64_t i = getReverse() ? trips - 1 - n : n;
    SmallVector<HostTensor> arguments(carried);
    for (const HostTensor &stack : operands.slice(carriedCount, stackCount))
      arguments.push_back(stepOf(stack, i));
    llvm::append_range(arguments, operands.drop_front(carriedCount + stackCount));
    SmallVector<HostTensor> yielded = evaluateBlock(getBlock(), arguments);
    ArrayRef<HostTensor> next = ArrayRef(yielded).take_front(carriedCount);
    bool changes = !llvm::equal(carried, next, [](const HostTensor &a, const HostTensor &b) {
      return a.bytes() == b.bytes();
    });
    // Without stacks, the steps after one that changes nothing change nothing either.
    if (!changes && !hasStacks)
      break;
    carried.assign(next.begin(), next.end());
    for (auto [stack, step] : llvm::zip_equal(results.drop_front(carriedCount),
                                              ArrayRef(yielded).drop_front(carriedCount)))
      llvm::copy(step.bytes(), stack.mutableBytes().begin() + i * step.bytes().size());
  }
  llvm::copy(carried, results.begin());
}

std::optional<bool> grad::firstCondition(ScanOp scan) {
  if (!scan.mayEndEarly())
    return true;
  DenseElementsAttr first = splatOf(scan.getInitial()[scan.getCondition()]);
  return first ? std::optional(first.getSplatValue<bool>()) : std::nullopt;
}

int64_t ScanOp::getFlops() { return flopsOf(getBlock(), getTrips()); }

OperandRole ScanOp::getOperandRole(unsigned operand) {
  return roleOf({getBlock().getArgument(operand)});
}

// Building ----------------------------------------------------------------------------------------

ScanOp grad::buildScan(OpBuilder &b, Location loc, int64_t trips, bool reverse,
                       const ScanOperands &operands, std::unique_ptr<Block> body,
                       ValueRange yielded) {
  SmallVector<Type> types(ValueRange(operands.initial).getTypes());
  for (Type type : yielded.drop_front(operands.initial.size()).getTypes())
    types.push_back(stackType(type, trips));
  OpBuilder inside(b.getContext());
  inside.setInsertionPointToEnd(body.get());
  YieldOp::create(inside, loc, yielded);
  auto scan = ScanOp::create(b, loc, types, trips, operands.initial, operands.stacks,
                             operands.invariants, reverse, /*saved=*/0);
  scan.getBody().push_back(body.release());
  return scan;
}

ScanOp grad::buildScan(
    OpBuilder &b, Location loc, int64_t trips, bool reverse, const ScanOperands &operands,
    llvm::function_ref<SmallVector<Value>(OpBuilder &, Block::BlockArgListType)> build) {
  auto body = std::make_unique<Block>();
  for (Value v : operands.initial)
    body->addArgument(v.getType(), v.getLoc());
  for (Value v : operands.stacks)
    body->addArgument(stepType(v.getType()), v.getLoc());
  for (Value v : operands.invariants)
    body->addArgument(v.getType(), v.getLoc());
  OpBuilder inside(b.getContext());
  inside.setInsertionPointToEnd(body.get());
  SmallVector<Value> yielded;
  buildRegion(b, *body, [&] { yielded = build(inside, body->getArguments()); });
  return buildScan(b, loc, trips, reverse, operands, std::move(body), yielded);
}

Value grad::passInto(Block &block, Value value) {
  Operation *op = block.getParentOp();
  if (value.getParentBlock() == &block || isa<func::FuncOp>(op))
    return value;
  value = passInto(*op->getBlock(), value);
  if (auto scan = dyn_cast<ScanOp>(op)) {
    scan.getInvariantsMutable().append(value);
    return block.addArgument(value.getType(), value.getLoc());
  }
  auto branch = cast<IfOp>(op);
  branch.getInputsMutable().append(value);
  Value passed;
  for (Region *region : branch.getRegions()) {
    BlockArgument argument = region->front().addArgument(value.getType(), value.getLoc());
    if (&region->front() == &block)
      passed = argument;
  }
  return passed;
}

DenseElementsAttr grad::splatOf(Value value) {
  DenseElementsAttr dense;
  return matchPattern(value, m_Constant(&dense)) && dense.isSplat() ? dense : DenseElementsAttr();
}

Value grad::constantIn(PatternRewriter &rewriter, Block &block, Location loc,
                       DenseElementsAttr value, RankedTensorType type) {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointToStart(&block);
  return ConstantOp::create(rewriter, loc, value.resizeSplat(type));
}
