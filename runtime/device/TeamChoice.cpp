// The trial of the other choice, and how long it is put off.
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
  if (time < window)
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
  // One thread is never preempted on a machine with idle CPUs: the team is tried in any case.
  if (pauseLeft == 0 && (disturbed || !isTogether)) {
    isTogether = !isTogether;
    isTrial = true;
  }
}
