// Inputs with given values, which nodes may need at compile time.
#include "dialects/Pch.h"

#include "compiler/import/onnx/ImportGraph.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

StringRef EntryImport::argumentAttribute(BlockArgument argument, StringRef attribute) const {
  return cast<StringAttr>(argumentAttributes[argument.getArgNumber()].get(attribute));
}

const HostTensor *EntryImport::givenValue(BlockArgument argument) const {
  // A seed may have the same name as a graph input.
  if (argumentAttribute(argument, "grad.role") != gradc_role_name(GRADC_ROLE_DATA))
    return nullptr;
  auto given = options.inputs.find(argumentAttribute(argument, "grad.name").str());
  bool fits = given != options.inputs.end() && given->second.getType() == argument.getType();
  return fits ? &given->second : nullptr;
}

/// Names an op: CountOp's result is known without its operand.
static bool readsTypesOnly(Operation *op) { return isa<CountOp>(op); }

std::optional<HostTensor> EntryImport::known(Value value) {
  auto isTooLarge = [](Value v) {
    return cast<RankedTensorType>(v.getType()).getNumElements() > mostKnown;
  };
  if (isTooLarge(value))
    return std::nullopt;
  if (ElementsAttr attribute = states.known(value))
    return HostTensor(attribute);
  // Shape arithmetic is short; a long path back to an input is the network itself.
  constexpr size_t maxOps = 256;
  constexpr int64_t maxIterations = 1024; // of a loop that is evaluated
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
    } else if (Value captured = outside.lookup(v)) {
      std::optional<HostTensor> value = known(captured);
      if (!value)
        return std::nullopt;
      values[v] = std::move(*value);
    } else if (auto argument = dyn_cast<BlockArgument>(v)) {
      if (argument.getOwner() != &function.front())
        return std::nullopt;
      const HostTensor *given = givenValue(argument);
      if (!given)
        return std::nullopt;
      values[v] = *given;
      read.push_back(argument);
    } else {
      Operation *op = v.getDefiningOp();
      auto loop = dyn_cast_or_null<ScanOp>(op);
      if (!isa<EvaluateOpInterface>(op) || ops.size() == maxOps ||
          (loop && int64_t(loop.getTrips()) > maxIterations))
        return std::nullopt;
      if (!llvm::is_contained(ops, op))
        ops.push_back(op);
      if (!readsTypesOnly(op))
        needed.insert(op->operand_begin(), op->operand_end());
    }
  }
  llvm::sort(ops, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  for (Operation *op : ops) {
    auto operands =
        llvm::map_to_vector(op->getOperands(), [&](Value v) { return values.lookup(v); });
    for (auto [result, known] : llvm::zip(op->getResults(), evaluateOp(op, operands)))
      values[result] = std::move(known);
    foldedNodes.insert(nodeName(op->getLoc()));
  }
  for (BlockArgument argument : read)
    boundInputs.insert(argumentAttribute(argument, "grad.name").str());
  return values.at(value);
}

/// A value read at compile time becomes a constant everywhere: another value would contradict the
/// code.
void EntryImport::bindArguments() {
  Block &body = function.getBody().front();
  builder.setInsertionPointToStart(&body);
  for (unsigned i = body.getNumArguments(); i-- > 0;) {
    BlockArgument argument = body.getArgument(i);
    if (!boundInputs.count(argumentAttribute(argument, "grad.name").str()))
      continue;
    argument.replaceAllUsesWith(constant(builder, argument.getLoc(), *givenValue(argument)));
    body.eraseArgument(i);
    argumentAttributes.erase(argumentAttributes.begin() + i);
  }
}
