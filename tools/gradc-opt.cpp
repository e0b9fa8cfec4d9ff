// gradc-opt: all dialects, passes, and phases of gradc behind MLIR's usual driver, for tests.
#include "compiler/Pipeline.h"
#include "dialects/exec/Exec.h"
#include "dialects/grad/Grad.h"
#include "passes/Passes.h"

#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  gradc::registerDialects(registry);
  gradc::registerGradcPasses();
  gradc::registerPipelines();
  mlir::registerTransformsPasses();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "gradc optimizer driver\n", registry));
}
