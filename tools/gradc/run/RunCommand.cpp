// gradc run: runs an entry of a model on given inputs, compiled or through the evaluator.
#include "compiler/Interpreter.h"
#include "compiler/Session.h"
#include "compiler/import/onnx/Text.h"
#include "dialects/grad/EntryAttributes.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Passes.h"
#include "runtime/base/ShortFloats.h"
#include "runtime/base/Text.h"
#include "runtime/core/artifact/IndexCheck.h"
#include "runtime/include/gradc/entries.h"
#include "runtime/train/predict/Predict.h"
#include "runtime/train/spec/JobFiles.h"
#include "tools/gradc/Command.h"
#include "tools/gradc/Files.h"
#include "tools/gradc/Inputs.h"
#include "tools/gradc/run/RunRows.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

#include <cmath>

using mlir::grad::HostTensor;

namespace gradc {
namespace {

struct Settings {
  CompileArguments compile;
  std::vector<std::string> inputs;
  std::string outputFolder = ".", entry, checkpoint;
  int64_t memoryMb = 0;
  bool reference = false;
};

/// The files for the outputs of these names. Creates the folder.
Result<std::vector<std::string>> outputFiles(const Settings &settings,
                                             llvm::ArrayRef<std::string> names) {
  if (auto error = llvm::sys::fs::create_directories(settings.outputFolder))
    return Status::error("cannot make " + settings.outputFolder + ": " + error.message());
  std::vector<std::string> files;
  for (std::string name : names) {
    // A name may contain characters that a path must not contain.
    std::replace(name.begin(), name.end(), '/', '_');
    llvm::SmallString<128> path(settings.outputFolder);
    llvm::sys::path::append(path, name + ".npy");
    files.push_back(path.str().str());
  }
  return files;
}

/// Refuses to write over input files.
int expectNoInput(const Settings &settings, llvm::ArrayRef<std::string> files) {
  for (const std::string &file : files)
    for (llvm::StringRef input : settings.inputs)
      if (int code = expectNoneOf(file, input.split('=').second.str()))
        return code;
  return 0;
}

/// Prints "out/logits.npy: f32 [32, 10], from -3.1 to 4.2, mean 0.1", or only the type if there are
/// no values.
void sayWritten(llvm::StringRef file, const Port &port, const HostTensor *value) {
  mlir::RankedTensorType type = port.type;
  llvm::outs() << file << ": " << (port.isText ? describeText(type) : describe(type));
  if (!value || value->size() == 0 || port.isText) {
    llvm::outs() << "\n";
    return;
  }
  double least = HUGE_VAL, most = -HUGE_VAL, sum = 0;
  int64_t notFinite = 0;
  for (int64_t i = 0; i < value->size(); ++i) {
    double x = type.getElementType().isIntOrIndex() ? double(value->getInt(i)) : value->getFloat(i);
    notFinite += !std::isfinite(x);
    least = std::min(least, x);
    most = std::max(most, x);
    sum += x;
  }
  llvm::outs() << llvm::formatv(", from {0} to {1}, mean {2}", runtime::text(float(least)),
                                runtime::text(float(most)),
                                runtime::text(float(sum / double(value->size()))));
  if (notFinite)
    llvm::outs() << ", " << notFinite << " not finite";
  llvm::outs() << "\n";
}

std::vector<std::string> namesOf(llvm::ArrayRef<Port> ports) {
  std::vector<std::string> names;
  for (const Port &port : ports)
    names.push_back(port.name);
  return names;
}

int writeOutputs(const Settings &settings, llvm::ArrayRef<Port> ports,
                 llvm::ArrayRef<HostTensor> values) {
  auto files = outputFiles(settings, namesOf(ports));
  if (!files)
    return fail(files.status());
  if (int code = expectNoInput(settings, *files))
    return code;
  for (auto [file, port, value] : llvm::zip(*files, ports, values))
    if (Status status = writeTensor(value, port.isText, file); !status.ok())
      return fail(status);
  for (auto [file, port, value] : llvm::zip(*files, ports, values))
    sayWritten(file, port, &value);
  return exitCode(Code::ok);
}

/// The number of rows of the inputs, if it may differ from the largest batch.
int64_t rowsOf(const NamedViews &given, llvm::ArrayRef<Port> ports, int64_t batch) {
  for (const Port &port : ports)
    if (auto found = given.find(port.name); port.batched && found != given.end())
      if (auto type = found->second.getType(); type.getRank() == port.type.getRank())
        return type.getDimSize(0);
  return batch;
}

/// The entry named by --entry, or the one that the artifact is made for.
llvm::Expected<uint32_t> findEntry(CompiledSession &session, const std::string &name) {
  if (!name.empty())
    return session.find(name);
  auto entry = session.find(GRADC_GRADIENTS_ENTRY);
  if (entry)
    return entry;
  llvm::consumeError(entry.takeError());
  return session.find(GRADC_FORWARD_ENTRY);
}

/// Runs more rows than the largest batch, in several calls.
int runManyRows(const Settings &settings, mlir::MLIRContext &context, CompiledSession &session,
                uint32_t entry, int64_t rows, llvm::ArrayRef<TensorView> inputs,
                llvm::ArrayRef<std::string> names) {
  if (llvm::StringRef node = session.couplingNode(entry); !node.empty())
    return fail(Code::usage, "expected at most " + llvm::Twine(session.batch(entry)) +
                                 " rows, found " + llvm::Twine(rows) + ": node \"" + node +
                                 "\" couples rows, so they must be one batch; compile it for a "
                                 "larger one");
  for (const Port &port : session.outputs(context, entry))
    if (port.role == GRADC_ROLE_EXTENT)
      return fail(Code::usage, "expected at most " + llvm::Twine(session.batch(entry)) +
                                   " rows, found " + llvm::Twine(rows) + ": how long output \"" +
                                   port.field +
                                   "\" is, each call finds out; compile it for a "
                                   "larger batch");
  auto files = outputFiles(settings, names);
  if (!files)
    return fail(files.status());
  if (int code = expectNoInput(settings, *files))
    return code;
  Status status = runRows(context, session, entry, rows, inputs, *files);
  if (!status.ok())
    return fail(status);
  std::vector<Port> whole =
      portsOfRows(session.outputs(context, entry), session.batch(entry), rows);
  for (auto [file, port] : llvm::zip(*files, whole))
    sayWritten(file, port, /*value=*/nullptr);
  return exitCode(Code::ok);
}

/// Takes the weights of a training instead of the compiled-in weights.
int takeWeights(CompiledSession &session, const std::string &path) {
  auto checkpoint = runtime::openWeights(path);
  if (!checkpoint)
    return fail(checkpoint.status());
  auto bytesOf = [](const runtime::Checkpoint::State &state) {
    return llvm::ArrayRef(reinterpret_cast<const char *>(state.bytes.data()), state.bytes.size());
  };
  // Averages that the checkpoint lacks are its weights, as in a training that begins there.
  for (const runtime::Checkpoint::State &state : checkpoint->weights())
    if (state.kind != GRADC_STATE_AVERAGE) {
      auto wide = runtime::isShortFloat(state.dtype) ? state.as(GRADC_F32) : state;
      std::string name = std::string(state.name) + GRADC_AVERAGE_SUFFIX;
      llvm::consumeError(session.setState(name, bytesOf(wide)));
    }
  // A training artifact also contains averages, and what its preprocessing goes by; an artifact of
  // a model alone only contains weights.
  for (const runtime::Checkpoint::State &state : checkpoint->states())
    if (state.isWeight() || llvm::StringRef(state.name).starts_with(GRADC_FITTED_PREFIX))
      llvm::consumeError(session.setState(state.name, bytesOf(state)));
  for (const runtime::Checkpoint::State &state : checkpoint->weights())
    if (auto error = session.setState(runtime::modelName(state.name, state.kind), bytesOf(state)))
      return fail(Code::error, "cannot take the weights of " + checkpoint->file() + ": " +
                                   llvm::toString(std::move(error)));
  return 0;
}

int runCompiled(const Settings &settings, mlir::MLIRContext &context, CompiledSession &session,
                const NamedViews &given) {
  if (!settings.checkpoint.empty())
    if (int code = takeWeights(session, settings.checkpoint))
      return code;
  auto entry = findEntry(session, settings.entry);
  if (!entry)
    return fail(entry.takeError());
  if (int64_t bytes = memoryOfRun(context, session, *entry);
      settings.memoryMb && bytes > settings.memoryMb << 20)
    return fail(Code::doesNotFit, "--memory-mb " + llvm::Twine(settings.memoryMb) +
                                      " is too small: expected at least " +
                                      llvm::Twine((bytes >> 20) + 1) + ", for " +
                                      llvm::Twine(session.batch(*entry)) + " rows at a time");
  std::vector<Port> ports = session.inputs(context, *entry);
  int64_t batch = session.batch(*entry), rows = rowsOf(given, ports, batch);
  auto inputs = arrange(given, portsOfRows(ports, batch, rows));
  if (!inputs)
    return fail(inputs.status());
  std::vector<Port> outputs = portsOfRows(session.outputs(context, *entry), batch, rows);
  if (rows > batch)
    return runManyRows(settings, context, session, *entry, rows, *inputs, namesOf(outputs));
  llvm::SmallVector<const void *> from;
  llvm::SmallVector<void *> to;
  std::vector<HostTensor> results;
  for (const TensorView &input : *inputs)
    from.push_back(addressOf(input.bytes));
  for (const Port &port : outputs)
    results.emplace_back(port.type);
  for (HostTensor &result : results)
    to.push_back(result.mutableBytes().data());
  if (auto error = session.run(*entry, rows, from, to))
    return fail(std::move(error));
  cutToExtents(outputs, results);
  return writeOutputs(settings, outputs, results);
}

int runReference(const Settings &settings, Imported &imported, const NamedTensors &given) {
  mlir::PassManager differentiate(imported.module->getContext(),
                                  mlir::ModuleOp::getOperationName());
  differentiate.addPass(createDifferentiate());
  if (mlir::failed(differentiate.run(*imported.module)))
    return exitCode(Code::invalid);
  auto function = imported.module->lookupSymbol<mlir::func::FuncOp>(GRADC_FORWARD_ENTRY);
  auto nameOf = [](mlir::StringAttr name) { return name ? name.getValue().str() : ""; };
  auto roleOf = [&](unsigned i) {
    auto role = function.getArgAttrOfType<mlir::StringAttr>(i, mlir::grad::roleName);
    for (gradc_role draws : {GRADC_ROLE_SEED, GRADC_ROLE_COUNTER})
      if (nameOf(role) == gradc_role_name(draws))
        return draws;
    return GRADC_ROLE_DATA;
  };
  std::vector<Port> ports;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    ports.push_back({nameOf(function.getArgAttrOfType<mlir::StringAttr>(i, mlir::grad::portName)),
                     mlir::cast<mlir::RankedTensorType>(function.getArgument(i).getType()),
                     roleOf(i), 0, /*batched=*/false, /*field=*/"",
                     function.getArgAttr(i, "grad.text") != nullptr});
  auto elementOf = [](mlir::RankedTensorType type, mlir::Attribute element) {
    auto own = mlir::dyn_cast_or_null<mlir::TypeAttr>(element);
    return own ? type.clone(own.getValue()) : type;
  };
  for (auto [i, port] : llvm::enumerate(ports))
    port.type = elementOf(port.type, function.getArgAttr(unsigned(i), "grad.element"));
  auto inputs = arrange(given, ports);
  if (!inputs)
    return fail(inputs.status());
  // Narrow types are bytes in the graph.
  for (auto [argument, input] : llvm::zip_equal(function.getArguments(), *inputs))
    input = HostTensor(mlir::cast<mlir::RankedTensorType>(argument.getType()), input.bytes());
  std::vector<Port> outputs;
  std::vector<HostTensor> values;
  auto results = Interpreter(*imported.module).run(function, *inputs);
  for (auto [i, value] : llvm::enumerate(results)) {
    auto text = [&, i = i](llvm::StringRef attribute) {
      return nameOf(function.getResultAttrOfType<mlir::StringAttr>(i, attribute));
    };
    auto classes = function.getResultAttrOfType<mlir::IntegerAttr>(i, "grad.classes");
    if (text(mlir::grad::roleName) == gradc_role_name(GRADC_ROLE_INDICES)) {
      Status inside = runtime::checkIndices(text(mlir::grad::fieldName), classes.getInt(),
                                            uint64_t(value.getInt(0)));
      if (!inside.ok())
        return fail(inside);
      continue;
    }
    value =
        HostTensor(elementOf(value.getType(), function.getResultAttr(unsigned(i), "grad.element")),
                   value.bytes());
    bool isExtent = text(mlir::grad::roleName) == gradc_role_name(GRADC_ROLE_EXTENT);
    outputs.push_back({text(mlir::grad::portName), value.getType(),
                       isExtent ? GRADC_ROLE_EXTENT : GRADC_ROLE_OUTPUT,
                       classes ? classes.getInt() : 0, /*batched=*/false,
                       text(mlir::grad::fieldName),
                       function.getResultAttr(i, "grad.text") != nullptr});
    values.push_back(value);
  }
  cutToExtents(outputs, values);
  return writeOutputs(settings, outputs, values);
}

/// Runs an artifact. It takes any number of rows, so its inputs stay in their files.
int runArtifact(const Settings &settings) {
  Compilation compilation(settings.compile);
  auto given = openInputs(compilation.context(), settings.inputs);
  if (!given)
    return fail(given.status());
  if (int code = expectFile(settings.compile.file))
    return code;
  if (runtime::isCheckpoint(settings.compile.file))
    return fail(Code::usage, "a checkpoint holds weights alone: expected gradc run MODEL|ARTIFACT "
                             "--checkpoint " +
                                 settings.compile.file);
  if (isArtifact(settings.compile.file)) {
    if (int code = settings.compile.expectNoneForArtifact())
      return code;
  } else if (llvm::StringRef(settings.compile.file).ends_with(".textproto")) {
    return fail(Code::usage, "expected a model or an artifact, found the training spec " +
                                 settings.compile.file + ": gradc compile it first");
  }
  auto session = CompiledSession::openFile(settings.compile.file);
  return session ? runCompiled(settings, compilation.context(), **session, *given)
                 : fail(session.takeError());
}

int runModel(const Settings &settings) {
  llvm::StringRef file = settings.compile.file;
  if (settings.reference && !file.ends_with(".onnx"))
    return fail(Code::usage, "--reference evaluates a model: expected a file ending in .onnx");
  if (settings.reference && !settings.checkpoint.empty())
    return fail(Code::usage, "--reference evaluates the model as it is: it does not go with "
                             "--checkpoint");
  if (!isModel(file))
    return runArtifact(settings);
  Compilation compilation(settings.compile);
  mlir::MLIRContext &context = compilation.context();
  auto given = readInputs(context, settings.inputs, compilation.options());
  if (!given)
    return fail(given.status());
  if (int code = compilation.import())
    return code;
  dropBound(*given, compilation.imported());
  if (settings.reference)
    return runReference(settings, compilation.imported(), *given);
  if (int code = compilation.compile(/*directory=*/""))
    return code;
  auto session = CompiledSession::open(std::move(compilation.artifact()));
  return session ? runCompiled(settings, context, **session, viewsOf(*given))
                 : fail(session.takeError());
}

} // namespace

void addRun(CLI::App &app, Runner &run) {
  auto settings = std::make_shared<Settings>();
  CLI::App *command =
      app.add_subcommand("run", "one forward of a model or artifact, or its gradients");
  settings->compile.add(*command, "an ONNX model (.onnx), a module (.mlir) or a compiled artifact");
  settings->compile.oneBucket = true; // for the given number of rows
  command->add_option("--entry", settings->entry,
                      "default: gradients where there are any, else forward");
  addInputs(*command, settings->inputs);
  command->add_option("--checkpoint", settings->checkpoint,
                      "the weights: a checkpoint, or the best or newest of a folder");
  command->add_option("--output-dir", settings->outputFolder,
                      "where NAME.npy goes for each output");
  command
      ->add_option("--memory-mb", settings->memoryMb,
                   "refuse to take more memory than this; it changes no result")
      ->check(CLI::Range(int64_t(1), int64_t(1) << 30));
  command->add_flag("--reference", settings->reference, "evaluate op by op instead of compiling");
  command->callback([=, &run] { run = [=] { return runModel(*settings); }; });
}

} // namespace gradc
