// A training job: its spec applied to the model, and the entries that the spec asks for.
#include "dialects/Pch.h"

#include "compiler/import/ModuleImport.h"
#include "compiler/import/data/MapModels.h"
#include "compiler/import/data/Preprocessing.h"
#include "compiler/import/derivatives/Gradients.h"
#include "compiler/import/derivatives/LossGradients.h"
#include "compiler/import/job/Distribution.h"
#include "compiler/import/job/EqualAverage.h"
#include "compiler/import/job/StepOptions.h"
#include "compiler/import/job/TrainEntries.h"
#include "compiler/import/objective/Objective.h"
#include "compiler/import/objective/Predictions.h"
#include "compiler/import/parameters/ParameterChecks.h"
#include "compiler/import/parameters/Pruning.h"
#include "compiler/import/support/ErrorNote.h"
#include "compiler/import/support/Names.h"
#include "compiler/import/transfer/FakeQuantization.h"
#include "compiler/import/transfer/Transfer.h"
#include "runtime/include/gradc/entries.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

namespace {
/// Imports the entries that a training spec asks for.
class JobImport {
public:
  JobImport(SpecFile &spec, OnnxModel &model, const ImportOptions &options)
      : spec(spec), model(model), given(options), options(options), import(model, this->options),
        groups(spec, model), teachers(spec, import.symbols) {}

  FailureOr<Imported> run(MLIRContext &context);

private:
  LogicalResult applySpec();
  LogicalResult chooseTrained();
  LogicalResult checkNames();
  LogicalResult importSteps(StringRef name, const StepSpec &step, spec::Data &data,
                            const DataSet &set, bool training);
  LogicalResult importLengths(StringRef name, const StepSpec &step, const DataSet &set,
                              bool training);
  LogicalResult importStep(StringRef name, const StepSpec &step, const DataSet &set, int64_t batch,
                           bool training, int64_t microBatches);
  ImportOptions optionsFor(const DataSet &set) const;
  Value bindInput(EntryImport &entry, SpecValues &values, const onnx::ValueInfoProto &input,
                  const DataSet &set);
  bool sayingNews(MLIRContext &context, llvm::function_ref<LogicalResult()> importEntry);
  std::vector<FedInput> fedInputs(const DataSet &set) const;
  LogicalResult prepareExport(const DataSet &set);
  std::string fieldOf(StringRef input) const;

  SpecFile &spec;
  OnnxModel &model;
  const ImportOptions &given;
  ImportOptions options; ///< with the sizes that the data's longest rows give to dims
  ModuleImport import;
  Groups groups;
  Teachers teachers;
  std::vector<Adapter> adapters;
  QuantizedModel quantized;
  DimsOfWeights weights;
  llvm::StringSet<> said;                            ///< problems, by place
  std::map<std::string, std::string> exportedFields; ///< by graph input of the exported model
};
} // namespace

/// The field that feeds a graph input: the one named in the spec, or the one of the same name.
std::string JobImport::fieldOf(StringRef input) const {
  for (const spec::Feed &feed : spec.get().feed())
    if (feed.input() == input)
      return feed.field();
  return input.str();
}

std::vector<FedInput> JobImport::fedInputs(const DataSet &set) const {
  std::vector<FedInput> inputs;
  for (const std::string &input : model.inputNames()) {
    std::string field = fieldOf(input);
    auto steps = set.steps.find(field);
    inputs.push_back({input, field, steps == set.steps.end() ? nullptr : &steps->second});
  }
  return inputs;
}

