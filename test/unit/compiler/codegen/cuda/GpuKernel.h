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

/// What a test does to the LLVM IR before it runs: nothing, or breaks it. The text may be changed
/// at will.
using Breaking = std::function<void(std::string &text)>;

class GpuKernel {
public:
  /// `text` holds an exec.kernel without a schedule; it gets that of cuda:sm_90. Or several, and a
  /// function with launches that become one: then it is that one's kernel. Its code runs on the
  /// simulated device.
  explicit GpuKernel(const std::string &text, const Breaking &breaking = {});
  ~GpuKernel();

  bool isReady() const { return image != nullptr; }
  mlir::exec::KernelOp kernel() const { return op; }
  /// Numbers in [-2, 2), integers below 7.
  std::vector<HostTensor> randomOperands(unsigned seed);
  /// Each operand and result in device memory of its own; results begin as zeros. `rows`: of the
  /// run; -1: the largest. The failure is the device's.
  runtime::Result<std::vector<HostTensor>> run(const std::vector<HostTensor> &operands,
                                               const char *order = "forward", int64_t rows = -1);
  /// Blocks of a launch.
  int64_t blocks(int64_t rows);
  /// The region, op by op, through the ops' own evaluate.
  std::vector<HostTensor> evaluate(const std::vector<HostTensor> &operands);

private:
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::exec::KernelOp op;
  std::unique_ptr<runtime::Device> device;
  std::unique_ptr<runtime::Image> image;
};

/// Right, and the same bits in every order of threads.
void expectRightOnGpu(const std::string &text, double tolerance = 2e-5);

/// The largest difference from the evaluator, relative above 1.
double worstError(const std::vector<HostTensor> &found, const std::vector<HostTensor> &expected);

} // namespace gradc::test

#endif
