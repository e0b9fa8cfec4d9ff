// The training job: the artifact's spec with command-line overrides and all defaults applied.
#ifndef RUNTIME_TRAIN_JOB_JOB_H
#define RUNTIME_TRAIN_JOB_JOB_H

#include "runtime/core/artifact/Config.h"
#include "runtime/data/chain/Chain.h"
#include "runtime/train/job/TrainOptions.h"
#include "runtime/train/rates/LossScale.h"

#include <limits>
#include <optional>

namespace gradc::runtime {

/// The last step that renews masks of pruned parameters.
struct PruningEnd {
  std::optional<uint32_t> counter; ///< the state that counts the steps that train them; absent: all
                                   ///< steps that the run does not skip do
  int64_t step;
};

/// Further data of an evaluation; its metrics are called "NAME/loss" and so on.
struct EvaluationSet {
  std::string name;
  Config data;
};

struct Job {
  static constexpr int64_t unlimited = std::numeric_limits<int64_t>::max();

  int64_t epochs = 1;
  int64_t steps = unlimited;
  uint64_t seed = 0;
  double learningRate = 0; ///< of the optimizer; those of blocks and groups are relative to it
  Config schedule;         ///< of the learning rate; absent: constant
  LossScale lossScale;

  RankShare share;              ///< the rows of each batch that this process uses
  bool sharesEvaluation = true; ///< false: every rank evaluates all rows
  bool isStage = false;         ///< this process runs one stage of a pipeline
  Config data;
  std::vector<SourceArray> fields;                         ///< instead of the files of `data`
  Config evaluationData;                                   ///< absent: no evaluation
  std::vector<EvaluationSet> evaluationSets;               ///< evaluated after `evaluationData`
  int64_t evaluateEveryEpochs = 1, evaluateEverySteps = 0; ///< 0: not in this unit
  Config earlyStopping;                                    ///< absent: none
  std::vector<std::string> dataFolders;
  std::shared_ptr<DataState> dataState = std::make_shared<DataState>();
  bool fitsData = true; ///< stages may compute the values that `dataState` lacks
  const std::atomic<int> *interrupt = nullptr; ///< holds the number of a signal that ends the run
  bool saysWaits = false;                      ///< tells the user what the run waits for
  bool leavesOutRest = false;                  ///< a last batch that no entry takes is not an error

  std::string checkpointFolder;  ///< "": no checkpoints, or another rank writes them
  bool keepsCheckpoints = false; ///< by this process, or by all ranks together
  int64_t checkpointEveryEpochs = 0, checkpointEverySteps = 0; ///< 0: not limited in this unit
  int64_t checkpointKeep = 3;
  Config best; ///< the metric of the best checkpoint; absent: the loss
  std::vector<PruningEnd> pruningEnds;
  std::string earlierRun;       ///< in the folder that the spec names; "": none
  std::string passedOver;       ///< the newest run, if it is of another model; "": it is not
  std::string exportPath;       ///< "": no export
  bool exportBest = false;      ///< the states of the best evaluation, if there is one
  bool bestIsAsked = false;     ///< the spec asks for them, so their absence is an error
  bool exportsTwoFiles = false; ///< the weights have a file of their own
  bool exportsToRun = false;    ///< to the checkpoint folder, because no file is named
  bool keepsExport = false;     ///< this process or the first rank writes it

  /// Existing files that the job reads, and the program: no output may replace them.
  std::vector<std::string> protectedFiles;

  /// `writes`: whether the run may write files, so that their paths must be known.
  static Result<Job> read(const Artifact &artifact, const TrainOptions &options,
                          bool writes = true);
  /// Chooses the folder of this run if the options name none. `resume`: the checkpoint that it
  /// continues; "": none.
  Status chooseRun(const TrainOptions &options, const std::string &resume);

private:
  /// Reads when masks of pruned parameters become final.
  Status readPruning(const Artifact &artifact);
  /// Reads which files are written, and when.
  Status readOutputs(const Artifact &artifact, const TrainOptions &options);
  /// Fails if the export would replace an input.
  Status expectExport() const;
};

/// Whether the spec's ranks are the stages of a pipeline.
bool isPipeline(Config spec);
/// The number of ranks that have one replica of the model: stages of a pipeline, or shards.
int modelRanksOf(Config spec);
/// The number of servers: ranks, the last ones, that own the parameters and do not train.
int serversOf(Config spec);

/// The folder that paths of data are relative to.
std::string dataFolderOf(Config spec, const TrainOptions &options);

} // namespace gradc::runtime

#endif
