// A thread finds its unit from its number, the team walks what lies inside, and every value is
// pulled where it is stored.
#include "compiler/codegen/cuda/Kernel.h"

#include "compiler/codegen/cuda/StagedContraction.h"
#include "dialects/exec/Blocks.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace gradc;
using namespace gradc::tile;
using gradc::cuda::BlockTeam;
using gradc::cuda::SharedMemory;
using gradc::cuda::StagedContraction;

namespace {

/// A result and how it lies in the root space.
struct Output {
  Value value;
  Memory memory;
  SmallVector<int64_t> dims; // the root's dim of each result dim; -1: of size 1
};

class BlockEmitter {
public:
  BlockEmitter(const exec::KernelPart &part, LoopNest &nest, TileEmitter &tiles, BlockTeam &team)
      : nest(nest), tiles(tiles), team(team), blocks(part.blocks), shape(part.getRoot().getShape()),
        tile(part.schedule.getTile()), coordinates(shape.size()), extents(shape.size(), 1) {}

  void add(Value value, const Memory &memory);
  /// `block`: the number of this thread's block among the part's, an i64.
  void emit(Value block);
  /// The same where a contraction has been computed in stages. False when a result does not have
  /// the root's shape.
  bool emitStaged(StagedContraction &contraction);

private:
  int64_t rank() const { return int64_t(shape.size()); }
  int64_t tilesOf(int64_t d) const { return llvm::divideCeil(shape[d], tile[d]); }
  Value compare(arith::CmpIPredicate how, Value x, Value y) {
    return arith::CmpIOp::create(nest.builder, nest.location, how, x, y);
  }

  void emitUnit(LinearExpr unit, Value active);
  void enterTile(LinearExpr at, int64_t begin, int64_t end);
  void emitTails(int64_t dim);
  void emitTile(ArrayRef<const Output *> outputs, Value active);
  void emitRow(Value active);
  void emitApart(const Output &output, Value first);
  SmallVector<Point> pointsOf(const Output &output) const;

