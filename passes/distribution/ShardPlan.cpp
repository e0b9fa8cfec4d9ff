// Follows shards through ops in both directions, by the loops of each op.
#include "passes/distribution/ShardPlan.h"

#include "dialects/grad/Build.h"
#include "dialects/grad/EntryAttributes.h"
#include "dialects/grad/TensorTypes.h"
#include "passes/entry/Extents.h"
#include "passes/entry/Functions.h"
#include "passes/training/Updates.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

/// The same elements after a reshape; none: no dim of `to` is sharded like that.
static std::optional<Shard> reshapeShard(ArrayRef<int64_t> from, Shard shard, ArrayRef<int64_t> to,
                                         int64_t ranks) {
  // All elements are [outer, ranks, inner] on both sides.
  int64_t outer = shard.runs, inner = from[shard.dim] / (shard.runs * ranks), before = 1;
  for (auto [d, size] : llvm::enumerate(from))
    (int64_t(d) < shard.dim ? outer : inner) *= int64_t(d) == shard.dim ? 1 : size;
  for (auto [d, size] : llvm::enumerate(to)) {
    int64_t runs = before ? outer / before : 0, after = 1;
    for (int64_t later : to.drop_front(d + 1))
      after *= later;
    if (runs > 0 && outer % before == 0 && size % (runs * ranks) == 0 &&
        size / (runs * ranks) * after == inner)
      return Shard{int64_t(d), runs};
    before *= size;
  }
  return std::nullopt;
}

bool ShardPlan::fail(Operation *op, const Twine &why) {
  at = op;
  reason = why.str();
  return false;
}

RankedTensorType ShardPlan::shardType(Type whole, Shard shard) const {
  auto type = cast<RankedTensorType>(whole);
  SmallVector<int64_t> shape(type.getShape());
  shape[shard.dim] /= ranks;
  return type.clone(shape);
}

std::optional<Shard> ShardPlan::shardOf(OpOperand &use) const {
  if (auto repeat = repeats.find(&use); repeat != repeats.end())
    return repeat->second;
  auto known = values.find(use.get());
  return known == values.end() ? std::nullopt : std::optional(known->second);
}

// Growing -----------------------------------------------------------------------------------------

LogicalResult ShardPlan::grow(StateOp state, Shard shard) {
  if (!addState(state, state.getSymName(), shard))
    return failure();
  while (!pending.empty())
    if (!follow(pending.pop_back_val()))
      return failure();
  return success();
}

bool ShardPlan::add(Value value, Shard shard) {
  auto [known, isNew] = values.try_emplace(value, shard);
  Operation *op = value.getDefiningOp();
  if (!isNew)
    return known->second == shard || fail(op, "its shards would be of two dims");
  int64_t size = shapeOf(value)[shard.dim];
  if (size == 0 || size % (shard.runs * ranks))
    return fail(op,
                "its " + Twine(size) + " elements are no multiple of " + Twine(shard.runs * ranks));
  pending.push_back(value);
  return true;
}

/// Whether all rules that may update a parameter take it in parts.
static bool isUpdatedInParts(ModuleOp module, StateOp state) {
  auto isElementwise = [](Operation *op) {
    FailureOr<UpdateRule> rule = UpdateRule::parse(op);
    return failed(rule) || rule->rule().isElementwise(); // build-step reports a wrong one
  };
  if (state->hasAttr(updateRuleName))
    return isElementwise(state);
  return llvm::all_of(functionsOf(module), [&](func::FuncOp function) {
    return !function->hasAttr(updateRuleName) || isElementwise(function);
  });
}

/// Adds all reads and writes of a state.
bool ShardPlan::addState(Operation *user, StringRef name, Shard shard) {
  auto state = module.lookupSymbol<StateOp>(name);
  auto [known, isNew] = sharded.try_emplace(state, shard);
  if (!isNew) {
    assert(known->second == shard && "its reads and writes are sharded as it is");
    return true;
  }
  if (state.getShard() || state.isReordered())
    return fail(user, "\"" + name + "\" is in shards of another chain");
  Type element = getElementTypeOrSelf(state.getType());
  if (!element.isF32() && !element.isF64())
    return fail(user, "\"" + name + "\" is not of f32 or f64");
  if (state.getKind() == StateKind::parameter && !isUpdatedInParts(module, state))
    return fail(user, "the optimizer's rule needs all of \"" + name + "\"");
  bool isWhole = false;
  module.walk([&](Operation *op) {
    if (auto read = dyn_cast<ReadOp>(op); read && read.getState() == name)
      isWhole |= !add(read, shard);
    else if (auto write = dyn_cast<WriteOp>(op); write && write.getState() == name)
      isWhole |= !add(write.getValue(), shard);
  });
  return !isWhole;
}

