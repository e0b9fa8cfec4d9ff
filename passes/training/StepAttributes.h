// Attributes of a training function that divide its step: over micro-batches, ranks, and stages.
#ifndef PASSES_TRAINING_STEPATTRIBUTES_H
#define PASSES_TRAINING_STEPATTRIBUTES_H

#include "llvm/ADT/StringRef.h"

namespace gradc {

/// The number of micro-batches of the step.
inline constexpr llvm::StringLiteral microBatchesName = "grad.micro_batches";
/// The max number of micro-batches of any step, if another function has more than this one: the
/// counters of their random ops must differ, too.
inline constexpr llvm::StringLiteral mostMicroBatchesName = "grad.most_micro_batches";
/// Marks a function whose outermost loops are over the parts of its batch.
inline constexpr llvm::StringLiteral inPartsName = "grad.in_parts";

/// Ranks share the batch: a dictionary with optional entries `bf16` (gradients travel as bf16),
/// `synchronize_batch_norm` (batch statistics are over all ranks) and `cut` (each rank updates its
/// own part of each parameter).
inline constexpr llvm::StringLiteral ranksName = "grad.ranks";

/// The number of stages that the function's graph is cut into.
inline constexpr llvm::StringLiteral stagesName = "grad.stages";
/// On the function of a stage: its number. It takes whole batches only.
inline constexpr llvm::StringLiteral ownStageName = "grad.own_stage";

} // namespace gradc

#endif