  LoopNest &nest;
  TileEmitter &tiles;
  BlockTeam &team;
  exec::BlocksAttr blocks;
  ArrayRef<int64_t> shape, tile;
  // Results with every dim of the root; statistics of its rows; and what lies in neither.
  std::vector<Output> whole, statistics, apart;
  SmallVector<LinearExpr> coordinates;
  SmallVector<int64_t> extents;
};

void BlockEmitter::add(Value value, const Memory &memory) {
  Output output{value, memory, {}};
  ArrayRef<int64_t> own = cast<RankedTensorType>(value.getType()).getShape();
  bool fits = int64_t(own.size()) <= rank();
  llvm::SmallBitVector used(rank());
  for (size_t i = 0; fits && i < own.size(); ++i) {
    fits = own[i] == shape[i] || own[i] == 1;
    output.dims.push_back(own[i] == shape[i] ? int64_t(i) : -1);
    if (fits && own[i] == shape[i])
      used.set(i);
  }
  auto covers = [&](int64_t begin, int64_t end) {
    for (int64_t d = begin; d < end; ++d)
      if (!used.test(d) && shape[d] != 1)
        return false;
    return true;
  };
  bool isStatistic = fits && blocks.getRows() < rank() && covers(0, blocks.getRows()) &&
                     int64_t(used.count()) <= blocks.getRows();
  auto &kind = fits && covers(0, rank()) ? whole : isStatistic ? statistics : apart;
  kind.push_back(std::move(output));
}

void BlockEmitter::emit(Value block) {
  OpBuilder &b = nest.builder;
  int64_t count = 1;
  for (int64_t d = 0; d < blocks.getRows(); ++d)
    count *= tilesOf(d);
  LinearExpr unit = nest.variable(block, /*uniform=*/true) * blocks.getUnits() + team.unit();
  if (count % blocks.getUnits() == 0) {
    emitUnit(unit, {});
  } else if (team.size() == 1 || team.isWarp()) {
    Value inside = compare(arith::CmpIPredicate::slt, nest.index(unit), nest.constant(count));
    nest.when(inside, [&] { emitUnit(unit, {}); });
  } else {
    // All threads of the block meet at its barriers: those beyond the last unit compute it, too.
    Value number = nest.index(unit);
    Value active = compare(arith::CmpIPredicate::slt, number, nest.constant(count));
    number = arith::MinSIOp::create(b, nest.location, number, nest.constant(count - 1));
    emitUnit(nest.variable(number, /*uniform=*/true), active);
  }
  if (apart.empty())
    return;
  tiles.share(nullptr);
  Value thread = arith::AddIOp::create(b, nest.location, block, nest.index(team.unit()));
  thread = arith::AddIOp::create(b, nest.location, thread, nest.index(team.member()));
  Value first = compare(arith::CmpIPredicate::eq, thread, nest.constant(0));
  for (const Output &output : apart)
    emitApart(output, first);
}

bool BlockEmitter::emitStaged(StagedContraction &contraction) {
  for (auto [row, point] : llvm::enumerate(contraction.points())) {
    SmallVector<Value> values;
    for (const Output &o : whole)
      values.push_back(tiles.pull(o.value, point));
    nest.when(contraction.holds(row), [&, &point = point] {
      for (auto [o, value] : llvm::zip(whole, values))
        o.memory.store(nest, point, value);
    });
  }
  return apart.empty() && statistics.empty();
}

/// Coordinates of the tile with that number among those of dims [begin, end).
void BlockEmitter::enterTile(LinearExpr at, int64_t begin, int64_t end) {
  for (int64_t d = end; d-- > begin;) {
    LinearExpr position = at;
    if (d != begin)
      std::tie(at, position) = nest.divide(at, tilesOf(d));
    coordinates[d] = position * tile[d];
    extents[d] = std::min(tile[d], shape[d]);
  }
}

void BlockEmitter::emitUnit(LinearExpr unit, Value active) {
  enterTile(unit, 0, blocks.getRows());
  if (blocks.getRows() < rank())
    return emitRow(active);
  if (team.size() == 1)
    return emitTails(0);
  auto all = llvm::map_to_vector(whole, [](const Output &o) { return &o; });
  emitTile(all, active);
}

/// The last tile of a dim may be smaller: code of its own.
void BlockEmitter::emitTails(int64_t dim) {
  if (dim == rank()) {
    auto all = llvm::map_to_vector(whole, [](const Output &o) { return &o; });
    return emitTile(all, {});
  }
  int64_t full = shape[dim] / tile[dim], rest = shape[dim] % tile[dim];
  if (rest == 0 || full == 0)
    return emitTails(dim + 1);
  Value begin = nest.index(coordinates[dim]), tail = nest.constant(full * tile[dim]);
  nest.when(compare(arith::CmpIPredicate::slt, begin, tail), [&] { emitTails(dim + 1); });
  LinearExpr position = coordinates[dim];
  nest.when(compare(arith::CmpIPredicate::eq, begin, tail), [&] {
    coordinates[dim] = LinearExpr(full * tile[dim]);
    extents[dim] = rest;
    emitTails(dim + 1);
  });
  coordinates[dim] = position;
  extents[dim] = tile[dim];
}

SmallVector<Point> BlockEmitter::pointsOf(const Output &output) const {
  // A team whose members read rows side by side has one result element.
  int64_t laneDim = blocks.getAdjacent() && blocks.getRows() == rank() ? -1 : rank() - 1;
  return tilePoints(output.dims, coordinates, extents, laneDim, nest.lanes);
}

/// Results may take the place of operands that are read at the same element: all is computed, by
/// every member, before any of it is stored.
void BlockEmitter::emitTile(ArrayRef<const Output *> outputs, Value active) {
  SmallVector<SmallVector<Point>> points;
  for (const Output *o : outputs) {
    points.push_back(pointsOf(*o));
    tiles.prepare(o->value, points.back());
  }
  SmallVector<SmallVector<Value>> values;
  for (auto [o, at] : llvm::zip(outputs, points))
    values.push_back(
        llvm::map_to_vector(at, [&, o = o](const Point &p) { return tiles.pull(o->value, p); }));
  auto store = [&] {
    for (auto [o, at, computed] : llvm::zip(outputs, points, values))
      for (auto [p, value] : llvm::zip(at, computed))
        o->memory.store(nest, p, value);
  };
  bool isShared = team.size() > 1 && blocks.getRows() == rank();
  if (!isShared)
    return store();
  team.fence(nest);
  Value writes = team.isFirst(nest);
  if (active)
    writes = arith::AndIOp::create(nest.builder, nest.location, writes, active);
  nest.when(writes, store);
}

/// The team computes the row's statistics together; then each member takes every size()-th tile.
void BlockEmitter::emitRow(Value active) {
  OpBuilder &b = nest.builder;
  SmallVector<std::pair<Point, Value>> stored;
  for (const Output &o : statistics) {
    Point p = pointsOf(o).front();
    tiles.prepare(o.value, {p});
    stored.push_back({p, tiles.pull(o.value, p)});
  }
  int64_t count = 1;
  for (int64_t d = blocks.getRows(); d < rank(); ++d)
    count *= tilesOf(d);
  Value mine = arith::SubIOp::create(b, nest.location, nest.constant(count + team.size() - 1),
                                     nest.index(team.member()));
  mine = arith::DivUIOp::create(b, nest.location, mine, nest.constant(team.size()));
  if (!whole.empty())
    nest.loop(nest.constant(0), mine, {}, [&](LinearExpr i, ValueRange) {
      enterTile(i * team.size() + team.member(), blocks.getRows(), rank());
      auto all = llvm::map_to_vector(whole, [](const Output &o) { return &o; });
      emitTile(all, active);
      return SmallVector<Value>();
    });
  if (!stored.empty())
    nest.when(team.isFirst(nest), [&] {
      for (auto [o, at] : llvm::zip(statistics, stored))
        o.memory.store(nest, at.first, at.second);
    });
}

/// Few elements that follow none of the root's dims: one thread.
void BlockEmitter::emitApart(const Output &output, Value first) {
  ArrayRef<int64_t> own = cast<RankedTensorType>(output.value.getType()).getShape();
  nest.when(first, [&] {
    Point p;
    auto loops = [&](auto &&self, size_t d) -> void {
      if (d == own.size()) {
        tiles.prepare(output.value, {p});
        return output.memory.store(nest, p, tiles.pull(output.value, p));
      }
      nest.loop(0, own[d], /*unroll=*/false, {}, [&](LinearExpr i, ValueRange) {
        p.coordinates.push_back(i);
        self(self, d + 1);
        p.coordinates.pop_back();
        return SmallVector<Value>();
      });
    };
    loops(loops, 0);
  });
}

bool isWritten(exec::KernelOp kernel, unsigned operand) {
  return llvm::is_contained(kernel.getInplace().value_or(ArrayRef<int64_t>()), int64_t(operand));
}

/// The function and what is known of its arguments: pointers to the operands, then to the results;
/// of a kernel with parts one table of them.
LLVM::LLVMFuncOp createFunction(OpBuilder &b, exec::KernelOp kernel, StringRef symbol) {
  auto pointer = LLVM::LLVMPointerType::get(b.getContext());
  unsigned operands = kernel.getBlock().getNumArguments(), results = kernel.getYielded().size();
  SmallVector<Type> types(kernel.getParts() ? 1 : operands + results, pointer);
  auto function = LLVM::LLVMFuncOp::create(
      b, kernel.getLoc(), symbol,
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b.getContext()), types));
  function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), b.getUnitAttr());
  function->setAttr(NVVM::NVVMDialect::getMaxntidAttrName(),
                    b.getDenseI32ArrayAttr({int32_t(kernel.getThreads())}));
  if (kernel.getParts()) {
    auto table = LLVM::LLVMArrayType::get(pointer, operands + results);
    function.setArgAttr(0, LLVM::LLVMDialect::getByValAttrName(), TypeAttr::get(table));
    function.setArgAttr(0, LLVM::LLVMDialect::getAlignAttrName(), b.getI64IntegerAttr(8));
    return function;
  }
  for (unsigned i = 0; i < types.size(); ++i) {
    function.setArgAttr(i, LLVM::LLVMDialect::getAlignAttrName(), b.getI64IntegerAttr(16));
    // What no result may lie over is read through the cache for data that stay as they are.
    if (i < operands && !isWritten(kernel, i)) {
      function.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(), b.getUnitAttr());
      function.setArgAttr(i, LLVM::LLVMDialect::getReadonlyAttrName(), b.getUnitAttr());
    }
  }
  return function;
}

