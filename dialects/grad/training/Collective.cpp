// Ops that ranks compute together. A single process evaluates them as one rank.
#include "dialects/grad/Build.h"

using namespace mlir;
using namespace mlir::grad;

/// Verifies that the operands have one element type, and one that ranks can sum.
static LogicalResult verifyValues(Operation *op, bool bf16) {
  if (op->getNumOperands() == 0)
    return op->emitOpError("expected an operand, found none");
  Type element = getElementTypeOrSelf(op->getOperand(0));
  if (!element.isF32() && !element.isF64() && !element.isSignlessInteger(32) &&
      !element.isSignlessInteger(64))
    return op->emitOpError("expected f32, f64, i32 or i64, found ") << element;
  for (Value operand : op->getOperands())
    if (getElementTypeOrSelf(operand) != element)
      return op->emitOpError("expected operands of one element type, found ")
             << element << " and " << getElementTypeOrSelf(operand);
  if (bf16 && !element.isF32())
    return op->emitOpError("expected f32 to travel as bf16, found ") << element;
  return success();
}

/// One op with the operands of all ops and the attributes of the first. If the op has `states`,
/// they are concatenated.
static Operation *joined(OpBuilder &b, Location location, ArrayRef<Operation *> all) {
  OperationState state(location, all.front()->getName());
  SmallVector<Attribute> states;
  NamedAttrList attributes(all.front()->getAttrDictionary());
  for (Operation *op : all) {
    state.addOperands(op->getOperands());
    state.addTypes(op->getResultTypes());
    for (FlatSymbolRefAttr cut : cast<CollectiveOpInterface>(op).getCutStates())
      states.push_back(cut);
  }
  if (!states.empty())
    attributes.set("states", b.getArrayAttr(states));
  state.addAttributes(attributes);
  return b.create(state);
}

/// The parts that all of them share: the results of a single rank are its operands.
#define COLLECTIVE(OP)                                                                             \
  LogicalResult OP::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,      \
                                     SmallVectorImpl<Type> &types) {                               \
    llvm::append_range(types, adaptor.getOperands().getTypes());                                   \
    return success();                                                                              \
  }                                                                                                \
  void OP::evaluate(ArrayRef<HostTensor> operands, MutableArrayRef<HostTensor> results) {          \
    llvm::copy(operands, results.begin());                                                         \
  }                                                                                                \
  int64_t OP::getFlops() { return 0; }                                                             \
  Operation *OP::join(OpBuilder &b, Location location, ArrayRef<Operation *> all) {                \
    return joined(b, location, all);                                                               \
  }

COLLECTIVE(AllReduceOp)
COLLECTIVE(ReduceScatterOp)
COLLECTIVE(AllGatherOp)
COLLECTIVE(SumShardsOp)
#undef COLLECTIVE

LogicalResult AllReduceOp::verify() { return verifyValues(*this, getBf16()); }
CollectiveKind AllReduceOp::getCollectiveKind() { return CollectiveKind::sum; }
bool AllReduceOp::travelsNarrow() { return getBf16(); }

// dx = sum of g over ranks
LogicalResult AllReduceOp::buildGradient(OpBuilder &b, ValueRange resultGradients,
                                         SmallVectorImpl<Value> &operandGradients) {
  SmallVector<Value> arrived;
  for (Value g : resultGradients)
    if (g)
      arrived.push_back(g);
  auto sums = create(b, getLoc(), arrived, /*bf16=*/false);
  unsigned next = 0;
  for (auto [i, g] : llvm::enumerate(resultGradients))
    if (g)
      operandGradients[i] = sums.getResult(next++);
  return success();
}

// Values that belong to ranks ---------------------------------------------------------------------

static LogicalResult verifyCut(Operation *op, ArrayAttr states, bool bf16) {
  if (failed(verifyValues(op, bf16)))
    return failure();
  if (states.size() != op->getNumOperands())
    return op->emitOpError("expected a state for each of ")
           << op->getNumOperands() << " operands, found " << states.size();
  return success();
}

#define CUT_COLLECTIVE(OP, KIND, NARROW)                                                           \
  LogicalResult OP::verify() { return verifyCut(*this, getStates(), NARROW); }                     \
  LogicalResult OP::buildGradient(OpBuilder &, ValueRange, SmallVectorImpl<Value> &) {             \
    return failure();                                                                              \
  }                                                                                                \
  CollectiveKind OP::getCollectiveKind() { return CollectiveKind::KIND; }                          \
  SmallVector<FlatSymbolRefAttr> OP::getCutStates() {                                              \
    return llvm::to_vector(getStates().getAsRange<FlatSymbolRefAttr>());                           \
  }

CUT_COLLECTIVE(ReduceScatterOp, scatter, getBf16())
CUT_COLLECTIVE(AllGatherOp, gather, false)
#undef CUT_COLLECTIVE

bool ReduceScatterOp::travelsNarrow() { return getBf16(); }

// Values that ranks compute from their shards -----------------------------------------------------

LogicalResult SumShardsOp::verify() { return verifyValues(*this, /*bf16=*/false); }
CollectiveKind SumShardsOp::getCollectiveKind() { return CollectiveKind::sum; }
bool SumShardsOp::holdsRows() { return true; }

// dx = fan_out g
LogicalResult SumShardsOp::buildGradient(OpBuilder &b, ValueRange resultGradients,
                                         SmallVectorImpl<Value> &operandGradients) {
  for (auto [g, operandGradient] : llvm::zip_equal(resultGradients, operandGradients))
    if (g)
      operandGradient = FanOutOp::create(b, getLoc(), g.getType(), g);
  return success();
}

bool SumShardsOp::canPermute(ArrayRef<int64_t>) { return getNumOperands() == 1; }
Operation *SumShardsOp::buildPermuted(OpBuilder &b, ValueRange operands, ArrayRef<int64_t>) {
  return create(b, getLoc(), operands);
}

void FanOutOp::evaluate(ArrayRef<HostTensor> operands, MutableArrayRef<HostTensor> results) {
  results[0] = operands[0];
}
int64_t FanOutOp::getFlops() { return 0; }
SmallVector<Value> FanOutOp::decompose(OpBuilder &) { return {getOperand()}; }

// dx = sum_shards g, in at least f32
LogicalResult FanOutOp::buildGradient(OpBuilder &b, ValueRange resultGradients,
                                      SmallVectorImpl<Value> &operandGradients) {
  Expr g(b, getLoc(), resultGradients[0]);
  Expr sum = g.with(SumShardsOp::create(b, getLoc(), g.wide().get()).getResult(0));
  operandGradients[0] = sum.cast(g.element());
  return success();
}

Operation *FanOutOp::buildPermuted(OpBuilder &b, ValueRange operands, ArrayRef<int64_t>) {
  return create(b, getLoc(), operands[0].getType(), operands[0]);
}
