// Runs LLVM's optimizer and code generator on one kernel.
#include "compiler/codegen/cpu/Object.h"

#include "compiler/codegen/lower/Optimize.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"

#include <mutex>

using namespace mlir;

static void initializeTarget() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
  });
}

FailureOr<std::string> gradc::cpu::emitObject(ModuleOp module, const exec::Level &level,
                                              const CodegenOptions &options) {
  initializeTarget();
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> code = translateModuleToLLVMIR(module, context);
  if (!code)
    return module.emitError("compiler bug: the kernel does not translate to LLVM IR");

  std::string cpu = options.cpu.empty() ? level.cpu.str() : options.cpu;
  std::string features = options.cpu.empty() ? level.features.str() : options.features;
  llvm::Triple triple("x86_64-unknown-linux-gnu");
  std::string error;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  assert(target && "the X86 target is linked in");
  std::unique_ptr<llvm::TargetMachine> machine(
      target->createTargetMachine(triple, cpu, features, llvm::TargetOptions(), llvm::Reloc::PIC_,
                                  std::nullopt, llvm::CodeGenOptLevel::Aggressive));
  code->setTargetTriple(triple);
  code->setDataLayout(machine->createDataLayout());
  for (llvm::Function &f : *code) {
    if (f.isDeclaration())
      continue;
    f.addFnAttr("target-cpu", cpu);
    f.addFnAttr("target-features", features);
    f.addFnAttr("prefer-vector-width", std::to_string(level.vectorBytes * 8));
    f.addFnAttr("no-builtins"); // copy loops must not become calls of memcpy
    f.addFnAttr(llvm::Attribute::NoUnwind);
  }
  // Loops are unrolled as the schedule says; LLVM only cleans up, selects and allocates.
  optimize(*code, *machine, /*unrolls=*/false);

  llvm::SmallString<0> out;
  llvm::raw_svector_ostream stream(out);
  if (options.emit == EmitKind::llvm) {
    code->print(stream, nullptr);
    return std::string(out);
  }
  llvm::legacy::PassManager emission;
  auto kind = options.emit == EmitKind::assembly ? llvm::CodeGenFileType::AssemblyFile
                                                 : llvm::CodeGenFileType::ObjectFile;
  if (machine->addPassesToEmitFile(emission, stream, nullptr, kind))
    return module.emitError("compiler bug: the target emits no such file");
  emission.run(*code);
  return std::string(out);
}
