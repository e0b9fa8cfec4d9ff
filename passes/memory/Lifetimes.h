// Lifetimes of the tensors of a schedule.
#ifndef PASSES_MEMORY_LIFETIMES_H
#define PASSES_MEMORY_LIFETIMES_H

#include "dialects/Pch.h"

namespace gradc {

/// From the first to the last node that touches a storage, both inclusive.
struct Lifetime {
  int64_t first, last;
  bool overlaps(const Lifetime &o) const { return first <= o.last && o.first <= last; }
  bool covers(int64_t time) const { return first <= time && time <= last; }
};

/// Records the storage that nodes of a schedule touch, in preorder of the nodes. The caller numbers
/// storages from 0. A time is the number of preceding calls to `advance`.
class Lifetimes {
public:
  void advance() { ++time; }
  /// The last node is the current one again, until `advance`.
  void retreat() { --time; }
  int64_t now() const { return time; }
  /// Nodes until `leave` form the body of a loop or of an if.
  void enter(bool isLoop);
  void leave();
  /// The current node reads or writes `storage`; `moves`: at a different place in each iteration.
  void touch(unsigned storage, bool isWrite, bool moves = false);

  /// The lifetimes, by storage. A value that is live into or out of a loop, or carried to its next
  /// iteration, is live throughout the loop.
  std::vector<Lifetime> find() const;

private:
  struct Body {
    int parent;
    bool isLoop;
    int64_t first, last; ///< its nodes' times
  };
  struct Touch {
    int64_t time;
    int body; ///< -1: none
    bool isWrite, moves;
  };
  bool isWithin(int body, int outer) const;
  bool escapes(llvm::ArrayRef<Touch> touches, int loop) const;

  int64_t time = 0;
  int current = -1;
  std::vector<Body> bodies;
  std::vector<llvm::SmallVector<Touch, 4>> touches;
};

} // namespace gradc

#endif
