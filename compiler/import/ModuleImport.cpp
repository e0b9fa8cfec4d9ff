// Builds the module of a model without a spec, and performs the first steps of a job.
#include "dialects/Pch.h"

#include "compiler/import/ModuleImport.h"
#include "compiler/import/onnx/ExportSigns.h"
#include "compiler/import/onnx/SequencePorts.h"
#include "compiler/import/onnx/model/EvaluationForm.h"
#include "compiler/import/onnx/model/ExternalForm.h"
#include "compiler/import/onnx/model/Narrow.h"
#include "compiler/import/spec/TrainingSpec.h"
#include "compiler/import/support/Names.h"
#include "dialects/grad/EntryAttributes.h"
#include "mlir/IR/Verifier.h"
#include "passes/entry/Ports.h"
#include "runtime/include/gradc/entries.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

/// The options for fewer rows of the batch, if the batch is a symbol of the file; nullopt if it has
/// no more rows than that.
static std::optional<ImportOptions> withRows(const OnnxModel &model, ImportOptions options,
                                             int64_t rows) {
  StringRef symbol = model.batchSymbol();
  if (symbol.empty() || !options.inputs.empty())
    return std::nullopt;
  std::optional<int64_t> batch;
  for (const onnx::ValueInfoProto &input : model.graph().input())
    for (auto [d, dim] : llvm::enumerate(input.type().tensor_type().shape().dim())) {
      if (dim.dim_param() != symbol)
        continue;
      auto given = options.shapes.find(input.name());
      if (d != 0 || given == options.shapes.end() || given->second.empty())
        return std::nullopt; // the symbol is more than the number of rows
      int64_t &size = given->second.front();
      if (batch && *batch != size)
        return std::nullopt;
      batch = size;
      size = rows;
    }
  return batch && *batch > rows ? std::optional(std::move(options)) : std::nullopt;
}

/// The element type of a port's tensors at the C interface; the graph sees bytes.
static NamedAttribute fileElementAttribute(Builder &b, const NarrowType &type) {
  Type element = fileElementType(*b.getContext(), type.number);
  return b.getNamedAttr("grad.element", TypeAttr::get(element));
}

/// No data feed the inputs of a model that is imported alone.
static std::string noFields(StringRef) { return ""; }

/// The tensors of graph inputs that are neither arguments of the finished entry nor bound.
std::set<std::string> ModuleImport::unreadInputs(StringRef name, const ImportOptions &options) {
  std::vector<std::string> elements = elementNames(model, options);
  std::set<std::string> unread(elements.begin(), elements.end());
  for (const onnx::ValueInfoProto &input : model.graph().input())
    // Up to IR version 3, initializers are graph inputs, too.
    if (input.type().has_tensor_type() && !model.initializer(input.name()))
      unread.insert(input.name());
  auto function = module->lookupSymbol<func::FuncOp>(name);
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (auto port = function.getArgAttrOfType<StringAttr>(i, portName))
      unread.erase(port.str());
  for (const std::string &bound : imported.boundInputs)
    unread.erase(bound);
  return unread;
}

/// Imports all graph outputs from all graph inputs, in the graph's order.
LogicalResult ModuleImport::importForward(StringRef name, const ImportOptions &options,
                                          int64_t batch,
                                          llvm::function_ref<std::string(StringRef)> fieldOf) {
  EntryImport entry(model, states, options, name, batch, /*training=*/false);
  std::vector<std::string> outputs;
  for (const onnx::ValueInfoProto &output : model.graph().output())
    outputs.push_back(output.name());
  Builder &b = entry.getBuilder();
  auto bind = [&](const onnx::ValueInfoProto &input) -> Value {
    FailureOr<RankedTensorType> type = entry.inputType(input, /*takesBytes=*/true);
    if (failed(type))
      return nullptr;
    SmallVector<NamedAttribute> more;
    bool isText = isString(input.type().tensor_type().elem_type());
    if (isText)
      more.push_back(b.getNamedAttr("grad.text", b.getUnitAttr()));
    const NarrowType *narrow = findNarrow(input.type().tensor_type().elem_type());
    if (narrow)
      more.push_back(fileElementAttribute(b, *narrow));
    if (std::string field = fieldOf(input.name()); !field.empty())
      more.push_back(b.getNamedAttr(fieldName, b.getStringAttr(field)));
    Value argument = entry.addArgument(*type, input.name(), GRADC_ROLE_DATA, more);
    entry.markBatch(input, argument);
    if (isText)
      entry.markText(argument);
    if (narrow)
      entry.markNarrow(argument, narrow);
    return argument;
  };
  if (failed(entry.importNodes(outputs, bind, /*takesSequences=*/true)))
    return failure();
  auto addOutput = [&](Value value, StringRef name) {
    SmallVector<NamedAttribute> more;
    if (entry.isText(value))
      more.push_back(b.getNamedAttr("grad.text", b.getUnitAttr()));
    if (const NarrowType *narrow = entry.findNarrow(value))
      more.push_back(fileElementAttribute(b, *narrow));
    entry.addResult(value, name, GRADC_ROLE_OUTPUT, more);
  };
  for (const std::string &name : outputs) {
    if (Value value = entry.value(name))
      addOutput(value, name);
    else if (const SmallVector<Value> *tensors = entry.findSequence(name))
      for (auto [i, tensor] : llvm::enumerate(*tensors))
        addOutput(tensor, elementName(name, int64_t(i)));
  }
  entry.finish();
  if (name != GRADC_FORWARD_ENTRY)
    return success();
  imported.boundInputs = entry.getBoundInputs();
  imported.unreadInputs = unreadInputs(name, options);
  imported.foldedNodes = entry.getFoldedNodes();
  return success();
}

