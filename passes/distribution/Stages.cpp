// Plays the pipeline with parts that all take one unit of time.
#include "passes/distribution/Stages.h"

using namespace gradc;

PipelineTurns::PipelineTurns(int64_t stages, int64_t parts)
    : parts(parts), turns(size_t(2 * stages * parts)), times(size_t(stages * (2 * parts + 2))) {
  struct Stage {
    int64_t forward = 0, backward = 0, turn = 0, free = 1;
  };
  std::vector<Stage> all(static_cast<size_t>(stages));
  std::vector<int64_t> ends(turns.size()); // 0: not computed yet
  for (bool moves = true; moves;) {
    moves = false;
    for (int64_t s = 0; s < stages; ++s) {
      Stage &stage = all[size_t(s)];
      if (stage.backward == parts)
        continue;
      int64_t ahead = std::min(stages - s, parts);
      bool isBackward = stage.forward == parts || stage.forward - stage.backward == ahead;
      int64_t part = isBackward ? stage.backward : stage.forward;
      int64_t from = isBackward ? s + 1 : s - 1; // the stage that the part comes from
      int64_t ready = 1;
      if (from >= 0 && from < stages) {
        ready = ends[index(from, part, isBackward)];
        if (!ready)
          continue;
      }
      int64_t begin = std::max(stage.free, ready);
      turns[index(s, part, isBackward)] = ++stage.turn;
      times[size_t(s * (last() + 1) + stage.turn)] = begin;
      ends[index(s, part, isBackward)] = stage.free = begin + 1;
      ++(isBackward ? stage.backward : stage.forward);
      moves = true;
    }
  }
  int64_t end = 0;
  for (const Stage &stage : all)
    end = std::max(end, stage.free);
  for (int64_t s = 0; s < stages; ++s)
    times[size_t(s * (last() + 1) + last())] = end;
}