/// Fills the function: each part of the kernel in blocks of its own.
class KernelEmitter {
public:
  KernelEmitter(exec::KernelOp kernel, ModuleOp module, StringRef symbol)
      : kernel(kernel), module(module), location(kernel.getLoc()),
        b(OpBuilder::atBlockEnd(module.getBody())), shared(module, symbol),
        function(createFunction(b, kernel, symbol)) {}

  LogicalResult emit() {
    b.setInsertionPointToStart(function.addEntryBlock(b));
    auto wide = [&](Value v) -> Value {
      return arith::ExtUIOp::create(b, location, b.getI64Type(), v);
    };
    thread = wide(NVVM::ThreadIdXOp::create(b, location, b.getI32Type()));
    Value block = wide(NVVM::BlockIdXOp::create(b, location, b.getI32Type()));
    if (failed(emitParts(sameParts(), block)))
      return failure();
    LLVM::ReturnOp::create(b, location, ValueRange());
    shared.declare(location);
    return success();
  }

private:
  /// Parts that are the same code, one behind the other.
  struct SameParts {
    exec::KernelPart first;
    unsigned result; ///< the number of its first one
    int64_t count;

    int64_t blocks() const { return count * first.blockCount(); }
  };

  std::vector<SameParts> sameParts() {
    std::vector<SameParts> all;
    unsigned result = 0;
    for (const exec::KernelPart &part : exec::partsOf(kernel)) {
      if (!all.empty() && exec::isSameCode(all.back().first, part) &&
          areWrittenAlike(all.back().first, part))
        ++all.back().count;
      else
        all.push_back({part, result, 1});
      ownOperands += part.operands.size();
      result += part.results.size();
    }
    return all;
  }

