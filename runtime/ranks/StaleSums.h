// Exchanges between one server and workers that do not wait for each other.
#ifndef RUNTIME_RANKS_STALESUMS_H
#define RUNTIME_RANKS_STALESUMS_H

#include "runtime/ranks/Communicator.h"
#include "runtime/ranks/Messages.h"
#include "runtime/ranks/SumArray.h"

#include <memory>

namespace gradc::runtime {

/// The last rank is the server. It runs the same entry as the workers, on no rows, once for each
/// step of each worker:
/// 1. A worker sends copies of the values that it sums and scatters, and continues with its own.
/// 2. When it first needs a result of the server, it reports that it is ready.
/// 3. The server chooses a ready worker that is not too far ahead of the slowest one. In its own
///    run it receives that worker's values as it reaches each exchange, updates the parameters, and
///    sends them.
/// 4. The server ends the run with a verdict: whether and when all ranks stop.
///
/// A sum that starts before the first scatter is over rows, of which the server has none: the
/// worker's own value is the sum. Later sums may be over gradients, so the server sends them back.
class StaleSums {
public:
  /// The gradient of a worker's step is applied once the slowest worker is at most `staleness`
  /// steps, at least 1, behind that step. `messages` must outlive this.
  StaleSums(Messages &messages, int64_t staleness);
  ~StaleSums();

  /// The number of times that this rank runs a step.
  int runsPerStep() const { return isServer() ? workers() : 1; }
  bool isRunning() const { return running; }
  /// See Communicator. The server's `begin` waits for a worker.
  Status begin(int64_t steps, bool asksToStop);
  Status end(bool proceeded);
  int64_t stopsAfter() const { return verdict.stopsAfter; }
  bool isFirstToFail() const { return verdict.failed == messages.rank(); }

  /// As in Communicator, within a run.
  Result<uint64_t> start(std::span<const Communicator::Piece> pieces,
                         const Communicator::Exchange &exchange);
  Status progress();
  Status waitFor(uint64_t exchange);
  uint64_t sentBytes() const { return sent; }

private:
  using Requests = Messages::Requests;
  struct Exchange;
  struct Worker;
  struct Ready {
    int64_t steps = 0; ///< that precede the run
    int64_t asksToStop = 0;
  };
  struct Verdict {
    int64_t stopsAfter = -1; ///< steps of each worker; -1: no worker has asked
    int64_t failed = -1;     ///< the first worker whose step did not proceed; -1: none
  };

  int workers() const { return messages.size() - 1; }
  bool isServer() const { return messages.rank() == workers(); }
  Status push(Exchange &exchange);
  Status serve(Exchange &exchange);
  Status sayReady();
  Status listenTo(int worker);
  Result<int> findReady();
  Status judge(bool proceeded);
  Status send(std::span<const std::byte> bytes, int to, int tag, Requests &requests);
  Status complete(Requests &requests);

  Messages &messages;
  int64_t staleness;
  /// Of the run. They are reused by the next one for their buffers.
  std::vector<std::unique_ptr<Exchange>> exchanges;
  std::vector<Worker> all; ///< on the server
  size_t started = 0;      ///< exchanges of the run
  int served = 0;          ///< the worker of this run or of the last one
  bool running = false, hasScattered = false, isReady = false, asks = false;
  Ready ready;
  Verdict verdict;
  Requests readyRequests;
  uint64_t sent = 0;
};

} // namespace gradc::runtime

#endif
