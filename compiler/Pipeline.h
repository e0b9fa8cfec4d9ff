// The pipeline: the figure of the design, as code. One function per phase, each a list of passes.
#ifndef COMPILER_PIPELINE_H
#define COMPILER_PIPELINE_H

#include "compiler/Options.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Pass/PassManager.h"

namespace gradc {

/// Registers all dialects used by any phase.
void registerDialects(mlir::DialectRegistry &registry);
/// Registers the phases as pass pipelines of gradc-opt: gradc-graph-phase, gradc-kernel-phase,
/// gradc-level-phase.
void registerPipelines();

/// grad functions -> grad functions that train: gradients, update, simplified.
void buildGraphPhase(mlir::OpPassManager &pm, const CompileOptions &options);
/// grad functions -> launches of outlined kernels (value form), equal for all levels of a kind:
/// `options.levels` are either CPUs or GPUs.
void buildKernelPhase(mlir::OpPassManager &pm, const CompileOptions &options);
/// One level's module (attribute `exec.level`): layouts, schedules, memory plan -> planned form.
void buildLevelPhase(mlir::OpPassManager &pm, const CompileOptions &options);
/// One level's module in planned form already: schedules for its kernels.
void buildPlannedPhase(mlir::OpPassManager &pm, const CompileOptions &options);

} // namespace gradc

#endif
