// Values whose extent only a run knows: memory is planned for the maximum, and the extent is a
// value.
#include "dialects/Pch.h"

#include "compiler/import/onnx/ImportGraph.h"
#include "llvm/ADT/ScopeExit.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

void gradc::takeExtents(OpTable &ops, TakesExtents how, ArrayRef<StringRef> names) {
  for (StringRef name : names) {
    assert(ops.contains(name));
    ops[name].extents = how;
  }
}

std::optional<RunExtent> EntryImport::findExtent(Value value) const {
  auto found = extents.find(value);
  return found == extents.end() ? std::nullopt : std::optional(found->second);
}

/// The most ops from a count to the condition whose true elements it counts.
constexpr int countDepth = 12;

/// Whether both values are results of the same computation, along paths of at most `depth` ops.
static bool isSame(Value a, Value b, int depth) {
  if (a == b)
    return true;
  auto x = dyn_cast<OpResult>(a), y = dyn_cast<OpResult>(b);
  if (!x || !y || depth == 0 || x.getResultNumber() != y.getResultNumber())
    return false;
  Operation *one = x.getOwner(), *other = y.getOwner();
  auto operandsAgree = [&](Value p, Value q) { return success(isSame(p, q, depth - 1)); };
  return one->getBlock() == other->getBlock() && one->getNumRegions() == 0 &&
         isMemoryEffectFree(one) &&
         OperationEquivalence::isEquivalentTo(one, other, operandsAgree, /*markEquivalent=*/nullptr,
                                              OperationEquivalence::IgnoreLocations);
}

void EntryImport::setExtent(Value value, RunExtent extent) {
  int64_t most = cast<RankedTensorType>(value.getType()).getDimSize(extent.dim);
  if (most == 0) // in every run
    return;
  auto known = llvm::find_if(
      counts, [&](auto &count) { return isSame(count.first, extent.count, countDepth); });
  if (known == counts.end()) {
    counts.emplace_back(extent.count, most);
  } else {
    extent.count = known->first;
    known->second = std::min(known->second, most);
  }
  extents[value] = extent;
}

/// The numbers of true elements of masks that a shape is computed from. Exporters count these apart
/// from the NonZero that lists them.
static SmallVector<ReduceSumOp> countsOfTrue(Value shape) {
  constexpr size_t most = 256; // values; shape arithmetic is short
  SmallVector<ReduceSumOp> found;
  llvm::SetVector<Value> reached;
  reached.insert(shape);
  for (size_t i = 0; i < reached.size() && i < most; ++i) {
    Operation *op = reached[i].getDefiningOp();
    auto sum = dyn_cast_or_null<ReduceSumOp>(op);
    auto number = sum ? sum.getOperand().getDefiningOp<CastOp>() : CastOp();
    bool isOfMask = number && getElementTypeOrSelf(number.getOperand().getType()).isInteger(1) &&
                    sum.getType().getRank() == 0 &&
                    sum.getType().getElementType().isSignlessInteger(64);
    if (isOfMask)
      found.push_back(sum);
    else if (op && op->getNumRegions() == 0)
      reached.insert(op->operand_begin(), op->operand_end());
  }
  return found;
}

