// Imports the model, which determines the type of each value.
#include "tools/gradc/init/OutputShape.h"

#include "compiler/import/Import.h"
#include "dialects/grad/EntryAttributes.h"
#include "runtime/include/gradc/entries.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"

#include <algorithm>

namespace gradc {

std::optional<std::vector<int64_t>>
inferOutput(mlir::MLIRContext &context, const DraftModel &model,
            const std::map<std::string, std::vector<int64_t>> &rows) {
  // No usual extent: it shows which dim of the output is the batch.
  constexpr int64_t openBatch = 3;
  int64_t batch = openBatch;
  ImportOptions options;
  for (const DraftPort &port : model.inputs) {
    auto known = rows.find(port.name);
    std::vector<int64_t> shape = known == rows.end() ? port.shape : known->second;
    if (port.isLoss || std::ranges::any_of(shape, [](int64_t dim) { return dim < 0; }))
      return std::nullopt;
    if (port.batch > 0)
      batch = port.batch;
    options.shapes[port.name] = std::move(shape);
  }
  for (auto &[name, shape] : options.shapes)
    shape.insert(shape.begin(), batch);

  // What keeps a model from being imported is what `gradc check` is for.
  mlir::ScopedDiagnosticHandler silent(&context,
                                       [](mlir::Diagnostic &) { return mlir::success(); });
  auto imported = importModel(context, model.path, options);
  if (failed(imported))
    return std::nullopt;
  auto forward = imported->module->lookupSymbol<mlir::func::FuncOp>(GRADC_FORWARD_ENTRY);
  for (unsigned i = 0; forward && i < forward.getNumResults(); ++i) {
    auto name = forward.getResultAttrOfType<mlir::StringAttr>(i, mlir::grad::portName);
    auto type = mlir::dyn_cast<mlir::RankedTensorType>(forward.getResultTypes()[i]);
    if (name && name.getValue() == model.output.name && type && type.getRank() > 0 &&
        type.getDimSize(0) == batch)
      return std::vector<int64_t>(type.getShape().begin() + 1, type.getShape().end());
  }
  return std::nullopt;
}

} // namespace gradc
