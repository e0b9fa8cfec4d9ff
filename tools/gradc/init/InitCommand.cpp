// gradc init: writes a first training spec for a model and data.
#include "tools/gradc/Command.h"
#include "tools/gradc/Compilation.h"
#include "tools/gradc/Files.h"
#include "tools/gradc/init/SpecDraft.h"

#include "compiler/artifact/Artifact.h"

#include "llvm/Support/FileSystem.h"
#include <fmt/core.h>

namespace gradc {
namespace {

struct InitArguments {
  std::string model, data, output = "train.textproto";
};

int init(const InitArguments &arguments) {
  if (int code = expectFile(arguments.model))
    return code;
  if (llvm::sys::fs::exists(arguments.output))
    return fail(Code::error,
                arguments.output + " is there already: name another file with -o, or remove it");
  auto context = createContext();
  Console console(*context);
  auto onnx = OnnxModel::read(*context, arguments.model);
  if (failed(onnx))
    return exitCode(Code::invalid);
  auto model = readDraftModel(**onnx, arguments.model);
  if (!model)
    return fail(model.status());
  auto data = lookAtData(arguments.data);
  if (!data)
    return fail(data.status());
  auto text = draftSpec(*context, *model, *data, arguments.output);
  if (!text)
    return fail(text.status());
  if (auto error = writeFile(arguments.output, {*text}, /*executable=*/false))
    return failToWrite(arguments.output, std::move(error));
  fmt::print("wrote {0}; read it, then: gradc check {0}, gradc train {0}\n", arguments.output);
  return exitCode(Code::ok);
}

} // namespace

void addInit(CLI::App &app, Runner &run) {
  auto arguments = std::make_shared<InitArguments>();
  CLI::App *command = app.add_subcommand("init", "a first training spec for a model and data");
  command->add_option("model", arguments->model, "an ONNX model (.onnx)")->required();
  command
      ->add_option(
          "--data", arguments->data,
          ".csv, .csv.gz, .tsv, .parquet, .npz, a folder of .npy files, or one of pictures in a "
          "folder for each class")
      ->type_name("FILE|FOLDER")
      ->required();
  command->add_option("-o", arguments->output, "the spec (default: train.textproto)")
      ->type_name("FILE");
  command->callback([=, &run] { run = [=] { return init(*arguments); }; });
}

} // namespace gradc
