// Gives every tensor its place: functions of launches become entries over one arena.
#include "dialects/exec/Exec.h"
#include "dialects/grad/Grad.h"
#include "passes/Passes.h"
#include "passes/support/LaunchOrder.h"
#include "passes/support/Lifetimes.h"

using namespace mlir;
using namespace mlir::grad;
using exec::SliceAttr;
using exec::Space;

namespace gradc {
#define GEN_PASS_DEF_PLANMEMORY
#include "passes/Passes.h.inc"

namespace {

constexpr int64_t alignment = 64;

/// One stretch of the arena: values that share memory.
struct Region {
  int64_t bytes = 0, offset = -1;
  Lifetime life = {0, 0};
};

class Planner {
public:
  Planner(ModuleOp module, func::FuncOp function)
      : symbols(module), function(function), block(function.getBody().front()) {}

  LogicalResult run() {
    auto order = orderLaunches(launchesBefore(block));
    if (!order)
      return function.emitOpError("expected launches without cyclic order: a buffer's new value is "
                                  "needed by a launch that reads its old one");
    launches = std::move(*order);
    if (failed(placeValues()))
      return failure();
    allocate();
    emitEntry();
    return success();
  }

private:
  exec::KernelOp kernelOf(exec::LaunchOp launch) {
    return symbols.lookup<exec::KernelOp>(launch.getKernel());
  }

  SliceAttr slice(Space space, int64_t index, int64_t offset, FlatSymbolRefAttr buffer, Type type) {
    return SliceAttr::get(function.getContext(), space, index, offset, /*strides=*/{}, buffer,
                          cast<RankedTensorType>(type));
  }

  LogicalResult placeValues() {
    for (BlockArgument argument : block.getArguments())
      places[argument] =
          slice(Space::input, argument.getArgNumber(), 0, nullptr, argument.getType());
    for (auto load : block.getOps<exec::LoadOp>())
      places[load.getResult()] = slice(Space::buffer, 0, 0, load.getBufferAttr(), load.getType());
    findOutputs();
    for (exec::LaunchOp launch : launches) {
      touch(launch.getOperands(), /*isWrite=*/false);
      for (OpResult v : launch.getResults())
        place(launch, v);
      touch(launch.getResults(), /*isWrite=*/true);
      lifetimes.advance();
    }
    // Returned tensors live to the end.
    touch(block.getTerminator()->getOperands(), /*isWrite=*/false);
    for (auto [region, life] : llvm::zip(regions, lifetimes.find()))
      region.life = life;
    for (Value v : block.getTerminator()->getOperands())
      if (!places.contains(storageRoot(v)) && !regionOf.contains(storageRoot(v)))
        return function.emitOpError("expected every result to have a place");
    return success();
  }

  void touch(ValueRange values, bool isWrite) {
    for (Value v : values)
      if (auto it = regionOf.find(storageRoot(v)); it != regionOf.end())
        lifetimes.touch(it->second, isWrite);
  }

  /// Results of the entry that a launch computes lie in the output space, side by side, so that
  /// one copy brings all of them to the caller. An input or a state that is returned stays where it
  /// is; an output has no room for the padding of a layout.
  void findOutputs() {
    for (auto [i, v] : llvm::enumerate(block.getTerminator()->getOperands())) {
      auto root = dyn_cast<OpResult>(storageRoot(v));
      auto launch = root ? dyn_cast<exec::LaunchOp>(root.getOwner()) : exec::LaunchOp();
      if (launch && !storedBuffer(root) &&
          !kernelOf(launch).getLayout(launch.getNumOperands() + root.getResultNumber()))
        outputs.try_emplace(root, slice(Space::output, i, 0, nullptr, root.getType()));
    }
  }

  void place(exec::LaunchOp launch, OpResult v) {
    if (SliceAttr output = outputs.lookup(v)) {
      places[v] = output;
      return;
    }
    auto type = cast<RankedTensorType>(v.getType());
    unsigned r = v.getResultNumber();
    if (auto buffer = storedBuffer(v)) {
      places[v] = slice(Space::buffer, 0, 0, buffer, type);
      return;
    }
    // Over an operand that dies here, where the kernel allows it.
    exec::KernelOp kernel = kernelOf(launch);
    for (unsigned i = 0; i < launch.getNumOperands(); ++i) {
      Value operand = storageRoot(launch.getOperand(i));
      auto it = regionOf.find(operand);
      if (it == regionOf.end() || !kernel.mayOverwrite(i, r) || !diesAt(operand, launch))
        continue;
      int64_t region = it->second;
      regionOf[v] = region;
      return;
    }
    exec::PanelAttr layout = kernel.getLayout(launch.getNumOperands() + r);
    regionOf[v] = regions.size();
    regions.push_back({std::max<int64_t>(1, exec::layoutBytes(type, layout))});
  }

