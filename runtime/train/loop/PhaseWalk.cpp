// Runs one batch ahead if the device has its own memory, and not ahead on the host's CPUs.
#include "runtime/train/loop/PhaseWalk.h"

#include <chrono>
#include <utility>

namespace gradc::runtime {

Status PhaseWalk::restore(Position position) {
  at = position;
  ahead.reset();
  prefetched = {};
  return batches->restore(position);
}

Status PhaseWalk::fetch() {
  std::optional<Status> fetched = std::exchange(ahead, std::nullopt);
  if (!fetched)
    return batches->next(now);
  if (fetched->ok())
    std::swap(now, next);
  return *fetched;
}

Status PhaseWalk::run(const StepScalars &scalars, bool goesOn) {
  EntryCall &running = call();
  if (Status started = running.start(now, scalars, std::exchange(prefetched, {})); !started.ok())
    return started;
  heldSeconds = 0;
  if (goesOn && phase.session->runsBeside())
    ahead = fetchAhead();
  Status finished = running.finish();
  at = now.after;
  return finished;
}

Status PhaseWalk::fetchAhead() {
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin = Clock::now();
  if (Status status = batches->next(next); !status.ok())
    return status;
  if (phase.session->hasEnded())
    heldSeconds = std::chrono::duration<double>(Clock::now() - begin).count();
  auto brought = phase.callFor(next, nextEntry).prefetch(next);
  if (brought)
    prefetched = *brought;
  // If the device has no memory for another copy, the batch is copied in its own step.
  Status status = brought.status();
  return status.code() == Code::doesNotFit ? Status() : status;
}

} // namespace gradc::runtime