/// Prepares the model that is exported; later steps work on it. `set`: the data that evaluation
/// uses.
LogicalResult JobImport::prepareExport(const DataSet &set) {
  import.exportsWeightsApart = spec.get().export_().external_data();
  bool prepares = spec.get().export_().preprocessing();
  if (prepares && !set.known)
    return emitError(spec.at({"export", "preprocessing"}))
           << "an export with preprocessing needs the types of the data's fields, but "
           << set.whyUnknown;
  if (llvm::any_of(spec.get().data().source().csv().field(),
                   [](const spec::CsvField &field) { return field.has_categories(); }))
    model.edit([&](onnx::ModelProto &proto) { describeCategories(proto, spec.get()); });
  std::vector<FedInput> inputs = fedInputs(set);
  for (const FedInput &fed : inputs)
    exportedFields[fed.input] = fed.field;
  if (llvm::all_of(inputs, [](const FedInput &fed) { return !fed.steps; }))
    return success();
  model.edit([&](onnx::ModelProto &proto) {
    Preprocessing preprocessing;
    if (prepares)
      preprocessing = addPreprocessing(proto, inputs);
    import.imported.exportedInputs =
        describeInputs(proto, inputs, prepares ? &preprocessing : nullptr);
    import.imported.fitted = preprocessing.fitted;
    for (const auto &[input, field] : preprocessing.fields)
      exportedFields[input] = field;
  });
  return success();
}

/// Checks every name in the spec that must be in the model.
LogicalResult JobImport::checkNames() {
  std::vector<std::string> inputs = model.inputNames(), outputs = model.outputNames();
  llvm::StringSet<> computed = model.computedNames();
  bool ok = true;
  llvm::StringSet<> fed;
  for (auto [i, feed] : llvm::enumerate(spec.get().feed())) {
    if (!llvm::is_contained(inputs, feed.input())) {
      unknownName(spec.at({{"feed", int(i)}, "input"}), "graph input", feed.input(), inputs);
      ok = false;
    }
    if (!fed.insert(feed.input()).second) {
      emitError(spec.at({{"feed", int(i)}}))
          << "graph input \"" << feed.input() << "\" is fed twice";
      ok = false;
    }
  }
  SmallVector<NamedOutput> wanted = outputsOf(spec, StepSpec(spec.get()));
  for (const StepSpec &step : stepsOf(spec.get()))
    if (step.isBlock())
      llvm::append_range(wanted, outputsOf(spec, step));
  for (const NamedOutput &output : wanted)
    if (!computed.contains(output.name)) {
      unknownName(output.where, "output", output.name, outputs);
      ok = false;
    }
  return success(ok);
}

/// Decides by the spec which parameters train.
LogicalResult JobImport::chooseTrained() {
  std::vector<std::string> trainable(spec.get().trainable().begin(), spec.get().trainable().end()),
      freeze(spec.get().freeze().begin(), spec.get().freeze().end());
  LogicalResult named = import.states.setPatterns(
      trainable, freeze, [&](int i) { return spec.at({{"trainable", i}}); },
      [&](int i) { return spec.at({{"freeze", i}}); });
  LogicalResult grouped = groups.resolve(), blocks = checkTrains(spec, model);
  for (const std::string &name : groups.frozen())
    import.states.freeze(name);
  if (!adapters.empty())
    import.states.trainNothingElse("lora trains only its adapters and what trainable names");
  for (const Adapter &adapter : adapters)
    for (StringRef name : {adapter.down, adapter.up})
      import.states.train(name);
  return success(succeeded(named) && succeeded(grouped) && succeeded(blocks));
}

LogicalResult JobImport::applySpec() {
  bool ok = succeeded(applyTies(spec, model));
  FailureOr<std::vector<Adapter>> added = applyTransfer(spec, model);
  if (succeeded(added))
    adapters = std::move(*added);
  weights = dimsOfWeights(spec, model);
  FailureOr<QuantizedModel> rounded = quantize(spec, model);
  if (succeeded(rounded))
    quantized = std::move(*rounded);
  import.determined = quantized.determined;
  ok &= succeeded(added) && succeeded(rounded) && succeeded(chooseTrained());
  ok &= succeeded(teachers.read([&](StringRef input) { return fieldOf(input); }));
  ok &= succeeded(addLossGradients(spec, model));
  return success(ok && succeeded(checkNames()));
}

