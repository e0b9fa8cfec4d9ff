// One nested module per kernel, all lowered in parallel, then linked.
#include "compiler/codegen/Codegen.h"

#include "compiler/codegen/Region.h"
#include "compiler/codegen/cpu/Kernel.h"
#include "compiler/codegen/cpu/Object.h"
#include "compiler/codegen/cuda/Kernel.h"
#include "compiler/codegen/cuda/Module.h"
#include "compiler/codegen/lower/Lower.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Threading.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"

#include "llvm/Support/Error.h"

#include <chrono>

using namespace mlir;
using namespace gradc;

std::string gradc::kernelSymbol(exec::KernelOp kernel) {
  std::string symbol = "gradc_";
  for (char c : kernel.getSymName())
    if (llvm::isAlnum(c))
      symbol += c;
    else
      symbol += "_" + llvm::utohexstr(uint8_t(c), /*LowerCase=*/true, /*Width=*/2);
  return symbol;
}

namespace {
/// Reports how long its scope took.
class Phase {
public:
  Phase(const CodegenOptions &options, StringRef name) : options(options), name(name) {}
  ~Phase() {
    std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    if (options.timing)
      options.timing(name, seconds.count());
  }

private:
  const CodegenOptions &options;
  StringRef name;
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
};
} // namespace

namespace {
/// Lets several threads use the context, which otherwise takes no locks, while it is in scope.
class AllCores {
public:
  explicit AllCores(MLIRContext *context) : context(context) { context->enableMultithreading(); }
  ~AllCores() { context->disableMultithreading(); }

private:
  MLIRContext *context;
};
} // namespace

/// A module in `all` with the kernel's function.
static LogicalResult emitLoops(exec::KernelOp kernel, const exec::Level &level, ModuleOp all) {
  FailureOr<OwningOpRef<exec::KernelOp>> lowered = lowerRegion(kernel);
  if (failed(lowered))
    return failure();
  auto builder = OpBuilder::atBlockEnd(all.getBody());
  auto module = ModuleOp::create(builder, kernel.getLoc());
  auto emit = level.isCuda() ? cuda::emitKernel : cpu::emitKernel;
  return emit(**lowered, level, module, kernelSymbol(kernel));
}

static std::string print(ModuleOp all) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  for (ModuleOp module : all.getOps<ModuleOp>())
    stream << module << '\n';
  return text;
}

FailureOr<std::string> gradc::generateImage(ModuleOp module, const exec::Level &level,
                                            const CodegenOptions &options) {
  MLIRContext *context = module.getContext();
  DialectRegistry registry;
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  context->appendDialectRegistry(registry);
  context->loadDialect<LLVM::LLVMDialect, NVVM::NVVMDialect, scf::SCFDialect, vector::VectorDialect,
                       cf::ControlFlowDialect>();

  OwningOpRef<ModuleOp> all = ModuleOp::create(module.getLoc());
  {
    Phase phase(options, "emit loops");
    bool good = true;
    for (auto kernel : module.getOps<exec::KernelOp>())
      good &= succeeded(emitLoops(kernel, level, *all));
    if (!good)
      return failure();
  }
  if (options.emit == EmitKind::mlir)
    return print(*all);
  AllCores allCores(context);
  {
    Phase phase(options, "lower to LLVM");
    PassManager pm(context, ModuleOp::getOperationName());
    pm.enableVerifier(options.verify);
    lower::buildLowering(pm.nest<ModuleOp>(), level.bf16Dots && options.cpu.empty());
    if (failed(pm.run(*all)))
      return failure();
  }
  auto modules = llvm::to_vector(all->getOps<ModuleOp>());
  if (modules.empty()) // an image without kernels is still an image
    modules.push_back(ModuleOp::create(module.getLoc()));
  if (level.isCuda()) {
    Phase phase(options, "machine code");
    return cuda::emitModules(modules, level, options);
  }
  std::vector<std::string> parts(modules.size());
  {
    Phase phase(options, "machine code");
    auto emit = [&](size_t i) -> LogicalResult {
      FailureOr<std::string> part = cpu::emitObject(modules[i], level, options);
      if (succeeded(part))
        parts[i] = std::move(*part);
      return part;
    };
    if (failed(failableParallelForEachN(context, 0, modules.size(), emit)))
      return failure();
  }
  if (options.emit == EmitKind::assembly || options.emit == EmitKind::llvm)
    return llvm::join(parts, "\n");

  Phase phase(options, "link");
  llvm::Expected<std::string> image = cpu::link(parts, options.emit == EmitKind::object);
  if (!image) {
    llvm::Error error = image.takeError();
    // The machine's fault, not the model's: the program that compiles ends as on any such error.
    if (error.isA<llvm::FileError>())
      llvm::report_fatal_error(llvm::Twine(llvm::toString(std::move(error))),
                               /*gen_crash_diag=*/false);
    return module.emitError("compiler bug: kernels do not link: ")
           << llvm::toString(std::move(error));
  }
  return std::move(*image);
}
