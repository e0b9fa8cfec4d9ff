// Switches between stacks.
#ifndef TEST_SIMULATED_FIBER_H
#define TEST_SIMULATED_FIBER_H

#include <cstddef>

namespace gradc::simulated {

/// A function on its own stack that can be left and re-entered at will.
class Fiber {
public:
  Fiber();
  ~Fiber();
  Fiber(const Fiber &) = delete;

  /// Starts over: the next `enter` calls function(argument), which must leave and never return.
  void reset(void (*function)(void *), void *argument);
  /// Runs the function until it leaves.
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
