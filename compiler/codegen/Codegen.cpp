// Builds one nested module per kernel, lowers all of them in parallel, and links them.
#include "compiler/codegen/Codegen.h"

#include "compiler/codegen/KernelCache.h"
#include "compiler/codegen/Region.h"
#include "compiler/codegen/cpu/Kernel.h"
#include "compiler/codegen/cpu/Object.h"
#include "compiler/codegen/cuda/Kernel.h"
#include "compiler/codegen/cuda/Module.h"
#include "compiler/codegen/lower/Lower.h"
#include "dialects/exec/Blocks.h"
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
/// Reports the time spent in its scope.
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

/// While in scope, lets several threads use the context, which otherwise takes no locks.
class AllCores {
public:
  explicit AllCores(MLIRContext *context) : context(context) { context->enableMultithreading(); }
  ~AllCores() { context->disableMultithreading(); }

private:
  MLIRContext *context;
};
} // namespace

/// A module in `all` with the kernel's function. `moving`: the kernel's slices that do.
static LogicalResult emitLoops(exec::KernelOp kernel, const exec::Level &level, ModuleOp all,
                               const llvm::BitVector &moving) {
  FailureOr<OwningOpRef<exec::KernelOp>> lowered = lowerRegion(kernel);
  if (failed(lowered))
    return failure();
  auto builder = OpBuilder::atBlockEnd(all.getBody());
  auto module = ModuleOp::create(builder, kernel.getLoc());
  std::string symbol = kernelSymbol(kernel);
  return level.isCuda() ? cuda::emitKernel(**lowered, level, module, symbol, moving)
                        : cpu::emitKernel(**lowered, level, module, symbol);
}

/// A module with one nested module of loops per kernel. Without kernels it has a single empty one,
/// because an image without kernels is still an image.
static FailureOr<OwningOpRef<ModuleOp>> emitLoops(ArrayRef<exec::KernelOp> kernels, Location loc,
                                                  const exec::Level &level,
                                                  const CodegenOptions &options) {
  Phase phase(options, "emit loops");
  OwningOpRef<ModuleOp> all = ModuleOp::create(loc);
  if (kernels.empty()) {
    auto builder = OpBuilder::atBlockEnd(all->getBody());
    ModuleOp::create(builder, loc);
  }
  bool good = true;
  llvm::StringMap<llvm::BitVector> moving;
  if (level.isCuda() && !kernels.empty())
    moving = exec::movingSlices(kernels.front()->getParentOfType<ModuleOp>());
  for (exec::KernelOp kernel : kernels)
    good &= succeeded(emitLoops(kernel, level, *all, moving.lookup(kernel.getSymName())));
  if (!good)
    return failure();
  return all;
}

static LogicalResult lowerToLLVM(ModuleOp all, const exec::Level &level,
                                 const CodegenOptions &options) {
  Phase phase(options, "lower to LLVM");
  PassManager pm(all.getContext(), ModuleOp::getOperationName());
  pm.enableVerifier(options.verify);
  bool isOwn = options.cpu.empty(); // not another machine's
  lower::buildLowering(pm.nest<ModuleOp>(),
                       {.roundBf16 = level.bf16Dots && isOwn,
                        .scale = !level.isCuda() && level.vectorBytes == 64 && isOwn});
  return pm.run(all);
}

static std::string print(ModuleOp all) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  for (ModuleOp module : all.getOps<ModuleOp>())
    stream << module << '\n';
  return text;
}

/// The object (or text) of each kernel, in order. Only objects missing from the cache are
/// generated.
static FailureOr<std::vector<std::string>> emitObjects(ArrayRef<exec::KernelOp> kernels,
                                                       Location loc, const exec::Level &level,
                                                       const CodegenOptions &options) {
  bool isObject = options.emit == EmitKind::image || options.emit == EmitKind::object;
  KernelCache cache(isObject ? options.cacheDirectory : "");
  std::vector<std::string> parts(std::max<size_t>(kernels.size(), 1));
  SmallVector<exec::KernelOp> missing;
  SmallVector<std::string> keys; // of the missing kernels, whose indices are `places`
  SmallVector<size_t> places;
  for (auto [i, kernel] : llvm::enumerate(kernels)) {
    std::string key = cache.keyOf(kernel, level, options);
    if (std::optional<std::string> object = cache.find(key)) {
      parts[i] = std::move(*object);
      continue;
    }
    keys.push_back(std::move(key));
    missing.push_back(kernel);
    places.push_back(i);
  }
  if (kernels.empty()) {
    keys.push_back("");
    places.push_back(0);
  } else if (missing.empty()) {
    return parts;
  }
  FailureOr<OwningOpRef<ModuleOp>> all = emitLoops(missing, loc, level, options);
  if (failed(all) || failed(lowerToLLVM(**all, level, options)))
    return failure();
  Phase phase(options, "machine code");
  auto modules = llvm::to_vector((*all)->getOps<ModuleOp>());
  auto emit = [&](size_t i) -> LogicalResult {
    FailureOr<std::string> part = cpu::emitObject(modules[i], level, options);
    if (failed(part))
      return failure();
    cache.store(keys[i], *part);
    parts[places[i]] = std::move(*part);
    return success();
  };
  if (failed(failableParallelForEachN(loc.getContext(), 0, modules.size(), emit)))
    return failure();
  return parts;
}

/// Links all parts into one image or one object.
static FailureOr<std::string> link(ArrayRef<std::string> parts, ModuleOp module,
                                   const CodegenOptions &options) {
  Phase phase(options, "link");
  llvm::Expected<std::string> image = cpu::link(parts, options.emit == EmitKind::object);
  if (image)
    return std::move(*image);
  llvm::Error error = image.takeError();
  // The machine is at fault here, not the model, so the compiler exits as for any such error.
  if (error.isA<llvm::FileError>())
    llvm::report_fatal_error("cannot write temporary file " +
                                 llvm::Twine(llvm::toString(std::move(error))) + "; see TMPDIR",
                             /*gen_crash_diag=*/false);
  return module.emitError("compiler bug: kernels do not link: ")
         << llvm::toString(std::move(error));
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

  auto kernels = llvm::to_vector(module.getOps<exec::KernelOp>());
  if (options.emit == EmitKind::mlir) {
    FailureOr<OwningOpRef<ModuleOp>> all = emitLoops(kernels, module.getLoc(), level, options);
    return failed(all) ? FailureOr<std::string>(failure()) : print(**all);
  }
  AllCores allCores(context);
  if (level.isCuda()) {
    FailureOr<OwningOpRef<ModuleOp>> all = emitLoops(kernels, module.getLoc(), level, options);
    if (failed(all) || failed(lowerToLLVM(**all, level, options)))
      return failure();
    Phase phase(options, "machine code");
    return cuda::emitModules(llvm::to_vector((*all)->getOps<ModuleOp>()), level, options);
  }
  FailureOr<std::vector<std::string>> parts = emitObjects(kernels, module.getLoc(), level, options);
  if (failed(parts))
    return failure();
  bool isText = options.emit == EmitKind::assembly || options.emit == EmitKind::llvm;
  return isText ? llvm::join(*parts, "\n") : link(*parts, module, options);
}