  bool areWrittenAlike(const exec::KernelPart &a, const exec::KernelPart &b) {
    return llvm::all_of(llvm::zip(a.operands, b.operands), [&](auto operands) {
      auto [own, other] = operands;
      return isWritten(kernel, own.getArgNumber()) == isWritten(kernel, other.getArgNumber());
    });
  }

  /// Halves them until one is left: a block finds its code in a few comparisons, which all of its
  /// threads decide alike. `block`: counted from the first part's first.
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

  /// Ends a part by an instruction that no other has, and that makes no code. Without it MLIR makes
  /// one of the code that parts have in common, and chooses between all pointers in front of it:
  /// 232 registers instead of 44 where 72 tensors are updated.
  void keepApart(unsigned number) {
    auto nothing = LLVM::InlineAsmOp::create(
        b, location, TypeRange(), ValueRange(), "", "", /*has_side_effects=*/true,
        /*is_align_stack=*/false, LLVM::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr());
    nothing->setAttr("part", b.getI64IntegerAttr(number)); // LLVM leaves assembly where it is
  }

  /// The pointer in the table's row `number`, or, of each later one of the same parts, `step` rows
  /// behind.
  Value loadPointer(int64_t number, Value part, int64_t step) {
    auto pointer = LLVM::LLVMPointerType::get(b.getContext());
    Value row = constant(number);
    if (part)
      row = arith::AddIOp::create(b, location, row,
                                  arith::MulIOp::create(b, location, part, constant(step)));
    Value slot = LLVM::GEPOp::create(b, location, pointer, pointer, function.getArgument(0), row);
    return LLVM::LoadOp::create(b, location, pointer, slot, 8, false, false, /*isInvariant=*/true);
  }

  LogicalResult emitPart(const SameParts &parts, Value block) {
    const exec::KernelPart &part = parts.first;
    Value number; // among the same parts
    if (parts.count > 1) {
      Value blocks = constant(part.blockCount());
      number = arith::DivUIOp::create(b, location, block, blocks);
      block = arith::RemUIOp::create(b, location, block, blocks);
    }
    LoopNest nest(b, location, part.schedule.getLanes());
    BlockTeam team(nest, part.blocks, thread, shared);
    TileEmitter tiles(nest, module);
    if (team.size() > 1)
      tiles.share(&team);
    unsigned operands = kernel.getBlock().getNumArguments();
    auto slice = [&](Value tensor, unsigned i, int64_t step) {
      Value base = kernel.getParts() ? loadPointer(i, step ? number : Value(), step)
                                     : Value(function.getArgument(i));
      return Memory(base, cast<RankedTensorType>(tensor.getType()), {},
                    i < operands && !isWritten(kernel, i));
    };
    for (BlockArgument argument : part.operands)
      tiles.bind(argument, slice(argument, argument.getArgNumber(), part.operands.size()));
    for (BlockArgument argument : kernel.getBlock().getArguments().drop_front(ownOperands))
      tiles.bind(argument, slice(argument, argument.getArgNumber(), 0));
    BlockEmitter emitter(part, nest, tiles, team);
    for (auto [i, result] : llvm::enumerate(part.results))
      emitter.add(result, slice(result, operands + parts.result + i, part.results.size()));
    if (part.schedule.getBlock().empty()) {
      emitter.emit(block);
    } else {
      StagedContraction contraction(kernel, nest, tiles, shared);
      if (failed(contraction.emit(block, thread)))
        return failure();
      if (!emitter.emitStaged(contraction))
        return kernel.emitOpError(
            "expected the results of a contraction in stages to have its shape");
    }
    if (kernel.getParts())
      keepApart(parts.result);
    return failure(tiles.hasFailed());
  }

  Value constant(int64_t value) { return arith::ConstantIntOp::create(b, location, value, 64); }

  exec::KernelOp kernel;
  ModuleOp module;
  Location location;
  OpBuilder b;
  SharedMemory shared;
  LLVM::LLVMFuncOp function;
  Value thread;             // its number in its block, an i64
  unsigned ownOperands = 0; // of all parts; behind them come those that several read
};

} // namespace

LogicalResult cuda::emitKernel(exec::KernelOp kernel, ModuleOp module, StringRef symbol) {
  // A kernel's parameters are at most 4352 bytes: more needs drivers for CUDA 12.1.
  constexpr size_t mostTensors = 544;
  if (size_t tensors = kernel.getBlock().getNumArguments() + kernel.getYielded().size();
      tensors > mostTensors)
    return kernel.emitError() << tensors << " tensors are read and written by one kernel, expected "
                              << "at most " << mostTensors << " on a GPU";
  if (!kernel.getParts() && (!kernel.getScheduleAttr() || !kernel.getBlocksAttr()))
    return kernel.emitOpError("expected a schedule and blocks");
  return KernelEmitter(kernel, module, symbol).emit();
}
