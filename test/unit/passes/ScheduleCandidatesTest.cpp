// Schedules that tuning may choose compute the right results, however their units are divided.
#include "passes/schedule/ScheduleCandidates.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Passes.h"
#include "test/unit/compiler/codegen/KernelRunner.h"
#include "test/unit/compiler/codegen/KernelTesting.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace gradc::test;

namespace {

/// The kernel of `text` with each candidate of a level, as text.
std::vector<std::string> candidatesOf(const std::string &text, StringRef level) {
  MLIRContext context(kernelDialects());
  context.loadAllAvailableDialects();
  auto module = parseSourceString<ModuleOp>(text, &context);
  EXPECT_TRUE(module);
  (*module)->setAttr("exec.level", StringAttr::get(&context, level));
  PassManager pm(&context);
  pm.addPass(gradc::createSchedule());
  EXPECT_TRUE(succeeded(pm.run(*module)));
  auto kernel = *module->getOps<exec::KernelOp>().begin();
  std::vector<std::string> texts;
  for (exec::ScheduleAttr schedule : gradc::scheduleCandidates(kernel, *exec::findLevel(level))) {
    kernel.setScheduleAttr(schedule);
    llvm::raw_string_ostream(texts.emplace_back()) << kernel;
  }
  return texts;
}

/// Of all candidates, every n-th, so that a test takes seconds; at least `least` exist.
void expectAllRight(const std::string &text, size_t least, double tolerance = 2e-5) {
  constexpr size_t most = 24;
  std::vector<std::string> texts = candidatesOf(text, "x86-64-v3");
  EXPECT_GE(texts.size(), least);
  size_t step = llvm::divideCeil(texts.size(), most);
  for (size_t i = 0; i < texts.size(); i += std::max<size_t>(step, 1)) {
    SCOPED_TRACE(texts[i]);
    expectRight(texts[i], tolerance);
  }
}

TEST(Candidates, OfAProductWithAnEpilogue) {
  expectAllRight(R"(exec.kernel @k(%a: tensor<37x24xf32>, %b: tensor<24x70xf32>, %c: tensor<70xf32>)
    attributes {flops = 124320 : i64, bytes = 20912 : i64} {
    %0 = grad.matmul %a, %b : tensor<37x24xf32>, tensor<24x70xf32>
    %1 = grad.broadcast %c dims [1] : tensor<70xf32> -> tensor<37x70xf32>
    %2 = grad.add %0, %1 : tensor<37x70xf32>
    exec.yield %2 : tensor<37x70xf32>
  })",
                 10);
}

TEST(Candidates, OfAWeightInPanels) {
  expectAllRight(R"(exec.kernel @k(%a: tensor<50x24xf32>, %b: tensor<24x48xf32>)
    attributes {layouts = [unit, #exec.panel<dim = 1, width = 16>, unit], flops = 115200 : i64, bytes = 19008 : i64} {
    %0 = grad.matmul %a, %b : tensor<50x24xf32>, tensor<24x48xf32>
    exec.yield %0 : tensor<50x48xf32>
  })",
                 4);
}

TEST(Candidates, OfAGradientInBlocks) {
  expectAllRight(R"(exec.kernel @k(%a: tensor<1536x40xf32>, %b: tensor<1536x48xf32>)
    attributes {flops = 2688000 : i64, bytes = 254080 : i64} {
    %0 = grad.matmul %a, %b transpose_lhs : tensor<1536x40xf32>, tensor<1536x48xf32>
    exec.yield %0 : tensor<40x48xf32>
  })",
                 8, 2e-4);
}

TEST(Candidates, OfFactorsInPanels) {
  expectAllRight(
      R"(exec.kernel @k(%a: tensor<64x512xf32>, %b: tensor<64x512xf32>, %w: tensor<512x512xf32>)
    attributes {flops = 33816576 : i64, bytes = 2359296 : i64} {
    %0 = grad.matmul %a, %b transpose_lhs : tensor<64x512xf32>, tensor<64x512xf32>
    %1 = grad.sub %w, %0 : tensor<512x512xf32>
    exec.yield %1 : tensor<512x512xf32>
  })",
      3, 1e-4);
}

TEST(Candidates, OfConvolutions) {
  expectAllRight(R"(exec.kernel @k(%x: tensor<6x7x5x8xf32>, %f: tensor<3x3x8x24xf32>)
    attributes {flops = 907200 : i64, bytes = 33024 : i64} {
    %0 = grad.convolution %x, %f dims "nc,co->no" window <[3, 3] low [1, 1] high [1, 1]> : tensor<6x7x5x8xf32>, tensor<3x3x8x24xf32>
    exec.yield %0 : tensor<6x7x5x24xf32>
  })",
                 12);
  expectAllRight(R"(exec.kernel @k(%x: tensor<9x8x4x20xf32>, %f: tensor<7x7x20xf32>)
    attributes {flops = 564480 : i64, bytes = 50000 : i64} {
    %0 = grad.convolution %x, %f dims "nc,c->nc" window <[7, 7] low [3, 3] high [3, 3]> : tensor<9x8x4x20xf32>, tensor<7x7x20xf32>
    exec.yield %0 : tensor<9x8x4x20xf32>
  })",
                 12);
}

