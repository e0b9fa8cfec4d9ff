// The phases as lists of passes, with the reasons for their order.
#include "compiler/Pipeline.h"

#include "dialects/exec/Exec.h"
#include "dialects/exec/Level.h"
#include "dialects/grad/Grad.h"
#include "passes/Passes.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void gradc::registerDialects(DialectRegistry &registry) {
  registry.insert<grad::GradDialect, exec::ExecDialect, func::FuncDialect, arith::ArithDialect,
                  math::MathDialect, linalg::LinalgDialect, tensor::TensorDialect,
                  memref::MemRefDialect, vector::VectorDialect, scf::SCFDialect,
                  cf::ControlFlowDialect, LLVM::LLVMDialect>();
}

/// The same list of simplifications, used wherever new redundancy appears.
static void simplify(OpPassManager &pm) {
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(gradc::createSimplifyAlgebra());
  pm.addPass(createCSEPass());
}

/// Moves work out of scans, and removes ops that are then dead. A memory budget limits the stacks
/// that a loop gains.
static void hoistFromScans(OpPassManager &pm, const gradc::CompileOptions &options) {
  gradc::HoistFromScansOptions hoist;
  if (options.memoryBudget > 0)
    hoist.stackBytes = std::min(hoist.stackBytes, options.memoryBudget / 8);
  pm.addPass(gradc::createHoistFromScans(hoist));
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

static bool isCuda(StringRef level) { return exec::findLevel(level)->isCuda(); }

/// Whether all levels are GPU levels.
static bool isForCuda(const gradc::CompileOptions &options) {
  return !options.levels.empty() && llvm::all_of(options.levels, isCuda);
}

void gradc::buildGraphPhase(OpPassManager &pm, const CompileOptions &options) {
  // Counts are resolved after each pass that creates them, so that they block no simplification.
  pm.addPass(createBindRows());
  simplify(pm);
  pm.addPass(createRaiseComposites());
  // Before states are reordered: sums of constant weights are computed from their initial values.
  // On a GPU, libraries multiply floats faster than generated code multiplies codes.
  if (!isForCuda(options))
    pm.addPass(createIntegerProducts({/*forGpus=*/llvm::any_of(options.levels, isCuda)}));
  // Before attentions form: those of a rank's heads are then found. After composites: their loops
  // say more about them than those of their parts.
  pm.addPass(createShardProducts());
  // Before transposes move: they then move through attentions.
  pm.addPass(createFormAttention({isForCuda(options)}));
  // Before gradients exist, so that gradients of products outside loops are outside as well.
  hoistFromScans(pm, options);
  // Before gradients exist, so that transposes removed from the forward do not appear in the
  // backward.
  pm.addPass(createMoveTransposes());
  pm.addPass(createCSEPass());
  pm.addPass(createOrderStates());
  // Before gradients exist, so that they get the same types. After the layout of states is decided,
  // which depends on the contractions that read them. Gradients to check wait for RetypeF64, as
  // those of a step do.
  pm.addPass(createMixPrecision({/*lateRequests=*/options.retypeF64}));
  // A gradient is a request, an op: the step is built on its results before they exist.
  pm.addPass(createBuildStep({isForCuda(options)}));
  // Gradients have constants of their own, such as 1 / n of a mean, which must be computed in f64.
  if (options.retypeF64)
    pm.addPass(createRetypeF64());
  // A decay of 0.9999 would lose most of its digits as an f32 constant.
  pm.addPass(createAverageWeights());
  // The ops of gradients take over the stages of the forward, until functions are made of these.
  pm.addPass(createAssignStages());
  pm.addPass(createDifferentiate());
  pm.addPass(createCutStages());
  pm.addPass(createReadStored());
  pm.addPass(createBindRows());
  simplify(pm);
  // After gradients have made the loops that they read stack their steps, and after unused results
  // are removed.
  pm.addPass(createEndScans());
  // After gradients, which are convolutions, too. Before loops lose what is the same in each step,
  // such as a rearranged filter. Libraries of GPUs need no vectors.
  if (!isForCuda(options))
    pm.addPass(createWidenColumns());
  // After unused gradients are removed: gradients of weights are sums over steps.
  hoistFromScans(pm, options);
  pm.addPass(createMoveTransposes());
  // When nothing is left that could still move out of a loop or be simplified.
  pm.addPass(createDeriveStates());
}

void gradc::buildKernelPhase(OpPassManager &pm, const CompileOptions &options) {
  // On a CPU, composites become loops, but for those that kernels compute whole; a softmax is fused
  // as its primitives, row by row. On a GPU, libraries compute some composites whole.
  bool forCuda = isForCuda(options);
  bool asksLibraries = forCuda && options.libraries != "never";
  pm.addPass(createDecomposeComposites({asksLibraries, /*keepForKernels=*/!forCuda}));
  pm.addPass(createBindRows());
  simplify(pm);
  pm.addPass(createReassociateSums({forCuda}));
  pm.addPass(createCSEPass());
  pm.addPass(createAlignSteps());
  // While ops are single; FindExtents passes the findings to kernels.
  pm.addPass(createBindRows({/*judge=*/true}));
  // After entries are known that take any number of rows. Threads of a GPU search.
  if (!forCuda)
    pm.addPass(createFlattenIndices());
  // After attentions have formed and sums are reassociated, which both look for matrix products.
  pm.addPass(createSplitRows());
  pm.addPass(createFormKernels({forCuda}));
  // Before layouts and schedules, which cut whole rows into panels and tiles.
  pm.addPass(createMergeRows());
  if (!forCuda)
    pm.addPass(createMergePositions());
  pm.addPass(createSkipRoundings());
  if (!forCuda) // whose libraries and tensor cores multiply f16
    pm.addPass(createWidenFactors());
}

void gradc::buildLevelPhase(OpPassManager &pm, const CompileOptions &options) {
  // Before layouts, which then follow the code of one row.
  pm.addPass(createSeparateRows());
  // Layouts consider all entries: a weight has one layout for forward, backward, and update.
  pm.addPass(createChooseLayouts());
  // After layouts: lists of elements follow the stored order.
  pm.addPass(createFlattenUpdates());
  // After states have their layouts: a factor that is a state is already stored in pairs.
  pm.addPass(createPackFactors());
  // After layouts: a library reads row-major tensors. Before schedules: a kernel may be split.
  pm.addPass(createChooseLibraries({options.libraries}));
  // Kernels without a library call, and the fallback of each call, are generated from primitives.
  pm.addPass(createDecomposeComposites({/*keepForLibraries=*/false, /*keepForKernels=*/true}));
  pm.addPass(createFindExtents());
  pm.addPass(createSchedule({options.tuning}));
  // After schedules, which groups need; before the memory plan, which knows the groups.
  pm.addPass(createGroupLaunches());
  pm.addPass(createOrderLaunches());
  // After launches are ordered: joins sums that begin one after another.
  pm.addPass(createBucketSums());
  pm.addPass(createRematerialize({options.memoryBudget}));
  // Uses the final launches with their units.
  pm.addPass(createCutStates());
  pm.addPass(createPlanMemory());
}

void gradc::buildPlannedPhase(OpPassManager &pm, const CompileOptions &options) {
  pm.addPass(createDecomposeComposites({/*keepForLibraries=*/false, /*keepForKernels=*/true}));
  pm.addPass(createSchedule({options.tuning}));
}

void gradc::registerPipelines() {
  static PassPipelineRegistration<> graph("gradc-graph-phase", "gradients, update, simplification",
                                          [](OpPassManager &pm) { buildGraphPhase(pm, {}); });
  static PassPipelineRegistration<> kernel("gradc-kernel-phase", "form kernels",
                                           [](OpPassManager &pm) { buildKernelPhase(pm, {}); });
  static PassPipelineRegistration<> level("gradc-level-phase", "layouts, schedules, memory plan",
                                          [](OpPassManager &pm) { buildLevelPhase(pm, {}); });
}
