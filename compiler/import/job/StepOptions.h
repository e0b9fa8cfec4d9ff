// How a training step is computed: its element types and its number of parts.
#ifndef COMPILER_IMPORT_JOB_STEPOPTIONS_H
#define COMPILER_IMPORT_JOB_STEPOPTIONS_H

#include "compiler/import/onnx/ImportGraph.h"
#include "compiler/import/spec/TrainingSpec.h"

namespace gradc {

/// The maximum of `memory_budget_mb`.
inline constexpr int64_t maxBudgetMb = int64_t(1) << 30;

/// Reports errors in `micro_batches`, `keep_fp32`, `loss_scaling`, and `memory_budget_mb`. `batch`:
/// rows of a step.
mlir::LogicalResult checkStepOptions(const SpecFile &spec, const OnnxModel &model, int64_t batch);

/// The number of parts in which a step over `rows` of at most `batch` rows is computed. All parts
/// have the same size, and none is larger than a part of a whole batch.
int64_t countMicroBatches(const SpecFile &spec, int64_t batch, int64_t rows);

/// The end of an error about a graph input of `type`, whose first dim is not that of the entry:
/// the number of micro-batches which divides a training step into parts of this size. "" if there
/// is none.
std::string suggestMicroBatches(const SpecFile &spec, const EntryImport &entry,
                                mlir::RankedTensorType type);

/// Passes the options to the passes. `entry` is one micro-batch of a training step, `rows` the
/// number of rows in an epoch, negative if unknown.
void setStepOptions(EntryImport &entry, const SpecFile &spec, int64_t rows, int64_t microBatches);

} // namespace gradc

#endif
