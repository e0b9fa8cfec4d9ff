// Links the kernels' LLVM modules, optimizes them for NVPTX, and emits PTX, which ptxas compiles.
#include "compiler/codegen/cuda/Module.h"

#include "compiler/codegen/cuda/Ptxas.h"
#include "compiler/codegen/lower/Optimize.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Linker/Linker.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"

#include <mutex>

using namespace mlir;

static void initializeTarget() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
}

static std::unique_ptr<llvm::TargetMachine> createMachine(const exec::Level &level) {
  initializeTarget();
  llvm::Triple triple("nvptx64-nvidia-cuda");
  std::string error;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return nullptr;
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(triple, level.cpu, level.features, llvm::TargetOptions(),
                                  std::nullopt, std::nullopt, llvm::CodeGenOptLevel::Aggressive));
}

/// Links all kernels into one module. Denormals are flushed to 0, as on every target.
static std::unique_ptr<llvm::Module> link(ArrayRef<ModuleOp> modules, llvm::LLVMContext &context,
                                          llvm::TargetMachine &machine) {
  auto all = std::make_unique<llvm::Module>("kernels", context);
  all->setTargetTriple(machine.getTargetTriple());
  all->setDataLayout(machine.createDataLayout());
  for (ModuleOp module : modules) {
    std::unique_ptr<llvm::Module> part = translateModuleToLLVMIR(module, context);
    if (!part)
      return nullptr;
    part->setTargetTriple(all->getTargetTriple());
    part->setDataLayout(all->getDataLayout());
    if (llvm::Linker::linkModules(*all, std::move(part)))
      return nullptr;
  }
  for (llvm::Function &f : *all) {
    if (f.isDeclaration())
      continue;
    f.addFnAttr("target-cpu", machine.getTargetCPU());
    f.addFnAttr("target-features", machine.getTargetFeatureString());
    f.addFnAttr("denormal-fp-math-f32", "preserve-sign,preserve-sign");
    f.addFnAttr("no-builtins");
    f.addFnAttr(llvm::Attribute::NoUnwind);
  }
  return all;
}

/// The bitcode, preceded by LLVM's wrapper header, which states its size.
static std::string bitcode(const llvm::Module &module) {
  llvm::SmallString<0> code;
  llvm::raw_svector_ostream stream(code);
  llvm::WriteBitcodeToFile(module, stream);
  uint32_t header[] = {0x0b17c0de, 0, 5 * sizeof(uint32_t), uint32_t(code.size()), 0};
  return std::string(reinterpret_cast<const char *>(header), sizeof header) + std::string(code);
}

FailureOr<std::string> gradc::cuda::emitModules(ArrayRef<ModuleOp> modules,
                                                const exec::Level &level,
                                                const CodegenOptions &options) {
  Operation *at = modules.front();
  DialectRegistry registry;
  registerNVVMDialectTranslation(registry);
  at->getContext()->appendDialectRegistry(registry);

  std::unique_ptr<llvm::TargetMachine> machine = createMachine(level);
  if (!machine)
    return at->emitError("this build's LLVM has no NVPTX target, which ") << level.name << " needs";
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> code = link(modules, context, *machine);
  if (!code)
    return at->emitError("compiler bug: the kernels do not translate to LLVM IR");
  optimize(*code, *machine, /*unrolls=*/true);

  llvm::SmallString<0> out;
  llvm::raw_svector_ostream stream(out);
  if (options.emit == EmitKind::llvm) {
    code->print(stream, nullptr);
    return std::string(out);
  }
  if (options.emit == EmitKind::image && options.llvmImage)
    return bitcode(*code);
  llvm::legacy::PassManager emission;
  if (machine->addPassesToEmitFile(emission, stream, nullptr, llvm::CodeGenFileType::AssemblyFile))
    return at->emitError("compiler bug: the target emits no PTX");
  emission.run(*code);
  if (options.emit == EmitKind::assembly)
    return std::string(out);
  llvm::Expected<std::string> image = assemble(out, level, options.emit == EmitKind::image);
  if (image)
    return std::move(*image);
  llvm::Error error = image.takeError();
  bool isFile = error.isA<llvm::FileError>();
  return at->emitError() << (isFile ? "cannot write temporary file " : "")
                         << llvm::toString(std::move(error)) << (isFile ? "; see TMPDIR" : "");
}
