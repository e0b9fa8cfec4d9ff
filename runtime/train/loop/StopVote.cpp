// Sums one number over the ranks while a step runs.
#include "runtime/train/loop/StopVote.h"

#include <csignal>

namespace gradc::runtime {

Status StopVote::begin(int64_t number) {
  step = number;
  if (!options.ranks)
    return {};
  options.ranks->atStep(step);
  if (options.ranks->stepsApart())
    return {};
  signalled = asks();
  Communicator::Piece piece = {&signalled, 1};
  auto started = options.ranks->startSum({&piece, 1}, GRADC_I64, Communicator::Wire::full);
  if (started)
    sum = *started;
  return started.status();
}

Status StopVote::end() {
  bool isShared = options.ranks && !options.ranks->stepsApart();
  return isShared ? options.ranks->waitFor(sum) : Status();
}

int StopVote::signal() const {
  if (!options.ranks)
    return own();
  bool stops =
      options.ranks->stepsApart() ? options.ranks->stopsAfter() == step + 1 : signalled != 0;
  if (!stops)
    return 0;
  return own() ? own() : SIGTERM;
}

} // namespace gradc::runtime
