// When the tensors of a schedule are in memory, and what that takes.
#ifndef PASSES_LIFETIMES_H
#define PASSES_LIFETIMES_H

#include "dialects/Pch.h"

namespace gradc {

/// From the first node that touches it to the last one, both inclusive.
struct Lifetime {
  int64_t first, last;
  bool overlaps(const Lifetime &o) const { return first <= o.last && o.first <= last; }
  bool covers(int64_t time) const { return first <= time && time <= last; }
};

/// Follows the nodes of a schedule in preorder, and notes what they touch. Storage is numbered by
/// the caller, from 0. A time is the number of `advance`s before.
class Lifetimes {
public:
  void advance() { ++time; }
  int64_t now() const { return time; }
  /// Nodes until `leave` are the body of a loop, or of an if.
  void enter(bool isLoop);
  void leave();
  /// The current node reads or writes `storage`; `moves`: at another place in each iteration.
  void touch(unsigned storage, bool isWrite, bool moves = false);

  /// By storage. What a loop finds in memory, leaves there, or carries to its next iteration is
  /// there throughout the loop.
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
