// gradc run: one forward of a model on .npy inputs, compiled or through the evaluator.
#include "compiler/Interpreter.h"
#include "compiler/Session.h"
#include "compiler/import/OnnxModel.h"
#include "tools/gradc/Command.h"
#include "tools/gradc/TensorFile.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using mlir::grad::HostTensor;

namespace gradc {
namespace {

struct Settings {
  CompileArguments compile;
  std::vector<std::string> inputs;
  std::string outputFolder = ".";
  bool reference = false;
};

using Named = std::map<std::string, HostTensor>;

/// The inputs in the entry's order, or what does not fit.
Result<std::vector<HostTensor>> arrange(const Named &given,
                                        llvm::ArrayRef<CompiledSession::Port> ports) {
  std::vector<HostTensor> ordered;
  std::string names;
  for (const auto &port : ports)
    names += (names.empty() ? "" : ", ") + port.name;
  for (const auto &[name, value] : given)
    if (llvm::none_of(ports, [&](auto &port) { return port.name == name; }))
      return Status(Code::usage, "no input \"" + name + "\": the model has " + names);
  for (const auto &port : ports) {
    auto it = given.find(port.name);
    if (it == given.end())
      return Status(Code::usage, "no value for input \"" + port.name + "\": add --input " +
                                     port.name + "=FILE.npy");
    if (it->second.getType() != port.type)
      return Status(Code::invalid, "input \"" + port.name + "\": expected " + describe(port.type) +
                                       ", found " + describe(it->second.getType()));
    ordered.push_back(it->second);
  }
  return ordered;
}

int writeOutputs(const Settings &settings, llvm::ArrayRef<std::string> names,
                 llvm::ArrayRef<HostTensor> values) {
  if (auto error = llvm::sys::fs::create_directories(settings.outputFolder))
    return fail(Code::error, "cannot make " + settings.outputFolder + ": " + error.message());
  for (auto [name, value] : llvm::zip(names, values)) {
    // A name may hold what a path must not.
    std::string file = name;
    std::replace(file.begin(), file.end(), '/', '_');
    llvm::SmallString<128> path(settings.outputFolder);
    llvm::sys::path::append(path, file + ".npy");
    if (Status status = writeTensor(value, path.str().str()); !status.ok())
      return fail(status);
  }
  return exitCode(Code::ok);
}

int runCompiled(const Settings &settings, mlir::MLIRContext &context, CompiledSession &session,
                const Named &given) {
  auto entry = session.find("forward");
  if (!entry)
    return fail(Code::error, llvm::toString(entry.takeError()));
  auto inputs = arrange(given, session.inputs(context, *entry));
  if (!inputs)
    return fail(inputs.status());
  auto results = session.run(context, *entry, *inputs);
  if (!results)
    return fail(Code::error, llvm::toString(results.takeError()));
  std::vector<std::string> names;
  for (const auto &port : session.outputs(context, *entry))
    names.push_back(port.name);
  return writeOutputs(settings, names, *results);
}

int runReference(const Settings &settings, Imported &imported, const Named &given) {
  auto function = imported.module->lookupSymbol<mlir::func::FuncOp>("forward");
  auto nameOf = [](mlir::StringAttr name) { return name ? name.getValue().str() : ""; };
  std::vector<CompiledSession::Port> ports;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    ports.push_back({nameOf(function.getArgAttrOfType<mlir::StringAttr>(i, "grad.name")),
                     mlir::cast<mlir::RankedTensorType>(function.getArgument(i).getType()),
                     GRADC_ROLE_DATA, 0});
  auto inputs = arrange(given, ports);
  if (!inputs)
    return fail(inputs.status());
  std::vector<std::string> names;
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    names.push_back(nameOf(function.getResultAttrOfType<mlir::StringAttr>(i, "grad.name")));
  return writeOutputs(settings, names, Interpreter(*imported.module).run(function, *inputs));
}

int runModel(Settings &settings) {
  if (int code = settings.compile.finish())
    return code;
  auto context = createContext();
  Console console(*context);
  Named given;
  for (llvm::StringRef text : settings.inputs) {
    auto [name, path] = text.split('=');
    if (name.empty() || path.empty())
      return fail(Code::usage, "expected --input NAME=FILE.npy, found " + text);
    auto value = readTensor(*context, path.str());
    if (!value)
      return fail(value.status());
    if (value->size() == 0)
      return fail(Code::invalid, "input \"" + name + "\": " + path + " is empty");
    // The given tensors bind the model's symbolic dims.
    settings.compile.options.shapes.try_emplace(name.str(), value->getShape());
    given[name.str()] = std::move(*value);
  }
  if (!llvm::StringRef(settings.compile.file).ends_with(".onnx")) {
    if (settings.reference)
      return fail(Code::usage, "--reference evaluates a model: expected a file ending in .onnx");
    auto session = CompiledSession::openFile(settings.compile.file);
    return session ? runCompiled(settings, *context, **session, given)
                   : fail(Code::error, llvm::toString(session.takeError()));
  }
  auto imported = importFile(*context, settings.compile.file, settings.compile.options);
  if (failed(imported))
    return exitCode(Code::invalid);
  if (settings.reference)
    return runReference(settings, *imported, given);
  auto program = planProgram(std::move(*imported), settings.compile.options);
  if (failed(program))
    return exitCode(Code::invalid);
  auto artifact = compileProgram(*program, "", settings.compile.options);
  if (failed(artifact))
    return exitCode(Code::invalid);
  auto session = CompiledSession::open(std::move(*artifact));
  return session ? runCompiled(settings, *context, **session, given)
                 : fail(Code::error, llvm::toString(session.takeError()));
}

} // namespace

void addRun(CLI::App &app, Runner &run) {
  auto settings = std::make_shared<Settings>();
  CLI::App *command = app.add_subcommand("run", "one forward of a model or artifact");
  settings->compile.add(*command, "an ONNX model (.onnx) or a compiled artifact");
  command->add_option("--input", settings->inputs, "NAME=FILE.npy, once an input")
      ->type_name("NAME=FILE");
  command->add_option("--output-dir", settings->outputFolder,
                      "where NAME.npy goes for each output");
  command->add_flag("--reference", settings->reference, "evaluate op by op instead of compiling");
  command->callback([=, &run] { run = [=] { return runModel(*settings); }; });
}

} // namespace gradc
