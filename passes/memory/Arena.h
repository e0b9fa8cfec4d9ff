// The memory that the tensors of an entry share.
#ifndef PASSES_MEMORY_ARENA_H
#define PASSES_MEMORY_ARENA_H

#include "passes/memory/Lifetimes.h"

namespace gradc {

/// Regions of memory, numbered from 0. Regions may overlap if their lifetimes do not. Lifetimes are
/// tracked node by node; see `Lifetimes`.
class Arena : public Lifetimes {
public:
  /// Adds a region of that size.
  int64_t add(int64_t bytes);
  /// Assigns every region its offset, once all nodes are known.
  void allocate();

  int64_t offsetOf(int64_t region) const { return regions[region].offset; }
  int64_t getBytes() const { return bytes; }

private:
  struct Region {
    int64_t bytes = 0, offset = -1;
    Lifetime life = {0, 0};
  };
  std::vector<Region> regions;
  int64_t bytes = 0;
};

} // namespace gradc

#endif
