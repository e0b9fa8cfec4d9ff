// Emits a kernel's function: a block finds its part, and parts with equal code share it.
#include "compiler/codegen/cuda/Kernel.h"

#include "compiler/codegen/cuda/BlockEmitter.h"
#include "dialects/exec/Blocks.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace gradc;
using namespace gradc::tile;
using gradc::cuda::BlockEmitter;
using gradc::cuda::BlockTeam;
using gradc::cuda::SharedMemory;
using gradc::cuda::SharedMemoryContraction;

namespace {

bool isWritten(exec::KernelOp kernel, unsigned operand) {
  return llvm::is_contained(kernel.getInplace().value_or(ArrayRef<int64_t>()), int64_t(operand));
}

/// The function with the attributes of its arguments: pointers to the operands, then to the
/// results, or one table of them for a kernel with parts; then the rows of the run, and the offsets
/// of slices that may move.
LLVM::LLVMFuncOp createFunction(OpBuilder &b, exec::KernelOp kernel, StringRef symbol,
                                bool takesOffsets) {
  auto pointer = LLVM::LLVMPointerType::get(b.getContext());
  unsigned operands = kernel.getBlock().getNumArguments(), results = kernel.getYielded().size();
  unsigned pointers = kernel.getParts() ? 1 : operands + results;
  SmallVector<Type> types(pointers, pointer);
  types.push_back(b.getI64Type());
  if (takesOffsets)
    types.push_back(pointer);
  auto function = LLVM::LLVMFuncOp::create(
      b, kernel.getLoc(), symbol,
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b.getContext()), types));
  function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), b.getUnitAttr());
  function->setAttr(NVVM::NVVMDialect::getMaxntidAttrName(),
                    b.getDenseI32ArrayAttr({int32_t(kernel.getThreads())}));
  if (takesOffsets) {
    function.setArgAttr(pointers + 1, LLVM::LLVMDialect::getNoAliasAttrName(), b.getUnitAttr());
    function.setArgAttr(pointers + 1, LLVM::LLVMDialect::getReadonlyAttrName(), b.getUnitAttr());
  }
  if (kernel.getParts()) {
    auto table = LLVM::LLVMArrayType::get(pointer, operands + results);
    function.setArgAttr(0, LLVM::LLVMDialect::getByValAttrName(), TypeAttr::get(table));
    function.setArgAttr(0, LLVM::LLVMDialect::getAlignAttrName(), b.getI64IntegerAttr(8));
    return function;
  }
  for (unsigned i = 0; i < pointers; ++i) {
    function.setArgAttr(i, LLVM::LLVMDialect::getAlignAttrName(), b.getI64IntegerAttr(16));
    // Operands that alias no result are loaded through the read-only cache.
    if (i < operands && !isWritten(kernel, i)) {
      function.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(), b.getUnitAttr());
      function.setArgAttr(i, LLVM::LLVMDialect::getReadonlyAttrName(), b.getUnitAttr());
    }
  }
  return function;
}

/// Fills the function; each part of the kernel has its own blocks.
class KernelEmitter {
public:
  KernelEmitter(exec::KernelOp kernel, const exec::Level &level, ModuleOp module, StringRef symbol,
                const llvm::BitVector &moving)
      : kernel(kernel), level(level), module(module), location(kernel.getLoc()),
        b(OpBuilder::atBlockEnd(module.getBody())), shared(module, symbol), moving(moving),
        function(createFunction(b, kernel, symbol, moving.any())) {}

  LogicalResult emit() {
    b.setInsertionPointToStart(function.addEntryBlock(b));
    MutableArrayRef<BlockArgument> arguments = function.getArguments();
    if (moving.any()) {
      offsets = arguments.back();
      arguments = arguments.drop_back();
    }
    rows = arguments.back();
    pointers.assign(arguments.begin(), arguments.end() - 1);
    if (offsets && !kernel.getParts())
      movePointers();
    auto wide = [&](Value v) -> Value {
      return arith::ExtUIOp::create(b, location, b.getI64Type(), v);
    };
    thread = wide(NVVM::ThreadIdXOp::create(b, location, b.getI32Type()));
    Value block = wide(NVVM::BlockIdXOp::create(b, location, b.getI32Type()));
    if (kernel.getExtentsAttr()) {
      FailureOr<ExtentAnalysis> analysis = analyzeKernel(kernel);
      if (failed(analysis))
        return failure();
      extents = std::move(*analysis);
    }
    if (failed(emitParts(sameParts(), block)))
      return failure();
    LLVM::ReturnOp::create(b, location, ValueRange());
    shared.declare(location);
    return success();
  }

private:
  /// Consecutive parts with equal code.
  struct SameParts {
    exec::KernelPart first;
    unsigned result; ///< the number of its first part
    int64_t count;

