// Ports keep the function's attributes on arguments and results, without the prefix `grad.`.
#include "passes/entry/PlannedEntry.h"

#include "passes/entry/Ports.h"

using namespace mlir;
using namespace gradc;
using exec::SliceAttr;

/// Name, type, role, field and so on.
static DictionaryAttr port(Type type, DictionaryAttr attributes, SliceAttr slice) {
  NamedAttrList list;
  list.set("type", TypeAttr::get(type));
  if (slice)
    list.set("slice", slice);
  if (attributes)
    for (NamedAttribute a : attributes)
      if (StringRef name = a.getName(); name.consume_front("grad."))
        list.set(name, a.getValue());
  return list.getDictionary(type.getContext());
}

exec::EntryOp gradc::createEntry(OpBuilder &builder, func::FuncOp function, int64_t arena,
                                 ArrayRef<SliceAttr> slices) {
  SmallVector<Attribute> inputs, outputs;
  for (auto [i, type] : llvm::enumerate(function.getArgumentTypes()))
    inputs.push_back(port(type, function.getArgAttrDict(unsigned(i)), nullptr));
  for (auto [i, type] : llvm::enumerate(function.getResultTypes()))
    outputs.push_back(port(type, function.getResultAttrDict(unsigned(i)),
                           slices.empty() ? SliceAttr() : slices[i]));
  auto entry = exec::EntryOp::create(builder, function.getLoc(), function.getSymName(), arena,
                                     builder.getArrayAttr(inputs), builder.getArrayAttr(outputs),
                                     /*eachRow=*/nullptr);
  if (std::optional<int64_t> batch = batchOf(function))
    entry->setAttr("batch", builder.getI64IntegerAttr(*batch * rowUnitOf(function)));
  if (int64_t unit = rowUnitOf(function); unit > 1)
    entry->setAttr("row_unit", builder.getI64IntegerAttr(unit));
  if (function->hasAttr(grad::rowsName))
    entry->setAttr("any_rows", builder.getUnitAttr());
  for (StringRef name : {"least_rows", "least_rows_node", "coupling_node"})
    if (auto value = function->getAttr(("grad." + name).str()))
      entry->setAttr(name, value);
  builder.createBlock(&entry.getBody());
  return entry;
}
