// Compiles one kernel given as text for a GPU and runs it on the simulated device.
#ifndef TEST_UNIT_COMPILER_CODEGEN_CUDA_GPUKERNEL_H
#define TEST_UNIT_COMPILER_CODEGEN_CUDA_GPUKERNEL_H

#include "compiler/codegen/Codegen.h"
#include "dialects/grad/Grad.h"
#include "runtime/device/Device.h"

#include <string>
#include <vector>

namespace gradc::test {

using mlir::grad::HostTensor;

/// Changes the LLVM IR of a test before it runs: not at all, or to break it. Any change of the text
/// is allowed.
using Breaking = std::function<void(std::string &text)>;

class GpuKernel {
public:
  /// `text` holds an exec.kernel without a schedule, which gets the schedule of cuda:sm_90; or
  /// several kernels, and a function whose launches are merged into one, whose kernel is then used.
  /// The code runs on the simulated device.
  explicit GpuKernel(const std::string &text, const Breaking &breaking = {});
  ~GpuKernel();

  bool isReady() const { return image != nullptr; }
  mlir::exec::KernelOp kernel() const { return op; }
  /// Numbers in [-2, 2), integers below 7.
  std::vector<HostTensor> randomOperands(unsigned seed);
  /// Runs with each operand and result in its own device memory; results start as zeros. `rows`:
  /// the rows of the run; -1 for the largest batch. Errors are the device's.
  runtime::Result<std::vector<HostTensor>> run(const std::vector<HostTensor> &operands,
                                               const char *order = "forward", int64_t rows = -1);
  /// The number of blocks of a launch.
  int64_t blocks(int64_t rows);
  /// Evaluates the region op by op through each op's `evaluate`.
  std::vector<HostTensor> evaluate(const std::vector<HostTensor> &operands);

private:
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::exec::KernelOp op;
  std::unique_ptr<runtime::Device> device;
  std::unique_ptr<runtime::Image> image;
};

/// Expects correct results, and the same bits in every order of threads.
void expectRightOnGpu(const std::string &text, double tolerance = 2e-5);

/// The largest difference from the evaluator, relative for values above 1.
double worstError(const std::vector<HostTensor> &found, const std::vector<HostTensor> &expected);

} // namespace gradc::test

#endif