bool ShardPlan::follow(Value value) {
  Shard shard = values.find(value)->second;
  Operation *producer = value.getDefiningOp();
  if (!producer)
    return fail(value.getParentBlock()->getParentOp(), "each rank gets all of an input");
  if (auto read = dyn_cast<ReadOp>(producer)) {
    if (!addState(read, read.getState(), shard))
      return false;
  } else if (!visit(producer)) {
    return false;
  }
  return llvm::all_of(value.getUsers(), [&](Operation *user) {
    if (auto write = dyn_cast<WriteOp>(user))
      return addState(write, write.getState(), shard);
    return visit(user);
  });
}

bool ShardPlan::visit(Operation *op) {
  if (!isa<func::FuncOp>(op->getParentOp()) || op->getNumRegions())
    return fail(op, "it is in a branch or a loop");
  if (op->hasTrait<OpTrait::IsTerminator>())
    return fail(op, "a result of the model would be sharded");
  if (op->hasTrait<OpTrait::ConstantLike>())
    return fail(op, "a constant would be sharded");
  // A request is of whole values: it is no op that computes.
  if (isa<GradientOp>(op))
    return fail(op, "the model's own gradients would be sharded");
  ops.insert(op);
  auto loops = dyn_cast<LoopsOpInterface>(op);
  if (loops && loops.getLoopKind() == LoopKind::view)
    return visitReshape(op);
  // Its attributes hold sizes, and it is the one op that takes apart what one product computes,
  // such as queries, keys and values.
  if (auto slice = dyn_cast<SliceOp>(op))
    return visitSlice(slice);
  return visitLoops(op);
}

bool ShardPlan::visitReshape(Operation *op) {
  Value from = op->getOperand(0), to = op->getResult(0);
  for (auto [known, other] : {std::pair(from, to), std::pair(to, from)}) {
    auto shard = values.find(known);
    if (shard == values.end())
      continue;
    auto reshaped = reshapeShard(shapeOf(known), shard->second, shapeOf(other), ranks);
    if (!reshaped)
      return fail(op, "it reshapes across shards");
    if (!add(other, *reshaped))
      return false;
  }
  return true;
}

/// Takes whole runs.
bool ShardPlan::visitSlice(SliceOp op) {
  Value from = op.getOperand(), to = op.getResult();
  auto known = values.find(from), wanted = values.find(to);
  Shard shard = known != values.end() ? known->second : wanted->second;
  int64_t dim = shard.dim, all = shapeOf(from)[dim], size = shapeOf(to)[dim];
  int64_t run = known != values.end() ? all / shard.runs : size / shard.runs;
  if (run == 0 || all % run || size % run || op.getStarts()[dim] % run || op.getStrides()[dim] != 1)
    return fail(op, "it takes " + Twine(size) + " of " + Twine(all) +
                        " elements, which are no whole shards");
  return add(from, {dim, all / run}) && add(to, {dim, size / run});
}

/// Whether an operand has the same elements for all shards, and can be made smaller for one use.
static bool repeatsAlong(Value value, int64_t dim) {
  DenseElementsAttr dense;
  if (matchPattern(value, m_Constant(&dense)))
    return dense.isSplat();
  auto broadcast = value.getDefiningOp<BroadcastOp>(); // the one op that repeats elements
  return broadcast && !llvm::is_contained(broadcast.getDims(), dim);
}

/// Tries all ways to shard operands that are not sharded yet, those like a known one first.
bool ShardPlan::visitLoops(Operation *op) {
  std::optional<Shard> like;
  int64_t size = 0;
  for (Value v : op->getResults())
    if (auto known = values.find(v); known != values.end())
      like = known->second, size = shapeOf(v)[like->dim];
  for (OpOperand &use : op->getOpOperands())
    if (auto shard = shardOf(use))
      like = shard, size = shapeOf(use.get())[shard->dim];
  SmallVector<Assignment> choices;
  int64_t total = 1;
  constexpr int64_t mostTries = 4096;
  for (OpOperand &use : op->getOpOperands()) {
    Assignment choice;
    if (auto known = shardOf(use)) {
      choice.push_back(known);
    } else {
      ArrayRef<int64_t> shape = shapeOf(use.get());
      auto offer = [&](int64_t d) {
        if (shape[d] == size)
          choice.push_back(Shard{d, like->runs});
      };
      if (like->dim < int64_t(shape.size()))
        offer(like->dim);
      choice.push_back(std::nullopt);
      for (int64_t d = 0; d < int64_t(shape.size()); ++d)
        if (d != like->dim)
          offer(d);
    }
    total = std::min(total * int64_t(choice.size()), mostTries + 1);
    choices.push_back(choice);
  }
  if (total > mostTries)
    return fail(op, "it has too many operands");
  for (int64_t number = 0; number < total; ++number) {
    Assignment operands, results;
    int64_t rest = number;
    for (const Assignment &choice : choices) {
      operands.push_back(choice[rest % choice.size()]);
      rest /= int64_t(choice.size());
    }
    if (accepts(op, operands, *like, results))
      return take(op, operands, results);
  }
  return fail(op, "it combines elements of several shards");
}

