// generateImage for each kind of output, and its errors.
#include "compiler/codegen/Codegen.h"
#include "dialects/grad/Grad.h"

#include "mlir/Parser/Parser.h"
#include "gmock/gmock.h"

using namespace mlir;
using namespace gradc;
using ::testing::HasSubstr;
using ::testing::StartsWith;

namespace {

class Codegen : public ::testing::Test {
protected:
  Codegen() {
    DialectRegistry registry;
    registry.insert<exec::ExecDialect, grad::GradDialect, arith::ArithDialect,
                    linalg::LinalgDialect, tensor::TensorDialect>();
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    context.getDiagEngine().registerHandler([&](Diagnostic &d) { messages += d.str() + "\n"; });
  }
  FailureOr<std::string> generate(const std::string &text, CodegenOptions options = {}) {
    module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(module) << messages;
    if (!module)
      return failure();
    return generateImage(*module, *exec::findLevel("x86-64-v3"), options);
  }
  std::string generate(EmitKind kind) {
    CodegenOptions options;
    options.emit = kind;
    return generate(twoKernels, options).value_or("");
  }

  static constexpr const char *twoKernels = R"(
    exec.kernel @add(%a: tensor<64xf32>) attributes {schedule = #exec.schedule<lanes = 8, tile = [8], order = [0], grain = 1>} {
      %s = grad.add %a, %a : tensor<64xf32>
      exec.yield %s : tensor<64xf32> }
    exec.kernel @"odd/name.1"(%a: tensor<64xf32>) attributes {schedule = #exec.schedule<lanes = 8, tile = [8], order = [0], grain = 1>} {
      %s = grad.exp %a : tensor<64xf32>
      exec.yield %s : tensor<64xf32> })";
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  std::string messages;
};

TEST_F(Codegen, SymbolsAreSafe) {
  ASSERT_TRUE(succeeded(generate(twoKernels)));
  std::vector<std::string> symbols;
  for (auto kernel : module->getOps<exec::KernelOp>())
    symbols.push_back(kernelSymbol(kernel));
  EXPECT_THAT(symbols, ::testing::ElementsAre("gradc_add", "gradc_odd_2fname_2e1"));
}

TEST_F(Codegen, EveryKindOfOutput) {
  EXPECT_THAT(generate(EmitKind::mlir), HasSubstr("scf.for"));
  EXPECT_THAT(generate(EmitKind::llvm), HasSubstr("define void @gradc_add("));
  EXPECT_THAT(generate(EmitKind::assembly), HasSubstr("gradc_odd_2fname_2e1:"));
  EXPECT_THAT(generate(EmitKind::object), StartsWith("\x7f"
                                                     "ELF"));
  EXPECT_THAT(generate(EmitKind::image), StartsWith("\x7f"
                                                    "ELF"));
}

TEST_F(Codegen, CallsNothing) {
  EXPECT_THAT(generate(EmitKind::assembly), ::testing::Not(HasSubstr("call")));
}

TEST_F(Codegen, SameBytesEachTime) {
  EXPECT_EQ(generate(EmitKind::image), generate(EmitKind::image));
}

TEST_F(Codegen, NoKernels) {
  FailureOr<std::string> image = generate("");
  ASSERT_TRUE(succeeded(image));
  EXPECT_THAT(*image, StartsWith("\x7f"
                                 "ELF"));
}

TEST_F(Codegen, TimesItsPhases) {
  std::vector<std::string> phases;
  CodegenOptions options;
  options.timing = [&](llvm::StringRef name, double) { phases.push_back(name.str()); };
  ASSERT_TRUE(succeeded(generate(twoKernels, options)));
  EXPECT_THAT(phases,
              ::testing::ElementsAre("emit loops", "lower to LLVM", "machine code", "link"));
}