  /// Whether `launch` is the last to use the memory behind `value`, and uses it once.
  bool diesAt(Value value, exec::LaunchOp launch) {
    int64_t region = regionOf.lookup(value);
    unsigned uses = 0;
    for (auto &[other, r] : regionOf) {
      if (r != region)
        continue;
      SmallVector<Value> views = {other};
      while (!views.empty()) {
        Value v = views.pop_back_val();
        for (OpOperand &use : v.getUses()) {
          if (isa<ReshapeOp>(use.getOwner()))
            views.push_back(use.getOwner()->getResult(0));
          else if (use.getOwner() == launch)
            ++uses;
          else if (!isa<exec::LaunchOp>(use.getOwner()) || !isPlaced(use.getOwner()))
            return false;
        }
      }
    }
    return uses == 1;
  }

  /// Whether a launch runs before the one that is being placed.
  bool isPlaced(Operation *op) {
    return op->getNumResults() == 0 || places.contains(op->getResult(0)) ||
           regionOf.contains(op->getResult(0));
  }

  /// Largest first, each at the lowest offset that is free during its life.
  void allocate() {
    SmallVector<Region *> bySize;
    for (Region &r : regions)
      bySize.push_back(&r);
    llvm::stable_sort(bySize, [](Region *a, Region *b) { return a->bytes > b->bytes; });
    SmallVector<Region *> done;
    for (Region *r : bySize) {
      llvm::sort(done, [](Region *a, Region *b) { return a->offset < b->offset; });
      int64_t offset = 0;
      for (Region *o : done)
        if (r->life.overlaps(o->life) && o->offset < offset + r->bytes)
          offset = std::max<int64_t>(offset, llvm::alignTo(o->offset + o->bytes, alignment));
      r->offset = offset;
      arena = std::max<int64_t>(arena, llvm::alignTo(offset + r->bytes, alignment));
      done.push_back(r);
    }
  }

  SliceAttr placeOf(Value v) {
    Value root = storageRoot(v);
    SliceAttr base;
    if (auto it = regionOf.find(root); it != regionOf.end())
      base = slice(Space::arena, 0, regions[it->second].offset, nullptr, v.getType());
    else
      base = places.lookup(root);
    return slice(base.getSpace(), base.getIndex(), base.getOffset(), base.getBuffer(), v.getType());
  }

  ArrayAttr placesOf(ValueRange values) {
    SmallVector<Attribute> slices;
    for (Value v : values)
      slices.push_back(placeOf(v));
    return ArrayAttr::get(function.getContext(), slices);
  }

  /// Name, type, role, field and so on, from the function's argument or result attributes.
  DictionaryAttr port(Type type, DictionaryAttr attributes, SliceAttr slice) {
    Builder b(function.getContext());
    NamedAttrList list;
    list.set("type", TypeAttr::get(type));
    if (slice)
      list.set("slice", slice);
    if (attributes)
      for (NamedAttribute a : attributes)
        if (a.getName().getValue().starts_with("grad."))
          list.set(a.getName().getValue().drop_front(5), a.getValue());
    return list.getDictionary(function.getContext());
  }

  void emitEntry() {
    OpBuilder builder(function);
    SmallVector<Attribute> inputs, outputs;
    for (BlockArgument a : block.getArguments())
      inputs.push_back(port(a.getType(), function.getArgAttrDict(a.getArgNumber()), nullptr));
    for (auto [i, v] : llvm::enumerate(block.getTerminator()->getOperands()))
      outputs.push_back(port(v.getType(), function.getResultAttrDict(i), placeOf(v)));
    auto entry = exec::EntryOp::create(builder, function.getLoc(), function.getSymName(), arena,
                                       builder.getArrayAttr(inputs), builder.getArrayAttr(outputs));
    if (auto batch = function->getAttr("grad.batch"))
      entry->setAttr("batch", batch);
    if (function->hasAttr("grad.rows"))
      entry->setAttr("any_rows", builder.getUnitAttr());
    for (StringRef name : {"least_rows", "least_rows_node", "coupling_node"})
      if (auto value = function->getAttr(("grad." + name).str()))
        entry->setAttr(name, value);
    builder.createBlock(&entry.getBody());
    for (exec::LaunchOp launch : launches) {
      auto nodes = launch->getAttrOfType<ArrayAttr>("exec.nodes");
      exec::DispatchOp::create(builder, launch.getLoc(), launch.getKernelAttr(),
                               placesOf(launch.getOperands()), placesOf(launch.getResults()),
                               nodes);
    }
    function.erase();
  }

  SymbolTable symbols;
  func::FuncOp function;
  Block &block;
  std::vector<exec::LaunchOp> launches;
  llvm::DenseMap<Value, SliceAttr> outputs; ///< of results whose place is their output's
  llvm::DenseMap<Value, SliceAttr> places;
  llvm::MapVector<Value, int64_t> regionOf;
  std::vector<Region> regions;
  Lifetimes lifetimes; ///< of the regions
  int64_t arena = 0;
};

struct PlanMemory : impl::PlanMemoryBase<PlanMemory> {
  void runOnOperation() override {
    for (auto function : llvm::to_vector(getOperation().getOps<func::FuncOp>()))
      if (failed(Planner(getOperation(), function).run()))
        return signalPassFailure();
  }
};

} // namespace
} // namespace gradc
