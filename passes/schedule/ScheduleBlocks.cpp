// Five ways to share a root space: one thread per tile, one team of threads per row, one team per
// sum over rows, one team per sum over columns, or one block per tile of a matrix product.
#include "passes/schedule/ScheduleBlocks.h"

#include "dialects/grad/Grad.h"
#include "passes/kernel/Clusters.h"

using namespace mlir;
using namespace mlir::grad;

namespace gradc {
namespace {

constexpr int64_t warp = exec::warpThreads;

class BlockScheduler {
public:
  BlockScheduler(exec::KernelOp kernel, const exec::Level &level)
      : kernel(kernel), level(level), gpu(*level.gpu), shape(kernel.getRoot().getShape()),
        rank(shape.size()) {}

  void run() {
    tile.assign(rank, 1);
    rows = rank;
    lanes = level.vectorBytes / widestElement(kernel);
    if (Operation *contraction = find(LoopKind::contraction))
      columns(contraction);
    else if (std::optional<int64_t> prefix = rowPrefix())
      wholeRows(*prefix);
    else if (Operation *sum = find(LoopKind::reduction))
      reducesRows(sum) ? rowSums(sum) : columns(sum);
    else
      elements();
    apply();
  }

private:
  /// The first op of that kind whose result has the root's dims; else the first of that kind.
  Operation *find(LoopKind kind) {
    Operation *found = nullptr;
    for (Operation &op : kernel.getBlock()) {
      if (loopKind(&op) != kind)
        continue;
      if (resultType(&op).getShape() == shape)
        return &op;
      found = found ? found : &op;
    }
    return found;
  }

  static RankedTensorType resultType(Operation *op) {
    return cast<RankedTensorType>(op->getResult(0).getType());
  }
  static RankedTensorType operandType(Operation *op) {
    return cast<RankedTensorType>(op->getOperand(0).getType());
  }

  /// Elements that one result element sums over.
  static int64_t sumLength(Operation *op) {
    int64_t results = std::max<int64_t>(1, resultType(op).getNumElements());
    if (loopKind(op) == LoopKind::contraction)
      return cast<CostOpInterface>(op).getFlops() / 2 / results;
    return operandType(op).getNumElements() / results;
  }

  /// Whether a team can share the sum along a row.
  static bool reducesRows(Operation *op) {
    auto reduction = dyn_cast<ReductionOpInterface>(op);
    return reduction && reduction.isSharable() &&
           llvm::is_contained(reduction.getReducedDims(), operandType(op).getRank() - 1);
  }

  /// The min number of leading dims of any statistic of the root's rows.
  std::optional<int64_t> rowPrefix() {
    std::optional<int64_t> prefix;
    for (Operation &op : kernel.getBlock()) {
      if (loopKind(&op) != LoopKind::reduction || operandType(&op).getShape() != shape)
        continue;
      ArrayRef<int64_t> kept = resultType(&op).getShape();
      if (kept == shape.take_front(kept.size()) && reducesRows(&op))
        prefix = std::min<int64_t>(prefix.value_or(rank), kept.size());
    }
    return prefix;
  }

  int64_t units() const {
    int64_t n = 1;
    for (int64_t d = 0; d < rows; ++d)
      n *= llvm::divideCeil(shape[d], tile[d]);
    return n;
  }

  /// The number of threads that keep the GPU busy: half of the max resident threads.
  int64_t busyThreads() const { return gpu.multiprocessors * gpu.threads / 2; }

  /// Threads per block if one thread per unit suffices.
  int64_t threadsFor(int64_t units) const {
    return std::clamp<int64_t>(llvm::PowerOf2Ceil(units), warp, gpu.blockThreads);
  }

  void elements() {
    if (rank > 0)
      tile.back() = lanes;
    threads = threadsFor(units());
  }

  /// A team keeps its rows for both statistics and results. Tiles divide the rows evenly, because
  /// some threads of a team would not reach the code of a smaller last tile.
  void wholeRows(int64_t prefix) {
    rows = prefix;
    if (shape.back() % lanes != 0)
      lanes = 1;
    tile.back() = lanes;
    adjacent = true;
    int64_t perRow = 1;
    for (int64_t size : shape.drop_front(prefix))
      perRow *= size;
    threads = gpu.blockThreads;
    team = perRow > 8 * warp * lanes || units() == 1 ? threads : warp;
  }

