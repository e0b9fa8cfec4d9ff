// Tries the other choice, and sets the pause before the next trial.
#include "runtime/device/TeamChoice.h"

#include <algorithm>

using namespace gradc::runtime;

void TeamChoice::ran(const void *schedule, int64_t runTime) {
  if (schedule != watched) {
    othersTime += runTime;
    if (watched && othersTime < 8 * window)
      return;
    watched = schedule;
    isTogether = true;
    isTrial = false;
    time = runs = 0;
    seenPreemptions = preemptions();
  }
  othersTime = 0;
  time += runTime;
  ++runs;
  // A single long run may be an outlier. A trial that looks bad ends after it.
  bool isBad = isTrial && time / runs > settledMean - settledMean / 16;
  if (time < window || (runs < minRuns && !isBad))
    return;
  int64_t mean = time / runs;
  time = runs = 0;
  endWindow(mean);
}

void TeamChoice::endWindow(int64_t mean) {
  if (isTrial) {
    isTrial = false;
    // A switch needs a clear gain, so that equal choices do not alternate.
    if (mean < settledMean - settledMean / 16) {
      pause = shortestPause;
    } else {
      isTogether = !isTogether;
      pause = std::min(2 * pause, longestPause);
    }
    pauseLeft = pause;
    seenPreemptions = preemptions();
    return;
  }
  settledMean = mean;
  if (pauseLeft > 0)
    --pauseLeft;
  int64_t now = preemptions();
  bool disturbed = now != seenPreemptions;
  seenPreemptions = now;
  // On a machine with idle CPUs a single thread is never preempted, so the team is tried
  // regardless.
  if (pauseLeft == 0 && (disturbed || !isTogether)) {
    isTogether = !isTogether;
    isTrial = true;
  }
}
