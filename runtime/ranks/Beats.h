// Heartbeats, by which ranks detect that another rank is lost.
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

/// A thread that exchanges heartbeats with all other ranks. A long launch or a slow disk does not
/// delay a beat; a stopped process, a lost host or a lost network does.
class Beats {
public:
  struct Peer {
    std::string name; ///< for messages: "rank 1 (process 4711 on 'node3')"
    int process = 0;  ///< process ID if the rank is on this host and visible; otherwise 0
  };

  /// Default number of seconds of silence after which a rank counts as lost; a spec may change it.
  static constexpr double usualStall = 30;

  /// `messages` must outlive the returned object.
  static Result<std::unique_ptr<Beats>> start(Messages &messages);
  ~Beats() { stop(); }
  /// Stops sending. The other ranks must know why, or have stopped listening. Messages that they
  /// have already sent may still arrive, in buffers that live as long as this object.
  void stop();
  Beats(const Beats &) = delete;

  /// Sets the names and processes of all ranks once they are known. `peers` is indexed by rank.
  void introduce(std::vector<Peer> peers);
  void setStall(double seconds);
  /// From now on ranks do not wait for each other in each step.
  void setStepsApart();
  /// `step`: the number of steps that this rank has made.
  void atStep(int64_t step) { mine.step.store(step, std::memory_order_relaxed); }
  bool hasLost() const { return isLost.load(std::memory_order_acquire); }
  /// Why this rank cannot continue; has no message if another rank reports the reason.
  Status lost();
  /// Number of ranks that this rank knows to be missing.
  int lostRanks() const { return missing.load(); }
  /// From now on silence is not a loss: all ranks have announced that they are at their end. The
  /// end of a process still is one, since MPI lets none end before all ranks have left.
  void expectSilence();
  /// Tells the other ranks that this rank stops, either because a rank is lost or for a reason that
  /// this rank reports itself. Returns once they know, or after one second.
  void fail(Code code);

private:
  using Clock = std::chrono::steady_clock;
  static constexpr int tag = Messages::tags; ///< the first tag that sums do not use
  struct Beat {
    int64_t step = 0;
    int64_t failure = 0; ///< an exit code; 0: none
    int64_t lost = -1;   ///< the missing rank, if that is the failure
    double silence = 0;  ///< for how many seconds that rank had been silent
  };
  /// This rank's knowledge of another rank, and the messages from and to it.
  struct State {
    Beat heard, incoming, said;
    Messages::Requests hearing, saying; ///< without elements: none is under way
    bool knowsFailure = false;
    bool wasGone = false; ///< its process had already ended in the previous round
    Clock::time_point heardAt;
  };

  explicit Beats(Messages &messages);
  void run();
  void say();
  void hear(Clock::time_point now);
  void judge(Clock::time_point now);
  double silenceOf(size_t rank, Clock::time_point now) const;
  std::string describeLoss(size_t rank, Clock::time_point now) const;
  bool hasEnded(Messages::Requests &requests);
  bool isGone(size_t rank) const;

  Messages &messages;
  struct {
    std::atomic<int64_t> step{0}, failure{0}, lost{-1};
    std::atomic<double> silence{0};
  } mine;
  std::atomic<bool> isLost{false};
  std::atomic<int> missing{0};

  std::mutex mutex; ///< protects everything below
  std::vector<Peer> peers;
  double stall = usualStall;
  bool stepsApart = false;
  std::vector<State> states;
  std::condition_variable changed;
  bool isStopping = false, isSilenceExpected = false;
  Status loss;
  std::unique_ptr<Thread> thread;
};

} // namespace gradc::runtime

#endif
