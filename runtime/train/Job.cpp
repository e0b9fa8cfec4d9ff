// Reads the job from the artifact's tree of values.
#include "runtime/train/Job.h"

#include "runtime/base/Text.h"
#include "runtime/data/source/MappedFile.h"
#include "runtime/train/Export.h"
#include "runtime/train/RunFolder.h"
#include "runtime/train/Sweep.h"
#include "runtime/train/Turns.h"

#include <algorithm>
#include <cerrno>
#include <set>
#include <sys/stat.h>
#include <tuple>
#include <unistd.h>

namespace gradc::runtime {

double optimizerRate(Config optimizer) {
  for (Config kind : optimizer.children())
    return kind.real("learning_rate", 0);
  return 0;
}

double optimizerMomentum(Config optimizer) {
  for (Config kind : optimizer.children())
    return kind.real("momentum", kind.real("beta1", 0));
  return 0;
}

/// The kinds of the optimizers in a block of the spec, with those of its own blocks.
static void addOptimizers(Config block, std::set<std::string> &kinds) {
  for (Config child : block.children()) {
    if (child.name() == "optimizer")
      for (Config kind : child.children())
        kinds.emplace(kind.name());
    else if (child.name() == "group" || child.name() == "train")
      addOptimizers(child, kinds);
  }
}

std::vector<std::string> optimizersOf(Config spec) {
  std::set<std::string> kinds;
  addOptimizers(spec, kinds);
  return {kinds.begin(), kinds.end()};
}

Result<std::string> pathOfSpec(Config spec, std::string_view path, std::string_view option) {
  std::string folder(spec.string("directory"));
  if (path.empty() || path.front() == '/' || folder.empty())
    return std::string(path);
  if (access(folder.c_str(), F_OK))
    return Status::error(
        text("cannot write '", path, "': the spec's folder '", folder, "' ",
             errno == EACCES ? "cannot be entered: permission denied" : "is not on this machine",
             "; name a place with ", option));
  return joinPath(folder, path);
}

/// The existing files that a block of the spec names.
static void addFiles(Config block, std::span<const std::string> folders,
                     std::vector<std::string> &files) {
  for (Config child : block.children()) {
    bool isPath = child.name() == "path" || child.name() == "list" || child.name() == "file" ||
                  child.name() == "model";
    if (isPath && !child.string().empty())
      (void)expandPath(child.string(), folders, files);
    addFiles(child, folders, files);
  }
}

static bool isSameFile(const std::string &a, const std::string &b) {
  struct stat x, y;
  return stat(a.c_str(), &x) == 0 && stat(b.c_str(), &y) == 0 && x.st_dev == y.st_dev &&
         x.st_ino == y.st_ino;
}

std::vector<std::string> filesOfJob(Config spec, std::span<const std::string> dataFolders) {
  std::vector<std::string> files;
  addFiles(spec.child("data"), dataFolders, files);
  addFiles(spec.child("evaluation").child("data"), dataFolders, files);
  std::string folders[] = {std::string(spec.string("directory"))};
  if (std::string_view model = spec.string("model"); !model.empty())
    (void)expandPath(model, folders, files);
  for (Config file : spec.children("external_data"))
    files.emplace_back(file.string());
  return files;
}

std::vector<std::string> filesToKeep(Config spec, std::span<const std::string> dataFolders,
                                     const std::string &program) {
  std::vector<std::string> files = filesOfJob(spec, dataFolders);
  files.push_back(program);
  std::string folders[] = {std::string(spec.string("directory"))};
  for (Config block : spec.children())
    if (block.name() != "data" && block.name() != "evaluation")
      addFiles(block, folders, files);
  if (std::string_view name = spec.string("spec"); !name.empty())
    files.push_back(joinPath(folders[0], name));
  return files;
}

std::string dataFolderOf(Config spec, const TrainOptions &options) {
  if (!options.dataFolder.empty())
    return options.dataFolder;
  std::string folder(spec.string("directory"));
  return folder.empty() ? "." : folder;
}

Status expectNoInput(const std::string &output, std::span<const std::string> inputs) {
  static const std::string program = "/proc/self/exe";
  auto isOutput = [&](const std::string &input) { return isSameFile(output, input); };
  auto found = std::ranges::find_if(inputs, isOutput);
  if (!isOutput(program) && found == inputs.end())
    return {};
  return Status::error(text("cannot write '", output, "': ",
                            isOutput(program)  ? std::string("it is this program")
                            : *found == output ? std::string("the run reads it")
                                               : text("it is '", *found, "', which the run reads"),
                            "; name another file"));
}

Status Job::expectExport() const {
  Status status = expectNoInput(exportPath, protectedFiles);
  return status.ok() && exportsTwoFiles && expectNoWeights
             ? expectNoWeights(exportPath, protectedFiles)
             : status;
}

/// Whether something other than a file lies at the path, such as /dev/null.
static bool isDevice(const std::string &path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
}

/// Fails if two outputs of a run are one file.
static Status
expectDifferent(std::initializer_list<std::pair<const char *, const std::string *>> outputs) {
  for (auto one = outputs.begin(); one != outputs.end(); ++one)
    for (auto other = one + 1; other != outputs.end(); ++other)
      if (!one->second->empty() && !isDevice(*one->second) &&
          (*one->second == *other->second || isSameFile(*one->second, *other->second)))
        return Status(Code::usage, text(one->first, " and ", other->first, " both write '",
                                        *one->second, "'; name two files"));
  return {};
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
