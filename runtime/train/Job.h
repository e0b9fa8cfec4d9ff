// The training job: the artifact's spec with command-line overrides and all defaults applied.
#ifndef RUNTIME_TRAIN_JOB_H
#define RUNTIME_TRAIN_JOB_H

#include "runtime/core/Config.h"
#include "runtime/data/chain/Chain.h"
#include "runtime/train/LossScale.h"
#include "runtime/train/Trainer.h"

#include <limits>

namespace gradc::runtime {

struct Job {
  static constexpr int64_t unlimited = std::numeric_limits<int64_t>::max();

  int64_t epochs = 1;
  int64_t steps = unlimited;
  uint64_t seed = 0;
  double learningRate = 0; ///< of the optimizer; blocks and groups have shares of it
  Config schedule;         ///< of the learning rate; absent: constant
  LossScale lossScale;

  RankShare share;           ///< of each batch that this process takes
  bool sharesBatches = true; ///< ranks do; false: each has all rows of all batches
  bool isStage = false;      ///< this process runs one stage of a pipeline
  Config data;
  std::vector<SourceArray> fields;                         ///< instead of the files of `data`
  Config evaluationData;                                   ///< absent: no evaluation
  int64_t evaluateEveryEpochs = 1, evaluateEverySteps = 0; ///< 0: not in this unit
  Config earlyStopping;                                    ///< absent: none
  std::vector<std::string> dataFolders;
  std::shared_ptr<DataState> dataState = std::make_shared<DataState>();
  bool fitsData = true; ///< stages may find out what `dataState` does not have

  std::string checkpointFolder;  ///< "": no checkpoints, or another rank writes them
  bool keepsCheckpoints = false; ///< this process, or the ranks together
  int64_t checkpointEveryEpochs = 0, checkpointEverySteps = 0; ///< 0: not limited in this unit
  int64_t checkpointKeep = 3;
  Config best;              ///< the metric of the best checkpoint; absent: the loss
  std::string earlierRun;   ///< whose folder the spec names, in place of this one's; "": none
  std::string exportPath;   ///< "": no export
  bool exportBest = false;  ///< where there is a best evaluation
  bool bestIsAsked = false; ///< by the spec: then it is an error that the best states are not there
  bool exportsTwoFiles = false; ///< the weights have their own
  bool exportsToRun = false;    ///< into the checkpoint folder: no file is named
  bool keepsExport = false;     ///< this process, or the first rank

  std::vector<std::string> inputs; ///< the files that it reads, as far as they are there

  /// `writes`: whether files may be written, so that their places must be known.
  static Result<Job> read(const Artifact &artifact, const TrainOptions &options,
                          bool writes = true);
  /// The folder of this run, where the options name none. `resume`: the checkpoint that it goes on
  /// from; "": from the start.
  Status chooseRun(const TrainOptions &options, const std::string &resume);

private:
  /// The files that it writes, and when.
  Status readOutputs(const Artifact &artifact, const TrainOptions &options);
  /// The export would take no input's place.
  Status expectExport() const;
};

/// A path of the spec, for something that is written: relative to the spec, as all its paths are.
/// `option` names another place.
Result<std::string> pathOfSpec(Config spec, std::string_view path, std::string_view option);

/// Whether the spec's ranks are the stages of a pipeline.
bool isPipeline(Config spec);

/// Where relative paths of data begin.
std::string dataFolderOf(Config spec, const TrainOptions &options);

/// Fails where `output` is one of `inputs`, or this program.
Status expectNoInput(const std::string &output, std::span<const std::string> inputs);

/// The files that a job reads, as far as they are there: data, model, and what the model's tensors
/// were read from.
std::vector<std::string> filesOfJob(Config spec, std::span<const std::string> dataFolders);

/// The learning rate of the spec's optimizer block, which artifacts have even where it is a
/// default.
double optimizerRate(Config optimizer);
/// Its momentum or beta1; 0 where it has neither.
double optimizerMomentum(Config optimizer);

} // namespace gradc::runtime

#endif
