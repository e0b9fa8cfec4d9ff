// Each period is one round of sending, receiving and judging.
#include "runtime/ranks/Beats.h"

#include "runtime/base/Text.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <utility>

namespace gradc::runtime {

Beats::Beats(Messages &messages) : messages(messages), states(size_t(messages.size())) {
  for (size_t rank = 0; rank < states.size(); ++rank) {
    peers.push_back({text("rank ", rank)});
    states[rank].heardAt = Clock::now();
  }
}

Result<std::unique_ptr<Beats>> Beats::start(Messages &messages) {
  std::unique_ptr<Beats> beats(new Beats(messages));
  auto thread = Thread::start([&beats = *beats] { beats.run(); });
  if (!thread)
    return thread.status();
  beats->thread = std::make_unique<Thread>(*thread);
  return beats;
}

void Beats::introduce(std::vector<Peer> all) {
  std::lock_guard lock(mutex);
  peers = std::move(all);
}

void Beats::setStall(double seconds) {
  std::lock_guard lock(mutex);
  stall = seconds;
}

void Beats::setStepsApart() {
  std::lock_guard lock(mutex);
  stepsApart = true;
}

void Beats::stop() {
  {
    std::lock_guard lock(mutex);
    isStopping = true;
  }
  changed.notify_all();
  if (thread)
    thread->join();
  thread.reset();
}

void Beats::run() {
  std::unique_lock lock(mutex);
  Clock::time_point before = Clock::now();
  while (!isStopping) {
    Clock::time_point now = Clock::now();
    auto period = std::chrono::duration<double>(std::min(stall / 10, 0.5));
    // This process was itself stopped, so beats that arrived meanwhile have not been read yet.
    if (now - before > 4 * period)
      for (State &state : states)
        state.heardAt = now;
    before = now;
    say();
    hear(now);
    judge(now);
    changed.wait_for(lock, period);
  }
}

bool Beats::hasEnded(Messages::Requests &requests) {
  auto ended = messages.haveEnded(requests);
  return ended && *ended;
}

void Beats::say() {
  Beat beat = {mine.step.load(std::memory_order_relaxed), mine.failure.load(), mine.lost.load(),
               mine.silence.load()};
  for (size_t rank = 0; rank < states.size(); ++rank) {
    State &state = states[rank];
    bool wasSaying = !state.saying.empty();
    if (int(rank) == messages.rank() || (wasSaying && !hasEnded(state.saying)))
      continue;
    state.knowsFailure |= wasSaying && state.said.failure;
    state.saying.clear();
    if (state.knowsFailure)
      continue;
    state.said = beat;
    auto bytes = std::as_bytes(std::span(&state.said, 1));
    if (!messages.send(bytes, int(rank), tag, state.saying).ok())
      state.saying.clear();
  }
}

void Beats::hear(Clock::time_point now) {
  for (size_t rank = 0; rank < states.size(); ++rank) {
    State &state = states[rank];
    while (int(rank) != messages.rank()) {
      auto bytes = std::as_writable_bytes(std::span(&state.incoming, 1));
      if (state.hearing.empty() && !messages.receive(bytes, int(rank), tag, state.hearing).ok())
        state.hearing.clear();
      if (state.hearing.empty() || !hasEnded(state.hearing))
        break;
      state.hearing.clear();
      state.heard = state.incoming;
      state.heardAt = now;
    }
  }
}

/// Seconds since this rank last heard the other one. If another rank has reported the loss, its
/// last beat from the lost rank may be older, and then counts.
double Beats::silenceOf(size_t rank, Clock::time_point now) const {
  double silence = std::chrono::duration<double>(now - states[rank].heardAt).count();
  for (const State &state : states)
    if (state.heard.failure && state.heard.lost == int64_t(rank))
      silence = std::max(silence, state.heard.silence);
  return silence;
}

std::string Beats::describeLoss(size_t rank, Clock::time_point now) const {
  double seconds = std::floor(silenceOf(rank, now) * 1000) / 1000;
  std::string how = isGone(rank) ? std::string(" has ended unexpectedly")
                                 : text(" has given no sign of life for ", seconds, " s");
  // A beat may be as old as many steps, but if all ranks sum in each step, this rank's last whole
  // step was one of the lost rank, too.
  int64_t step = std::max(states[rank].heard.step, stepsApart ? 0 : mine.step.load());
  return text(peers[rank].name, how,
              stepsApart ? " (it was last heard at step " : " (its last step: ", step, ')');
}

bool Beats::isGone(size_t rank) const {
  return peers[rank].process && kill(peers[rank].process, 0) != 0 && errno == ESRCH;
}

/// The lowest remaining rank reports the lost ranks.
void Beats::judge(Clock::time_point now) {
  if (hasLost())
    return;
  size_t count = states.size(), own = size_t(messages.rank());
  std::vector<bool> isMissing(count);
  // A rank counts as missing only one round after its process has ended, because its last beat,
  // which may give the reason, is read first.
  for (size_t rank = 0; rank < count; ++rank) {
    bool isGoneNow = rank != own && isGone(rank);
    isMissing[rank] = std::exchange(states[rank].wasGone, isGoneNow) && isGoneNow;
  }
  int64_t failure = 0;
  // Earlier than `stall`, so that the others stop within it.
  const double longest = 0.9 * stall;
  for (size_t rank = 0; rank < count; ++rank) {
    const State &state = states[rank];
    double silence = std::chrono::duration<double>(now - state.heardAt).count();
    bool isSilent = rank != own && !isSilenceExpected && silence >= longest;
    isMissing[rank] = isMissing[rank] || isSilent;
    if (!state.heard.failure)
      continue;
    isMissing[rank] = false;
    if (state.heard.lost < 0)
      failure = state.heard.failure;
    else if (size_t(state.heard.lost) != own)
      isMissing[size_t(state.heard.lost)] = true;
  }
  std::string lost;
  for (size_t rank = count; rank-- > 0;)
    if (isMissing[rank]) {
      mine.lost = int64_t(rank);
      mine.silence = silenceOf(rank, now);
      lost = text(describeLoss(rank, now), lost.empty() ? "" : ", ", lost);
    }
  auto speaker = std::ranges::find(isMissing, false) - isMissing.begin();
  if (failure)
    loss = Status(Code(failure), "");
  else if (!lost.empty())
    loss = Status::error(speaker == int64_t(own) ? text(lost, ": all ranks stop") : "");
  else
    return;
  missing.store(failure ? 0 : int(std::ranges::count(isMissing, true)));
  isLost.store(true, std::memory_order_release);
}

Status Beats::lost() {
  if (!hasLost())
    return {};
  std::lock_guard lock(mutex);
  return loss;
}

void Beats::expectSilence() {
  std::lock_guard lock(mutex);
  isSilenceExpected = true;
}

void Beats::fail(Code code) {
  constexpr auto pause = std::chrono::milliseconds(10);
  mine.failure.store(int64_t(code));
  Clock::time_point until = Clock::now() + std::chrono::seconds(1);
  std::unique_lock lock(mutex);
  auto isKnown = [&] {
    for (size_t rank = 0; rank < states.size(); ++rank)
      if (int(rank) != messages.rank() && !states[rank].knowsFailure)
        return false;
    return true;
  };
  for (; Clock::now() < until && !isKnown(); changed.wait_for(lock, pause))
    say();
}

} // namespace gradc::runtime
