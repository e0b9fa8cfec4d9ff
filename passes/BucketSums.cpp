// Joins sums over ranks that begin one after the other.
#include "dialects/exec/Exec.h"
#include "dialects/grad/Grad.h"
#include "passes/Passes.h"
#include "passes/support/NodeOrder.h"

using namespace mlir;
using namespace mlir::grad;

namespace gradc {
#define GEN_PASS_DEF_BUCKETSUMS
#include "passes/Passes.h.inc"

namespace {

/// The sums of one block. In the order of its nodes:
/// 1. A sum joins the open bucket of its kind, or opens one.
/// 2. An op that reads what a bucket sums, views included, closes it, and so does its size.
/// 3. A bucket of several sums becomes one, where the last of them stands.
class Bucketing {
public:
  Bucketing(Block &block, int64_t bytes)
      : block(block), maxBytes(bytes), urgent(opsBeforeSums(block)) {}

  void run() {
    for (Operation &op : llvm::make_early_inc_range(block)) {
      for (Value v : op.getOperands())
        if (auto sum = storageRoot(v).getDefiningOp<AllReduceOp>())
          closeBucketOf(sum);
      if (auto sum = dyn_cast<AllReduceOp>(op))
        add(sum);
    }
    while (!open.empty())
      close(open.size() - 1);
  }

private:
  struct Bucket {
    SmallVector<AllReduceOp> sums;
    int64_t bytes = 0;
  };

  bool areAlike(AllReduceOp a, AllReduceOp b) const {
    return a.getBf16() == b.getBf16() && urgent.contains(a) == urgent.contains(b) &&
           getElementTypeOrSelf(a.getResult(0)) == getElementTypeOrSelf(b.getResult(0));
  }

  void add(AllReduceOp sum) {
    auto bucket =
        llvm::find_if(open, [&](Bucket &other) { return areAlike(other.sums.front(), sum); });
    if (bucket == open.end())
      bucket = open.insert(open.end(), Bucket());
    bucket->sums.push_back(sum);
    for (Value v : sum.getResults())
      bucket->bytes += exec::layoutBytes(cast<RankedTensorType>(v.getType()), nullptr);
    if (bucket->bytes >= maxBytes)
      close(size_t(bucket - open.begin()));
  }

  void closeBucketOf(AllReduceOp sum) {
    for (size_t i = 0; i < open.size(); ++i)
      if (llvm::is_contained(open[i].sums, sum))
        return close(i);
  }

  void close(size_t index) {
    Bucket bucket = std::move(open[index]);
    open.erase(open.begin() + int64_t(index));
    if (bucket.sums.size() == 1)
      return;
    SmallVector<Value> operands;
    SmallVector<Location> locations;
    for (AllReduceOp sum : bucket.sums) {
      llvm::append_range(operands, sum.getOperands());
      locations.push_back(sum.getLoc());
    }
    OpBuilder b(bucket.sums.back());
    auto joined =
        AllReduceOp::create(b, b.getFusedLoc(locations), operands, bucket.sums.back().getBf16());
    unsigned next = 0;
    for (AllReduceOp sum : bucket.sums) {
      for (Value v : sum.getResults())
        v.replaceAllUsesWith(joined.getResult(next++));
      sum.erase();
    }
  }

  Block &block;
  int64_t maxBytes;
  llvm::DenseSet<Operation *> urgent; ///< waited for soon: others would keep those who wait longer
  std::vector<Bucket> open;           ///< of different kinds
};

struct BucketSums : impl::BucketSumsBase<BucketSums> {
  using BucketSumsBase::BucketSumsBase;

  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      function.walk([&](Block *block) {
        if (!block->getOps<AllReduceOp>().empty())
          Bucketing(*block, bytes).run();
      });
  }
};

} // namespace
} // namespace gradc
