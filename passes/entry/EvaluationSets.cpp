// Compares the entries of sets with those of the evaluation. All are built from one graph, so they
// compute the same if they take the same batches.
#include "passes/entry/EvaluationSets.h"

#include "passes/entry/Functions.h"
#include "passes/entry/Ports.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

/// An entry's name without "evaluate.": "NAME" or "NAME.tail"; "" if it belongs to no set.
static StringRef nameInSets(func::FuncOp function) {
  StringRef name = function.getSymName();
  bool isEvaluation = name.consume_front(GRADC_EVALUATE_PREFIX);
  StringRef set = name.split('.').first;
  return isEvaluation && !gradc_begins_suffix(set.data(), set.size()) ? name : StringRef();
}

bool gradc::isOfSet(func::FuncOp function) { return !nameInSets(function).empty(); }

/// Whether `other`, which may be null, takes the batches of `entry`.
static bool takesBatchesOf(func::FuncOp entry, func::FuncOp other) {
  if (!other || other.getNumArguments() != entry.getNumArguments() ||
      other.getNumResults() != entry.getNumResults())
    return false;
  std::optional<int64_t> rows = batchOf(entry), most = batchOf(other);
  bool fits = rows && most && (*rows == *most || (other->hasAttr(rowsName) && *rows < *most));
  return fits && llvm::all_of(llvm::seq(entry.getNumArguments()), [&](unsigned i) {
           auto own = cast<ShapedType>(entry.getArgumentTypes()[i]);
           auto theirs = cast<ShapedType>(other.getArgumentTypes()[i]);
           size_t counted = entry.getArgAttr(i, batchedName) ? 1 : 0; // dims, which may differ
           return entry.getArgAttrDict(i) == other.getArgAttrDict(i) &&
                  own.getElementType() == theirs.getElementType() &&
                  own.getRank() == theirs.getRank() &&
                  own.getShape().drop_front(counted) == theirs.getShape().drop_front(counted);
         });
}

SmallVector<func::FuncOp> gradc::servedEntriesOfSets(ModuleOp module) {
  auto find = [&](const Twine &name) {
    return withBody(module.lookupSymbol<func::FuncOp>(name.str()));
  };
  SmallVector<func::FuncOp> served;
  for (func::FuncOp entry : functionsOf(module)) {
    StringRef set = nameInSets(entry), name = entry.getSymName();
    if (set.empty() || set.contains('.')) // a twin is looked at with its entry
      continue;
    auto counterpart = [&](func::FuncOp one) {
      return find(GRADC_EVALUATE_ENTRY + one.getSymName().drop_front(name.size()));
    };
    SmallVector<func::FuncOp> all = {entry};
    for (func::FuncOp twin : functionsOf(module))
      if (twin.getSymName().starts_with((name + GRADC_LENGTH_INFIX).str()))
        all.push_back(twin);
    if (!llvm::all_of(all, [&](func::FuncOp one) { return takesBatchesOf(one, counterpart(one)); }))
      continue;
    llvm::append_range(served, all);
    // The number of rows in the last batch may be another one.
    if (func::FuncOp tail = find(name + GRADC_TAIL_SUFFIX))
      if (counterpart(entry)->hasAttr(rowsName) || takesBatchesOf(tail, counterpart(tail)))
        served.push_back(tail);
  }
  return served;
}