LogicalResult ModuleImport::importEntry(StringRef name, const ImportOptions &options) {
  ImportOptions own = options;
  own.entry = name.str();
  for (const auto &[input, shape] : options.entryShapes.at(name.str()))
    own.shapes[input] = shape;
  return importForward((GRADC_FORWARD_PREFIX + name).str(), shareDims(model, std::move(own)), 0,
                       noFields);
}

void ModuleImport::importBucket(int64_t rows) {
  std::optional<ImportOptions> fewer = withRows(model, options, rows);
  if (!fewer)
    return;
  // The largest entry has reported all problems.
  ScopedDiagnosticHandler silence(module.get().getContext(),
                                  [](Diagnostic &) { return success(); });
  std::string name = (GRADC_FORWARD_ENTRY GRADC_ROWS_INFIX + llvm::Twine(rows)).str();
  LogicalResult built = importForward(name, *fewer, 0, noFields);
  auto function = module->lookupSymbol<func::FuncOp>(name);
  if (failed(built))
    return function.erase();
  function->setAttr(batchName, Builder(function.getContext()).getI64IntegerAttr(rows));
}

/// Writes the model as exports contain it.
LogicalResult ModuleImport::writeModel() {
  imported.modelBytes = evaluationForm(model.bytes(), model.graph());
  std::vector<InitializerRange> ranges;
  if (exportsWeightsApart || model.isTooLargeForOneFile()) {
    FailureOr<ExternalForm> form = externalForm(*module.get().getContext(), imported.modelBytes,
                                                model.file(), model.fileLoc());
    if (failed(form))
      return failure();
    imported.modelBytes = std::move(form->bytes);
    imported.graphBytes = form->graphBytes;
    imported.locations = std::move(form->locations);
    ranges = std::move(form->ranges);
  } else {
    ranges = initializerRanges(imported.modelBytes);
  }
  for (InitializerRange &range : ranges) {
    OnnxModel::Tied tied = model.tiedTo(range.state);
    StringRef name = states.symbol(tied.initializer);
    if (llvm::is_contained(determined, range.state))
      name = range.state;
    imported.ranges.push_back({name.str(), range.offset, range.bytes, tied.transposed});
  }
  return success();
}

FailureOr<Imported> ModuleImport::finish() {
  // The ops' own constraints are the last safety net after the importer's checks.
  if (failed(states.finish(imported.verdicts)) || failed(verify(*module)))
    return failure();
  imported.externalFiles.assign(model.externalFiles().begin(), model.externalFiles().end());
  imported.notes = exportSigns(model.graph());
  if (failed(writeModel()))
    return failure();
  imported.module = std::move(module);
  return std::move(imported);
}

LogicalResult gradc::checkOptions(const OnnxModel &model, const ImportOptions &options) {
  std::vector<std::string> inputs = model.inputNames(), symbols;
  llvm::append_range(inputs, elementNames(model, options));
  for (const onnx::ValueInfoProto &input : model.graph().input())
    for (const auto &dim : input.type().tensor_type().shape().dim())
      if (!dim.dim_param().empty())
        symbols.push_back(dim.dim_param());
  bool ok = true;
  auto checkNames = [&](const auto &given, const std::string &what) {
    for (const auto &[name, value] : given)
      if (!llvm::is_contained(inputs, name)) {
        unknownName(model.fileLoc(), what, name, inputs);
        ok = false;
      }
  };
  checkNames(options.shapes, "--shape: graph input");
  for (const auto &[entry, shapes] : options.entryShapes)
    checkNames(shapes, "--entry-shape " + entry + ": graph input");
  checkNames(options.inputs, "--input: graph input");
  for (const auto &[name, size] : options.dims)
    if (!llvm::is_contained(symbols, name)) {
      unknownName(model.fileLoc(), "symbolic dim", name, symbols);
      ok = false;
    }
  return success(ok);
}

ImportOptions
gradc::bindDims(const OnnxModel &model, ImportOptions options,
                llvm::function_ref<std::optional<ArrayRef<int64_t>>(StringRef input)> rowShape) {
  for (const onnx::ValueInfoProto &input : model.graph().input()) {
    const auto &dims = input.type().tensor_type().shape().dim();
    auto row = rowShape(input.name());
    if (!row || dims.size() != int(row->size()) + 1)
      continue;
    for (auto [dim, size] : llvm::zip(llvm::drop_begin(dims), *row))
      if (!dim.dim_param().empty() && dim.dim_param() != dims.Get(0).dim_param() && size > 0)
        options.dims.try_emplace(dim.dim_param(), size);
  }
  return options;
}

