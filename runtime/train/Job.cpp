// Reads the job from the artifact's tree of values.
#include "runtime/train/Job.h"

#include "runtime/base/Text.h"

namespace gradc::runtime {

/// The defaults are those of training.proto.
double optimizerRate(Config optimizer) {
  for (Config kind : optimizer.children()) {
    bool isAdam = kind.name() == "adam" || kind.name() == "adamw";
    return kind.real("learning_rate", isAdam ? 0.001 : 0.01);
  }
  return 0;
}

Result<Job> Job::read(const Artifact &artifact, const TrainOptions &options) {
  Config spec = Config::job(artifact);
  if (!spec || !spec.child("data"))
    return Status::invalid("the artifact was compiled without a training spec, expected one with "
                           "a data block");
  Job job;
  job.seed = uint64_t(options.seed ? *options.seed : spec.integer("seed", 0));
  job.learningRate = float(optimizerRate(spec.child("optimizer")));

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
  job.fields = options.fields;
  job.data = spec.child("data");
  Config evaluation = spec.child("evaluation");
  job.evaluationData = evaluation.child("data");
  job.evaluateEveryEpochs = evaluation.integer("every_epochs", 1);
  if (job.evaluateEveryEpochs < 1)
    return Status::invalid(
        text("evaluation { every_epochs } is ", job.evaluateEveryEpochs, ", expected 1 or more"));
  if (!options.dataFolder.empty())
    job.dataFolders = {options.dataFolder};
  else if (std::string_view folder = spec.string("directory"); !folder.empty())
    job.dataFolders = {std::string(folder), "."};
  else
    job.dataFolders = {"."};

  // 3. The files it writes.
  Config checkpoint = spec.child("checkpoint");
  job.checkpointFolder =
      options.checkpoint.empty() ? checkpoint.string("directory") : options.checkpoint;
  job.checkpointEverySteps = checkpoint.integer("every_steps", 0);
  job.checkpointEveryEpochs = checkpoint.integer("every_epochs", job.checkpointEverySteps ? 0 : 1);
  job.checkpointKeep = checkpoint.integer("keep", 3);
  if (job.checkpointKeep < 1)
    return Status::invalid(
        text("checkpoint { keep } is ", job.checkpointKeep, ", expected 1 or more"));
  job.exportPath =
      options.exportPath.empty() ? spec.child("export").string("onnx") : options.exportPath;
  return job;
}

} // namespace gradc::runtime
