// Training as a whole, as run by the compiled executable, `gradc train`, and the C ABI.
#ifndef RUNTIME_TRAIN_TRAINER_H
#define RUNTIME_TRAIN_TRAINER_H

#include "runtime/core/Artifact.h"
#include "runtime/data/source/ArraySource.h"
#include "runtime/ranks/Communicator.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gradc::runtime {

struct Metric {
  std::string name;
  double value = 0;
  std::vector<double> table = {}; ///< a square matrix, row-major, instead of the value
};

/// The facts about one step.
struct StepReport {
  int64_t step = 0;       ///< from 1
  int64_t epoch = 0;      ///< that the step belongs to, from 1
  std::string_view entry; ///< the `train` block's name; "": there is none
  float loss = 0;         ///< mean over the batch
  float learningRate = 0;
  std::optional<float> momentum;     ///< if the schedule changes it
  std::optional<float> gradientNorm; ///< before clipping
  std::span<const Metric> metrics;   ///< of the batch
  std::optional<float> lossScale;    ///< if gradients are scaled
  int64_t skipped = 0;               ///< updates skipped before this step
  double milliseconds = 0;           ///< including the wait for the batch
  double inputMilliseconds = 0;      ///< the wait alone
};

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

struct TrainSummary {
  int64_t steps = 0; ///< of the whole training, including those before a resume
  double seconds = 0;
  double samplesPerSecond = 0;
  std::optional<float> lastLoss;  ///< of the steps made here
  std::vector<Metric> evaluation; ///< the last one: loss, then metrics; empty: none
  std::string checkpoint;         ///< the last one written; "": none
  int signal = 0;                 ///< that ended the training
};

/// Whether this process, a single one of all ranks, writes files and prints progress.
inline bool isFirst(const TrainOptions &options) {
  return !options.ranks || options.ranks->rank() == 0;
}

/// Runs the job on a session made for it.
Result<TrainSummary> train(std::shared_ptr<const Artifact> artifact, const TrainOptions &options);

/// The command line of a compiled trainer; returns its exit code. `file`: the file given to gradc,
/// if gradc runs it; "" if the program is the trainer's own.
int trainerMain(int argc, char **argv, std::shared_ptr<const Artifact> artifact,
                const std::string &file = {});

} // namespace gradc::runtime

#endif
