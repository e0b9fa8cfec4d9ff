// Schedules kernels, compiles them to bitcode, and launches them through the runtime's own CUDA
// device.
#include "test/unit/compiler/codegen/cuda/GpuKernel.h"

#include "dialects/exec/Blocks.h"
#include "dialects/grad/Evaluate.h"
#include "passes/Passes.h"
#include "test/unit/compiler/codegen/KernelTesting.h"

#include "mlir/Parser/Parser.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/SourceMgr.h"
#include "gtest/gtest.h"

#include <cstdlib>

using namespace mlir;
using namespace gradc::test;
namespace runtime = gradc::runtime;

/// The bitcode of LLVM IR, preceded by the header that states its size.
static std::string bitcodeOf(const std::string &text) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic error;
  auto module = llvm::parseAssemblyString(text, error, context);
  EXPECT_TRUE(module) << error.getMessage().str();
  if (!module)
    return "";
  std::string code;
  llvm::raw_string_ostream stream(code);
  llvm::WriteBitcodeToFile(*module, stream);
  uint32_t header[] = {0x0b17c0de, 0, 20, uint32_t(code.size()), 0};
  return std::string(reinterpret_cast<char *>(header), sizeof header) + code;
}

GpuKernel::GpuKernel(const std::string &text, const Breaking &breaking)
    : context(kernelDialects()) {
  context.loadAllAvailableDialects();
  setenv("GRADC_LIBCUDA", GRADC_TEST_LIBCUDA, 1);
  module = parseSourceString<ModuleOp>(text, &context);
  if (!module)
    return;
  (*module)->setAttr("exec.level", StringAttr::get(&context, "cuda:sm_90"));
  PassManager pm(&context);
  pm.addPass(createSchedule());
  pm.addPass(createGroupLaunches());
  if (failed(pm.run(*module)))
    return;
  op = *module->getOps<exec::KernelOp>().begin();
  CodegenOptions options;
  options.verify = true;
  options.llvmImage = true;
  options.emit = breaking ? EmitKind::llvm : EmitKind::image;
  auto code = generateImage(*module, *exec::findLevel("cuda:sm_90"), options);
  if (failed(code))
    return;
  if (breaking) {
    std::string before = *code;
    breaking(*code);
    EXPECT_NE(before, *code) << "there was nothing to break in\n" << before;
    code = bitcodeOf(*code);
  }
  auto opened = runtime::createCudaDevice();
  EXPECT_TRUE(opened) << opened.status().message();
  if (!opened)
    return;
  device = std::move(*opened);
  auto loaded = device->load(std::as_bytes(std::span(*code)));
  EXPECT_TRUE(loaded) << loaded.status().message();
  if (!loaded)
    return;
  image = std::move(*loaded);
}
GpuKernel::~GpuKernel() = default;

std::vector<HostTensor> GpuKernel::randomOperands(unsigned seed) {
  return test::randomOperands(op, seed);
}

runtime::Result<std::vector<HostTensor>> GpuKernel::run(const std::vector<HostTensor> &operands,
                                                        const char *order, int64_t rows) {
  setenv("GRADC_SIMULATED", (std::string("order=") + order).c_str(), 1);
  std::vector<runtime::DeviceMemory> memory;
  std::vector<void *> slices;
  std::vector<HostTensor> results;
  for (Value v : op.getYielded())
    results.emplace_back(cast<RankedTensorType>(v.getType()));
  auto add = [&](const HostTensor &tensor) {
    memory.emplace_back(*device, tensor.bytes().size());
    slices.push_back(memory.back().data());
  };
  for (const HostTensor &operand : operands) {
    add(operand);
    if (runtime::Status copied =
            device->copyIn(slices.back(), operand.bytes().data(), operand.bytes().size());
        !copied.ok())
      return copied;
  }
  for (const HostTensor &result : results)
    add(result);
  runtime::Launch launch;
  launch.threads = uint32_t(op.getThreads());
  launch.kernel = image->findKernel(kernelSymbol(op).c_str());
  launch.slices = slices.data();
  launch.sliceCount = slices.size();
  launch.units = blocks(rows);
  launch.rows = rows;
  if (runtime::Status launched = device->launch(launch); !launched.ok())
    return launched;
  for (auto [i, result] : llvm::enumerate(results))
    if (runtime::Status copied = device->copyOut(
            result.mutableBytes().data(), slices[operands.size() + i], result.bytes().size());
        !copied.ok())
      return copied;
  if (runtime::Status ended = device->synchronize(); !ended.ok())
    return ended;
  return results;
}

int64_t GpuKernel::blocks(int64_t rows) {
  exec::BlocksOfRows of = exec::blocksOfRows(op);
  if (rows < 0 || of.rows == 0)
    return exec::kernelUnits(op);
  int64_t tiles = llvm::divideCeil(of.rows * rows, of.tile);
  return std::max<int64_t>(llvm::divideCeil(tiles * of.times, of.per), 1);
}

std::vector<HostTensor> GpuKernel::evaluate(const std::vector<HostTensor> &operands) {
  auto results = evaluateBlock(op.getBlock(), operands);
  return {results.begin(), results.end()};
}

double gradc::test::worstError(const std::vector<HostTensor> &found,
                               const std::vector<HostTensor> &expected) {
  double worst = 0;
  for (size_t r = 0; r < found.size(); ++r)
    for (int64_t i = 0; i < found[r].size(); ++i) {
      double e = expected[r].getFloat(i), error = std::abs(found[r].getFloat(i) - e);
      worst = std::max(worst, std::isnan(error) ? INFINITY : error / std::max(1.0, std::abs(e)));
    }
  return worst;
}

void gradc::test::expectRightOnGpu(const std::string &text, double tolerance) {
  GpuKernel kernel(text);
  ASSERT_TRUE(kernel.isReady()) << text;
  auto operands = kernel.randomOperands(1);
  auto expected = kernel.evaluate(operands);
  std::vector<HostTensor> first;
  for (const char *order : {"forward", "reverse", "shuffled"}) {
    auto found = kernel.run(operands, order);
    ASSERT_TRUE(found) << found.status().message() << '\n' << text;
    EXPECT_LE(worstError(*found, expected), tolerance) << text;
    if (first.empty())
      first = *found;
    for (size_t r = 0; r < first.size(); ++r)
      EXPECT_EQ(first[r].bytes(), (*found)[r].bytes()) << order << " gives other bits for\n"
                                                       << text;
  }
}
