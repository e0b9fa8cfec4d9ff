// The common part of importing a job and a model alone: a model on its way to a module.
#ifndef COMPILER_IMPORT_MODULEIMPORT_H
#define COMPILER_IMPORT_MODULEIMPORT_H

#include "compiler/import/Import.h"
#include "compiler/import/onnx/ImportGraph.h"

namespace gradc {

/// Collects entries; `finish` makes the module of them.
class ModuleImport {
public:
  ModuleImport(const OnnxModel &model, const ImportOptions &options)
      : model(model), options(options), module(mlir::ModuleOp::create(model.fileLoc())),
        states(model, *module) {}

  mlir::LogicalResult importForward(llvm::StringRef name, const ImportOptions &options,
                                    int64_t batch,
                                    llvm::function_ref<std::string(llvm::StringRef)> fieldOf);
  /// The entry for no more rows than that; none where the model cannot be built for as many.
  void importBucket(int64_t rows);
  mlir::FailureOr<Imported> finish();

  const OnnxModel &model;
  const ImportOptions &options;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  States states;
  Imported imported;
  bool exportsWeightsApart = false;

private:
  mlir::LogicalResult writeModel();
};

/// Names on the command line that the model does not have.
mlir::LogicalResult checkOptions(const OnnxModel &model, const ImportOptions &options);
/// With the sizes of dims that are symbols, where rows of graph inputs have them and nothing else
/// was given. `rowShape`: of the field that feeds an input; none where it is not known.
ImportOptions bindDims(
    const OnnxModel &model, ImportOptions options,
    llvm::function_ref<std::optional<llvm::ArrayRef<int64_t>>(llvm::StringRef input)> rowShape);
void loadGradDialects(mlir::MLIRContext &context);

} // namespace gradc

#endif
