// Follows the order of code generation: a value is computed for the points at which it is read, in
// the body of the reduction that reads it.
#include "passes/schedule/CodeSize.h"

#include "dialects/grad/Grad.h"
#include "dialects/grad/TensorTypes.h"
#include "passes/kernel/Clusters.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

bool gradc::movesByIndices(Operation *op) {
  auto movement = dyn_cast<MovementOpInterface>(op);
  return movement && llvm::any_of(movement.getResultDims(), [](int64_t d) { return d < 0; });
}

/// Whether lanes run along a dim that the reduction folds, so that each of its results has vectors
/// of its own.
static bool isAlongLanes(Operation *op) {
  auto reduction = dyn_cast<ReductionOpInterface>(op);
  int64_t last = int64_t(shapeOf(op->getOperand(0)).size()) - 1;
  return reduction && reduction.isSharable() &&
         llvm::is_contained(reduction.getReducedDims(), last);
}

CodeSize::CodeSize(exec::KernelOp kernel, const exec::Level &level, int64_t lanes)
    : root(kernel.getRoot().getShape()), level(level), lanes(lanes) {
  Block &block = kernel.getBlock();
  movesLanes = llvm::any_of(block, [](Operation &op) { return gradc::movesLanes(&op); });
  llvm::DenseMap<Operation *, SmallVector<size_t>> readers;
  auto add = [&](Operation *reduction, ValueRange values) {
    Body body{reduction, 0, readers.lookup(reduction)};
    SetVector<Operation *> below;
    auto visit = [&](Value v) {
      Operation *op = v.getDefiningOp();
      if (op && loopKind(op) == LoopKind::reduction)
        readers[op].push_back(bodies.size());
      else if (op)
        below.insert(op);
    };
    llvm::for_each(values, visit);
    for (size_t i = 0; i < below.size(); ++i) {
      body.instructions += instructionsOf(below[i]);
      llvm::for_each(below[i]->getOperands(), visit);
    }
    bodies.push_back(std::move(body));
  };
  add(nullptr, kernel.getYielded());
  for (Operation &op : llvm::reverse(block.without_terminator())) {
    if (loopKind(&op) != LoopKind::reduction)
      continue;
    add(&op, op.getOperands());
    hasStatistics |= shapeOf(op.getResult(0)).size() < root.size();
  }
}

/// Of one vector. An element that an index chooses is found, loaded and inserted alone, unless
/// those of a vector are neighbours.
int64_t CodeSize::instructionsOf(Operation *op) const {
  constexpr int64_t perLane = 3;
  switch (loopKind(op)) {
  case LoopKind::elementwise:
    return op->getNumOperands() == 0 ? 0 : cast<CostOpInterface>(op).getInstructions();
  case LoopKind::movement: {
    if (!movesByIndices(op))
      return 0;
    auto dims = cast<MovementOpInterface>(op).getResultDims();
    bool areNeighbours =
        !movesLanes && dims.back() == int64_t(shapeOf(op->getResult(0)).size()) - 1;
    return areNeighbours ? 1 : perLane * lanes;
  }
  default:
    return op->getNumOperands();
  }
}

/// The root's vectors in a tile. All tiles of a short row are unrolled if the row has statistics.
int64_t CodeSize::resultVectors(ArrayRef<int64_t> tile) const {
  int64_t vectors = llvm::product_of(tile.drop_back()), row = vectorsOfRow(root.back());
  return vectors * (hasStatistics && row <= level.rowVectors ? row : vectorsOfRow(tile.back()));
}

/// How many results of the reduction a tile computes: single ones if it folds along the lanes, else
/// vectors. `vectors`: for which the bodies that read it are computed.
int64_t CodeSize::resultsOf(const Body &body, ArrayRef<int64_t> tile,
                            ArrayRef<int64_t> vectors) const {
  Operation *op = body.reduction;
  ArrayRef<int64_t> operand = shapeOf(op->getOperand(0)), result = shapeOf(op->getResult(0));
  auto reduction = dyn_cast<ReductionOpInterface>(op);
  if (reduction && operand == root) { // a statistic
    int64_t results = 1;
    SmallVector<int64_t> dims = reduction.getReducedDims();
    for (auto [d, extent] : llvm::enumerate(tile))
      if (!llvm::is_contained(dims, int64_t(d)))
        results *= d + 1 == tile.size() ? vectorsOfRow(extent) : extent;
    return results;
  }
  int64_t most = 0; // none where readers have other elements: such a sum makes no tile smaller
  for (size_t reader : body.readers) {
    Operation *by = bodies[reader].reduction;
    if (result == (by ? shapeOf(by->getOperand(0)) : root))
      most = std::max(most, vectors[reader]);
  }
  return isAlongLanes(op) ? most * lanes : most;
}

int64_t CodeSize::of(ArrayRef<int64_t> tile) const {
  int64_t combining = 2 * int64_t(llvm::Log2_64(lanes)); // the lanes of a vector, in pairs
  SmallVector<int64_t> vectors{resultVectors(tile)};
  int64_t instructions = vectors.front() * bodies.front().instructions;
  for (const Body &body : ArrayRef(bodies).drop_front()) {
    int64_t results = resultsOf(body, tile, vectors), steps = 1;
    if (isAlongLanes(body.reduction)) {
      int64_t row = vectorsOfRow(shapeOf(body.reduction->getOperand(0)).back());
      steps = row <= level.rowVectors ? row : level.chains;
      instructions += results * combining;
    }
    vectors.push_back(results * steps);
    instructions += vectors.back() * (body.instructions + 1);
  }
  return instructions;
}
