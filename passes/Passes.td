// All passes, a file or two per phase, in the order in which the pipeline first runs them. The phases are in compiler/Pipeline.cpp.
#ifndef GRADC_PASSES
#define GRADC_PASSES

include "passes/GraphPasses.td"
include "passes/StepPasses.td"
include "passes/KernelPasses.td"
include "passes/LevelPasses.td"

// Tests only --------------------------------------------------------------------------------------

def CorruptKernel : Pass<"gradc-test-corrupt-kernel", "::mlir::ModuleOp"> {
  let summary = "Make one kernel compute wrong results, to prove that verify detects it";
  let description = [{
    `kernel=NAME` or `kernel=NAME:KIND`. `shift`, the default: 1.25 x + 1 on the first result. `factor`: multiplies its floats
    by 1.001; `factor@N`: those of result N. `edge`: shifts only its last element. `swap`: exchanges the first two
    operands of the same type.
  }];
  let options = [Option<"kernel", "kernel", "std::string", "\"\"", "symbol of the kernel">];
}

#endif