/// Binds a graph input to the batch of its field's rows.
Value JobImport::bindInput(EntryImport &entry, SpecValues &values,
                           const onnx::ValueInfoProto &input, const DataSet &set) {
  FailureOr<RankedTensorType> type = entry.inputType(input);
  if (failed(type))
    return nullptr;
  Location where = model.nameLoc(input.name());
  std::string field = fieldOf(input.name());
  for (auto [i, feed] : llvm::enumerate(spec.get().feed()))
    if (feed.input() == input.name())
      where = spec.at({{"feed", int(i)}});
  if (type->getRank() == 0 || type->getDimSize(0) != entry.batchSize()) {
    emitError(where) << "expected graph input \"" << input.name() << "\" to have a first dim of "
                     << entry.batchSize() << ", the batch, found " << describe(*type)
                     << "; export the model with a dynamic batch, or set batch.size"
                     << suggestMicroBatches(spec, entry, *type);
    return nullptr;
  }
  FailureOr<Value> argument = values.field(field, *type, input.name(), where);
  if (failed(argument))
    return nullptr;
  if ((*argument).getType() == *type) {
    entry.markBatch(input, *argument);
    return *argument;
  }
  auto found = cast<RankedTensorType>((*argument).getType());
  auto error = emitError(where) << "expected field \"" << field << "\" of \"" << set.file
                                << "\" to be " << describe(*type) << " for graph input \""
                                << input.name() << "\", found " << describe(found);
  if (found.getShape() == type->getShape() && type->getElementType().isF32())
    error << "; add stage { map { field: \"" << field << "\" cast: F32 } }";
  else if (!set.buckets.empty())
    error << "; for batches by length export the model with a dynamic length";
  return nullptr;
}

/// Gives symbolic dims of graph inputs the sizes of the fields that feed them.
ImportOptions JobImport::optionsFor(const DataSet &set) const {
  return bindDims(model, given, [&](StringRef input) -> std::optional<ArrayRef<int64_t>> {
    auto field = set.fields.find(fieldOf(input));
    if (field == set.fields.end())
      return std::nullopt;
    return field->second.shape;
  });
}

/// `batch`: rows of one of the parts that the step is computed in.
LogicalResult JobImport::importStep(StringRef name, const StepSpec &step, const DataSet &set,
                                    int64_t batch, bool training, int64_t microBatches) {
  ImportOptions own = optionsFor(set);
  EntryImport entry(model, import.states, own, name, batch, training);
  if (training)
    setStepOptions(entry, spec, set.rows, microBatches);
  SpecValues values(entry, spec, step, set);
  auto bind = [&](const onnx::ValueInfoProto &input) {
    return bindInput(entry, values, input, set);
  };
  std::vector<std::string> outputs;
  for (const NamedOutput &output : outputsOf(spec, step))
    outputs.push_back(output.name);
  if (failed(entry.importNodes(outputs, bind)) || failed(buildObjective(values, teachers)))
    return failure();
  if (training) {
    entry.scalarArgument(GRADC_ROLE_LEARNING_RATE);
    entry.scalarArgument(GRADC_ROLE_STEP);
    if (spec.get().schedule().one_cycle().cycle_momentum())
      entry.scalarArgument(GRADC_ROLE_MOMENTUM);
    describeUpdate(entry.getFunction(), spec.get(), step);
  }
  entry.finish();
  remarkOnRanks(entry.getFunction(), spec);
  return success();
}

/// Imports one entry per length of batches, up to the first that cannot be imported.
LogicalResult JobImport::importLengths(StringRef name, const StepSpec &step, const DataSet &set,
                                       bool training) {
  if (!set.known)
    return emitError(spec.at(set.place))
           << "entries for batches of each length need the data to compile, but " << set.whyUnknown;
  int64_t parts = training ? spec.get().micro_batches() : 1;
  for (const gradc_data_bucket &bucket : llvm::reverse(set.buckets)) {
    bool isLongest = &bucket == &set.buckets.back();
    std::string twin = isLongest ? name.str() : lengthTwin(name, bucket.length);
    // All lengths share one graph: most errors of one are those of the others.
    if ((training && failed(checkStepOptions(spec, model, bucket.batch))) ||
        failed(importStep(twin, step, set.ofLength(bucket), bucket.batch / parts, training, parts)))
      return failure();
  }
  return success();
}