TEST_F(Codegen, KernelWithoutSchedule) {
  EXPECT_TRUE(failed(generate(R"(exec.kernel @k(%a: tensor<8xf32>) {
      exec.yield %a : tensor<8xf32> })")));
  EXPECT_THAT(messages, HasSubstr("expected a schedule"));
}

TEST_F(Codegen, OpWithoutLoops) {
  EXPECT_TRUE(failed(generate(R"(
    grad.state parameter @w : tensor<8xf32> = dense<0.0> : tensor<8xf32>
    exec.kernel @k() attributes {schedule = #exec.schedule<lanes = 8, tile = [8], order = [0], grain = 1>} {
      %w = grad.read @w : tensor<8xf32>
      exec.yield %w : tensor<8xf32> })")));
  EXPECT_THAT(messages, HasSubstr("has no loops, so a kernel cannot hold it"));
}

TEST_F(Codegen, PanelsOfAFactorThatIsNoOperandAcrossTheSum) {
  const char *text = R"(
    exec.kernel @k(%a: tensor<8x16xf32>, %b: tensor<16x32xf32>) attributes {{schedule = #exec.schedule<lanes = 8, tile = [4, 16], order = [1, 0], grain = 1, panels = [{0}]>} {{
      %s = grad.matmul %a, %b : tensor<8x16xf32>, tensor<16x32xf32>
      exec.yield %s : tensor<8x32xf32> })";
  EXPECT_TRUE(failed(generate(llvm::formatv(text, "1, 2"))));
  EXPECT_THAT(messages, HasSubstr("expected factor 0 to be an operand that runs across the sum"));
  EXPECT_TRUE(succeeded(generate(llvm::formatv(text, "0, 2"))));
}

/// No product, a result of another shape, and a statistic of the product's rows.
TEST_F(Codegen, PanelsOfOtherKernels) {
  const char *text = R"(
    exec.kernel @k(%a: tensor<8x16xf32>, %b: tensor<16x32xf32>, %c: tensor<32xf32>) attributes {{schedule = #exec.schedule<lanes = 8, tile = [4, 16], order = [1, 0], grain = 1, panels = [0, {0}]>} {{
      %s = grad.matmul %a, %b : tensor<8x16xf32>, tensor<16x32xf32>
      {1} })";
  for (const char *rest :
       {"%e = grad.exp %c : tensor<32xf32>\n"
        "exec.yield %s, %e : tensor<8x32xf32>, tensor<32xf32>",
        "%n = grad.reduce_sum %s dims [1] : tensor<8x32xf32>\n"
        "%m = grad.broadcast %n dims [0] : tensor<8xf32> -> tensor<8x32xf32>\n"
        "%e = grad.sub %s, %m : tensor<8x32xf32>\n exec.yield %e : tensor<8x32xf32>"}) {
    messages.clear();
    EXPECT_TRUE(failed(generate(llvm::formatv(text, 2, rest))));
    EXPECT_THAT(messages, HasSubstr("expected a product of two matrices, elementwise ops on it"));
  }
  for (const char *panels : {"0, 0", "0, 2"}) {
    messages.clear();
    EXPECT_TRUE(failed(generate(llvm::formatv(R"(
      exec.kernel @k(%a: tensor<8x32xf32>) attributes {{schedule = #exec.schedule<lanes = 8, tile = [4, 16], order = [1, 0], grain = 1, panels = [{0}]>} {{
        %s = grad.exp %a : tensor<8x32xf32>
        exec.yield %s : tensor<8x32xf32> })",
                                              panels))));
    EXPECT_THAT(messages, HasSubstr("expected a product of two matrices, elementwise ops on it"));
  }
}

TEST_F(Codegen, OpThatIsNotALoop) {
  EXPECT_TRUE(failed(generate(R"(
    exec.kernel @k(%a: tensor<8xf32>) attributes {schedule = #exec.schedule<lanes = 8, tile = [8], order = [0], grain = 1>} {
      %s = tensor.extract_slice %a[0] [8] [1] : tensor<8xf32> to tensor<8xf32>
      exec.yield %s : tensor<8xf32> })")));
  EXPECT_THAT(messages,
              HasSubstr("expected linalg.generic, linalg.fill of a constant, or a constant"));
}

} // namespace
