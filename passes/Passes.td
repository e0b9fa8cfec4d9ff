// Every pass, in pipeline order: the table of contents. The phases are in compiler/Pipeline.cpp.
#ifndef GRADC_PASSES
#define GRADC_PASSES

include "mlir/Pass/PassBase.td"

// Graph phase -------------------------------------------------------------------------------------

def BuildStep : Pass<"gradc-build-step", "::mlir::ModuleOp"> {
  let summary = "Turn a loss into a training step: gradients, clipping, optimizer updates";
  let description = [{
    In every function with `grad.optimizer`: requests the gradient of result 0 (the loss) with
    respect to every parameter it reads, clips by global norm (`grad.clip`), applies the optimizer
    and writes parameters and slots back. Slots become states `PARAMETER.SLOT`. The update is
    predicated on a finite loss (with clipping: a finite norm). Parameters that the loss does not
    reach become constants, with a remark. The request is an op, so this pass needs no backward graph.
  }];
}

def Differentiate : Pass<"gradc-differentiate", "::mlir::ModuleOp"> {
  let summary = "Answer every grad.gradient by reverse-mode differentiation";
  let description = [{
    1. Mark the ops between targets and objective (innermost request first, so that requests nest).
    2. Walk them backwards, ask each GradientOpInterface, add up contributions.
    3. Report every op whose gradient is missing, all at once, each at its own location.
    Requests of one objective share their backward graph.
  }];
}

def SimplifyAlgebra : Pass<"gradc-simplify-algebra", "::mlir::ModuleOp"> {
  let summary = "Apply identities that canonicalization does not: x + 0, x * 1, broadcasts hoisted over pointwise ops";
}

def RetypeF64 : Pass<"gradc-retype-f64", "::mlir::ModuleOp"> {
  let summary = "Turn every float of the module to f64: gradients are checked in it";
}

// Kernel phase ------------------------------------------------------------------------------------

def DecomposeComposites : Pass<"gradc-decompose", "::mlir::ModuleOp"> {
  let summary = "Replace composite ops by their primitives, where no kernel takes them whole";
}

def FormKernels : Pass<"gradc-form-kernels", "::mlir::ModuleOp"> {
  let summary = "Group ops into kernels and outline each as an exec.kernel";
  let dependentDialects = ["::mlir::exec::ExecDialect"];
  let description = [{
    1. Large constants become states; views (reshapes) stay outside.
    2. Every contraction takes its epilogue; pointwise chains and reductions join while they share
       a root space and no value would be computed twice at a cost.
    3. Outline; identical kernels become one.
  }];
}

def ChooseLayouts : Pass<"gradc-choose-layouts", "::mlir::ModuleOp"> {
  let summary = "Keep weights in the panel layout that their contractions want";
  let dependentDialects = ["::mlir::exec::ExecDialect"];
  let description = [{
    Looks at all entries of a level, so that a state has one primary layout for the whole training.
    Where a contraction wants another one, a mirror is kept, refreshed after each write.
  }];
}

def Schedule : Pass<"gradc-schedule", "::mlir::ModuleOp"> {
  let summary = "Choose register tile, loop order and units of every kernel, by level";
}

def PlanMemory : Pass<"gradc-plan-memory", "::mlir::ModuleOp"> {
  let summary = "Give every tensor its place: functions become exec.entry over one arena";
  let dependentDialects = ["::mlir::exec::ExecDialect"];
  let description = [{
    Liveness over the launch order; in place where the kernel allows; largest tensor first, lowest
    free offset (64-byte aligned). States and entry inputs and outputs are never in the arena.
  }];
}

// Tests only --------------------------------------------------------------------------------------

def CorruptKernel : Pass<"gradc-test-corrupt-kernel", "::mlir::ModuleOp"> {
  let summary = "Make one kernel's code compute something else, to prove that verify catches it";
  let options = [Option<"kernel", "kernel", "std::string", "\"\"", "symbol of the kernel">];
}

#endif
