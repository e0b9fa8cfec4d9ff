// Which parameters are pruned, and along which of their dims.
#ifndef COMPILER_IMPORT_PARAMETERS_PRUNING_H
#define COMPILER_IMPORT_PARAMETERS_PRUNING_H

#include "compiler/import/parameters/Groups.h"
#include "compiler/import/transfer/Layers.h"

namespace gradc {

/// The dims of a weight, and the model's output that has its channels; "" if there is none.
struct PrunableWeight : WeightDims {
  std::string modelOutput;
};
using DimsOfWeights = llvm::StringMap<PrunableWeight>;
/// The dims of the weights of layers; none if the spec prunes nothing. Called before `quantize`
/// puts nodes between weights and their layers.
DimsOfWeights dimsOfWeights(const SpecFile &spec, const OnnxModel &model);

/// Writes the rules of `prune` to the states of their parameters, and says which steps make masks
/// final; warns if the run ends before. Called after it is decided which parameters
/// train, in which steps, and how groups train them. Fails if a pattern takes no parameter that
/// trains, or if a parameter cannot be pruned as its block says.
mlir::LogicalResult addPruning(Imported &imported, const States &states, const SpecFile &spec,
                               const Groups &groups, const DimsOfWeights &weights);

} // namespace gradc

#endif