/// The sizes of symbolic dims in the shapes given for inputs; nullopt: these disagree.
static std::map<std::string, std::optional<int64_t>> sizesOfSymbols(const OnnxModel &model,
                                                                    const ImportOptions &options) {
  std::map<std::string, std::optional<int64_t>> sizes;
  for (const onnx::ValueInfoProto &input : model.graph().input()) {
    auto given = options.shapes.find(input.name());
    const auto &dims = input.type().tensor_type().shape().dim();
    if (given == options.shapes.end() || int(given->second.size()) != dims.size())
      continue;
    for (auto [dim, size] : llvm::zip(dims, given->second)) {
      if (dim.dim_param().empty())
        continue;
      auto [known, isNew] = sizes.try_emplace(dim.dim_param(), size);
      if (!isNew && known->second != size)
        known->second = std::nullopt;
    }
  }
  return sizes;
}

ImportOptions gradc::shareDims(const OnnxModel &model, ImportOptions options) {
  std::map<std::string, std::optional<int64_t>> sizes = sizesOfSymbols(model, options);
  options.sharesDims =
      llvm::all_of(sizes, [](const auto &known) { return known.second.has_value(); });
  for (const auto &[symbol, size] : sizes)
    if (size)
      options.dims.try_emplace(symbol, *size);
  // Buckets take the batch from complete shapes.
  for (const onnx::ValueInfoProto &input : model.graph().input()) {
    const auto &dims = input.type().tensor_type().shape().dim();
    std::vector<int64_t> shape;
    for (const auto &dim : dims) {
      auto known = sizes.find(dim.dim_param());
      if (dim.has_dim_value() && dim.dim_value() >= 0) // others are reported later
        shape.push_back(dim.dim_value());
      else if (known != sizes.end() && known->second)
        shape.push_back(*known->second);
    }
    if (!shape.empty() && int(shape.size()) == dims.size() && !options.inputs.count(input.name()))
      options.shapes.try_emplace(input.name(), std::move(shape));
  }
  return options;
}

void gradc::loadGradDialects(MLIRContext &context) {
  context.loadDialect<GradDialect, func::FuncDialect>();
}

FailureOr<Imported> gradc::importModel(MLIRContext &context, StringRef onnxPath,
                                       const ImportOptions &options) {
  loadGradDialects(context);
  FailureOr<std::unique_ptr<OnnxModel>> model = OnnxModel::read(context, onnxPath);
  if (failed(model))
    return failure();
  if (failed(checkOptions(**model, options)))
    return failure();
  ImportOptions bound = shareDims(**model, options);
  ModuleImport import(**model, bound);
  if (failed(import.importForward(GRADC_FORWARD_ENTRY, bound, 0, noFields)))
    return failure();
  for (int64_t rows : bound.buckets)
    import.importBucket(rows);
  for (const auto &[name, shapes] : options.entryShapes)
    if (failed(import.importEntry(name, options)))
      return failure();
  FailureOr<Imported> imported = import.finish();
  if (succeeded(imported) && imported->graphBytes) { // only a job exports two files
    imported->modelBytes.clear();
    imported->ranges.clear();
    imported->graphBytes = 0;
  }
  return imported;
}

/// Whether `holds` is true for any data block of the spec.
static bool anyData(const std::optional<spec::Training> &spec,
                    llvm::function_ref<bool(const spec::Data &)> holds) {
  return spec && llvm::any_of(dataBlocks(*spec),
                              [&](const DataBlock &block) { return holds(*block.data); });
}

static bool anyStage(const std::optional<spec::Training> &spec,
                     llvm::function_ref<bool(const spec::Stage &)> holds) {
  return anyData(spec, [&](const spec::Data &data) { return llvm::any_of(data.stage(), holds); });
}

bool Imported::decodesPictures() const {
  return anyStage(spec, [](const spec::Stage &stage) { return stage.map().has_decode(); });
}

bool Imported::hasRareData() const {
  if (anyData(spec, [](const spec::Data &data) {
        return data.source().has_tfrecord() || data.source().has_tokens();
      }))
    return true;
  return anyStage(spec, [](const spec::Stage &stage) {
    const spec::Map &map = stage.map();
    return stage.has_sampler() || stage.cache().has_path() || stage.has_window() ||
           stage.has_mix() || map.has_model() || map.has_pad() || map.has_decode() ||
           map.has_resize() || map.has_crop() || map.has_random_crop() ||
           map.has_random_resized_crop() || map.has_random_erase() || map.has_flip() ||
           map.has_color_jitter() || map.has_normalize();
  });
}

bool Imported::readsParquet() const {
  return anyData(spec, [](const spec::Data &data) {
    return llvm::any_of(data.source().csv().path(), [](const std::string &path) {
      return StringRef(path).ends_with(".parquet");
    });
  });
}
