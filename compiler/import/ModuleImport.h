// The common part of importing a job and importing a model alone: turns a model into a module.
#ifndef COMPILER_IMPORT_MODULEIMPORT_H
#define COMPILER_IMPORT_MODULEIMPORT_H

#include "compiler/import/Import.h"
#include "compiler/import/onnx/ImportGraph.h"

namespace gradc {

/// Collects entries; `finish` turns them into the module.
class ModuleImport {
public:
  ModuleImport(const OnnxModel &model, const ImportOptions &options)
      : model(model), options(options), module(mlir::ModuleOp::create(model.fileLoc())),
        symbols(*module), states(model, symbols) {}

  mlir::LogicalResult importForward(llvm::StringRef name, const ImportOptions &options,
                                    int64_t batch,
                                    llvm::function_ref<std::string(llvm::StringRef)> fieldOf);
  /// Imports the entry for at most `rows` rows, unless the model cannot be built for that number.
  void importBucket(int64_t rows);
  /// Imports the entry of a name in the options' `entryShapes`.
  mlir::LogicalResult importEntry(llvm::StringRef name, const ImportOptions &options);
  mlir::FailureOr<Imported> finish();

  const OnnxModel &model;
  const ImportOptions &options;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::SymbolTable symbols; ///< of the states
  States states;
  Imported imported;
  /// The initializers that only the exported model has, which the entry @merged computes.
  std::vector<std::string> determined;
  bool exportsWeightsApart = false;

private:
  std::set<std::string> unreadInputs(llvm::StringRef name, const ImportOptions &options);
  mlir::LogicalResult writeModel();
};

/// Reports names on the command line that the model lacks.
mlir::LogicalResult checkOptions(const OnnxModel &model, const ImportOptions &options);
/// Adds the sizes of symbolic dims if only rows of graph inputs use them and no other size was
/// given. `rowShape` is the shape of the field that feeds an input; nullopt if unknown.
ImportOptions bindDims(
    const OnnxModel &model, ImportOptions options,
    llvm::function_ref<std::optional<llvm::ArrayRef<int64_t>>(llvm::StringRef input)> rowShape);
/// Gives symbolic dims of graph inputs the sizes that they have in the shapes given for others.
ImportOptions shareDims(const OnnxModel &model, ImportOptions options);
void loadGradDialects(mlir::MLIRContext &context);

} // namespace gradc

#endif
