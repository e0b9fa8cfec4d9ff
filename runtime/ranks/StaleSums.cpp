// The values that workers send, and the order in which the server takes them.
#include "runtime/ranks/StaleSums.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace gradc::runtime {

using Kind = Communicator::Kind;

namespace {
/// Between the tags of sums and those of `share`.
constexpr int verdictTag = Messages::tags - 6, readyTag = Messages::tags - 5,
              pushTag = Messages::tags - 4, replyTag = Messages::tags - 3;
} // namespace

struct StaleSums::Exchange {
  SumArray array;
  std::vector<std::byte> pushed, reply; ///< on the wire
  Requests pushes, replies;
  bool awaitsReply = false;

  size_t bytes() const { return size_t(array.count()) * array.width(); }
  void encode(std::vector<std::byte> &out) const {
    out.resize(bytes());
    array.encode(0, array.count(), out.data());
  }
};

struct StaleSums::Worker {
  int64_t steps = 0; ///< that the server has run for it
  Ready ready;       ///< its last report
  bool isReady = false;
  Requests requests;
};

StaleSums::StaleSums(Messages &messages, int64_t staleness)
    : messages(messages), staleness(staleness) {}
StaleSums::~StaleSums() = default;

Status StaleSums::send(std::span<const std::byte> bytes, int to, int tag, Requests &requests) {
  sent += bytes.size();
  return messages.send(bytes, to, tag, requests);
}

/// Data that have arrived are used even if a rank is lost: they may ask this worker to report its
/// failure.
Status StaleSums::complete(Requests &requests) {
  for (Status alive;; alive = messages.pause()) {
    auto ended = messages.haveEnded(requests);
    if (!ended)
      return ended.status();
    if (*ended)
      break;
    if (!alive.ok())
      return alive;
  }
  requests.clear();
  return {};
}

Status StaleSums::listenTo(int worker) {
  Worker &one = all[size_t(worker)];
  one.isReady = false;
  return messages.receive(std::as_writable_bytes(std::span(&one.ready, 1)), worker, readyTag,
                          one.requests);
}

/// Among the ready workers that may continue, one with the fewest steps, in turn; -1: none so far.
Result<int> StaleSums::findReady() {
  int64_t slowest = std::ranges::min_element(all, {}, &Worker::steps)->steps;
  int best = -1;
  for (int i = 1; i <= workers(); ++i) {
    int worker = (served + i) % workers();
    Worker &one = all[size_t(worker)];
    if (!one.isReady) {
      auto ended = messages.haveEnded(one.requests);
      if (!ended)
        return ended.status();
      if ((one.isReady = *ended))
        one.requests.clear();
    }
    bool mayContinue = one.isReady && one.steps + 1 <= slowest + staleness;
    if (mayContinue && (best < 0 || one.steps < all[size_t(best)].steps))
      best = worker;
  }
  return best;
}

Status StaleSums::begin(int64_t steps, bool asksToStop) {
  running = true;
  started = 0;
  hasScattered = isReady = false;
  asks = asksToStop;
  ready = {steps, asksToStop};
  if (!isServer())
    return {};
  if (all.empty()) {
    all.resize(size_t(workers()));
    served = workers() - 1;
    for (int worker = 0; worker < workers(); ++worker) {
      all[size_t(worker)].steps = steps;
      if (Status status = listenTo(worker); !status.ok())
        return status;
    }
  }
  for (;;) {
    auto found = findReady();
    if (!found)
      return found.status();
    if (*found >= 0) {
      served = *found;
      return {};
    }
    if (Status status = messages.pause(); !status.ok())
      return status;
  }
}

Status StaleSums::end(bool proceeded) {
  Status status = isServer() ? Status() : sayReady();
  for (size_t i = 0; i < started && status.ok(); ++i) {
    status = waitFor(i + 1);
    if (status.ok())
      status = complete(exchanges[i]->pushes);
  }
  if (status.ok())
    status = isServer() ? judge(proceeded) : complete(readyRequests);
  running = false;
  return status;
}

