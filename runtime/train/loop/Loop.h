// The training loop: steps over batches; evaluates, logs and writes checkpoints in between.
#ifndef RUNTIME_TRAIN_LOOP_LOOP_H
#define RUNTIME_TRAIN_LOOP_LOOP_H

#include "runtime/train/checkpoint/Checkpoint.h"
#include "runtime/train/checkpoint/CheckpointFolder.h"
#include "runtime/train/export/Export.h"
#include "runtime/train/job/Job.h"
#include "runtime/train/loop/EvaluationWatch.h"
#include "runtime/train/loop/PhaseWalk.h"
#include "runtime/train/loop/StopVote.h"
#include "runtime/train/report/InputWatch.h"
#include "runtime/train/report/Log.h"
#include "runtime/train/report/ParameterWatch.h"
#include "runtime/train/report/Progress.h"
#include "runtime/train/report/Trace.h"
#include "runtime/train/spec/Turns.h"

#include <optional>

namespace gradc::runtime {

class Loop {
public:
  /// `resume` may be null. `checkpoints` is the job's folder of them. The session and the options
  /// must outlive the loop.
  static Result<std::unique_ptr<Loop>> make(Session &session, const Job &job,
                                            const TrainOptions &options, const Checkpoint *resume,
                                            CheckpointFolder checkpoints);

  /// Facts by which ranks check that they train the same job. Only in programs with ranks
  /// (gradc_ranks).
  __attribute__((weak)) std::vector<Communicator::Fact> commonFacts() const;

  /// Trains to the end of the job, evaluates, exports.
  Result<TrainSummary> run();

private:
  using Clock = Progress::Clock;
  /// The name of a checkpoint's run state if `owesEvaluation`: the step.
  static constexpr const char *owed = "evaluation due";
  /// The name of the run state that says how many rows of an epoch fill no batch.
  static constexpr const char *leftOut = "rows left out";
  /// The name of the run state with the size of batches and `stepsAhead`.
  static constexpr const char *batching = "batches";

  Loop(Session &session, const Job &job, const TrainOptions &options, CheckpointFolder checkpoints)
      : session(session), job(job), options(options), vote(options),
        checkpoints(std::move(checkpoints)) {}

  static bool owesEvaluationAt(const TrainPosition &position);
  static Status expectRows(const TrainPosition &position, const Dataset &dataset);
  Status prepare(const Checkpoint *resume);
  Status prepareTraining(const Checkpoint *resume);
  bool findEnd(const Checkpoint *resume);
  Status prepareOutputs(const Checkpoint *resume);
  Status prepareEvaluation(Config data, const std::string &set);
  void sayWhatDiffers(bool stepsAreBatches, uint64_t wantedSeed);
  void warnOfIdleRanks();
  void sayWhatIsLeftOut(const std::string &what, const Dataset &dataset, Config data);
  Status trainSteps();
  Status step();
  bool stepsApart() const { return options.ranks && options.ranks->stepsApart(); }
  /// Whether this rank is the server of workers that run steps independently.
  bool servesWorkers() const {
    return stepsApart() && options.ranks->rank() == options.ranks->size() - 1;
  }
  /// If workers run steps independently, this is their barrier. The stages of a pipeline take over
  /// each other's parameters.
  Status meet() { return stepsApart() ? takeServersStates() : session.holdWholeStates(true); }
  /// Only in programs with ranks (gradc_ranks).
  __attribute__((weak)) Status expectRowsForAll() const;
  __attribute__((weak)) Status runApart(const StepScalars &scalars, bool goesOn);
  __attribute__((weak)) Status takeServersStates();
  Status endStep(bool endsEpoch);
  Status finish();
  void logEnd(bool isSignalled);
  void sayEnd(bool isSignalled);
  void beginEpoch();
  void sayEpoch(bool isEvaluated);
  void sayWhatWasMade(bool isSignalled);

  Result<std::vector<Metric>> evaluateAll();
  Status evaluateNow();
  Status evaluateAsDue();
  Status evaluateAsOwed();
  Status evaluateAtEnd();
  Status drawConclusions();
  Status observePruning();
  std::string pruningText() const;
  Status keepBest();
  Status syncBest();
  Status restoreBest(StateValues &gathered);
  Status exportNow();
  TrainPosition position() const;
  Status withLastWhole(Status written) const;
  Status checkpointNow();
  void traceStep(const EntryCall &call, Clock::time_point begin, Clock::time_point fetched,
                 Clock::time_point end);
  /// The work between steps, as a span of its own.
  template <typename Work> Status traced(const char *name, Work &&work) {
    int64_t begin = Trace::now();
    Status status = work();
    trace.span(name, name, begin, Trace::now(), done);
    return status;
  }
  void sayPlacement();
  void sayThaw();
  Status watchParameters(size_t turn, const StepScalars &scalars);
  Status skipStep(EntryCall &call);
  Status stopForNonFinite(EntryCall &call);
  Status stopForCutOff(const Status &failure);
  /// The number of epochs is known in advance; the number of steps may not be.
  bool isLast(int64_t steps, Position position) const {
    return steps >= lastStep || int64_t(position.epoch) >= job.epochs;
  }

  Session &session;
  Job job;
  const TrainOptions &options;
  StopVote vote;
  Phase training;
  /// The data of the evaluation, or of one of its sets.
  struct Evaluated {
    Phase phase;
    bool isDivided; ///< among ranks
  };
  std::vector<Evaluated> evaluations; ///< empty: there are none
  std::optional<PhaseWalk> walk;
  std::optional<Turns> turns;
  ParameterWatch parameters;
  std::vector<size_t> watching; ///< per entry of `turns`, the entry of `training` that returns its
                                ///< gradients; 0: none
  RateSchedule rates;
  LossScale lossScale;
  std::optional<EvaluationWatch> watch;
  Log log;
  Trace trace;
  std::optional<Progress> progress;
  std::string saidPlacement;
  std::optional<InputWatch> input;
  std::vector<InputSpan> inputSpans;
  CheckpointFolder checkpoints;

  std::string lastCheckpoint;                    ///< written or resumed from
  int64_t done = 0;                              ///< steps
  int64_t lastStep = 0;                          ///< to be done
  int64_t stepsAhead = 0;                        ///< of those that the epochs so far have in
                                                 ///< batches of this size
  int64_t pruningLeft = 0;                       ///< steps until all masks are final
  bool pruningIsOfSome = false;                  ///< counted are steps that train some parameters
  bool stopped = false;                          ///< by onStep, a signal or an evaluation
  bool owesEvaluation = false;                   ///< due after this step, left to a resume
  bool keptBest = false;                         ///< since the last `syncBest`
  std::string whyStopped;                        ///< by an evaluation
  int64_t evaluatedAt = -1, checkpointedAt = -1; ///< steps
  double samples = 0;                            ///< seen here
  double epochLoss = 0, epochRows = 0;           ///< sums over the epoch's steps made here
  Clock::time_point epochBegin, epochSaid;
  std::string exported; ///< the file; "": none
  Clock::time_point lastTime;
  StepReport report;
  TrainSummary summary;
};

} // namespace gradc::runtime

#endif