/// Imports an entry, and its smaller twin for the remaining rows.
LogicalResult JobImport::importSteps(StringRef name, const StepSpec &step, spec::Data &data,
                                     const DataSet &set, bool training) {
  if (!set.buckets.empty())
    return importLengths(name, step, set, training);
  auto stage =
      llvm::find_if(*data.mutable_stage(), [](const spec::Stage &one) { return one.has_batch(); });
  spec::Batch &block = *stage->mutable_batch();
  int64_t batch = block.size();
  bool isCounted = set.rows != DataSet::unknown;
  if (isCounted && block.drop_remainder() && set.rows < batch)
    return emitError(spec.at(set.place))
           << "expected at least one batch of " << batch << " rows, \"" << set.file << "\" has "
           << set.rows << " and drop_remainder leaves an incomplete one out";
  if (training && failed(checkStepOptions(spec, model, batch)))
    return failure();
  int64_t parts = training ? spec.get().micro_batches() : 1;
  if (failed(importStep(name, step, set, batch / parts, training, parts)))
    return failure();
  if (block.drop_remainder())
    return success();
  if (!isCounted && (data.on_error() == spec::SKIP || parts > 1)) {
    emitRemark(spec.at(set.place)) << set.whyUnknown
                                   << ", so the size of the last batch is not known: an "
                                      "incomplete one is dropped";
    block.set_drop_remainder(true);
    return success();
  }
  int64_t rest = isCounted ? set.rows % batch : 0;
  if (!rest)
    return success();
  std::string tail = (name + GRADC_TAIL_SUFFIX).str();
  ErrorNote explain(import.module->getContext(), ofLastBatch(rest, batch));
  if (training)
    parts = countMicroBatches(spec, batch, rest);
  return importStep(tail, step, set, rest / parts, training, parts);
}

/// Imports an entry without repeating problems that an earlier entry has reported; returns whether
/// it succeeded.
bool JobImport::sayingNews(MLIRContext &context, llvm::function_ref<LogicalResult()> importEntry) {
  std::vector<std::string> inputs = model.inputNames();
  std::vector<std::string> news;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
      return failure();
    // At a node, the message may differ for another batch; elsewhere it does not.
    std::string key;
    llvm::raw_string_ostream out(key);
    out << diagnostic.getLocation();
    auto name = dyn_cast<NameLoc>(diagnostic.getLocation());
    if (!name || llvm::is_contained(inputs, name.getName().getValue()))
      out << diagnostic;
    if (said.contains(key))
      return success();
    news.push_back(key);
    return failure();
  });
  bool ok = succeeded(importEntry());
  for (const std::string &key : news)
    said.insert(key);
  return ok;
}

/// The data of the evaluation, or else those to train on.
static const DataSet &evaluated(ArrayRef<DataSet> sets) { return sets[sets.size() > 1]; }

