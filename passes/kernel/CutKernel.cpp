// Follows results back to the cuts, and outlines the ops in between.
#include "passes/kernel/CutKernel.h"

#include "passes/entry/Extents.h"
#include "passes/kernel/Outline.h"

using namespace mlir;
using namespace gradc;

namespace {

/// Ops of the kernel from some values of its region to others.
struct Piece {
  SmallVector<Operation *> ops;
  SmallVector<Value> operands, results;
};

class Cutter {
public:
  Cutter(exec::KernelOp kernel, ArrayRef<Value> cuts) : kernel(kernel), cuts(cuts) {
    for (Value cut : cuts)
      pieces.push_back(pieceOf(cut));
    SmallVector<Value> left;
    for (Value v : kernel.getYielded())
      if (!llvm::is_contained(cuts, v))
        left.push_back(v);
    if (!left.empty())
      pieces.push_back(pieceOf(left));
  }

  SmallVector<exec::KernelOp> outline(SymbolTable &symbols) {
    for (const Piece &piece : pieces) {
      kernels.push_back(outlineKernel(piece.ops, piece.operands, piece.results));
      symbols.insert(kernels.back());
    }
    keepExtents();
    return kernels;
  }

  void replace(exec::LaunchOp launch) {
    IRMapping made;
    made.map(kernel.getBlock().getArguments(), launch.getOperands());
    OpBuilder builder(launch);
    for (auto [piece, part] : llvm::zip(pieces, kernels)) {
      auto operands = llvm::map_to_vector(piece.operands, [&](Value v) { return made.lookup(v); });
      auto one = exec::LaunchOp::create(builder, launch.getLoc(), part.getYielded().getTypes(),
                                        part.getSymName(), operands);
      one->setDiscardableAttrs(launch->getDiscardableAttrDictionary());
      made.map(piece.results, one.getResults());
    }
    for (auto [from, yielded] : llvm::zip(launch.getResults(), kernel.getYielded()))
      from.replaceAllUsesWith(made.lookup(yielded));
    launch.erase();
  }

private:
  /// Sets the extents of the parts, if the kernel takes the rows of a run.
  void keepExtents() {
    if (!kernel.getExtentsAttr())
      return;
    FailureOr<ExtentAnalysis> analysis = analyzeKernel(kernel);
    assert(succeeded(analysis) && "the kernel's extents have been found before");
    for (auto [piece, part] : llvm::zip(pieces, kernels)) {
      LogicalResult set = setExtents(part, analysis->of(piece.operands));
      assert(succeeded(set) && "a piece has the extents of the whole");
      (void)set;
    }
  }

  Piece pieceOf(ValueRange results) {
    llvm::SetVector<Value> values(results.begin(), results.end());
    auto isOperand = [&](Value v) {
      return isa<BlockArgument>(v) ||
             (llvm::is_contained(cuts, v) && !llvm::is_contained(results, v));
    };
    for (size_t i = 0; i < values.size(); ++i)
      if (!isOperand(values[i]))
        values.insert_range(values[i].getDefiningOp()->getOperands());
    Piece piece;
    piece.results.assign(results.begin(), results.end());
    for (Operation &op : kernel.getBlock().without_terminator())
      if (llvm::any_of(op.getResults(),
                       [&](Value v) { return values.contains(v) && !isOperand(v); }))
        piece.ops.push_back(&op);
    llvm::SetVector<Value> arguments;
    for (Operation *op : piece.ops)
      for (Value v : op->getOperands())
        if (isa<BlockArgument>(v))
          arguments.insert(v);
    piece.operands = arguments.takeVector();
    for (Value cut : cuts)
      if (values.contains(cut) && isOperand(cut))
        piece.operands.push_back(cut);
    return piece;
  }

  exec::KernelOp kernel;
  ArrayRef<Value> cuts;
  SmallVector<Piece> pieces;
  SmallVector<exec::KernelOp> kernels;
};

} // namespace

SmallVector<exec::KernelOp> gradc::cutKernel(exec::KernelOp kernel, ArrayRef<Value> cuts,
                                             ArrayRef<exec::LaunchOp> launches,
                                             SymbolTable &symbols) {
  Cutter cutter(kernel, cuts);
  SmallVector<exec::KernelOp> kernels = cutter.outline(symbols);
  for (exec::LaunchOp launch : launches)
    cutter.replace(launch);
  symbols.erase(kernel);
  return kernels;
}
