// gradc export: the trained model as ONNX, from an artifact and, where given, a checkpoint.
#include "runtime/include/gradc/gradc.h"
#include "runtime/train/CheckpointFolder.h"
#include "tools/gradc/Command.h"
#include "tools/gradc/Console.h"

#include "llvm/Support/FileSystem.h"

namespace gradc {
namespace {

struct Settings {
  std::string artifact, checkpoint, output;
};

int exportModel(const Settings &settings) {
  if (!llvm::StringRef(settings.output).ends_with(".onnx"))
    return fail(Code::usage, "expected an output that ends in .onnx, found " + settings.output);
  std::string checkpoint = settings.checkpoint;
  if (llvm::sys::fs::is_directory(checkpoint)) {
    auto latest = CheckpointFolder(checkpoint).latest();
    if (!latest)
      return fail(latest.status());
    checkpoint = *latest;
  }
  gradc_model *model = nullptr;
  gradc_session *session = nullptr;
  gradc_status status = gradc_open(settings.artifact.c_str(), &model);
  if (!status)
    status = gradc_session_create(model, nullptr, &session);
  if (!status && !checkpoint.empty())
    status = gradc_checkpoint_load(session, checkpoint.c_str());
  if (!status)
    status = gradc_export_onnx(session, settings.output.c_str());
  int code = status ? fail(Code(status), gradc_last_error()) : 0;
  gradc_session_free(session);
  gradc_close(model);
  return code;
}

} // namespace

void addExport(CLI::App &app, Runner &run) {
  auto settings = std::make_shared<Settings>();
  CLI::App *command = app.add_subcommand("export", "write the trained model as ONNX");
  command->add_option("artifact", settings->artifact, "a compiled trainer")->required();
  command->add_option("--checkpoint", settings->checkpoint,
                      "whose weights to take: a checkpoint, or the newest of a folder; default: "
                      "the initial ones");
  command->add_option("-o,--output", settings->output, "model.onnx")->required();
  command->callback([=, &run] { run = [=] { return exportModel(*settings); }; });
}

} // namespace gradc
