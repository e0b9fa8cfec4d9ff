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
  /// Null if no kernel has that name.
  const Kernel *find(const std::string &name) const;

private:
  std::unique_ptr<llvm::orc::LLJIT> jit;
  std::map<std::string, Kernel> kernels;
};

} // namespace gradc::simulated

#endif
