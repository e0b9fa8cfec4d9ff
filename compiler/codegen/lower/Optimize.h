// LLVM's optimizer, as every target runs it.
#ifndef COMPILER_CODEGEN_LOWER_OPTIMIZE_H
#define COMPILER_CODEGEN_LOWER_OPTIMIZE_H

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace gradc {

/// Vectors are as wide as the schedule says, so LLVM makes none. `unrolls`: whether it may unroll
/// and interleave loops.
void optimize(llvm::Module &module, llvm::TargetMachine &machine, bool unrolls);

} // namespace gradc

#endif
