// Inputs with given values, which nodes may need at compile time.
#include "dialects/Pch.h"

#include "compiler/import/onnx/ImportGraph.h"
#include "dialects/grad/EntryAttributes.h"
#include "dialects/grad/control/Control.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

StringRef EntryImport::argumentAttribute(BlockArgument argument, StringRef attribute) const {
  return cast<StringAttr>(argumentAttributes[argument.getArgNumber()].get(attribute));
}

const HostTensor *EntryImport::givenValue(BlockArgument argument) const {
  // A seed may have the same name as a graph input.
  if (argumentAttribute(argument, roleName) != gradc_role_name(GRADC_ROLE_DATA))
    return nullptr;
  auto given = options.inputs.find(argumentAttribute(argument, portName).str());
  bool fits = given != options.inputs.end() && given->second.getType() == argument.getType();
  return fits ? &given->second : nullptr;
}

/// Names an op: CountOp's result is known without its operand.
static bool readsTypesOnly(Operation *op) { return isa<CountOp>(op); }

static uint64_t elementsOf(TypeRange types) {
  uint64_t count = 0;
  for (Type type : types)
    count += uint64_t(cast<RankedTensorType>(type).getNumElements());
  return count;
}

/// The work of evaluating an op, in the unit of `maxWork`; of a branch, that of the longer region.
static uint64_t workOf(Operation *op) {
  uint64_t work = elementsOf(op->getResultTypes());
  if (!readsTypesOnly(op))
    work += elementsOf(op->getOperandTypes());
  if (op->getNumRegions() == 0) {
    auto cost = dyn_cast<CostOpInterface>(op);
    if (cost && work <= maxWork) // flops of larger tensors may overflow
      work += uint64_t(cost.getFlops());
    return work + workPerOp;
  }
  uint64_t longest = 0;
  for (Region &region : op->getRegions()) {
    uint64_t inRegion = 0;
    for (Operation &inner : region.front())
      inRegion = llvm::SaturatingAdd(inRegion, workOf(&inner));
    longest = std::max(longest, inRegion);
  }
  auto loop = dyn_cast<ScanOp>(op);
  return llvm::SaturatingMultiplyAdd<uint64_t>(loop ? loop.getTrips() : 1, longest,
                                               work + workPerOp);
}

std::optional<HostTensor> EntryImport::known(Value value, bool mayBind) {
  isWorkSpent = false;
  auto isTooLarge = [](Value v) {
    return cast<RankedTensorType>(v.getType()).getNumElements() > mostKnown;
  };
  if (isTooLarge(value))
    return std::nullopt;
  if (ElementsAttr attribute = states.known(value))
    return HostTensor(attribute);
  // Shape arithmetic is short; a long path back to an input is the network itself.
  constexpr size_t maxOps = 256;
  llvm::SetVector<Value> needed;
  llvm::DenseMap<Value, HostTensor> values;
  SmallVector<BlockArgument> read;
  SmallVector<Operation *> ops;
  needed.insert(value);
  for (size_t i = 0; i < needed.size(); ++i) {
    Value v = needed[i];
    if (isTooLarge(v))
      return std::nullopt;
    if (ElementsAttr attribute = states.known(v)) {
      values[v] = HostTensor(attribute);
    } else if (auto found = evaluated.find(v); found != evaluated.end()) {
      values[v] = found->second;
    } else if (Value captured = outside.lookup(v)) {
      std::optional<HostTensor> value = known(captured, mayBind);
      if (!value)
        return std::nullopt;
      values[v] = std::move(*value);
    } else if (auto argument = dyn_cast<BlockArgument>(v)) {
      if (argument.getOwner() != &function.front())
        return std::nullopt;
      const HostTensor *given = mayBind ? givenValue(argument) : nullptr;
      if (!given)
        return std::nullopt;
      values[v] = *given;
      read.push_back(argument);
    } else {
      Operation *op = v.getDefiningOp();
      if (!isa<EvaluateOpInterface>(op) || ops.size() == maxOps)
        return std::nullopt;
      if (!llvm::is_contained(ops, op))
        ops.push_back(op);
      if (!readsTypesOnly(op))
        needed.insert(op->operand_begin(), op->operand_end());
    }
  }
  uint64_t work = 0;
  for (Operation *op : ops)
    work = llvm::SaturatingAdd(work, workOf(op));
  isWorkSpent = work > workLeft;
  if (isWorkSpent)
    return std::nullopt;
  workLeft -= work;
  llvm::sort(ops, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  for (Operation *op : ops) {
    auto operands =
        llvm::map_to_vector(op->getOperands(), [&](Value v) { return values.lookup(v); });
    for (auto [result, known] : llvm::zip(op->getResults(), evaluateOp(op, operands))) {
      if (op->getNumRegions() > 0 && op->getBlock() == &function.front())
        evaluated[result] = known;
      values[result] = std::move(known);
    }
    foldedNodes.insert(nodeName(op->getLoc()));
  }
  for (BlockArgument argument : read)
    boundInputs.insert(argumentAttribute(argument, portName).str());
  return values.at(value);
}

/// A value read at compile time becomes a constant everywhere: another value would contradict the
/// code.
void EntryImport::bindArguments() {
  Block &body = function.getBody().front();
  builder.setInsertionPointToStart(&body);
  for (unsigned i = body.getNumArguments(); i-- > 0;) {
    BlockArgument argument = body.getArgument(i);
    if (!boundInputs.count(argumentAttribute(argument, portName).str()))
      continue;
    argument.replaceAllUsesWith(constant(builder, argument.getLoc(), *givenValue(argument)));
    body.eraseArgument(i);
    argumentAttributes.erase(argumentAttributes.begin() + i);
  }
}
