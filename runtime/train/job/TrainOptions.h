// The options of a training, which a command line or a program gives.
#ifndef RUNTIME_TRAIN_JOB_TRAINOPTIONS_H
#define RUNTIME_TRAIN_JOB_TRAINOPTIONS_H

#include "runtime/data/source/ArraySource.h"
#include "runtime/ranks/Communicator.h"
#include "runtime/train/report/TrainReport.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gradc::runtime {

/// Overrides of the job in the artifact.
struct TrainOptions {
  /// Stops after this step; without `epochs`, runs over as many as needed.
  std::optional<int64_t> steps;
  std::optional<int64_t> epochs = {};
  std::optional<int64_t> seed = {};
  /// Replaces the optimizer's; schedules are relative to it.
  std::optional<double> learningRate = {};
  std::string log;        ///< JSON lines; "": none
  std::string trace;      ///< trace-event JSON; "": none
  std::string checkpoint; ///< folder; "": the job's
  std::string resume;     ///< a checkpoint, a folder of them, "latest", or "": from the start
  std::string dataFolder; ///< for relative data paths; "": the spec's folder
  std::string exportPath; ///< ONNX; "": the job's
  std::string level;      ///< "": a resumed checkpoint's, else the highest that the machine runs
  std::vector<SourceArray> fields; ///< instead of the training data's files; empty: use those files
  /// A file for the losses over growing rates, which replaces training (RateFinder.h); "" to train.
  std::string findRate;
  std::optional<std::pair<double, double>> rateRange; ///< that `findRate` goes through
  /// Replaces optimizer and schedule: the rate after `done` steps.
  std::function<double(int64_t done)> rateOfStep;
  std::string program; ///< the spec or artifact that the command names, which no output may replace
  /// The commands of this program, for the messages at the end of a run; "" if there are none. The
  /// first one has the run's own options, except --resume.
  std::string trainCommand, predictCommand;
  std::string variant; ///< of a sweep; becomes part of all names of files; "": none
  int threads = 0;     ///< 0: one per CPU
  bool quiet = false;  ///< prints nothing

  /// Called after each step; returning false makes that step the last one.
  std::function<bool(const StepReport &)> onStep;
  /// The processes that train together; null for this process alone. Rank 0 writes all files.
  Communicator *ranks = nullptr;
  int servers = 0; ///< number of servers, the last of these ranks, which use no rows
  /// If it becomes a signal's number, the training ends after the current step. An evaluation that
  /// is due then is left to a resume, and one that has begun is broken off; with ranks, which agree
  /// on the signal during the next step, it is finished first.
  const std::atomic<int> *interrupt = nullptr;
};

/// Whether this process, a single one of all ranks, writes files and prints progress.
inline bool isFirst(const TrainOptions &options) {
  return !options.ranks || options.ranks->rank() == 0;
}

} // namespace gradc::runtime

#endif
