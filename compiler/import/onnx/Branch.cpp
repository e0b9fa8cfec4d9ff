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

  Branch body, other;
  EntryImport::EffectCount before = n.getEntry().countEffects();
  if (failed(importBranch(n, **then, body)) || failed(importBranch(n, **otherwise, other)))
    return failure();
  if (!haveOneType(body, other)) {
    (void)n.getEntry().takeEffects(before);
    // A condition that depends only on inputs with given values is as good as a constant.
    if (auto condition = n.getEntry().known(n.operand(0)))
      return importTaken(n, condition->getInt(0) ? **then : **otherwise);
    auto error =
        n.error() << "expected branches with results of the same types, as only a run knows "
                     "which is taken, found (";
    auto print = [&](const GraphValue &v) { error << v.describe(); };
    llvm::interleaveComma(body.values, error, print);
    error << ") and (";
    llvm::interleaveComma(other.values, error, print);
    return error << ")";
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