TEST(Candidates, OfTransposes) {
  expectAllRight(
      R"(exec.kernel @k(%x: tensor<5x9x12x21xf32>) attributes {flops = 11340 : i64, bytes = 90720 : i64} {
    %0 = grad.transpose %x permutation [2, 3, 0, 1] : tensor<5x9x12x21xf32>
    exec.yield %0 : tensor<12x21x5x9xf32>
  })",
      20);
  expectAllRight(
      R"(exec.kernel @k(%x: tensor<19x33x20xf32>) attributes {flops = 12540 : i64, bytes = 100320 : i64} {
    %0 = grad.transpose %x permutation [1, 0, 2] : tensor<19x33x20xf32>
    exec.yield %0 : tensor<33x19x20xf32>
  })",
      10);
}

TEST(Candidates, OfReductionsAndRows) {
  expectAllRight(
      R"(exec.kernel @k(%x: tensor<6x11x40xf32>) attributes {flops = 10560 : i64, bytes = 21384 : i64} {
    %0 = grad.reduce_max %x dims [2] : tensor<6x11x40xf32>
    %1 = grad.broadcast %0 dims [0, 1] : tensor<6x11xf32> -> tensor<6x11x40xf32>
    %2 = grad.sub %x, %1 : tensor<6x11x40xf32>
    %3 = grad.exp %2 : tensor<6x11x40xf32>
    exec.yield %0, %3 : tensor<6x11xf32>, tensor<6x11x40xf32>
  })",
      5);
  expectAllRight(
      R"(exec.kernel @k(%x: tensor<50x40xf32>) attributes {flops = 2000 : i64, bytes = 8160 : i64} {
    %0 = grad.reduce_sum %x dims [0] : tensor<50x40xf32>
    exec.yield %0 : tensor<40xf32>
  })",
      1);
}

TEST(Candidates, OfAttention) {
  expectAllRight(
      R"(exec.kernel @k(%q: tensor<2x2x70x16xf32>, %k: tensor<2x2x65x16xf32>, %v: tensor<2x2x65x16xf32>)
    attributes {flops = 1200000 : i64, bytes = 70000 : i64} {
    %y, %s = grad.attention %q, %k, %v {scale = 0.3 : f64} : tensor<2x2x70x16xf32>, tensor<2x2x65x16xf32>, tensor<2x2x65x16xf32>
    exec.yield %y, %s : tensor<2x2x70x16xf32>, tensor<2x2x70x2xf32>
  })",
      2);
}

TEST(Candidates, OfAnAttentionsGradient) {
  expectAllRight(
      R"(exec.kernel @k(%q: tensor<2x2x70x16xf32>, %k: tensor<2x2x65x16xf32>, %v: tensor<2x2x65x16xf32>,
      %y: tensor<2x2x70x16xf32>, %s: tensor<2x2x70x2xf32>, %g: tensor<2x2x70x16xf32>)
    attributes {flops = 3000000 : i64, bytes = 140000 : i64} {
    %dq, %dk, %dv = grad.attention_grad %q, %k, %v, %y, %s, %g {scale = 0.3 : f64} : tensor<2x2x70x16xf32>, tensor<2x2x65x16xf32>, tensor<2x2x65x16xf32>, tensor<2x2x70x16xf32>, tensor<2x2x70x2xf32>, tensor<2x2x70x16xf32>
    exec.yield %dq, %dk, %dv : tensor<2x2x70x16xf32>, tensor<2x2x65x16xf32>, tensor<2x2x65x16xf32>
  })",
      2, 1e-3);
}

TEST(Candidates, OfWinograd) {
  for (std::string kind : {"winograd2x2", "winograd4x4"})
    expectAllRight(R"(exec.kernel @k(%x: tensor<8x16x4x32xf32>, %f: tensor<3x3x32x32xf32>)
      attributes {flops = 9437184 : i64, bytes = 167936 : i64, layouts = [unit, #exec.panel<dim = 3, width = 16, )" +
                       kind + R"(>, unit]} {
      %0 = grad.convolution %x, %f dims "nc,co->no" window <[3, 3] low [1, 1] high [1, 1]> : tensor<8x16x4x32xf32>, tensor<3x3x32x32xf32>
      exec.yield %0 : tensor<8x16x4x32xf32>
    })",
                   2, 2e-4);
  expectAllRight(R"(exec.kernel @k(%x: tensor<8x16x4x32xf32>, %y: tensor<8x16x4x32xf32>)
    attributes {flops = 9437184 : i64, bytes = 167936 : i64} {
    %0 = grad.convolution %x, %y dims "nc,no->co" window <[8, 16] low [1, 1] high [1, 1]> : tensor<8x16x4x32xf32>, tensor<8x16x4x32xf32>
    exec.yield %0 : tensor<3x3x32x32xf32>
  })",
                 2, 1e-3);
}

// A schedule with fewer units than threads is no candidate, whatever its time on one thread.
TEST(Candidates, KeepUnitsForSeveralThreads) {
  for (const std::string &text : candidatesOf(R"(
    exec.kernel @k(%x: tensor<64x64xf32>) attributes {flops = 4096 : i64, bytes = 32768 : i64} {
      %0 = grad.exp %x : tensor<64x64xf32>
      exec.yield %0 : tensor<64x64xf32>
    })",
                                              "x86-64-v3")) {
    MLIRContext context(kernelDialects());
    context.loadAllAvailableDialects();
    auto module = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(module);
    EXPECT_GE(exec::kernelUnits(*module->getOps<exec::KernelOp>().begin()), 8) << text;
  }
}

} // namespace
