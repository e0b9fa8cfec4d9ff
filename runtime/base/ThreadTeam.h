// A team of threads that walk the same work together and meet at barriers.
#ifndef RUNTIME_BASE_THREADTEAM_H
#define RUNTIME_BASE_THREADTEAM_H

#include "runtime/base/Thread.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>
#include <type_traits>
#include <vector>

namespace gradc::runtime {

/// Waiting threads spin before they sleep, because waking a thread costs a thousand times more than
/// a barrier between running threads. They spin only if each thread has its own CPU, and for a
/// shorter time after spinning in vain; otherwise spinning would keep the awaited thread from
/// running.
class ThreadTeam {
public:
  static constexpr int maxThreads = 1024;

  /// The calling thread is number 0 of each run; `create` starts the others.
  static Result<std::unique_ptr<ThreadTeam>> create(int threads);
  ~ThreadTeam();

  unsigned size() const { return count; }
  /// Whether this process is a fork of the one that made the team: the other threads do not exist
  /// here, so that `run` would wait for them forever.
  bool isForked() const;
  /// The number of CPUs available to this process: its affinity, limited by its control group's
  /// quota.
  static unsigned availableCpus();

  /// Calls body(thread) on every thread, and returns when all calls have returned. Only one run at
  /// a time; `body` must not throw.
  template <typename Body> void run(Body &&body) {
    task = [](void *context, unsigned thread) {
      (*static_cast<std::remove_reference_t<Body> *>(context))(thread);
    };
    taskContext = const_cast<void *>(static_cast<const void *>(&body));
    barrier(0);
    body(0);
    barrier(0);
  }

  /// Called inside a run; returns when every thread has called it. Earlier writes of all threads
  /// are visible afterwards.
  void barrier(unsigned thread);

private:
  // Takes two cache lines, because adjacent lines are fetched in pairs.
  struct alignas(128) Flag {
    std::atomic<uint32_t> epoch{0}; ///< of the newest barrier signalled here
    std::atomic<uint32_t> sleepers{0};
  };
  /// Used by its own thread only.
  struct alignas(128) Member {
    uint32_t epoch = 0;              ///< barriers passed
    std::chrono::nanoseconds spin{}; ///< how long spinning pays: longer after every success
  };

  explicit ThreadTeam(unsigned threads);
  void work(unsigned thread);
  void signal(Flag &flag, uint32_t epoch) const;
  void await(Flag &flag, uint32_t epoch, Member &member) const;

  const unsigned count, rounds;
  const uint32_t generation; ///< of the process that made the team
  const bool spins;
  bool complete = false;         ///< all workers are running
  std::unique_ptr<Flag[]> flags; ///< [thread][round]
  std::unique_ptr<Member[]> members;
  Flag gate; ///< opens when it is known whether all workers could start
  void (*task)(void *, unsigned) = nullptr; ///< null: the workers leave
  void *taskContext = nullptr;
  std::vector<Thread> workers;
};

} // namespace gradc::runtime

#endif
