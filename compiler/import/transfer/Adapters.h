// Low-rank adapters beside weights that stay as they are.
#ifndef COMPILER_IMPORT_ADAPTERS_H
#define COMPILER_IMPORT_ADAPTERS_H

#include "compiler/import/onnx/ImportGraph.h"
#include "compiler/import/transfer/InitialValues.h"

namespace gradc {

/// weight + factor * up * down is what an export has in place of `weight`.
struct Adapter {
  std::string weight, down, up; ///< initializers; A is `down`, B is `up`
  double factor;
  bool inputsFirst; ///< `weight` is [inputs, outputs]
};

/// Puts the adapters of `lora` beside the products of their weights. What is exported is the model
/// without them. `values` gets those that they begin with.
mlir::FailureOr<std::vector<Adapter>> addAdapters(const SpecFile &spec, OnnxModel &model,
                                                  InitialValues &values);

/// The entry @merged: a result for each adapted weight, named as its state, which is what exports
/// hold in its place.
mlir::LogicalResult importMerged(const OnnxModel &model, States &states,
                                 const ImportOptions &options, llvm::ArrayRef<Adapter> adapters);

} // namespace gradc

#endif