/// Evaluates the shape
/// 1. with all counts at their maxima, for the shape that memory is planned for;
/// 2. with all counts one less: a size that changes depends on a count;
/// 3. with all counts 0: a size that equals a count only near the maximum differs from it here;
/// 4. with a single count one less, each in turn: the one that changes a size is its extent.
std::optional<RunShape> EntryImport::shapeOfRun(Value shape) {
  SmallVector<std::pair<Value, Value>> alike; // sums of masks, each with the count that it equals
  for (ReduceSumOp sum : countsOfTrue(shape)) {
    auto known =
        llvm::find_if(counts, [&](auto &count) { return isSame(count.first, sum, countDepth); });
    if (known == counts.end())
      counts.emplace_back(sum, sum.getOperand().getType().getNumElements());
    else if (known->first != sum.getResult())
      alike.emplace_back(sum, known->first);
  }
  llvm::DenseMap<Value, HostTensor> before = evaluated;
  llvm::scope_exit restore([&] { evaluated = std::move(before); });
  using Count = std::pair<Value, int64_t>; // with its maximum
  auto sizesWith = [&](llvm::function_ref<int64_t(const Count &)> number)
      -> std::optional<SmallVector<int64_t>> {
    evaluated = before; // results of branches and loops may depend on other counts
    for (const Count &count : counts) {
      HostTensor assumed(RankedTensorType::get({}, builder.getI64Type()));
      assumed.setInt(0, std::max<int64_t>(number(count), 0));
      evaluated[count.first] = std::move(assumed);
    }
    for (auto [sum, count] : alike) {
      HostTensor assumed = evaluated.find(count)->second;
      evaluated[sum] = std::move(assumed);
    }
    std::optional<HostTensor> value = known(shape, /*mayBind=*/false);
    if (!value)
      return std::nullopt;
    return llvm::map_to_vector(llvm::seq(value->size()),
                               [&](int64_t d) { return value->getInt(d); });
  };
  auto most = sizesWith([](const Count &count) { return count.second; });
  auto fewer = sizesWith([](const Count &count) { return count.second - 1; });
  auto least = sizesWith([](const Count &) { return 0; });
  if (!most || !fewer || !least)
    return std::nullopt;
  if (*fewer == *most)
    return *least == *most ? std::optional(RunShape{*most, std::nullopt}) : std::nullopt;
  for (const Count &chosen : llvm::reverse(counts)) {
    auto now = sizesWith([&](const Count &count) {
      return count.first == chosen.first ? count.second - 1 : count.second;
    });
    if (!now || *now == *most)
      continue;
    // Only the size of one dim, which is the count itself, may follow the counts.
    int64_t dim = std::mismatch(now->begin(), now->end(), most->begin()).first - now->begin();
    auto expected = [&](int64_t size) {
      SmallVector<int64_t> sizes(*most);
      sizes[dim] = size;
      return sizes;
    };
    if (*now != *fewer || (*most)[dim] != chosen.second || *now != expected(chosen.second - 1) ||
        *least != expected(0))
      return std::nullopt;
    return RunShape{*most, RunExtent{dim, chosen.first}};
  }
  return std::nullopt;
}

bool EntryImport::readsExtent(const onnx::GraphProto &graph) const {
  auto hasExtent = [&](StringRef name) {
    for (const Scope *at = scope; at; at = at->outer)
      if (auto found = at->values.find(name); found != at->values.end())
        return found->second && findExtent(found->second);
    return false;
  };
  auto isOutside = [&](const onnx::ValueInfoProto &output) { return hasExtent(output.name()); };
  return llvm::any_of(graph.output(), isOutside) ||
         llvm::any_of(graph.node(), [&](const onnx::NodeProto &node) {
           return llvm::any_of(node.input(), hasExtent) ||
                  llvm::any_of(node.attribute(), [&](const onnx::AttributeProto &attribute) {
                    return attribute.has_g() && readsExtent(attribute.g());
                  });
         });
}

LogicalResult EntryImport::expectNoExtent(StringRef name, Value value, Location where) const {
  if (auto extent = findExtent(value))
    return emitError(where) << "cannot take \"" << name << "\", " << describe(value.getType())
                            << ": only a run knows the extent of dim " << extent->dim;
  return success();
}

LogicalResult EntryImport::expectWhole(StringRef name, Value value, Location where) const {
  if (failed(expectNoExtent(name, value, where)))
    return failure();
  if (findNarrow(value))
    return emitError(where) << "cannot take \"" << name << "\", " << describeValue(value)
                            << ": only graph outputs can be of that type";
  return success();
}

std::optional<RunExtent> Node::extent(unsigned i) const {
  return operand(i) ? entry.findExtent(operand(i)) : std::nullopt;
}

std::optional<int64_t> Node::knownCount(const RunExtent &extent) {
  std::optional<HostTensor> count = entry.known(extent.count, /*mayBind=*/false);
  return count ? std::optional(count->getInt(0)) : std::nullopt;
}

LogicalResult Node::refuseExtent(unsigned i) {
  return error() << "cannot take " << describeOperand(i) << ": only a run knows the extent of dim "
                 << extent(i)->dim;
}

Expr Node::neutralBehindExtent(unsigned i, Expr x, ArrayRef<int64_t> dims, double neutral) {
  std::optional<RunExtent> extent = this->extent(i);
  if (!extent || !llvm::is_contained(dims, extent->dim))
    return x;
  auto numbers = x.type().clone(builder().getI64Type());
  Expr position = expr(IotaOp::create(builder(), location, numbers, extent->dim));
  Expr isThere =
      position.compare(ComparePredicate::lt, expr(extent->count).broadcastScalar(numbers));
  return isThere.select(x, x.splat(neutral));
}

