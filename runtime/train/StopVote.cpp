// One number is added up over the ranks while a step runs.
#include "runtime/train/StopVote.h"

#include <csignal>

namespace gradc::runtime {

Status StopVote::begin(int64_t step) {
  if (!options.ranks)
    return {};
  options.ranks->atStep(step);
  signalled = own() != 0;
  Communicator::Piece piece = {&signalled, 1};
  auto started = options.ranks->startSum({&piece, 1}, GRADC_I64, Communicator::Wire::full);
  if (started)
    sum = *started;
  return started.status();
}

Status StopVote::end() { return options.ranks ? options.ranks->waitFor(sum) : Status(); }

int StopVote::signal() const {
  if (!options.ranks)
    return own();
  if (signalled == 0)
    return 0;
  return own() ? own() : SIGTERM;
}

} // namespace gradc::runtime
