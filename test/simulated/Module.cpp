// Rewrites operations that only GPUs have (thread numbers, barriers, shuffles) as calls, inserts a
// check before each access, and compiles the result with LLVM's JIT.
#include "test/simulated/Module.h"

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/TargetSelect.h"

#include <cstring>

using namespace llvm;

namespace gradc::simulated {
namespace {

constexpr unsigned sharedSpace = 3;

class Retargeting {
public:
  Retargeting(llvm::Module &module, std::map<std::string, Kernel> &kernels)
      : module(module), kernels(kernels), builder(module.getContext()) {}

  Error run() {
    std::vector<Function *> all;
    for (Function &f : module)
      if (!f.isDeclaration())
        all.push_back(&f);
    for (Function *f : all) {
      for (const char *attribute : {"target-cpu", "target-features"})
        f->removeFnAttr(attribute);
      bool isKernel = f->getCallingConv() == CallingConv::PTX_Kernel;
      f->setCallingConv(CallingConv::C);
      meets = false;
      std::vector<Instruction *> instructions;
      for (Instruction &i : instructions_of(*f))
        instructions.push_back(&i);
      for (Instruction *i : instructions)
        if (Error error = rewrite(*i))
          return error;
      if (isKernel)
        addEntry(*f);
    }
    return Error::success();
  }

private:
  static iterator_range<inst_iterator> instructions_of(Function &f) {
    return make_range(inst_begin(f), inst_end(f));
  }

  FunctionCallee callee(StringRef name, Type *result, ArrayRef<Type *> parameters) {
    return module.getOrInsertFunction(name, FunctionType::get(result, parameters, false));
  }

  Error rewrite(Instruction &i) {
    builder.SetInsertPoint(&i);
    if (auto *load = dyn_cast<LoadInst>(&i)) {
      check(i, load->getPointerOperandIndex(), load->getType(), false);
    } else if (auto *store = dyn_cast<StoreInst>(&i)) {
      check(i, store->getPointerOperandIndex(), store->getValueOperand()->getType(), true);
    } else if (auto *call = dyn_cast<CallInst>(&i)) {
      return rewriteCall(*call);
    }
    return Error::success();
  }

  void check(Instruction &i, unsigned operand, Type *type, bool writes) {
    Value *pointer = i.getOperand(operand);
    Value *bytes = builder.getInt32(uint32_t(module.getDataLayout().getTypeStoreSize(type)));
    Type *flat = builder.getPtrTy();
    if (pointer->getType()->getPointerAddressSpace() == sharedSpace) {
      Value *at = builder.CreateAddrSpaceCast(pointer, flat);
      builder.CreateCall(callee("simShared", builder.getVoidTy(),
                                {flat, builder.getInt32Ty(), builder.getInt1Ty()}),
                         {at, bytes, builder.getInt1(writes)});
      return;
    }
    const Value *object = getUnderlyingObject(pointer);
    auto *argument = dyn_cast<Argument>(object);
    if (isa<GlobalVariable, AllocaInst>(object) || (argument && argument->hasByValAttr()))
      return;
    Value *at = builder.CreateAddrSpaceCast(pointer, flat);
    Value *checked = builder.CreateCall(
        callee("simGlobal", flat, {flat, builder.getInt32Ty(), builder.getInt1Ty()}),
        {at, bytes, builder.getInt1(writes)});
    i.setOperand(operand, builder.CreateAddrSpaceCast(checked, pointer->getType()));
  }

  Error rewriteCall(CallInst &call) {
    auto *assembly = dyn_cast<InlineAsm>(call.getCalledOperand());
    if (assembly && StringRef(assembly->getAsmString()).empty()) // it keeps a kernel's parts apart
      return Error::success();
    Function *called = call.getCalledFunction();
    StringRef name = called ? called->getName() : "an address";
    Type *word = builder.getInt32Ty();
    if (name == "llvm.nvvm.read.ptx.sreg.tid.x") {
      replace(call, builder.CreateCall(callee("simThread", word, {})));
    } else if (name == "llvm.nvvm.read.ptx.sreg.ctaid.x") {
      replace(call, builder.CreateCall(callee("simBlock", word, {})));
    } else if (name.starts_with("llvm.nvvm.barrier0") ||
               name.starts_with("llvm.nvvm.barrier.cta.sync.aligned.all")) {
      meets = true;
      replace(call, builder.CreateCall(callee("simBarrier", builder.getVoidTy(), {})));
    } else if (name == "llvm.nvvm.bar.warp.sync") {
      meets = true;
      replace(call, builder.CreateCall(callee("simWarpBarrier", builder.getVoidTy(), {word}),
                                       {call.getArgOperand(0)}));
    } else if (name.starts_with("llvm.nvvm.shfl.sync.bfly")) {
      meets = true;
      Value *given = builder.CreateBitCast(call.getArgOperand(1), word);
      Value *got = builder.CreateCall(
          callee("simShuffle", word, {word, word, word, word}),
          {call.getArgOperand(0), given, call.getArgOperand(2), call.getArgOperand(3)});
      replace(call, builder.CreateBitCast(got, call.getType()));
    } else if (!called || name.starts_with("llvm.nvvm.") || !called->isIntrinsic()) {
      return createStringError("the simulated device does not know " + name);
    } else if (isa<MemIntrinsic>(call)) {
      return createStringError("the simulated device does not check " + name);
    }
    return Error::success();
  }

