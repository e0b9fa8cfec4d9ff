// Decides whether a schedule runs on the whole team or on one thread when other programs use the
// CPUs as well.
#ifndef RUNTIME_DEVICE_TEAMCHOICE_H
#define RUNTIME_DEVICE_TEAMCHOICE_H

#include "runtime/device/Schedule.h"

#include <cstdint>

namespace gradc::runtime {

/// A team waits for its slowest thread at every barrier. If another program takes a CPU, that wait
/// is a time slice of milliseconds, and one thread alone may be faster. The choice compares both,
/// but only while threads are preempted, so a machine without other work never pays for a trial.
/// Results do not depend on it.
///
/// 1. Runs on the team are timed over a window, of several runs if they are long. If threads were
///    preempted in it, the next window tries one thread. The first window is exempt: its runs touch
///    memory and code for the first time.
/// 2. If one thread was faster, a window on the team follows. One thread is taken if it was faster
///    than this one, too: what slows a single window down decides nothing.
/// 3. After a failed trial the next one comes later, and the later the more it has cost, so trials
///    cost a few percent at most.
/// 4. While one thread is faster, the team is tried again from time to time in the same way.
class TeamChoice {
public:
  /// `preemptions` counts how often threads of this process lost their CPU involuntarily.
  explicit TeamChoice(int64_t (*preemptions)()) : preemptions(preemptions) {}

  bool together() const { return isTogether; }
  /// Reports a run of a schedule, as chosen, in nanoseconds. The schedule that runs most often
  /// decides for all.
  void ran(const Schedule &schedule, int64_t time);

private:
  /// A window of the settled choice, of the other one, and of the settled one after it.
  enum class Phase : uint8_t { settled, trial, check };

  bool isFutile(int64_t mean) const;
  void endWindow(int64_t mean);
  void endTrial(bool isWon);

  static constexpr int64_t window = 30'000'000, minRuns = 4;
  /// Windows between two trials.
  static constexpr int64_t shortestPause = 8, longestPause = 128;
  /// While one thread is faster, pauses end after 4 s or 16 windows: the other work may have ended.
  static constexpr int64_t mostTimeAlone = 4'000'000'000, leastPauseAlone = 16;

  int64_t (*preemptions)();
  bool isTogether = true;
  Phase phase = Phase::settled;
  const Step *watched = nullptr; ///< steps of the schedule that is timed, which outlive it
  int64_t time = 0, runs = 0;    ///< of the watched schedule in this window
  int64_t othersTime = 0;        ///< of other schedules since it ran last
  int64_t othersRuns = 0;
  int64_t settledMean = 0; ///< of the last window before the trial
  int64_t trialMean = 0;
  int64_t seenPreemptions = 0;
  int64_t pause = shortestPause, pauseLeft = 0;
};

} // namespace gradc::runtime

#endif
