// One batch ahead of a device of its own, none ahead of the host's CPUs.
#include "runtime/train/PhaseWalk.h"

#include <chrono>
#include <utility>

namespace gradc {

Status PhaseWalk::restore(Position position) {
  at = position;
  return batches->restore(position);
}

Status PhaseWalk::fetch() {
  if (!std::exchange(hasNext, false))
    return batches->next(now);
  std::swap(now, next);
  return {};
}

Status PhaseWalk::run(const StepScalars &scalars, bool goesOn) {
  EntryCall &running = call();
  if (Status started = running.start(now, scalars); !started.ok())
    return started;
  heldSeconds = 0;
  Status fetched;
  if (goesOn && phase.session->runsBeside())
    fetched = fetchAhead();
  Status finished = running.finish();
  at = now.after;
  return finished.ok() ? fetched : finished;
}

Status PhaseWalk::fetchAhead() {
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin = Clock::now();
  if (Status status = batches->next(next); !status.ok())
    return status;
  if (phase.session->hasEnded())
    heldSeconds = std::chrono::duration<double>(Clock::now() - begin).count();
  hasNext = true;
  return phase.callFor(next).stage(next);
}

} // namespace gradc
