// Stands in for parts of LLVM that lld initializes and gradc never uses: targets without code
// generation, and Polly. Tools that link LLVM statically would otherwise contain them.
#include "llvm/Plugins/PassPlugin.h"

#define NO_TARGET(name)                                                                            \
  extern "C" void LLVMInitialize##name##TargetInfo() {}                                            \
  extern "C" void LLVMInitialize##name##Target() {}                                                \
  extern "C" void LLVMInitialize##name##TargetMC() {}                                              \
  extern "C" void LLVMInitialize##name##AsmPrinter() {}                                            \
  extern "C" void LLVMInitialize##name##AsmParser() {}
#include "NoTargets.inc"

llvm::PassPluginLibraryInfo getPollyPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "", "", [](llvm::PassBuilder &) {}};
}