FailureOr<Imported> JobImport::run(MLIRContext &context) {
  spec::Training &training = spec.edit();
  setDirections(training);
  // All errors in spec, names, and data are reported before the first node is imported.
  LogicalResult applied = applySpec();
  MapModels maps(spec, import.symbols);
  FailureOr<std::vector<DataSet>> sets = describeTrainingData(context, spec, &maps, &model);
  if (failed(applied) || failed(sets) || failed(countAveragedSteps(spec, sets->front().rows)))
    return failure();
  options = optionsFor(evaluated(*sets));
  // Entries use different parts of the graph, so all are imported before the job fails on errors.
  bool ok = true;
  SmallVector<TrainEntry> entries = trainEntries(spec, model, groups);
  SmallVector<std::string> twins = {""};
  if (watchesGradients(training))
    twins.push_back(GRADC_WATCH_SUFFIX);
  for (const TrainEntry &entry : entries)
    for (const std::string &twin : twins)
      ok &= sayingNews(context, [&] {
        return importSteps(entry.name() + twin, entry.step, *training.mutable_data(), sets->front(),
                           true);
      });
  for (auto [block, data, set] :
       llvm::zip_equal(dataBlocks(training), editDataBlocks(training), *sets))
    if (block.entry != GRADC_TRAIN_ENTRY)
      ok &= sayingNews(
          context, [&] { return importSteps(block.entry, StepSpec(training), *data, set, false); });
  import.imported.predictions = describePredictions(training, model.graph());
  // The model alone takes the rows of one part of a step, so that it needs no more memory; but two
  // if a part has one row, because runs of an entry for one row cannot choose their number. A model
  // of one batch size has no other entry.
  int64_t size = SpecFile::batchOf(training.data()).size();
  int64_t least = model.hasFixedBatch() ? 1 : std::min<int64_t>(2, size);
  int64_t batch = std::max(least, size / std::max<int64_t>(1, training.micro_batches()));
  // Predictions take fields as they leave the data's stages; such an export runs those stages
  // itself.
  if (training.export_().preprocessing())
    ok &= sayingNews(context, [&] {
      return import.importForward(GRADC_PREDICT_ENTRY, import.options, batch,
                                  [&](StringRef input) { return fieldOf(input); });
    });
  ok &= sayingNews(context, [&] {
    if (failed(prepareExport(evaluated(*sets))))
      return failure();
    return import.importForward(GRADC_FORWARD_ENTRY, import.options, batch,
                                [&](StringRef input) { return exportedFields[input.str()]; });
  });
  ok = ok && succeeded(importMerged(model, import.states, import.options, adapters)) &&
       succeeded(importCodes(model, import.states, import.options, import.determined));
  if (!ok)
    return failure();
  for (FittedNumbers &fitted : import.imported.fitted)
    for (std::string *name : {&fitted.means, &fitted.scales})
      *name = import.states.symbol(*name).str();
  FailureOr<Imported> imported = import.finish();
  if (failed(imported) || failed(maps.finish()) || failed(teachers.finish()))
    return failure();
  imported->mapEntries = maps.entryNames();
  for (Verdict &verdict : imported->verdicts)
    verdict.quantized = quantized.weights.lookup(verdict.initializer);
  if (failed(decideTraining(*imported, import.states, spec, groups, entries)))
    return failure();
  // Before regularizers use the parameters.
  LogicalResult checked = checkParameters(*imported, import.states, model, adapters);
  if (failed(addRegularizers(*imported, import.states, spec)))
    return failure();
  LogicalResult grouped = groups.apply(*imported, import.states);
  for (const DataSet &set : *sets)
    imported->data.push_back({set.file, set.rows, set.whyUnknown});
  if (failed(checked) || failed(grouped) ||
      failed(addPruning(*imported, import.states, spec, groups, weights)))
    return failure();
  for (const DataSet &set : *sets)
    if (!set.known && !llvm::is_contained(imported->missingData, set.file))
      imported->missingData.push_back(set.file);
  if (failed(expectTraining(imported->verdicts, model)))
    return failure();
  imported->spec = training;
  return imported;
}

FailureOr<Imported> gradc::importTraining(MLIRContext &context, StringRef specPath,
                                          const ImportOptions &options) {
  loadGradDialects(context);
  FailureOr<std::unique_ptr<SpecFile>> spec = SpecFile::read(context, specPath);
  if (failed(spec))
    return failure();
  if (failed((*spec)->check())) {
    // Reports the problems of the data blocks along with the others.
    (void)describeTrainingData(context, **spec, /*models=*/nullptr, /*model=*/nullptr);
    return failure();
  }
  FailureOr<std::unique_ptr<OnnxModel>> model =
      OnnxModel::read(context, (*spec)->resolve((*spec)->get().model()));
  if (failed(model) || failed(checkOptions(**model, options)))
    return failure();
  const spec::Training &training = (*spec)->get();
  if (training.gradients_size() && !training.loss_size() && !training.train_size())
    return importGradients(**spec, **model, options);
  if (failed(fitColumns(**spec)))
    return failure();
  return JobImport(**spec, **model, options).run(context);
}
