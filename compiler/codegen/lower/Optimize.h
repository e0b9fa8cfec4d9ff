// LLVM's optimization pipeline, shared by all targets.
#ifndef COMPILER_CODEGEN_LOWER_OPTIMIZE_H
#define COMPILER_CODEGEN_LOWER_OPTIMIZE_H

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace gradc {

/// The schedule determines vectorization, so LLVM's vectorizers are off. `unrolls`: whether LLVM
/// may unroll and interleave loops.
void optimize(llvm::Module &module, llvm::TargetMachine &machine, bool unrolls);

} // namespace gradc

#endif