  static void replace(CallInst &call, Value *by) {
    call.replaceAllUsesWith(by);
    call.eraseFromParent();
  }

  /// void NAME.entry(const void *parameters), which calls the kernel.
  void addEntry(Function &kernel) {
    Type *pointer = builder.getPtrTy();
    auto *entry =
        Function::Create(FunctionType::get(builder.getVoidTy(), {pointer}, false),
                         GlobalValue::ExternalLinkage, kernel.getName() + ".entry", module);
    builder.SetInsertPoint(BasicBlock::Create(module.getContext(), "", entry));
    std::vector<Value *> arguments;
    uint64_t bytes = 0;
    for (Argument &argument : kernel.args()) {
      Value *at = builder.CreateConstGEP1_64(builder.getInt8Ty(), entry->getArg(0), bytes);
      Type *table = argument.getParamByValType();
      arguments.push_back(table ? at : builder.CreateLoad(argument.getType(), at));
      bytes += module.getDataLayout().getTypeAllocSize(table ? table : argument.getType());
      argument.removeAttr(Attribute::ByVal);
    }
    builder.CreateCall(&kernel, arguments);
    builder.CreateRetVoid();
    kernels[kernel.getName().str()] = {kernel.getName().str(), nullptr, meets, bytes};
  }

  llvm::Module &module;
  std::map<std::string, Kernel> &kernels;
  IRBuilder<> builder;
  bool meets = false;
};

} // namespace

Expected<std::unique_ptr<Module>> Module::load(StringRef bitcode) {
  static bool initialized = !InitializeNativeTarget() && !InitializeNativeTargetAsmPrinter();
  if (!initialized)
    return createStringError("LLVM does not know this machine");
  auto context = std::make_unique<LLVMContext>();
  auto module = parseBitcodeFile(MemoryBufferRef(bitcode, "kernels"), *context);
  if (!module)
    return module.takeError();
  auto jit = orc::LLJITBuilder().create();
  if (!jit)
    return jit.takeError();
  (*module)->setTargetTriple((*jit)->getTargetTriple());
  (*module)->setDataLayout((*jit)->getDataLayout());
  std::unique_ptr<Module> loaded(new Module);
  if (Error error = Retargeting(**module, loaded->kernels).run())
    return error;

  orc::SymbolMap symbols;
  auto provide = [&](const char *name, auto *function) {
    symbols[(*jit)->mangleAndIntern(name)] = {orc::ExecutorAddr::fromPtr(function),
                                              JITSymbolFlags::Callable | JITSymbolFlags::Exported};
  };
  provide("simThread", &simThread);
  provide("simBlock", &simBlock);
  provide("simBarrier", &simBarrier);
  provide("simWarpBarrier", &simWarpBarrier);
  provide("simShuffle", &simShuffle);
  provide("simGlobal", &simGlobal);
  provide("simShared", &simShared);
  if (Error error = (*jit)->getMainJITDylib().define(orc::absoluteSymbols(std::move(symbols))))
    return error;
  if (Error error =
          (*jit)->addIRModule(orc::ThreadSafeModule(std::move(*module), std::move(context))))
    return error;
  for (auto &[name, kernel] : loaded->kernels) {
    auto address = (*jit)->lookup(name + ".entry");
    if (!address)
      return address.takeError();
    kernel.entry = address->toPtr<void (*)(const void *)>();
  }
  loaded->jit = std::move(*jit);
  return loaded;
}

const Kernel *Module::find(const std::string &name) const {
  auto found = kernels.find(name);
  return found == kernels.end() ? nullptr : &found->second;
}

} // namespace gradc::simulated
