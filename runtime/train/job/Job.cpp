// Reads the job from the artifact's tree of values.
#include "runtime/train/job/Job.h"

#include "runtime/base/Text.h"
#include "runtime/train/checkpoint/RunFolder.h"
#include "runtime/train/export/Export.h"
#include "runtime/train/spec/JobFiles.h"
#include "runtime/train/spec/Turns.h"

#include <tuple>

namespace gradc::runtime {

std::string dataFolderOf(Config spec, const TrainOptions &options) {
  if (!options.dataFolder.empty())
    return options.dataFolder;
  std::string folder(spec.string("directory"));
  return folder.empty() ? "." : folder;
}

Status Job::expectExport() const {
  Status status = expectNoInput(exportPath, protectedFiles);
  return status.ok() && exportsTwoFiles && expectNoWeights
             ? expectNoWeights(exportPath, protectedFiles)
             : status;
}

static std::string exportOfRun(const std::string &folder) { return text(folder, "/trained.onnx"); }

Status Job::chooseRun(const TrainOptions &options, const std::string &resume) {
  if (checkpointFolder.empty() || !options.checkpoint.empty())
    return {};
  std::string run = resume.empty() ? "" : runOf(checkpointFolder, resume);
  if (run.empty()) {
    auto next = newRun(checkpointFolder);
    if (!next)
      return next.status();
    run = std::move(*next);
    if (run != checkpointFolder)
      earlierRun = checkpointFolder;
  }
  checkpointFolder = std::move(run);
  if (exportsToRun)
    exportPath = exportOfRun(checkpointFolder);
  return expectExport();
}

Status Job::readPruning(const Artifact &artifact) {
  for (Config end : Config::job(artifact).children("pruning")) {
    std::string_view name = end.string("counter");
    std::optional<uint32_t> counter = artifact.findState(name);
    if (!name.empty() && (!counter || artifact.states()[*counter].tensor.bytes != sizeof(float)))
      return Status::invalid(text("the artifact has no state '", name, "' that counts steps"));
    pruningEnds.push_back({counter, end.integer("end_step", 0)});
  }
  return {};
}

Status Job::readOutputs(const Artifact &artifact, const TrainOptions &options) {
  Config spec = Config::job(artifact);
  Config checkpoint = spec.child("checkpoint");
  for (auto [path, given, ofSpec, option] :
       {std::tuple(&checkpointFolder, &options.checkpoint, checkpoint.string("directory"),
                   "--checkpoint"),
        std::tuple(&exportPath, &options.exportPath, spec.child("export").string("onnx"),
                   "--export")}) {
    auto found = given->empty() ? pathOfSpec(spec, ofSpec, option) : Result(*given);
    if (!found)
      return found.status();
    *path = std::move(*found);
  }
  if (!options.variant.empty()) {
    exportPath = pathOfVariant(exportPath, options.variant);
    if (!checkpointFolder.empty())
      checkpointFolder += text('/', options.variant);
  }
  if (!options.findRate.empty()) {
    evaluationData = best = earlyStopping = {};
    evaluationSets.clear();
    checkpointFolder.clear();
    exportPath.clear();
  }
  checkpointEverySteps = checkpoint.integer("every_steps", 0);
  checkpointEveryEpochs = checkpoint.integer("every_epochs", checkpointEverySteps ? 0 : 1);
  best = checkpoint.child("best");
  if (options.findRate.empty())
    if (Status status = readPruning(artifact); !status.ok())
      return status;
  bestIsAsked = spec.child("export").boolean("best", false);
  exportBest = spec.child("export").boolean("best", evaluationData && !checkpointFolder.empty());
  exportsTwoFiles = bool(spec.child("exported_files"));
  exportsToRun = exportPath.empty() && !checkpointFolder.empty() && options.findRate.empty() &&
                 artifact.header().model.count != 0;
  if (exportsToRun)
    exportPath = exportOfRun(checkpointFolder);
  checkpointKeep = checkpoint.integer("keep", 3);
  if (checkpointKeep < 1)
    return Status::invalid(text("checkpoint { keep } is ", checkpointKeep, ", expected 1 or more"));
  const std::string log = pathOfVariant(options.log, options.variant),
                    trace = pathOfVariant(options.trace, options.variant);
  for (const std::string *output : {&log, &trace, &options.findRate})
    if (Status status = expectNoInput(*output, protectedFiles); !status.ok())
      return status;
  if (Status status = expectDifferent({{"--log", &log},
                                       {"--trace", &trace},
                                       {"--find-learning-rate", &options.findRate},
                                       {"--export", &exportPath}});
      !status.ok())
    return status;
  bool isChosen = options.checkpoint.empty() && exportsToRun; // the run's folder is not known
  if (!isChosen)
    if (Status status = expectExport(); !status.ok())
      return status;
  return {};
}

bool isPipeline(Config spec) { return spec.child("distribution").string("strategy") == "PIPELINE"; }

int modelRanksOf(Config spec) {
  Config distribution = spec.child("distribution");
  if (isPipeline(spec))
    return int(distribution.integer("stages", 2));
  return distribution.string("strategy") == "TENSOR" ? int(distribution.integer("ranks", 1)) : 1;
}

int serversOf(Config spec) {
  Config distribution = spec.child("distribution");
  return distribution.string("strategy") == "PARAMETER_SERVER"
             ? int(distribution.integer("servers", 1))
             : 0;
}

Result<Job> Job::read(const Artifact &artifact, const TrainOptions &options, bool writes) {
  Config spec = Config::job(artifact);
  if (!spec || !spec.child("data"))
    return Status::invalid("the artifact was compiled without a training spec, expected one with "
                           "a data block");
  Job job;
  job.seed = uint64_t(options.seed ? *options.seed : spec.integer("seed", 0));
  job.learningRate = options.learningRate.value_or(commonRate(spec));
  job.schedule = spec.child("schedule");
  job.lossScale = lossScaleOf(spec);

  // 1. How long: a limit on the command line replaces the spec's.
  if (options.steps || options.epochs) {
    job.steps = options.steps.value_or(unlimited);
    job.epochs = options.epochs.value_or(unlimited);
  } else {
    job.steps = spec.integer("steps", unlimited);
    job.epochs = spec.integer("epochs", spec.child("steps") ? unlimited : 1);
  }
  for (auto [name, value] : {std::pair("steps", job.steps), std::pair("epochs", job.epochs)})
    if (value < 1)
      return Status::invalid(text(name, " is ", value, ", expected 1 or more"));

  // 2. The data.
  job.isStage = options.ranks && isPipeline(spec);
  if (options.ranks) {
    job.sharesEvaluation = job.isStage || options.ranks->modelRanks() == 1;
    job.share = {options.ranks->replica(), options.ranks->replicas() - options.servers,
                 spec.integer("micro_batches", 1)};
  }
  job.fields = options.fields;
  job.interrupt = options.interrupt;
  job.saysWaits = !options.quiet && isFirst(options);
  job.data = spec.child("data");
  Config evaluation = spec.child("evaluation");
  job.evaluationData = evaluation.child("data");
  for (Config set : evaluation.children("set"))
    job.evaluationSets.push_back({std::string(set.string("name")), set.child("data")});
  job.evaluateEverySteps = evaluation.integer("every_steps", 0);
  job.evaluateEveryEpochs = evaluation.integer("every_epochs", job.evaluateEverySteps ? 0 : 1);
  for (const char *unit : {"every_epochs", "every_steps"})
    if (int64_t every = evaluation.integer(unit, 1); every < 1)
      return Status::invalid(text("evaluation { ", unit, " } is ", every, ", expected 1 or more"));
  job.earlyStopping = spec.child("early_stopping");
  job.dataFolders = {dataFolderOf(spec, options)};
  job.protectedFiles = filesToKeep(spec, job.dataFolders, options.program);

  // 3. The outputs.
  if (writes)
    if (Status status = job.readOutputs(artifact, options); !status.ok())
      return status;
  job.keepsCheckpoints = !job.checkpointFolder.empty();
  job.keepsExport = !job.exportPath.empty() || job.exportsToRun;
  if (!isFirst(options)) {
    job.checkpointFolder.clear();
    job.exportPath.clear();
    job.exportsToRun = job.exportBest = false;
  }
  return job;
}

} // namespace gradc::runtime
