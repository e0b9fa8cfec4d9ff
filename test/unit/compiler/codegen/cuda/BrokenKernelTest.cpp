// Deliberately broken kernels, which the simulated device must detect. Each kernel is correct
// before it is broken.
#include "test/unit/compiler/codegen/cuda/GpuKernel.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace gradc::test;
using testing::HasSubstr;

namespace {

/// A sum shared by eight warps: shuffles, then shared memory between two barriers.
const char *longSum = R"(
exec.kernel @k(%a: tensor<3000xf32>) attributes {flops = 1 : i64, bytes = 1 : i64} {
  %0 = grad.reduce_sum %a dims [0] : tensor<3000xf32>
  exec.yield %0 : tensor<f32>
})";

/// Replaces the first or all occurrences of a text.
Breaking replacing(const std::string &from, const std::string &to, bool all = true) {
  return [=](std::string &text) {
    for (size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size()) {
      text.replace(at, from.size(), to);
      if (!all)
        break;
    }
  };
}

TEST(BrokenKernel, IsRightBefore) { expectRightOnGpu(longSum, 1e-3); }

TEST(BrokenKernel, WithoutABarrier) {
  GpuKernel broken(
      longSum,
      replacing("tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)", "", false));
  ASSERT_TRUE(broken.isReady());
  for (const char *order : {"forward", "reverse", "shuffled"}) {
    auto result = broken.run(broken.randomOperands(1), order);
    ASSERT_FALSE(result) << order;
    EXPECT_THAT(result.status().message(), HasSubstr("race: it ")) << order;
  }
}

TEST(BrokenKernel, WithShufflesOfTheWrongWidth) {
  // With a clamp of 15, lanes never receive the upper half of their warp.
  GpuKernel broken(longSum, [](std::string &text) {
    for (size_t at = 0; (at = text.find(", i32 31)", at)) != text.npos; ++at)
      text.replace(at, 9, ", i32 15)");
  });
  ASSERT_TRUE(broken.isReady());
  auto operands = broken.randomOperands(1);
  auto result = broken.run(operands);
  ASSERT_TRUE(result) << result.status().message();
  EXPECT_GT(worstError(*result, broken.evaluate(operands)), 0.1);
}

TEST(BrokenKernel, WithABarrierThatSomeNeverReach) {
  // Only the threads of one warp reach the barrier.
  GpuKernel broken(longSum, [](std::string &text) {
    size_t barrier = text.find("  tail call void @llvm.nvvm.barrier");
    ASSERT_NE(barrier, text.npos);
    text.insert(barrier, "  %early.number = tail call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n"
                         "  %early = icmp ult i32 %early.number, 32\n"
                         "  br i1 %early, label %leave, label %stay\nleave:\n  ret void\nstay:\n");
  });
  if (!broken.isReady())
    GTEST_SKIP();
  auto result = broken.run(broken.randomOperands(1));
  ASSERT_FALSE(result);
  EXPECT_THAT(result.status().message(), HasSubstr("deadlock"));
}

TEST(BrokenKernel, OutOfBounds) {
  // The operand is shorter than the kernel was compiled for.
  GpuKernel kernel(longSum);
  ASSERT_TRUE(kernel.isReady());
  HostTensor small(
      mlir::RankedTensorType::get({2999}, kernel.randomOperands(1)[0].getType().getElementType()));
  auto result = kernel.run({small});
  ASSERT_FALSE(result);
  EXPECT_THAT(result.status().message(), HasSubstr("out of bounds: it reads"));
}

} // namespace
