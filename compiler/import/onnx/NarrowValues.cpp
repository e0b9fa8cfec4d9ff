// The values of an entry that hold codes of a narrow type, and the ops that take them.
#include "dialects/Pch.h"

#include "compiler/import/onnx/ImportGraph.h"
#include "compiler/import/onnx/Text.h"
#include "compiler/import/onnx/model/Narrow.h"
#include "dialects/grad/Movement.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

void gradc::takeNarrow(OpTable &ops, TakesNarrow how, ArrayRef<StringRef> names) {
  for (StringRef name : names) {
    assert(ops.contains(name));
    ops[name].narrow = how;
  }
}

std::string gradc::describeNarrow(RankedTensorType type, const NarrowType *narrow) {
  std::string text = describe(type);
  return narrow ? dataTypeName(narrow->number) + text.substr(text.find(' ')) : text;
}

std::string EntryImport::describeValue(Value value) const {
  auto type = cast<RankedTensorType>(value.getType());
  return isText(value) ? describeText(type) : describeNarrow(type, findNarrow(value));
}

/// After the import, codes look like numbers of type u8, so the importer must tell them apart.
LogicalResult EntryImport::expectNarrow(Node &node, const OnnxOp &op) {
  std::optional<unsigned> first;
  for (unsigned i = 0; i < node.operandCount(); ++i) {
    if (node.narrow(i) && op.narrow == TakesNarrow::no)
      return node.error() << "cannot take narrow types, found " << node.describeOperand(i)
                          << "; cast it, or dequantize it, before";
    if (op.narrow != TakesNarrow::moved || !node.operand(i) ||
        !node.element(i).isUnsignedInteger(8))
      continue;
    if (first && failed(node.expectSameElement(*first, i)))
      return failure();
    first = first.value_or(i);
  }
  return success();
}

void EntryImport::followNarrow(Node &node) {
  for (unsigned i = 0; i < node.operandCount(); ++i)
    if (const NarrowType *narrow = node.narrow(i)) {
      for (Value result : node.getResults())
        if (result && findNarrow(result) != narrow) // not an operand itself
          markNarrow(result, narrow);
      return;
    }
}

Value EntryImport::roundedTo(Value codes) {
  if (Value rounded = narrows.lookup(codes).rounded)
    return rounded;
  Operation *op = codes.getDefiningOp();
  if (!op || !movesElements(op))
    return nullptr;
  Value rounded = roundedTo(op->getOperand(0));
  if (!rounded)
    return nullptr;
  IRMapping floats;
  floats.map(op->getOperand(0), rounded);
  Value moved = builder.clone(*op, floats)->getResult(0);
  moved.setType(cast<RankedTensorType>(codes.getType()).clone(getElementTypeOrSelf(rounded)));
  return moved;
}
