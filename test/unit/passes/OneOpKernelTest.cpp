// Passes have answers for each op with a kernel of its own.
#include "passes/schedule/OneOpKernel.h"
#include "dialects/grad/Grad.h"
#include "mlir/Parser/Parser.h"
#include "passes/schedule/KernelScratch.h"
#include <gtest/gtest.h>
#include <set>

using namespace mlir;
using gradc::OneOpKernel;
using gradc::oneOpKernel;

namespace {

const char *const kernels = R"(
  exec.kernel @sort(%x: tensor<8x1000xf32>) {
    %0 = grad.argsort %x dim 1 : tensor<8x1000xf32> -> tensor<8x1000xi64>
    exec.yield %0 : tensor<8x1000xi64>
  }
  exec.kernel @select(%x: tensor<8x1000xf32>) {
    %0 = grad.argsort %x dim 1 descending : tensor<8x1000xf32> -> tensor<8x5xi64>
    exec.yield %0 : tensor<8x5xi64>
  }
  exec.kernel @suppression(%t: tensor<2x100xf32>, %o: tensor<2x5x100xi64>, %c: tensor<2x5x100xi1>, %x: tensor<f32>, %n: tensor<i64>) {
    %0 = grad.non_max_suppression %t, %t, %t, %t, %t order %o candidates %c threshold %x limit %n
        : tensor<2x100xf32>, tensor<2x5x100xi64>, tensor<2x5x100xi1>, tensor<f32>, tensor<i64>
    exec.yield %0 : tensor<2x5x100xi1>
  }
  exec.kernel @cumulative(%x: tensor<300x2100xf32>) {
    %0 = grad.cumulative sum %x dim 0 : tensor<300x2100xf32>
    exec.yield %0 : tensor<300x2100xf32>
  }
  exec.kernel @fourier(%x: tensor<9x40x2xf32>) {
    %0 = grad.fourier %x : tensor<9x40x2xf32> -> tensor<9x40x2xf32>
    exec.yield %0 : tensor<9x40x2xf32>
  }
  exec.kernel @positions(%x: tensor<9x40xi1>) {
    %0 = grad.positions %x : tensor<9x40xi1> -> tensor<2x360xi64>
    exec.yield %0 : tensor<2x360xi64>
  }
  exec.kernel @attention(%q: tensor<2x3x256x16xf32>) {
    %0, %1 = grad.attention %q, %q, %q {scale = 1.0 : f64} : tensor<2x3x256x16xf32>, tensor<2x3x256x16xf32>, tensor<2x3x256x16xf32>
    exec.yield %0, %1 : tensor<2x3x256x16xf32>, tensor<2x3x256x2xf32>
  }
  exec.kernel @attention_grad(%q: tensor<2x3x256x16xf32>, %s: tensor<2x3x256x2xf32>) {
    %0:3 = grad.attention_grad %q, %q, %q, %q, %s, %q {scale = 1.0 : f64}
        : tensor<2x3x256x16xf32>, tensor<2x3x256x16xf32>, tensor<2x3x256x16xf32>, tensor<2x3x256x16xf32>, tensor<2x3x256x2xf32>, tensor<2x3x256x16xf32>
    exec.yield %0#0, %0#1, %0#2 : tensor<2x3x256x16xf32>, tensor<2x3x256x16xf32>, tensor<2x3x256x16xf32>
  })";

class OneOpKernels : public testing::Test {
protected:
  OneOpKernels() {
    DialectRegistry registry;
    registry.insert<grad::GradDialect, exec::ExecDialect>();
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    module = parseSourceString<ModuleOp>(kernels, &context);
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

TEST_F(OneOpKernels, HaveAnswersForEachOp) {
  ASSERT_TRUE(module);
  const exec::Level &level = *exec::findLevel("x86-64-v3");
  std::set<std::string> expected, found;
  for (RegisteredOperationName name : context.getRegisteredOperations())
    if (name.hasTrait<grad::OwnKernel>())
      expected.insert(name.getStringRef().str());
  for (auto kernel : module->getOps<exec::KernelOp>()) {
    SCOPED_TRACE(kernel.getSymName().str());
    Operation *op = &kernel.getBlock().front();
    found.insert(op->getName().getStringRef().str());
    const OneOpKernel *row = oneOpKernel(kernel);
    ASSERT_TRUE(row);
    EXPECT_TRUE(row->isOf(op));
    EXPECT_TRUE(gradc::suitsOneOpKernel(op, *level.kernels));
    exec::ScheduleAttr schedule = row->schedule(kernel, /*lanes=*/8, level);
    EXPECT_TRUE(schedule.isOfOneOp());
    kernel.setScheduleAttr(schedule);
    EXPECT_EQ(oneOpKernel(kernel), row);
    EXPECT_GT(row->seconds(kernel, level), 0);
    bool usesScratch = row != &gradc::positionsKernel;
    EXPECT_EQ(gradc::kernelScratch(kernel, level) > 0, usesScratch);
  }
  EXPECT_EQ(found, expected);
}

TEST_F(OneOpKernels, AreNotThoseOfOtherOps) {
  module = parseSourceString<ModuleOp>("exec.kernel @k(%x: tensor<8xf32>) {\n"
                                       "%0 = grad.exp %x : tensor<8xf32>\n"
                                       "exec.yield %0 : tensor<8xf32> }",
                                       &context);
  ASSERT_TRUE(module);
  auto kernel = *module->getOps<exec::KernelOp>().begin();
  EXPECT_FALSE(gradc::suitsOneOpKernel(&kernel.getBlock().front(), exec::kernelLimits(false)));
  EXPECT_FALSE(oneOpKernel(kernel));
}

// Such a kernel computes the decomposition.
TEST_F(OneOpKernels, AreNotThoseWithAnotherAlgorithm) {
  ASSERT_TRUE(module);
  auto kernel = *module->getOps<exec::KernelOp>().begin();
  kernel.setScheduleAttr(exec::ScheduleAttr::get(
      &context, /*lanes=*/8, ArrayRef<int64_t>{1, 8}, ArrayRef<int64_t>{0, 1}, /*grain=*/1,
      /*block=*/{}, /*panels=*/{}, exec::Algorithm::direct));
  EXPECT_FALSE(oneOpKernel(kernel));
}

} // namespace
