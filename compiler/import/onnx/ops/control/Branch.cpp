// If: one region per branch if the run decides, plain ops if the file does.
#include "dialects/Pch.h"

#include "compiler/import/onnx/ImportGraph.h"
#include "compiler/import/onnx/Subgraph.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

namespace {
struct Branch {
  std::unique_ptr<Block> block = std::make_unique<Block>();
  SmallVector<GraphValue> values;
  SmallVector<Value> captured, checks;
};
} // namespace

static LogicalResult importBranch(Node &n, const onnx::GraphProto &graph, Branch &branch) {
  auto values = n.getEntry().importSubgraph(graph, *branch.block, {}, &branch.captured);
  if (failed(values))
    return failure();
  branch.values = std::move(*values);
  branch.checks = n.getEntry().indexChecksIn(*branch.block);
  return success();
}

static bool haveOneType(const Branch &a, const Branch &b) {
  return llvm::equal(a.values, b.values,
                     [](const GraphValue &x, const GraphValue &y) { return x.hasTypeOf(y); });
}

static LogicalResult importTaken(Node &n, const onnx::GraphProto &graph) {
  auto values = n.getEntry().importSubgraph(graph, *n.builder().getInsertionBlock(), {});
  return failed(values) ? failure() : setGraphValues(n, *values);
}

/// Ends a branch. Its arguments stand for `captured`, the values captured by both branches.
/// `checks` are those of both branches; checks of the other branch always pass.
static void closeBranch(Node &n, Branch &branch, Region &region, unsigned before,
                        ValueRange captured, ArrayRef<Value> checks) {
  Block &block = *branch.block;
  unsigned own = block.getNumArguments();
  for (unsigned i = 0; i < captured.size(); ++i)
    if (i < before || i >= before + own)
      block.insertArgument(i, captured[i].getType(), n.loc());
  OpBuilder b(n.builder().getContext());
  b.setInsertionPointToEnd(&block);
  SmallVector<Value> yielded;
  for (const GraphValue &value : branch.values)
    yielded.push_back(value.tensor);
  for (Value check : checks)
    yielded.push_back(llvm::is_contained(branch.checks, check)
                          ? check
                          : splat(b, n.loc(), cast<RankedTensorType>(check.getType()), 0));
  YieldOp::create(b, n.loc(), yielded);
  region.push_back(branch.block.release());
}

static LogicalResult refuseTypes(Node &n, ArrayRef<GraphValue> then, ArrayRef<GraphValue> other) {
  auto error = n.error() << "expected branches with results of the same types, as only a run knows "
                            "which is taken, found (";
  auto print = [&](const GraphValue &v) { error << v.describe(); };
  llvm::interleaveComma(then, error, print);
  error << ") and (";
  llvm::interleaveComma(other, error, print);
  return error << ")";
}

namespace {
/// Values of both branches, which differ in one dim at most.
struct Choice {
  Expr condition, then, other;
  std::optional<RunExtent> ofThen, ofOther;

  /// The dim that differs or has an extent of the run; null if there are several.
  std::optional<int64_t> dim() const;
  Expr padded(Expr x, int64_t dim) const;
  LogicalResult set(Node &n, unsigned i, int64_t dim) const;
};
} // namespace

std::optional<int64_t> Choice::dim() const {
  SmallVector<int64_t> dims;
  for (int64_t d = 0; d < then.type().getRank(); ++d)
    if (then.shape()[d] != other.shape()[d] || (ofThen && ofThen->dim == d) ||
        (ofOther && ofOther->dim == d))
      dims.push_back(d);
  return dims.size() == 1 ? std::optional(dims.front()) : std::nullopt;
}

/// As long as the longer value.
Expr Choice::padded(Expr x, int64_t dim) const {
  SmallVector<int64_t> shape(x.shape());
  int64_t size = shape[dim], most = std::max(then.shape()[dim], other.shape()[dim]);
  if (size == most)
    return x;
  shape[dim] = most - size;
  Expr zeros = x.with(splat(x.getBuilder(), x.getLoc(), x.type().clone(shape), 0));
  return size == 0 ? zeros
                   : x.with(concatenate(x.getBuilder(), x.getLoc(), {x.get(), zeros.get()}, dim));
}

LogicalResult Choice::set(Node &n, unsigned i, int64_t dim) const {
  auto count = [&](Expr x, std::optional<RunExtent> extent) {
    return extent ? extent->count : n.constantInts({x.shape()[dim]}, /*scalar=*/true);
  };
  Expr a = padded(then, dim), b = padded(other, dim);
  Expr isThen = condition.broadcastScalar(a.type().clone(n.builder().getI1Type()));
  return n.set(i, isThen.select(a, b),
               {dim, condition.select(count(then, ofThen), count(other, ofOther))});
}

