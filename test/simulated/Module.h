// A GPU module's LLVM IR as code for this machine.
#ifndef TEST_SIMULATED_MODULE_H
#define TEST_SIMULATED_MODULE_H

#include "test/simulated/Execution.h"

#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include <map>

namespace gradc::simulated {

class Module {
public:
  /// Bitcode as gradc writes it for NVPTX.
  static llvm::Expected<std::unique_ptr<Module>> load(llvm::StringRef bitcode);
  /// The kernels of ControlKernels.cu.
  static std::unique_ptr<Module> controlKernels();
  /// Null if no kernel has that name.
  const Kernel *find(const std::string &name) const;

private:
  std::unique_ptr<llvm::orc::LLJIT> jit;
  std::map<std::string, Kernel> kernels;
};

/// Whether an image is machine code of the CUDA toolkit, and whether it has code for a GPU.
bool isFatbin(const void *image);
bool hasMachineCode(const void *image, int sm);

} // namespace gradc::simulated

#endif
