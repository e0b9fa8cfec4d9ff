// Reads the properties of each kernel's machine code from the ELF file that ptxas made, without
// other tools of the toolkit.
#ifndef COMPILER_CODEGEN_CUDA_CUBIN_H
#define COMPILER_CODEGEN_CUDA_CUBIN_H

#include "dialects/exec/Level.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"

namespace gradc::cuda {

struct KernelCode {
  int64_t registers = 0;   ///< of a thread
  int64_t frameBytes = 0;  ///< of a thread's stack: spills and local memory
  int64_t sharedBytes = 0; ///< of a block
  int64_t codeBytes = 0;
};

/// By symbol.
llvm::Expected<llvm::StringMap<KernelCode>> readCubin(llvm::StringRef cubin);

/// Occupancy: resident threads / maximum threads.
double occupancy(const KernelCode &code, int64_t threads, const mlir::exec::Gpu &gpu);

} // namespace gradc::cuda

#endif