/// No worker has been told to stop before it began its current step, which is at most the step
/// after the fastest worker's last one: all of them can stop after that.
Status StaleSums::judge(bool proceeded) {
  Worker &one = all[size_t(served)];
  assert(one.ready.steps == one.steps && "a worker and its server have counted different steps");
  ++one.steps;
  if (verdict.stopsAfter < 0 && (asks || one.ready.asksToStop))
    verdict.stopsAfter = std::ranges::max_element(all, {}, &Worker::steps)->steps + 1;
  if (verdict.failed < 0 && !proceeded)
    verdict.failed = served;
  Status status = send(std::as_bytes(std::span(&verdict, 1)), served, verdictTag, readyRequests);
  if (status.ok())
    status = complete(readyRequests);
  return status.ok() ? listenTo(served) : status;
}

/// Once in each run of a worker.
Status StaleSums::sayReady() {
  if (std::exchange(isReady, true))
    return {};
  Status status = messages.receive(std::as_writable_bytes(std::span(&verdict, 1)), workers(),
                                   verdictTag, readyRequests);
  return status.ok() ? send(std::as_bytes(std::span(&ready, 1)), workers(), readyTag, readyRequests)
                     : status;
}

Result<uint64_t> StaleSums::start(std::span<const Communicator::Piece> pieces,
                                  const Communicator::Exchange &exchange) {
  if (started == exchanges.size())
    exchanges.push_back(std::make_unique<Exchange>());
  Exchange &made = *exchanges[started++];
  made.array.assign(pieces, exchange, messages.size());
  bool mayBeOfGradients = hasScattered && exchange.kind == Kind::sum;
  made.awaitsReply =
      made.bytes() && !isServer() && (mayBeOfGradients || exchange.kind == Kind::gather);
  if (made.bytes() == 0)
    return started;
  Status status = isServer() ? serve(made) : push(made);
  hasScattered |= exchange.kind == Kind::scatter;
  return status.ok() ? Result<uint64_t>(started) : Result<uint64_t>(status);
}

Status StaleSums::push(Exchange &exchange) {
  Status status;
  if (exchange.array.kind() != Kind::gather) {
    exchange.encode(exchange.pushed);
    status = send(exchange.pushed, workers(), pushTag, exchange.pushes);
    exchange.array.clearOthers(messages.rank());
  }
  if (status.ok() && exchange.awaitsReply) {
    exchange.reply.resize(exchange.bytes());
    status = messages.receive(exchange.reply, workers(), replyTag, exchange.replies);
  }
  if (status.ok() && exchange.array.kind() == Kind::gather)
    status = sayReady();
  return status;
}

/// The server has nothing else to do: it waits here for the worker's values.
Status StaleSums::serve(Exchange &exchange) {
  SumArray &array = exchange.array;
  if (array.kind() != Kind::gather) {
    exchange.pushed.resize(exchange.bytes());
    Status status = messages.receive(exchange.pushed, served, pushTag, exchange.pushes);
    if (status.ok())
      status = complete(exchange.pushes);
    if (!status.ok())
      return status;
    const SumArray::Source inOrder[] = {exchange.pushed.data(), {}};
    array.addUp(0, array.count(), inOrder, nullptr);
  }
  bool isSentBack = array.kind() == Kind::gather || (array.kind() == Kind::sum && hasScattered);
  if (!isSentBack)
    return {};
  exchange.encode(exchange.reply);
  return send(exchange.reply, served, replyTag, exchange.pushes);
}

/// A worker's messages advance while it computes.
Status StaleSums::progress() {
  for (size_t i = 0; i < started; ++i) {
    Requests &pushes = exchanges[i]->pushes;
    auto ended = pushes.empty() ? Result<bool>(true) : messages.haveEnded(pushes);
    if (!ended)
      return ended.status();
    if (*ended)
      pushes.clear();
  }
  return {};
}

Status StaleSums::waitFor(uint64_t number) {
  Exchange &exchange = *exchanges[number - 1];
  if (!std::exchange(exchange.awaitsReply, false))
    return {};
  Status status = sayReady();
  if (status.ok())
    status = complete(exchange.replies);
  if (status.ok())
    exchange.array.decode(0, exchange.array.count(), exchange.reply.data());
  return status;
}

} // namespace gradc::runtime
