// Reads and writes the attributes of arguments and results.
#include "passes/entry/Ports.h"

using namespace mlir;

static StringRef textOf(StringAttr attribute) {
  return attribute ? attribute.getValue() : StringRef();
}

static DictionaryAttr attributesOf(Builder b, StringRef name, StringRef role) {
  return b.getDictionaryAttr({b.getNamedAttr(grad::portName, b.getStringAttr(name)),
                              b.getNamedAttr(grad::roleName, b.getStringAttr(role))});
}

StringRef gradc::roleOfArgument(func::FuncOp function, unsigned index) {
  return textOf(function.getArgAttrOfType<StringAttr>(index, grad::roleName));
}

StringRef gradc::roleOfResult(func::FuncOp function, unsigned index) {
  return textOf(function.getResultAttrOfType<StringAttr>(index, grad::roleName));
}

Value gradc::argumentOfRole(func::FuncOp function, StringRef role) {
  for (BlockArgument argument : function.getArguments())
    if (roleOfArgument(function, argument.getArgNumber()) == role)
      return argument;
  return {};
}

SmallVector<Value> gradc::resultsOfRole(func::FuncOp function, StringRef role) {
  SmallVector<Value> found;
  for (auto [i, value] : llvm::enumerate(function.front().getTerminator()->getOperands()))
    if (roleOfResult(function, unsigned(i)) == role)
      found.push_back(value);
  return found;
}

Value gradc::resultOfRole(func::FuncOp function, gradc_role role) {
  SmallVector<Value> found = resultsOfRole(function, gradc_role_name(role));
  return found.empty() ? Value() : found.front();
}

Value gradc::addArgument(func::FuncOp function, Type type, StringRef name, StringRef role) {
  unsigned index = function.getNumArguments();
  (void)function.insertArgument(
      index, type, attributesOf(Builder(function.getContext()), name, role), function.getLoc());
  return function.getArgument(index);
}

void gradc::addResult(func::FuncOp function, Value value, StringRef name, StringRef role) {
  Operation *exit = function.front().getTerminator();
  (void)function.insertResult(function.getNumResults(), value.getType(),
                              attributesOf(Builder(function.getContext()), name, role));
  exit->insertOperands(exit->getNumOperands(), value);
}

void gradc::eraseResults(func::FuncOp function, StringRef role) {
  Operation *exit = function.front().getTerminator();
  for (unsigned i = exit->getNumOperands(); i-- > 0;)
    if (roleOfResult(function, i) == role) {
      exit->eraseOperand(i);
      (void)function.eraseResult(i);
    }
}
