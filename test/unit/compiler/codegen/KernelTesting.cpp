// Dialects and operands; operands come from a seed, so that failures are reproducible.
#include "test/unit/compiler/codegen/KernelTesting.h"

#include <random>

using namespace mlir;
using mlir::grad::HostTensor;

DialectRegistry gradc::test::kernelDialects() {
  DialectRegistry registry;
  registry.insert<exec::ExecDialect, grad::GradDialect, arith::ArithDialect, linalg::LinalgDialect,
                  math::MathDialect, tensor::TensorDialect>();
  return registry;
}

std::vector<HostTensor> gradc::test::randomOperands(exec::KernelOp kernel, unsigned seed) {
  std::mt19937 generator(seed);
  std::vector<HostTensor> operands;
  for (BlockArgument argument : kernel.getBlock().getArguments()) {
    HostTensor tensor(cast<RankedTensorType>(argument.getType()));
    for (int64_t i = 0; i < tensor.size(); ++i)
      if (isa<FloatType>(tensor.getElementType()))
        tensor.setFloat(i, std::uniform_real_distribution<double>(-2, 2)(generator));
      else
        tensor.setInt(i, generator() % (tensor.getElementType().isInteger(1) ? 2 : 7));
    operands.push_back(tensor);
  }
  return operands;
}
