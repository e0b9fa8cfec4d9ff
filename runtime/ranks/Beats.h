// Signs of life: by them ranks notice that one of them is lost.
#ifndef RUNTIME_RANKS_BEATS_H
#define RUNTIME_RANKS_BEATS_H

#include "runtime/base/Thread.h"
#include "runtime/ranks/Messages.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace gradc::runtime {

/// A thread that sends beats to all other ranks and listens to theirs. A long launch or a slow disk
/// delays no beat; a stopped process, a lost host or a lost network does.
class Beats {
public:
  struct Peer {
    std::string name; ///< for messages: "rank 1 (process 4711 on 'node3')"
    int process = 0;  ///< on this host, where it can be looked for; 0: elsewhere
  };

  /// A rank that is silent for so long is lost, unless the spec says otherwise: seconds.
  static constexpr double usualStall = 30;

  /// `messages` outlives it.
  static Result<std::unique_ptr<Beats>> start(Messages &messages);
  ~Beats() { stop(); }
  /// Says no more; the others must know why, or have stopped to listen. What they have sent may
  /// still arrive, in memory that lives as long as this.
  void stop();
  Beats(const Beats &) = delete;

  /// Once that is known. `peers`: by rank.
  void introduce(std::vector<Peer> peers);
  void setStall(double seconds);
  void atStep(int64_t step) { mine.step.store(step, std::memory_order_relaxed); }
  bool hasLost() const { return isLost.load(std::memory_order_acquire); }
  /// Why this rank cannot go on; without a message where another rank says it.
  Status lost();
  /// How many are missing, as far as this rank knows.
  int lostRanks() const { return missing.load(); }
  /// From now on silence is no loss: all ranks have said that they are at their end.
  void expectSilence();
  /// Tells the others that this rank stops, because one is lost or else for a reason that it says
  /// itself; returns once they know, or after a second.
  void fail(Code code);

private:
  using Clock = std::chrono::steady_clock;
  static constexpr int tag = Messages::tags; ///< behind those of sums
  struct Beat {
    int64_t step = 0;
    int64_t failure = 0; ///< an exit code; 0: none
    int64_t lost = -1;   ///< the rank that is missing, if that is the failure
  };
  /// The knowledge about a rank, and the messages from and to it.
  struct State {
    Beat heard, incoming, said;
    Messages::Request hearing = nullptr, saying = nullptr;
    bool isHearing = false, isSaying = false, knowsFailure = false;
    bool wasGone = false; ///< its process had ended a round ago
    Clock::time_point heardAt;
  };

  explicit Beats(Messages &messages);
  void run();
  void say();
  void hear(Clock::time_point now);
  void judge(Clock::time_point now);
  std::string describeLoss(size_t rank, Clock::time_point now) const;
  bool hasEnded(Messages::Request &request);
  bool isGone(size_t rank) const;

  Messages &messages;
  struct {
    std::atomic<int64_t> step{0}, failure{0}, lost{-1};
  } mine;
  std::atomic<bool> isLost{false};
  std::atomic<int> missing{0};

  std::mutex mutex; ///< of all that follows
  std::vector<Peer> peers;
  double stall = usualStall;
  std::vector<State> states;
  std::condition_variable changed;
  bool isStopping = false, isSilenceExpected = false;
  Status loss;
  std::unique_ptr<Thread> thread;
};

} // namespace gradc::runtime

#endif