FailureOr<RunShape> Node::knownShape(unsigned i, StringRef what) {
  if (operand(i) && !extent(i) && rank(i) == 1 && element(i).isSignlessInteger() &&
      entry.hasExtents() && !entry.known(operand(i), /*mayBind=*/false))
    if (std::optional<RunShape> shape = entry.shapeOfRun(operand(i)))
      return *shape;
  FailureOr<SmallVector<int64_t>> sizes = knownInts(i, what);
  if (failed(sizes))
    return failure();
  return RunShape{*sizes, std::nullopt};
}

LogicalResult Node::setReshaped(ArrayRef<int64_t> shape) {
  Value value = expr(0u).reshape(shape);
  std::optional<RunExtent> extent = this->extent(0);
  if (!extent)
    return set(value);
  // Elements of later dims that join the dim multiply its extent.
  int64_t size = this->shape(0)[extent->dim], outside = 1, product = 1;
  for (int64_t before : this->shape(0).take_front(extent->dim))
    outside *= before;
  for (auto [d, now] : llvm::enumerate(shape)) {
    if (size > 0 && product == outside && now >= size && now % size == 0) {
      Expr count = expr(extent->count);
      return set(0, value, {int64_t(d), now == size ? count : count * double(now / size)});
    }
    product *= now;
  }
  return error() << "expected to keep dim " << extent->dim << " of " << describeOperand(0)
                 << ", whose extent only a run knows";
}

LogicalResult Node::set(unsigned i, Value value, RunExtent extent) {
  ElementsAttr known;
  if (!matchPattern(extent.count, m_Constant(&known))) {
    entry.setExtent(value, extent);
    return set(i, value);
  }
  return set(i, expr(value).slice(extent.dim, 0, HostTensor(known).getInt(0)));
}

LogicalResult Node::setLike(unsigned operand, Value value, int64_t dim) {
  std::optional<RunExtent> extent = this->extent(operand);
  return extent ? set(0, value, {dim, extent->count}) : set(value);
}

FailureOr<std::optional<RunExtent>> Node::commonExtent(ArrayRef<SmallVector<int64_t>> places) {
  std::optional<RunExtent> common;
  for (auto [i, own] : llvm::enumerate(places))
    if (std::optional<RunExtent> extent = this->extent(i)) {
      int64_t place = own[extent->dim];
      if (common && (common->dim != place || common->count != extent->count)) {
        error() << "expected one extent that only a run knows, found another of "
                << describeOperand(i);
        return failure();
      }
      common = RunExtent{place, extent->count};
    }
  for (auto [i, own] : llvm::enumerate(places))
    if (common && operand(i) && !extent(i))
      for (auto [d, place] : llvm::enumerate(own))
        if (place == common->dim && shape(i)[d] != 1) {
          error() << "expected size 1 in dim " << d << " of " << describeOperand(i)
                  << ", because only a run knows the extent of another operand in that dim";
          return failure();
        }
  return common;
}

LogicalResult EntryImport::expectExtents(Node &node, TakesExtents how) const {
  for (unsigned i = 0; i < node.operandCount(); ++i)
    if (std::optional<RunExtent> extent = node.extent(i))
      if (how == TakesExtents::no || (how == TakesExtents::rows && (i != 0 || extent->dim != 0)))
        return node.refuseExtent(i);
  return success();
}

// Dims are counted from the back, since numpy's broadcasting aligns them there.
LogicalResult EntryImport::followExtents(Node &node, TakesExtents how) {
  std::optional<RunExtent> common;
  if (how == TakesExtents::rows) {
    common = node.extent(0);
  } else if (how == TakesExtents::pointwise) {
    SmallVector<SmallVector<int64_t>> places(node.operandCount());
    for (auto [i, own] : llvm::enumerate(places))
      if (node.operand(i))
        own = llvm::to_vector(llvm::seq<int64_t>(-node.rank(i), 0));
    FailureOr<std::optional<RunExtent>> found = node.commonExtent(places);
    if (failed(found))
      return failure();
    common = *found;
  }
  if (!common)
    return success();
  for (Value result : node.getResults()) {
    if (!result)
      continue;
    int64_t dim = common->dim;
    if (dim < 0)
      dim += cast<RankedTensorType>(result.getType()).getRank();
    if (dim >= 0)
      setExtent(result, {dim, common->count});
  }
  return success();
}
