// Low-rank adapters for weights that do not train.
#ifndef COMPILER_IMPORT_TRANSFER_ADAPTERS_H
#define COMPILER_IMPORT_TRANSFER_ADAPTERS_H

#include "compiler/import/onnx/ImportGraph.h"
#include "compiler/import/transfer/InitialValues.h"

namespace gradc {

/// Exports contain weight + factor * up * down in place of `weight`; if the weight is codes, they
/// contain the adapter.
struct Adapter {
  std::string weight, down, up; ///< initializers; A is `down`, B is `up`
  double factor;
  bool inputsFirst; ///< `weight` is [inputs, outputs]
  bool isMerged;
};

/// Adds the adapters of `lora` to the products of their weights. Exports use the model without
/// adapters of floats. `values` receives the initial values of the adapters.
mlir::FailureOr<std::vector<Adapter>> addAdapters(const SpecFile &spec, OnnxModel &model,
                                                  InitialValues &values);

/// The entry @merged. It returns one result per adapted weight, named like its state; exports
/// contain this result instead of the weight.
mlir::LogicalResult importMerged(const OnnxModel &model, States &states,
                                 const ImportOptions &options, llvm::ArrayRef<Adapter> adapters);

} // namespace gradc

#endif