    int64_t blocks() const { return count * first.blockCount(); }
  };

  std::vector<SameParts> sameParts() {
    std::vector<SameParts> all;
    unsigned result = 0;
    for (const exec::KernelPart &part : exec::partsOf(kernel)) {
      if (!all.empty() && exec::isSameCode(all.back().first, part) &&
          areTakenAlike(all.back().first, part))
        ++all.back().count;
      else
        all.push_back({part, result, 1});
      result += part.results.size();
    }
    return all;
  }

  /// Whether corresponding operands are both written or both only read, and hold rows in the same
  /// way.
  bool areTakenAlike(const exec::KernelPart &a, const exec::KernelPart &b) {
    return llvm::all_of(llvm::zip(a.operands, b.operands), [&](auto operands) {
      unsigned own = std::get<0>(operands).getArgNumber();
      unsigned other = std::get<1>(operands).getArgNumber();
      return isWritten(kernel, own) == isWritten(kernel, other) &&
             kernel.getExtentsOf(own) == kernel.getExtentsOf(other);
    });
  }

  /// Emits a binary search among the parts: a block finds its code by a few comparisons, with the
  /// same outcome in all its threads. `block` is counted from the first block of the first part.
  LogicalResult emitParts(ArrayRef<SameParts> parts, Value block) {
    if (parts.size() == 1)
      return emitPart(parts.front(), block);
    auto [some, others] =
        std::pair(parts.take_front(parts.size() / 2), parts.drop_front(parts.size() / 2));
    int64_t count = 0;
    for (const SameParts &part : some)
      count += part.blocks();
    Value end = constant(count);
    Value isInside = arith::CmpIOp::create(b, location, arith::CmpIPredicate::ult, block, end);
    auto branch = scf::IfOp::create(b, location, isInside, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    if (failed(emitParts(some, block)))
      return failure();
    b.setInsertionPointToStart(branch.elseBlock());
    return emitParts(others, arith::SubIOp::create(b, location, block, end));
  }

  /// Ends a part with a unique instruction that produces no code. Without it, MLIR merges the code
  /// common to several parts and selects among all pointers before it, which takes 232 registers
  /// instead of 44 for the update of 72 tensors.
  void keepApart(unsigned number) {
    auto nothing = LLVM::InlineAsmOp::create(
        b, location, TypeRange(), ValueRange(), "", "", /*has_side_effects=*/true,
        /*is_align_stack=*/false, LLVM::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr());
    nothing->setAttr("part", b.getI64IntegerAttr(number)); // LLVM never moves inline assembly
  }

  /// The pointer in row `number` of the table. Each later part with the same code reads `step` rows
  /// further on.
  Value loadPointer(int64_t number, Value part, int64_t step) {
    auto pointer = LLVM::LLVMPointerType::get(b.getContext());
    Value row = constant(number);
    if (part)
      row = arith::AddIOp::create(b, location, row,
                                  arith::MulIOp::create(b, location, part, constant(step)));
    Value slot = LLVM::GEPOp::create(b, location, pointer, pointer, pointers[0], row);
    Value base = loadInvariant(pointer, slot);
    return offsets ? addBytes(base, loadOffsets({row}).front()) : base;
  }

  Value loadInvariant(Type type, Value from) {
    return LLVM::LoadOp::create(b, location, type, from, 8, false, false, /*isInvariant=*/true);
  }

  /// The offsets of the slices of these numbers; zeros where the launch is given none.
  SmallVector<Value> loadOffsets(ArrayRef<Value> numbers) {
    Value null = LLVM::ZeroOp::create(b, location, offsets.getType());
    Value areThere =
        LLVM::ICmpOp::create(b, location, LLVM::ICmpPredicate::ne, offsets, null).getResult();
    SmallVector<Type> types(numbers.size(), b.getI64Type());
    auto choice = scf::IfOp::create(b, location, types, areThere, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(choice.thenBlock());
    SmallVector<Value> loaded;
    for (Value number : numbers)
      loaded.push_back(
          loadInvariant(b.getI64Type(), LLVM::GEPOp::create(b, location, offsets.getType(),
                                                            b.getI64Type(), offsets, number)));
    scf::YieldOp::create(b, location, loaded);
    b.setInsertionPointToStart(choice.elseBlock());
    scf::YieldOp::create(b, location, SmallVector<Value>(numbers.size(), constant(0)));
    return choice.getResults();
  }

  Value addBytes(Value pointer, Value bytes) {
    return LLVM::GEPOp::create(b, location, pointer.getType(), b.getI8Type(), pointer, bytes);
  }

  void movePointers() {
    SmallVector<unsigned> slices(moving.set_bits());
    SmallVector<Value> numbers;
    for (unsigned slice : slices)
      numbers.push_back(constant(slice));
    for (auto [slice, offset] : llvm::zip_equal(slices, loadOffsets(numbers)))
      pointers[slice] = addBytes(pointers[slice], offset);
  }

  LogicalResult emitPart(const SameParts &parts, Value block) {
    const exec::KernelPart &part = parts.first;
    Value number; // its number among the same parts
    if (parts.count > 1) {
      Value blocks = constant(part.blockCount());
      number = arith::DivUIOp::create(b, location, block, blocks);
      block = arith::RemUIOp::create(b, location, block, blocks);
    }
    LoopNest nest(b, location, level, part.schedule.getLanes());
    BlockTeam team(nest, part.blocks, thread, shared);
    TileEmitter tiles(nest, module);
    if (team.size() > 1)
      tiles.share(&team);
    if (extents) {
      nest.rows = rows;
      tiles.setExtents(*extents);
    }
    unsigned operands = kernel.getBlock().getNumArguments();
    auto slice = [&](Value tensor, unsigned i, int64_t step) {
      Value base = kernel.getParts() ? loadPointer(i, number, step) : pointers[i];
      return Memory(base, cast<RankedTensorType>(tensor.getType()), {},
                    i < operands && !isWritten(kernel, i));
    };
    for (BlockArgument argument : part.operands)
      tiles.bind(argument, slice(argument, argument.getArgNumber(), part.operands.size()));
    BlockEmitter emitter(part, nest, tiles, team);
    for (auto [i, result] : llvm::enumerate(part.results))
      emitter.add(result, slice(result, operands + parts.result + i, part.results.size()));
    if (part.schedule.getBlock().empty()) {
      emitter.emit(block);
    } else {
      SharedMemoryContraction contraction(kernel, nest, tiles, shared);
      if (failed(contraction.emit(block, thread)))
        return failure();
      if (!emitter.emitShared(contraction))
        return kernel.emitOpError(
            "expected the results of a contraction through shared memory to have its shape");
    }
    if (kernel.getParts())
      keepApart(parts.result);
    return failure(tiles.hasFailed());
  }

  Value constant(int64_t value) { return arith::ConstantIntOp::create(b, location, value, 64); }

  exec::KernelOp kernel;
  const exec::Level &level;
  ModuleOp module;
  Location location;
  OpBuilder b;
  SharedMemory shared;
  const llvm::BitVector &moving; // the slices that may
  LLVM::LLVMFuncOp function;
  SmallVector<Value> pointers;           // to the slices; to the table of a kernel with parts
  Value rows, offsets;                   // `offsets`: null if no slice may move
  std::optional<ExtentAnalysis> extents; // of a kernel that takes rows
  Value thread;                          // its number in its block, an i64
};

} // namespace

LogicalResult cuda::emitKernel(exec::KernelOp kernel, const exec::Level &level, ModuleOp module,
                               StringRef symbol, const llvm::BitVector &moving) {
  // A kernel has at most 4352 bytes of parameters: more would need drivers for CUDA 12.1.
  size_t maxTensors = moving.any() ? 542 : 543; // and the rows of the run
  if (size_t tensors = kernel.getBlock().getNumArguments() + kernel.getYielded().size();
      tensors > maxTensors)
    return kernel.emitError() << tensors << " tensors are read and written by one kernel, expected "
                              << "at most " << maxTensors << " on a GPU";
  if (!kernel.getParts() && (!kernel.getScheduleAttr() || !kernel.getBlocksAttr()))
    return kernel.emitOpError("expected a schedule and blocks");
  return KernelEmitter(kernel, level, module, symbol, moving).emit();
}
