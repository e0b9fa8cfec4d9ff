// Finds the smallest elements of a parameter without a sort: a search by sums over the parameter
// takes any number of elements on every target.
#include "passes/training/Pruning.h"

#include "dialects/grad/control/Control.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

FailureOr<PruneRule> PruneRule::parse(StateOp parameter) {
  PruneRule rule;
  auto given = parameter->getAttrOfType<DictionaryAttr>(pruneName);
  auto read = [&](StringRef name, auto &value) {
    auto number = given ? given.get(name) : Attribute();
    if (auto real = dyn_cast_or_null<FloatAttr>(number))
      value = real.getValueAsDouble();
    else if (auto integer = dyn_cast_or_null<IntegerAttr>(number))
      value = integer.getInt();
    else
      return false;
    return true;
  };
  auto type = parameter.getLogicalType();
  bool isComplete = read("initial_sparsity", rule.initialSparsity) &&
                    read("sparsity", rule.sparsity) && read("begin_step", rule.beginStep) &&
                    read("end_step", rule.endStep) && read("every", rule.every) &&
                    read("dim", rule.dim) && read("of", rule.of);
  bool isDim = rule.dim >= -1 && rule.dim < type.getRank();
  bool isDivided = rule.of == 0 || (rule.of > 0 && isDim && rule.dim >= 0 &&
                                    type.getDimSize(rule.dim) % rule.of == 0);
  if (given && given.contains("blocks"))
    isComplete &= read("blocks", rule.blocks);
  bool areBlocks = rule.blocks == 1 || (rule.blocks > 1 && rule.of == 0 && rule.dim > 0 && isDim &&
                                        type.getDimSize(0) % rule.blocks == 0);
  if (isComplete && isDim && isDivided && areBlocks && rule.every > 0 &&
      rule.beginStep <= rule.endStep)
    return rule;
  return parameter.emitError("expected grad.prune to have sparsities, a range of steps, and a dim "
                             "of \"")
         << parameter.getSymName()
         << (areBlocks ? "\" that `of` divides, found " : "\" in blocks of dim 0, found ")
         << parameter->getAttr(pruneName);
}

DictionaryAttr PruneRule::toAttribute(Builder &b) const {
  SmallVector<NamedAttribute> attributes = {
      b.getNamedAttr("initial_sparsity", b.getF64FloatAttr(initialSparsity)),
      b.getNamedAttr("sparsity", b.getF64FloatAttr(sparsity)),
      b.getNamedAttr("begin_step", b.getI64IntegerAttr(beginStep)),
      b.getNamedAttr("end_step", b.getI64IntegerAttr(endStep)),
      b.getNamedAttr("every", b.getI64IntegerAttr(every)),
      b.getNamedAttr("dim", b.getI64IntegerAttr(dim)),
      b.getNamedAttr("of", b.getI64IntegerAttr(of))};
  if (blocks > 1)
    attributes.push_back(b.getNamedAttr("blocks", b.getI64IntegerAttr(blocks)));
  return b.getDictionaryAttr(attributes);
}

Expr PruneRule::isRenewedAt(Expr step) const {
  Expr t = step.cast(step.getBuilder().getI64Type()), since = t - double(beginStep);
  Expr isTurn = (since / double(every) * double(every)).compare(ComparePredicate::eq, since),
       isLast = t.compare(ComparePredicate::eq, t.splat(double(endStep)));
  Expr hasBegun = t.compare(ComparePredicate::ge, t.splat(double(beginStep))),
       goesOn = t.compare(ComparePredicate::le, t.splat(double(endStep)));
  return isTurn.apply<OrOp>(isLast).apply<AndOp>(hasBegun.apply<AndOp>(goesOn));
}

/// The type that counts the candidates of a group: i32, which vectors hold more of, if it can.
static Type countType(OpBuilder &b, int64_t size) {
  return size > std::numeric_limits<int32_t>::max() ? b.getI64Type() : b.getI32Type();
}

/// How many of `size` candidates are masked. In f64: f32 counts to 16 million only.
Expr PruneRule::countAt(Expr step, int64_t size) const {
  OpBuilder &b = step.getBuilder();
  Expr t = step.cast(b.getF64Type()), share = t.splat(sparsity);
  if (endStep > beginStep) {
    Expr left = (double(endStep) - t) / double(endStep - beginStep);
    share = left * left * left * (initialSparsity - sparsity) + sparsity;
  }
  return (share * double(size) + 0.5).apply<FloorOp>().cast(countType(b, size));
}

/// The permutation that makes `dim` the last dim.
SmallVector<int64_t> PruneRule::dimLast(int64_t rank) const {
  SmallVector<int64_t> dims = otherDims(rank, {dim});
  dims.push_back(dim);
  return dims;
}

/// The shape with the blocks of dim 0 as a dim of their own, the first.
SmallVector<int64_t> PruneRule::inBlocks(ArrayRef<int64_t> shape) const {
  SmallVector<int64_t> result = {blocks, shape.front() / blocks};
  llvm::append_range(result, shape.drop_front());
  return result;
}

