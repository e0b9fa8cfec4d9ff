// gradc run: one forward pass of a model on given inputs, compiled or through the evaluator.
#include "compiler/Interpreter.h"
#include "compiler/Session.h"
#include "runtime/core/IndexCheck.h"
#include "tools/gradc/Command.h"
#include "tools/gradc/Files.h"
#include "tools/gradc/Inputs.h"
#include "tools/gradc/TensorFile.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using mlir::grad::HostTensor;

namespace gradc {
namespace {

struct Settings {
  CompileArguments compile;
  std::vector<std::string> inputs;
  std::string outputFolder = ".", entry = "forward";
  bool reference = false;
};

int writeOutputs(const Settings &settings, llvm::ArrayRef<std::string> names,
                 llvm::ArrayRef<HostTensor> values) {
  if (auto error = llvm::sys::fs::create_directories(settings.outputFolder))
    return fail(Code::error, "cannot make " + settings.outputFolder + ": " + error.message());
  for (auto [name, value] : llvm::zip(names, values)) {
    // A name may contain characters that a path must not.
    std::string file = name;
    std::replace(file.begin(), file.end(), '/', '_');
    llvm::SmallString<128> path(settings.outputFolder);
    llvm::sys::path::append(path, file + ".npy");
    for (llvm::StringRef input : settings.inputs)
      if (int code = expectNoneOf(path, input.split('=').second.str()))
        return code;
    if (Status status = writeTensor(value, path.str().str()); !status.ok())
      return fail(status);
  }
  return exitCode(Code::ok);
}

/// The rows of the inputs, where these may be fewer than the largest batch.
int64_t rowsOf(const NamedTensors &given, llvm::ArrayRef<Port> ports, int64_t batch) {
  for (const Port &port : ports)
    if (auto found = given.find(port.name); port.batched && found != given.end())
      if (auto type = found->second.getType(); type.getRank() == port.type.getRank())
        return type.getDimSize(0);
  return batch;
}

int runCompiled(const Settings &settings, mlir::MLIRContext &context, CompiledSession &session,
                const NamedTensors &given) {
  auto entry = session.find(settings.entry);
  if (!entry)
    return fail(entry.takeError());
  std::vector<Port> ports = session.inputs(context, *entry);
  int64_t batch = session.batch(*entry), rows = rowsOf(given, ports, batch);
  // More rows than the largest batch are the session's to refuse.
  auto inputs = arrange(given, portsOfRows(ports, batch, rows));
  if (!inputs)
    return fail(inputs.status());
  auto results = session.run(context, *entry, *inputs, rows);
  if (!results)
    return fail(results.takeError());
  std::vector<std::string> names;
  for (const auto &port : session.outputs(context, *entry))
    names.push_back(port.name);
  return writeOutputs(settings, names, *results);
}

int runReference(const Settings &settings, Imported &imported, const NamedTensors &given) {
  auto function = imported.module->lookupSymbol<mlir::func::FuncOp>("forward");
  auto nameOf = [](mlir::StringAttr name) { return name ? name.getValue().str() : ""; };
  std::vector<Port> ports;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    ports.push_back({nameOf(function.getArgAttrOfType<mlir::StringAttr>(i, "grad.name")),
                     mlir::cast<mlir::RankedTensorType>(function.getArgument(i).getType()),
                     GRADC_ROLE_DATA, 0});
  auto inputs = arrange(given, ports);
  if (!inputs)
    return fail(inputs.status());
  std::vector<std::string> names;
  std::vector<HostTensor> outputs;
  auto results = Interpreter(*imported.module).run(function, *inputs);
  for (auto [i, value] : llvm::enumerate(results)) {
    auto limit = function.getResultAttrOfType<mlir::IntegerAttr>(i, "grad.classes");
    if (!limit) {
      names.push_back(nameOf(function.getResultAttrOfType<mlir::StringAttr>(i, "grad.name")));
      outputs.push_back(value);
      continue;
    }
    auto node = function.getResultAttrOfType<mlir::StringAttr>(i, "grad.field");
    if (Status inside =
            runtime::checkIndices(nameOf(node), limit.getInt(), uint64_t(value.getInt(0)));
        !inside.ok())
      return fail(inside);
  }
  return writeOutputs(settings, names, outputs);
}

int runModel(const Settings &settings) {
  Compilation compilation(settings.compile);
  mlir::MLIRContext &context = compilation.context();
  auto given = readInputs(context, settings.inputs, compilation.options());
  if (!given)
    return fail(given.status());
  auto runIn = [&](llvm::Expected<std::unique_ptr<CompiledSession>> session) {
    return session ? runCompiled(settings, context, **session, *given) : fail(session.takeError());
  };
  llvm::StringRef file = settings.compile.file;
  if (settings.reference && !file.ends_with(".onnx"))
    return fail(Code::usage, "--reference evaluates a model: expected a file ending in .onnx");
  if (!isModel(file)) {
    if (int code = expectFile(settings.compile.file))
      return code;
    return runIn(CompiledSession::openFile(settings.compile.file));
  }
  if (int code = compilation.import())
    return code;
  dropBound(*given, compilation.imported());
  if (settings.reference)
    return runReference(settings, compilation.imported(), *given);
  if (int code = compilation.compile(/*directory=*/""))
    return code;
  return runIn(CompiledSession::open(std::move(compilation.artifact())));
}

} // namespace

void addRun(CLI::App &app, Runner &run) {
  auto settings = std::make_shared<Settings>();
  CLI::App *command = app.add_subcommand("run", "one forward of a model or artifact");
  settings->compile.add(*command, "an ONNX model (.onnx), a module (.mlir) or a compiled artifact");
  command->add_option("--entry", settings->entry, "what to run")->capture_default_str();
  addInputs(*command, settings->inputs);
  command->add_option("--output-dir", settings->outputFolder,
                      "where NAME.npy goes for each output");
  command->add_flag("--reference", settings->reference, "evaluate op by op instead of compiling");
  command->callback([=, &run] { run = [=] { return runModel(*settings); }; });
}

} // namespace gradc
