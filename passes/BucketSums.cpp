// Merges consecutive collectives of one kind.
#include "dialects/exec/Exec.h"
#include "dialects/grad/Grad.h"
#include "passes/Passes.h"
#include "passes/entry/Functions.h"
#include "passes/entry/NodeOrder.h"

using namespace mlir;
using namespace mlir::grad;

namespace gradc {
#define GEN_PASS_DEF_BUCKETSUMS
#include "passes/Passes.h.inc"

namespace {

/// Buckets the collectives of one block ("sums" below). In node order:
/// 1. A sum is added to the open bucket of its kind, or opens one.
/// 2. A bucket is closed by an op that reads one of its sums, also through views, or when it is
/// full.
/// 3. A closed bucket with several sums becomes one collective at the position of the last sum.
class Bucketing {
public:
  Bucketing(Block &block, int64_t bytes)
      : block(block), maxBytes(bytes), urgent(opsBeforeSums(block)) {}

  void run() {
    for (Operation &op : llvm::make_early_inc_range(block)) {
      for (Value v : op.getOperands())
        if (auto sum = storageRoot(v).getDefiningOp<CollectiveOpInterface>())
          closeBucketOf(sum);
      if (auto sum = dyn_cast<CollectiveOpInterface>(op))
        add(sum);
    }
    while (!open.empty())
      close(open.size() - 1);
  }

private:
  struct Bucket {
    SmallVector<Operation *> sums;
    int64_t bytes = 0;
  };

  bool areAlike(CollectiveOpInterface a, CollectiveOpInterface b) const {
    return a->getName() == b->getName() && a.travelsNarrow() == b.travelsNarrow() &&
           urgent.contains(a) == urgent.contains(b) &&
           getElementTypeOrSelf(a->getResult(0)) == getElementTypeOrSelf(b->getResult(0));
  }

  void add(CollectiveOpInterface sum) {
    auto bucket = llvm::find_if(open, [&](Bucket &other) {
      return areAlike(cast<CollectiveOpInterface>(other.sums.front()), sum);
    });
    if (bucket == open.end())
      bucket = open.insert(open.end(), Bucket());
    bucket->sums.push_back(sum);
    for (Value v : sum->getResults())
      bucket->bytes += bytesOf(v);
    if (bucket->bytes >= maxBytes)
      close(size_t(bucket - open.begin()));
  }

  void closeBucketOf(Operation *sum) {
    for (size_t i = 0; i < open.size(); ++i)
      if (llvm::is_contained(open[i].sums, sum))
        return close(i);
  }

  void close(size_t index) {
    Bucket bucket = std::move(open[index]);
    open.erase(open.begin() + int64_t(index));
    if (bucket.sums.size() == 1)
      return;
    SmallVector<Location> locations;
    for (Operation *sum : bucket.sums)
      locations.push_back(sum->getLoc());
    OpBuilder b(bucket.sums.back());
    Operation *joined = cast<CollectiveOpInterface>(bucket.sums.back())
                            .join(b, b.getFusedLoc(locations), bucket.sums);
    unsigned next = 0;
    for (Operation *sum : bucket.sums) {
      for (Value v : sum->getResults())
        v.replaceAllUsesWith(joined->getResult(next++));
      sum->erase();
    }
  }

  Block &block;
  int64_t maxBytes;
  llvm::DenseSet<Operation *> urgent; ///< needed soon, so not merged with sums that take longer
  std::vector<Bucket> open;           ///< at most one per kind
};

struct BucketSums : impl::BucketSumsBase<BucketSums> {
  using BucketSumsBase::BucketSumsBase;

  void runOnOperation() override {
    for (auto function : functionsOf(getOperation()))
      function.walk([&](Block *block) {
        if (!block->getOps<CollectiveOpInterface>().empty())
          Bucketing(*block, bytes).run();
      });
  }
};

} // namespace
} // namespace gradc