/// Visits a generic that computes with positions, such as one that draws random numbers: along
/// these loops it is neither sharded nor the same everywhere. None: it reads at positions, if at
/// all.
static std::optional<LogicalResult> visitPositions(ExtentAnalysis &analysis, linalg::GenericOp op) {
  SmallVector<int64_t> positions;
  for (auto index : op.getOps<linalg::IndexOp>())
    if (!llvm::all_of(index->getUsers(), llvm::IsaPred<tensor::ExtractOp>))
      positions.push_back(int64_t(index.getDim()));
  FailureOr<Extents> loops = positions.empty() ? FailureOr<Extents>() : analysis.loopsOf(op);
  if (failed(loops))
    return std::nullopt;
  for (int64_t loop : positions) {
    if ((*loops)[loop] > 0)
      return failure();
    (*loops)[loop] = extent::whole;
  }
  for (OpResult result : op->getResults()) {
    Extents extents;
    for (AffineExpr at : op.getMatchingIndexingMap(op.getTiedOpOperand(result)).getResults()) {
      auto dim = dyn_cast<AffineDimExpr>(at);
      extents.push_back(dim ? (*loops)[dim.getPosition()] : extent::whole);
    }
    analysis.set(result, extents);
  }
  return success();
}

/// Whether the op computes its results' shards from the operands' shards, or terms of a sum. A
/// shard is to the op what one row is of a batch of as many rows as there are ranks.
bool ShardPlan::accepts(Operation *op, ArrayRef<std::optional<Shard>> operands, Shard like,
                        Assignment &results) {
  ExtentAnalysis analysis(/*rows=*/1);
  for (auto [operand, shard] : llvm::zip_equal(op->getOperands(), operands)) {
    Extents extents(shapeOf(operand).size(), extent::whole);
    if (shard)
      extents[shard->dim] = shapeOf(operand)[shard->dim] / ranks;
    analysis.set(operand, extents);
  }
  // One value may be an operand twice, and is sharded in one way.
  for (auto [operand, shard] : llvm::zip_equal(op->getOperands(), operands))
    if (bool(shard) != analysis.isBatched(operand))
      return false;
  analysis.setOther([&](Operation *inner) -> std::optional<LogicalResult> {
    if (auto count = dyn_cast<CountOp>(inner)) { // it has no loops
      const Extents *extents = analysis.find(count.getOperand());
      analysis.set(count, {});
      return success(llvm::all_of(count.getDims(), [&](int64_t d) { return (*extents)[d] <= 0; }));
    }
    auto generic = dyn_cast<linalg::GenericOp>(inner);
    return generic ? visitPositions(analysis, generic) : std::nullopt;
  });
  if (failed(analysis.visit(op)))
    return false;
  bool isShardedResult = false;
  for (OpResult result : op->getResults()) {
    std::optional<Shard> found;
    auto known = values.find(result);
    for (auto [d, extent] : llvm::enumerate(*analysis.find(result))) {
      bool isWanted = known != values.end() && known->second.dim == int64_t(d);
      bool repeats = extent == extent::free && isWanted && isa<BroadcastOp>(op); // see repeatsAlong
      if (extent <= 0 && !repeats)
        continue;
      if (found || (extent > 0 && extent * ranks != shapeOf(result)[d]))
        return false;
      found = Shard{int64_t(d), like.runs};
    }
    if (known != values.end() && found != std::optional(known->second))
      return false;
    isShardedResult |= bool(found);
    results.push_back(found);
  }
  // Of all reductions, these are sums: ranks can add up what each has of them.
  bool isSum = isa<ContractionOpInterface, ReduceSumOp>(op);
  return analysis.couplesRows() ? isSum && !isShardedResult : isShardedResult;
}

