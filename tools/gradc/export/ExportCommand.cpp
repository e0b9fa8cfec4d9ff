// gradc export: writes the trained model as ONNX, or its weights as safetensors, from an artifact,
// a checkpoint, or both.
#include "runtime/base/Text.h"
#include "runtime/train/checkpoint/Checkpoint.h"
#include "runtime/train/checkpoint/CheckpointFolder.h"
#include "runtime/train/export/Export.h"
#include "runtime/train/job/Job.h"
#include "runtime/train/predict/Predict.h"
#include "runtime/train/rates/LossScale.h"
#include "runtime/train/spec/JobFiles.h"
#include "tools/gradc/Command.h"
#include "tools/gradc/Compilation.h"
#include "tools/gradc/Files.h"
#include "tools/gradc/export/Safetensors.h"

#include "llvm/Support/FileSystem.h"
#include <fmt/core.h>

namespace gradc {
using namespace runtime;
namespace {

struct Settings {
  std::string file, checkpoint, output;
};

/// Prints the file, and what the inputs of an exported model take. `inputs` is empty if they take
/// fields unchanged.
void sayWritten(const std::string &output, std::string_view inputs = "") {
  fmt::print("wrote {}{}{}\n", output, inputs.empty() ? "" : "; ", printable(std::string(inputs)));
}

/// Writes the model's own tensors in a session, without optimizer state.
Status writeWeights(Session &session, const std::string &output) {
  const Artifact &artifact = session.artifact();
  auto exported = ExportedValues::compute(session);
  if (!exported)
    return exported.status();
  if (exported->hasCodes())
    return Status::error(
        "the exported model holds codes of the weights: export it as .onnx, or the "
        "weights in floats from a checkpoint alone, gradc export CHECKPOINT");
  std::vector<std::vector<std::byte>> values;
  std::vector<NamedArray> arrays;
  for (uint32_t i = 0; i < artifact.states().size(); ++i) {
    const gradc_artifact_state &state = artifact.states()[i];
    std::string name(modelName(artifact.string(state.tensor.name), state.kind));
    // Skips states that are not initializers of the model, and those added by its preprocessing.
    if (state.places.count == 0 || llvm::StringRef(name).starts_with(GRADC_FITTED_PREFIX))
      continue;
    auto shape = artifact.elements<int64_t>(state.tensor.shape);
    std::vector<std::byte> &value = values.emplace_back(exportedBytes(artifact, state));
    if (Status read = exported->read(i, value.data()); !read.ok())
      return read;
    arrays.push_back(
        {std::move(name), exportedType(artifact, state), {shape.begin(), shape.end()}, value});
  }
  return writeSafetensors(output, arrays);
}

/// The same, from a checkpoint only.
Status writeWeights(const Checkpoint &checkpoint, const std::string &output) {
  std::vector<NamedArray> arrays;
  std::vector<Checkpoint::State> weights = checkpoint.weights(); // may hold the values
  for (const Checkpoint::State &state : weights)
    arrays.push_back({std::string(modelName(state.name, state.kind)),
                      state.dtype,
                      {state.shape.begin(), state.shape.end()},
                      state.bytes});
  return writeSafetensors(output, arrays);
}

Status exportArtifact(const Settings &settings, bool onnx) {
  auto artifact = Artifact::open(settings.file);
  if (!artifact)
    return artifact.status();
  Config job = Config::job(**artifact);
  const std::string folders[] = {dataFolderOf(job, {})};
  if (Status kept = expectNoInput(settings.output, filesToKeep(job, folders, settings.file));
      !kept.ok())
    return kept;
  auto session = Session::create(*artifact, {});
  if (!session)
    return session.status();
  int64_t steps = 0;
  if (!settings.checkpoint.empty()) {
    auto checkpoint = openWeights(settings.checkpoint);
    if (!checkpoint)
      return checkpoint.status();
    LossScale scale = lossScaleOf(job);
    scale.restore(checkpoint->position().runState);
    steps = int64_t(checkpoint->position().step) - scale.skipped();
    if (Status restored = checkpoint->restore(**session, /*withSlots=*/false); !restored.ok())
      return restored;
  }
  Status written = onnx ? exportOnnx(**session, settings.output, steps)
                        : writeWeights(**session, settings.output);
  if (written.ok())
    sayWritten(settings.output, onnx ? exportedInputs(**artifact) : "");
  return written;
}

Status exportModel(const Settings &settings) {
  bool onnx = llvm::StringRef(settings.output).ends_with(".onnx");
  if (!onnx && !llvm::StringRef(settings.output).ends_with(".safetensors"))
    return Status(Code::usage, "expected an output that ends in .onnx or .safetensors, found " +
                                   settings.output);
  bool folder = llvm::sys::fs::is_directory(settings.file);
  if (folder && !CheckpointFolder(settings.file).holdsAny())
    return Status::error("no checkpoint in '" + settings.file + "'");
  if (!folder && !isCheckpoint(settings.file))
    return exportArtifact(settings, onnx);
  if (onnx)
    return Status(Code::usage, "a checkpoint holds no model: expected gradc export TRAINER "
                               "--checkpoint " +
                                   settings.file + " -o " + settings.output);
  if (!settings.checkpoint.empty())
    return Status(Code::usage,
                  "expected a trainer beside --checkpoint, found the checkpoint " + settings.file);
  auto checkpoint = openWeights(settings.file);
  Status written = checkpoint ? writeWeights(*checkpoint, settings.output) : checkpoint.status();
  if (written.ok())
    sayWritten(settings.output);
  return written;
}

} // namespace

void addExport(CLI::App &app, Runner &run) {
  auto settings = std::make_shared<Settings>();
  CLI::App *command =
      app.add_subcommand("export", "write the trained model as ONNX, or its weights");
  command->add_option("file", settings->file, "a compiled trainer or a checkpoint")->required();
  command->add_option(
      "--checkpoint", settings->checkpoint,
      "whose weights to take: a checkpoint, or the best of a folder, else its newest; default: "
      "the initial ones");
  command->add_option("-o,--output", settings->output, "model.onnx or weights.safetensors")
      ->required();
  command->callback([=, &run] {
    run = [=] {
      if (int code = expectNoneOf(settings->output, {settings->file, settings->checkpoint}))
        return code;
      if (!llvm::sys::fs::is_directory(settings->file))
        if (int code = expectFile(settings->file))
          return code;
      Status status = exportModel(*settings);
      return status.ok() ? 0 : fail(status);
    };
  });
}

} // namespace gradc