/// The magnitudes of candidates, [groups, candidates of a group]. Those that are masked have a
/// negative one, so that they stay masked.
Expr PruneRule::groupScores(Expr value, Expr mask) const {
  int64_t rank = value.type().getRank();
  bool isChannels = dim >= 0 && of == 0;
  Expr wide = value.cast(value.getBuilder().getF32Type());
  Expr size = isChannels ? wide * wide : wide.apply<AbsOp>();
  Expr score = mask.select(size, size.splat(-1));
  if (isChannels && blocks > 1)
    score = score.reshape(inBlocks(score.shape())).sum(otherDims(rank + 1, {0, dim + 1}));
  else if (isChannels)
    score = score.sum(otherDims(rank, {dim}));
  else if (of > 0)
    return score.transpose(dimLast(rank)).reshape({score.type().getNumElements() / of, of});
  return score.reshape({1, score.type().getNumElements()});
}

/// What is kept of candidates, as a mask of all elements of `type`.
Expr PruneRule::spread(Expr kept, RankedTensorType type) const {
  if (dim < 0)
    return kept.reshape(type.getShape());
  if (of == 0 && blocks > 1) {
    auto whole = RankedTensorType::get(inBlocks(type.getShape()), kept.element());
    return kept.reshape({blocks, type.getDimSize(dim)})
        .broadcast(whole, {0, dim + 1})
        .reshape(type.getShape());
  }
  if (of == 0)
    return kept.reshape({type.getDimSize(dim)}).broadcast(type.clone(kept.element()), {dim});
  SmallVector<int64_t> order = dimLast(type.getRank());
  return kept.reshape(applyPermutation(type.getShape(), order))
      .transpose(invertPermutationVector(order));
}

/// Whether each candidate remains when the `count` smallest of its group are masked. Of equal ones,
/// those at smaller positions are masked.
static Expr keepAllBut(Expr count, Expr score) {
  OpBuilder &b = score.getBuilder();
  Location location = score.getLoc();
  // 1. Keys in the order of the scores: the bits of floats that are not negative, and a negative
  // number for all others.
  Type i32 = b.getI32Type();
  Expr key = score.with(BitCastOp::create(b, location, score.type().clone(i32), score));
  RankedTensorType keys = key.type(), ofGroups = keys.clone({keys.getDimSize(0)});
  Type counts = count.element();
  auto countBelow = [&](Expr x, Expr limit) {
    return x.compare(ComparePredicate::lt, limit.broadcast(keys, {0})).cast(counts).sum({1});
  };

  // 2. The largest limit of each group with at most `count` keys below it, bit by bit.
  constexpr int64_t bitCount = 31; // of i32, without the sign
  HostTensor bits(RankedTensorType::get({bitCount}, i32));
  for (int64_t i = 0; i < bitCount; ++i)
    bits.setInt(i, int64_t(1) << (bitCount - 1 - i));
  Expr wanted = count.broadcastScalar(ofGroups.clone(counts));
  ScanOperands operands{
      {splat(b, location, ofGroups, 0)}, {constant(b, location, bits)}, {key, wanted}};
  auto search = [&](OpBuilder &inside, Block::BlockArgListType arguments) -> SmallVector<Value> {
    Expr limit(inside, location, arguments[0]);
    Expr next = limit + limit.with(arguments[1]).broadcastScalar(ofGroups);
    Expr below = countBelow(limit.with(arguments[2]), next);
    return {below.compare(ComparePredicate::le, arguments[3]).select(next, limit)};
  };
  ScanOp scan = buildScan(b, location, bitCount, /*reverse=*/false, operands, search);

  // 3. All keys below the limit are masked, and the first of those that are equal to it.
  Expr limit = key.with(scan.getResult(0)), limits = limit.broadcast(keys, {0});
  Expr isBelow = key.compare(ComparePredicate::lt, limits),
       isEqual = key.compare(ComparePredicate::eq, limits);
  Expr rest = (wanted - countBelow(key, limit)).broadcast(keys.clone(counts), {0});
  Expr equalBefore = key.with(CumulativeOp::create(b, location, isEqual.cast(counts),
                                                   CumulativeKind::sum, /*dim=*/1,
                                                   /*exclusive=*/true, /*reverse=*/false));
  Expr isFirst = equalBefore.compare(ComparePredicate::lt, rest);
  return isBelow.apply<OrOp>(isEqual.apply<AndOp>(isFirst)).apply<NotOp>();
}

Value PruneRule::renew(OpBuilder &b, StateOp parameter, Value value, Value mask, Value step,
                       Value proceed) const {
  Location location = value.getLoc();
  Expr condition = isRenewedAt(Expr(b, location, step)).apply<AndOp>(proceed);
  Value inputs[] = {value, mask, step};
  auto branch = IfOp::create(b, location, mask.getType(), condition, inputs);
  for (Region *region : branch.getRegions()) {
    Block &block = region->emplaceBlock();
    for (Value input : inputs)
      block.addArgument(input.getType(), location);
    OpBuilder inside = OpBuilder::atBlockEnd(&block);
    Value result = block.getArgument(1);
    if (region == &branch.getBody()) {
      Expr old(inside, location, parameter.toLogical(inside, block.getArgument(0)));
      Expr score = groupScores(old, old.with(parameter.toLogical(inside, result)));
      Expr count = countAt(old.with(block.getArgument(2)), score.shape()[1]);
      result = parameter.fromLogical(inside, spread(keepAllBut(count, score), old.type()));
    }
    YieldOp::create(inside, location, result);
  }
  return branch.getResult(0);
}