/// A region cannot read values with an extent of the run, so both branches are computed, and the
/// condition chooses between their results.
static LogicalResult importBoth(Node &n, const onnx::GraphProto &then,
                                const onnx::GraphProto &otherwise) {
  EntryImport &entry = n.getEntry();
  Expr condition = n.expr(0u).reshape({});
  auto import = [&](const onnx::GraphProto &graph, Expr isTaken) {
    EntryImport::EffectCount before = entry.countEffects();
    auto values = entry.importSubgraph(graph, *n.builder().getInsertionBlock(), {});
    entry.checkIndicesIf(isTaken, before);
    return values;
  };
  auto first = import(then, condition), second = import(otherwise, condition.apply<NotOp>());
  if (failed(first) || failed(second))
    return failure();
  for (auto [i, a, b] : llvm::enumerate(*first, *second)) {
    bool isAlike = a.tensor && b.tensor && !a.sequence && !b.sequence && !a.narrow && !b.narrow;
    auto type = isAlike ? cast<RankedTensorType>(a.tensor.getType()) : RankedTensorType();
    auto other = isAlike ? cast<RankedTensorType>(b.tensor.getType()) : RankedTensorType();
    if (!isAlike || type.getRank() != other.getRank() ||
        type.getElementType() != other.getElementType())
      return refuseTypes(n, *first, *second);
    Choice choice{condition, n.expr(a.tensor), n.expr(b.tensor), entry.findExtent(a.tensor),
                  entry.findExtent(b.tensor)};
    std::optional<int64_t> dim = choice.dim();
    if (!dim && (type != other || choice.ofThen || choice.ofOther))
      return refuseTypes(n, *first, *second);
    Expr isThen = condition.broadcastScalar(type.clone(n.builder().getI1Type()));
    if (failed(dim ? choice.set(n, unsigned(i), *dim)
                   : n.set(unsigned(i), isThen.select(a.tensor, b.tensor))))
      return failure();
  }
  return success();
}

static LogicalResult importIf(Node &n) {
  auto then = findGraph(n, "then_branch"), otherwise = findGraph(n, "else_branch");
  if (failed(then) || failed(otherwise) ||
      failed(expectCounts(n, **then, 0, int(n.resultCount()))) ||
      failed(expectCounts(n, **otherwise, 0, int(n.resultCount()))) ||
      failed(n.expect(0, Kind::Bool)))
    return failure();
  if (n.type(0).getNumElements() != 1)
    return n.error() << "expected one bool as condition, found " << n.describeOperand(0);
  if (auto condition = n.tryKnown(0))
    return importTaken(n, condition->getInt(0) ? **then : **otherwise);

  // Statistics of a training step are updated by the branch that is taken.
  if (!n.training() &&
      (n.getEntry().readsExtent(**then) || n.getEntry().readsExtent(**otherwise))) {
    if (auto condition = n.getEntry().known(n.operand(0))) {
      n.fixRows(0);
      return importTaken(n, condition->getInt(0) ? **then : **otherwise);
    }
    return importBoth(n, **then, **otherwise);
  }

  Branch body, other;
  EntryImport::EffectCount before = n.getEntry().countEffects();
  if (failed(importBranch(n, **then, body)) || failed(importBranch(n, **otherwise, other)))
    return failure();
  if (!haveOneType(body, other)) {
    (void)n.getEntry().takeEffects(before);
    // A condition that depends only on inputs with given values is as good as a constant.
    if (auto condition = n.getEntry().known(n.operand(0))) {
      n.fixRows(0);
      return importTaken(n, condition->getInt(0) ? **then : **otherwise);
    }
    return refuseTypes(n, body.values, other.values);
  }
  SmallVector<Value> captured(body.captured);
  llvm::append_range(captured, other.captured);
  SmallVector<Type> types;
  SmallVector<const NarrowType *> narrows;
  for (const GraphValue &value : body.values) {
    types.push_back(value.tensor.getType());
    narrows.push_back(value.narrow);
  }
  SmallVector<Value> checks(body.checks);
  llvm::append_range(checks, other.checks);
  llvm::append_range(types, ValueRange(checks).getTypes());
  Value condition = n.expr(0u).reshape({});
  auto branch = IfOp::create(n.builder(), n.loc(), types, condition, captured);
  closeBranch(n, body, branch.getBody(), 0, captured, checks);
  closeBranch(n, other, branch.getOtherwise(), body.captured.size(), captured, checks);
  for (auto [check, result] : llvm::zip_equal(checks, branch.getResults().take_back(checks.size())))
    n.getEntry().replaceIndexCheck(check, result);
  for (auto [i, result] : llvm::enumerate(branch.getResults().drop_back(checks.size())))
    if (failed(n.setNarrow(unsigned(i), result, narrows[i])))
      return failure();
  return success();
}

void gradc::addBranchOps(OpTable &ops) {
  ops["If"] = {importIf, 1, 1};
  takeNarrow(ops, TakesNarrow::itself, {"If"});
}