  void rowSums(Operation *sum) {
    adjacent = true;
    bool isLong = sumLength(sum) >= 8 * warp && units() * warp < busyThreads();
    team = isLong ? gpu.blockThreads : warp;
    threads = isLong ? gpu.blockThreads : threadsFor(units() * warp);
  }

  /// Every thread of a team sums its share of each column. Tiles divide their dims evenly, so that
  /// all threads of a block reach its barriers.
  void columns(Operation *sum) {
    if (rank > 0)
      tile.back() = lanes;
    int64_t length = sumLength(sum);
    bool contracts = loopKind(sum) == LoopKind::contraction;
    if (contracts && usesSharedMemory(sum, length))
      return;
    if (contracts && rank > 1)
      tile[rank - 2] = std::clamp<int64_t>(shape[rank - 2], 1, level.tileRows);
    int64_t wanted = busyThreads() / std::max<int64_t>(units(), 1);
    // A filter's gradient has few results and sums over all windows; neighbours in other sums read
    // neighbouring columns, so they are several.
    auto contraction = dyn_cast<ContractionOpInterface>(sum);
    int64_t sharers = contraction && contraction.getLetters().window ? gpu.blockThreads : warp;
    int64_t most = std::min<int64_t>(sharers, length / (gpu.minSharedSum / 4));
    team = std::max<int64_t>(1, llvm::bit_floor(uint64_t(std::min(wanted, most))));
    if (length < gpu.minSharedSum || rank == 0 || resultType(sum).getShape() != shape)
      team = 1;
    if (team == 1) {
      threads = threadsFor(units());
      return;
    }
    if (shape.back() % lanes != 0)
      tile.back() = lanes = 1;
    if (contracts && rank > 1)
      while (shape[rank - 2] % tile[rank - 2] != 0)
        --tile[rank - 2];
    threads = gpu.blockThreads;
  }

  /// Whether only the first operand has the result's rows, and only the second has its columns.
  static bool isMatrixProduct(Operation *op) {
    ContractionLetters letters = cast<ContractionOpInterface>(op).getLetters();
    StringRef result = letters.result;
    return !result.empty() && letters.isColumn(result.back()) &&
           llvm::all_of(result.drop_back(), [&](char letter) { return letters.isRow(letter); });
  }

  /// Schedules a large product of matrices so that its operands pass through shared memory, if
  /// there are enough blocks.
  bool usesSharedMemory(Operation *op, int64_t length) {
    bool isOfFloats = llvm::all_of(op->getOperands(),
                                   [](Value v) { return isa<FloatType>(getElementTypeOrSelf(v)); });
    if (rank < 2 || !isMatrixProduct(op) || !resultType(op).getElementType().isF32() ||
        !isOfFloats || shape.back() % lanes != 0 || shape.back() < gpu.minSharedMemoryColumns ||
        length < gpu.sharedMemorySteps)
      return false;
    tile[rank - 2] = level.tileRows;
    threads = gpu.blockThreads;
    block = {gpu.sharedMemorySteps};
    apply();
    if (exec::kernelUnits(kernel) >= gpu.minSharedMemoryBlocks)
      return true;
    tile[rank - 2] = 1;
    threads = warp;
    block.clear();
    return false;
  }

  void apply() {
    auto order = llvm::to_vector(llvm::seq<int64_t>(0, rank));
    MLIRContext *context = kernel.getContext();
    kernel.setScheduleAttr(exec::ScheduleAttr::get(context, lanes, tile, order, 1, block,
                                                   /*panels=*/{}, exec::Algorithm::direct));
    kernel.setBlocksAttr(exec::BlocksAttr::get(context, threads, team, adjacent, rows));
  }

  exec::KernelOp kernel;
  const exec::Level &level;
  const exec::Gpu &gpu;
  ArrayRef<int64_t> shape;
  int64_t rank;
  SmallVector<int64_t> tile, block;
  int64_t lanes = 1, threads = warp, team = 1, rows = 0;
  bool adjacent = false;
};

} // namespace

void scheduleBlocks(exec::KernelOp kernel, const exec::Level &level) {
  BlockScheduler(kernel, level).run();
}

} // namespace gradc
