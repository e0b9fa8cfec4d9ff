// How a training step computes what the spec asks for: in which types, and in how many parts.
#ifndef COMPILER_IMPORT_STEPOPTIONS_H
#define COMPILER_IMPORT_STEPOPTIONS_H

#include "compiler/import/onnx/ImportGraph.h"
#include "compiler/import/spec/TrainingSpec.h"

namespace gradc {

/// The nodes that `keep_fp32` names, in the model's order. A pattern without one is an error.
mlir::FailureOr<std::vector<std::string>> nodesInF32(const SpecFile &spec, const OnnxModel &model);

/// The largest `memory_budget_mb`.
inline constexpr int64_t maxBudgetMb = int64_t(1) << 30;

/// Reports what `micro_batches`, `keep_fp32`, `loss_scaling` and `memory_budget_mb` have wrong.
/// `batch`: rows of a step.
mlir::LogicalResult checkStepOptions(const SpecFile &spec, const OnnxModel &model, int64_t batch);

/// In how many parts a step over `rows` of at most `batch` is computed: all parts are of one size,
/// none larger than those of a whole batch.
int64_t countMicroBatches(const SpecFile &spec, int64_t batch, int64_t rows);

/// Tells the passes. `entry` is one micro-batch of a training step.
void setStepOptions(EntryImport &entry, const SpecFile &spec, int64_t microBatches);

} // namespace gradc

#endif