bool ShardPlan::take(Operation *op, ArrayRef<std::optional<Shard>> operands,
                     ArrayRef<std::optional<Shard>> results) {
  for (auto [use, shard] : llvm::zip_equal(op->getOpOperands(), operands)) {
    if (!shard)
      continue;
    if (!values.contains(use.get()) && repeatsAlong(use.get(), shard->dim))
      repeats.insert({&use, *shard});
    else if (!add(use.get(), *shard))
      return false;
  }
  bool isSum = true;
  for (auto [result, shard] : llvm::zip_equal(op->getResults(), results)) {
    isSum &= !shard;
    if (shard && !add(result, *shard))
      return false;
  }
  if (isSum)
    sums.insert(op);
  return true;
}

// The gain of a chain -----------------------------------------------------------------------------

int64_t ShardPlan::savedFlops() const {
  int64_t flops = 0;
  for (Operation *op : ops)
    if (isa<ContractionOpInterface>(op))
      flops += cast<CostOpInterface>(op).getFlops();
  return flops - flops / ranks;
}

llvm::SetVector<Value> ShardPlan::entering() {
  llvm::SetVector<Value> all;
  auto note = [&](Value v) {
    if (isa<FloatType>(getElementTypeOrSelf(v)) && !matchPattern(v, m_Constant()))
      all.insert(v);
  };
  for (Operation *op : ops)
    for (OpOperand &use : op->getOpOperands())
      if (!shardOf(use))
        note(use.get());
  for (auto &[use, shard] : repeats)
    if (auto broadcast = use->get().getDefiningOp<BroadcastOp>())
      note(broadcast.getOperand());
  return all;
}

int64_t ShardPlan::summedBytes() {
  int64_t bytes = 0;
  auto addBytes = [&](Value v) { bytes += bytesOf(v); };
  for (Operation *op : sums)
    llvm::for_each(op->getResults(), addBytes);
  llvm::for_each(entering(), addBytes);
  return bytes;
}

// Applying ----------------------------------------------------------------------------------------

/// The use's value for one shard.
static Value madeSmaller(OpBuilder &b, OpOperand &use, RankedTensorType type) {
  DenseElementsAttr dense;
  Location location = use.getOwner()->getLoc();
  if (matchPattern(use.get(), m_Constant(&dense)))
    return ConstantOp::create(b, location, dense.resizeSplat(type));
  auto broadcast = use.get().getDefiningOp<BroadcastOp>(); // see repeatsAlong
  return BroadcastOp::create(b, location, type, broadcast.getOperand(), broadcast.getDims());
}

/// 1. States and values get the types of shards.
/// 2. Repeated operands are made anew, as large as a shard.
/// 3. Sums: their readers read the sums over ranks.
/// 4. Values that all ranks have enter through a fan-out, one per value.
void ShardPlan::apply() {
  for (auto &[op, shard] : sharded) {
    auto state = cast<StateOp>(op);
    state.setType(shardType(state.getType(), shard));
    state.setShard(SmallVector<int64_t>{shard.dim, shard.runs, ranks});
  }
  for (auto &[value, shard] : values) {
    if (auto slice = value.getDefiningOp<SliceOp>()) { // see visit
      SmallVector<int64_t> starts(slice.getStarts()), sizes(slice.getSizes());
      starts[shard.dim] /= ranks;
      sizes[shard.dim] /= ranks;
      slice.setStarts(starts);
      slice.setSizes(sizes);
    }
    value.setType(shardType(value.getType(), shard));
  }
  for (auto &[use, shard] : repeats) {
    OpBuilder b(use->getOwner());
    use->set(madeSmaller(b, *use, shardType(use->get().getType(), shard)));
    if (Operation *made = use->get().getDefiningOp(); isa<BroadcastOp>(made))
      ops.insert(made);
    values.insert({use->get(), shard});
  }
  repeats.clear();
  for (Operation *op : sums)
    for (OpResult term : op->getResults()) {
      OpBuilder b(op->getContext());
      b.setInsertionPointAfter(op);
      Expr x(b, op->getLoc(), term);
      Expr terms = x.wide();
      auto sum = SumShardsOp::create(b, op->getLoc(), terms.get());
      Expr result = x.with(sum.getResult(0)).cast(x.element());
      Operation *first = terms.get() == term ? sum : terms.get().getDefiningOp();
      term.replaceAllUsesExcept(result, first);
    }
  for (Value value : entering()) {
    OpBuilder b(module.getContext());
    b.setInsertionPointAfterValue(value);
    auto fan = FanOutOp::create(b, value.getLoc(), value.getType(), value);
    value.replaceUsesWithIf(fan, [&](OpOperand &use) { return ops.contains(use.getOwner()); });
  }
}
