// Switching between stacks.
#ifndef TEST_SIMULATED_FIBER_H
#define TEST_SIMULATED_FIBER_H

#include <cstddef>

namespace gradc::simulated {

/// A function on a stack of its own, left and entered again at will.
class Fiber {
public:
  Fiber();
  ~Fiber();
  Fiber(const Fiber &) = delete;

  /// Begins anew: the next `enter` calls function(argument), which never returns but leaves.
  void reset(void (*function)(void *), void *argument);
  /// Runs it until it leaves.
  void enter();
  /// Returns to the caller of `enter`; called on the fiber itself.
  void leave();

private:
  static constexpr size_t stackBytes = 64 << 10;
  char *stack = nullptr;
  void *own = nullptr, *caller = nullptr; // stack pointers
};

} // namespace gradc::simulated

#endif
