// Tries the other choice, and sets the pause before the next trial.
#include "runtime/device/TeamChoice.h"

#include <algorithm>
#include <utility>

using namespace gradc::runtime;

/// A switch needs a clear gain, so that equal choices do not alternate.
static bool isGain(int64_t mean, int64_t former) { return mean < former - former / 16; }

void TeamChoice::ran(const Schedule &schedule, int64_t runTime) {
  const Step *steps = schedule.steps.data(); // of the entry; a schedule is made for each run
  if (steps != watched) {
    othersTime += runTime;
    ++othersRuns;
    if (watched && (othersTime < 8 * window || othersRuns < 2 * minRuns))
      return;
    watched = steps;
    if (phase == Phase::trial)
      isTogether = !isTogether;
    phase = Phase::settled;
    pauseLeft = std::max<int64_t>(pauseLeft, 2); // no trial before the second window has ended
    time = runs = 0;
    seenPreemptions = preemptions();
  }
  othersTime = othersRuns = 0;
  time += runTime;
  ++runs;
  // A single long run may be an outlier.
  if (time < window || (runs < minRuns && !isFutile(time / runs)))
    return;
  int64_t mean = time / runs;
  time = runs = 0;
  endWindow(mean);
}

/// Whether a trial has failed if the window that runs has this mean. It then ends at once.
bool TeamChoice::isFutile(int64_t mean) const {
  return phase == Phase::trial   ? !isGain(mean, settledMean)
         : phase == Phase::check ? !isGain(trialMean, mean)
                                 : false;
}

void TeamChoice::endWindow(int64_t mean) {
  if (phase == Phase::trial) {
    isTogether = !isTogether;
    trialMean = mean;
    if (isFutile(mean))
      endTrial(/*isWon=*/false);
    else
      phase = Phase::check;
    return;
  }
  settledMean = mean;
  if (phase == Phase::check)
    return endTrial(!isFutile(mean));
  if (pauseLeft > 0)
    --pauseLeft;
  int64_t seenBefore = std::exchange(seenPreemptions, preemptions());
  bool isDisturbed = seenPreemptions != seenBefore;
  // On a machine with idle CPUs a single thread is never preempted, so the team is tried
  // regardless.
  if (pauseLeft == 0 && (isDisturbed || !isTogether)) {
    isTogether = !isTogether;
    phase = Phase::trial;
  }
}

void TeamChoice::endTrial(bool isWon) {
  phase = Phase::settled;
  isTogether ^= isWon;
  int64_t windowTime = std::max(window, minRuns * settledMean);
  int64_t longest = isTogether
                        ? longestPause
                        : std::clamp(mostTimeAlone / windowTime, leastPauseAlone, longestPause);
  pause = isWon ? shortestPause : std::min(2 * pause, longest);
  // A trial of a large team's work on one thread may take as long as many runs.
  int64_t lost = std::max<int64_t>(trialMean - settledMean, 0);
  pauseLeft = std::max(pause, 32 * lost / windowTime);
  seenPreemptions = preemptions();
}
