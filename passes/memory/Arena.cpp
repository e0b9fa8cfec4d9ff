// Places the largest region first, each at the lowest offset that is free during its lifetime.
#include "passes/memory/Arena.h"

using namespace gradc;

static constexpr int64_t alignment = 64;

int64_t Arena::add(int64_t bytes) {
  regions.push_back({std::max<int64_t>(1, bytes)});
  return int64_t(regions.size()) - 1;
}

void Arena::allocate() {
  for (auto [region, life] : llvm::zip(regions, find()))
    region.life = life;
  llvm::SmallVector<Region *> bySize(llvm::make_pointer_range(regions));
  llvm::stable_sort(bySize, [](Region *a, Region *b) { return a->bytes > b->bytes; });
  auto isBelow = [](Region *a, Region *b) { return a->offset < b->offset; };
  llvm::SmallVector<Region *> done; // by offset
  for (Region *r : bySize) {
    int64_t offset = 0;
    for (Region *o : done) {
      if (o->offset >= offset + r->bytes)
        break;
      if (r->life.overlaps(o->life))
        offset = std::max<int64_t>(offset, llvm::alignTo(o->offset + o->bytes, alignment));
    }
    r->offset = offset;
    bytes = std::max<int64_t>(bytes, llvm::alignTo(offset + r->bytes, alignment));
    done.insert(llvm::upper_bound(done, r, isBelow), r);
  }
}
