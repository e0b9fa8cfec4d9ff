// Checks the names in a spec that asks for gradients, and imports its single entry.
#include "dialects/Pch.h"

#include "compiler/import/ModuleImport.h"
#include "compiler/import/derivatives/GradientRequests.h"
#include "compiler/import/derivatives/Gradients.h"
#include "compiler/import/support/Names.h"
#include "runtime/include/gradc/entries.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

namespace {
class GradientImport {
public:
  GradientImport(const SpecFile &spec, const OnnxModel &model, const ImportOptions &options)
      : spec(spec), model(model), import(model, options) {}

  FailureOr<Imported> run();

private:
  LogicalResult checkNames();
  llvm::StringSet<> computedNames() const;
  int64_t chunk() const;
  bool takesSingleRows() const;
  LogicalResult importNodes(EntryImport &entry);
  LogicalResult findCoupling(int64_t rows, Attribute &node);
  LogicalResult importEntry(int64_t rows, Attribute coupling);

  const SpecFile &spec;
  const OnnxModel &model;
  ModuleImport import;
};
} // namespace

static bool hasOpenRows(const onnx::ValueInfoProto &input) {
  const onnx::TensorShapeProto &shape = input.type().tensor_type().shape();
  return shape.dim_size() > 0 && !shape.dim(0).has_dim_value();
}

/// The number of rows of a call; 0 if no input has rows.
int64_t GradientImport::chunk() const {
  bool hasRows = llvm::any_of(model.graph().input(), [&](const onnx::ValueInfoProto &input) {
    return !model.initializer(input.name()) && hasOpenRows(input);
  });
  return hasRows ? spec.get().chunk() : 0;
}

/// Whether a value shared by all rows has a per-row gradient. Such a gradient is as large as the
/// value itself, so writing it costs more than computing rows one by one.
bool GradientImport::takesSingleRows() const {
  return llvm::any_of(spec.get().gradients(), [&](const spec::Gradients &request) {
    return request.per_sample() &&
           !llvm::all_of(request.with_respect_to(), [&](const std::string &target) {
             return llvm::any_of(model.graph().input(), [&](const onnx::ValueInfoProto &input) {
               return input.name() == target && !model.initializer(target) && hasOpenRows(input);
             });
           });
  });
}

llvm::StringSet<> GradientImport::computedNames() const {
  llvm::StringSet<> names;
  for (const onnx::NodeProto &node : model.graph().node())
    for (const std::string &name : node.output())
      names.insert(name);
  return names;
}

/// Checks every name in the spec that must be in the model or among earlier results.
LogicalResult GradientImport::checkNames() {
  std::vector<std::string> inputs = model.inputNames(), initializers = model.initializerNames(),
                           values, results;
  for (const onnx::ValueInfoProto &output : model.graph().output())
    values.push_back(output.name());
  llvm::StringSet<> computed = computedNames();
  bool ok = true;
  for (auto [i, request] : llvm::enumerate(spec.get().gradients())) {
    SpecFile::Step block = {"gradients", int(i)};
    if (!computed.contains(request.of()) && !llvm::is_contained(results, request.of())) {
      std::vector<std::string> known = values;
      llvm::append_range(known, results);
      unknownName(spec.at({block, "of"}), "value", request.of(), known);
      ok = false;
    }
    for (auto [t, target] : llvm::enumerate(request.with_respect_to())) {
      results.push_back(resultName(request, int(t)));
      if (llvm::is_contained(inputs, target) || llvm::is_contained(initializers, target))
        continue;
      std::vector<std::string> known = inputs;
      llvm::append_range(known, initializers);
      unknownName(spec.at({block, {"with_respect_to", int(t)}}), "graph input or initializer",
                  target, known);
      ok = false;
    }
  }
  return success(ok);
}

/// Imports all nodes that outputs and requests depend on.
LogicalResult GradientImport::importNodes(EntryImport &entry) {
  std::vector<std::string> needed;
  for (const onnx::ValueInfoProto &output : model.graph().output())
    needed.push_back(output.name());
  llvm::StringSet<> computed = computedNames();
  for (const spec::Gradients &request : spec.get().gradients()) {
    if (computed.contains(request.of()))
      needed.push_back(request.of());
    // A target that no node needs is bound as well, so that an error can report it.
    for (const std::string &target : request.with_respect_to())
      needed.push_back(target);
  }
  entry.askForGradients();
  return entry.importNodes(needed, [&](const onnx::ValueInfoProto &input) -> Value {
    FailureOr<RankedTensorType> type = entry.inputType(input);
    if (failed(type))
      return nullptr;
    Value argument = entry.addArgument(*type, input.name(), GRADC_ROLE_DATA);
    if (!hasOpenRows(input) || type->getDimSize(0) != entry.batchSize())
      return argument;
    entry.batchSize() > 1 ? entry.markBatch(input, argument) : entry.markBatch(argument);
    return argument;
  });
}

/// Finds the node that couples rows. Only an entry for several rows shows it.
LogicalResult GradientImport::findCoupling(int64_t rows, Attribute &node) {
  EntryImport probe(model, import.states, import.options, "probe", rows, /*training=*/false);
  if (failed(importNodes(probe)))
    return failure();
  probe.judgeRows();
  func::FuncOp function = probe.getFunction();
  node = function->getAttr("grad.coupling_node");
  function.erase();
  return success();
}

LogicalResult GradientImport::importEntry(int64_t rows, Attribute coupling) {
  EntryImport entry(model, import.states, import.options, GRADC_GRADIENTS_ENTRY, rows,
                    /*training=*/false);
  if (failed(importNodes(entry)))
    return failure();
  entry.judgeRows();
  func::FuncOp function = entry.getFunction();
  if (coupling)
    function->setAttr("grad.coupling_node", coupling);
  coupling = function->getAttr("grad.coupling_node");
  GradientRequests requests(entry, spec);
  bool ok = true;
  for (int i = 0; i < spec.get().gradients_size() && ok; ++i) {
    const spec::Gradients &request = spec.get().gradients(i);
    if (coupling && (request.per_sample() || request.has_jacobian())) {
      emitError(spec.at({{"gradients", i}, request.per_sample() ? "per_sample" : "jacobian"}))
          << "expected rows that do not depend on each other: node " << coupling << " couples them";
      ok = false;
      continue;
    }
    ok &= succeeded(requests.add(i));
  }
  if (!ok)
    return failure();
  requests.addResults();
  entry.finish();
  if (coupling)
    emitRemark(model.fileLoc()) << "node " << coupling << " couples rows: entry \"gradients\" runs "
                                << "on at most " << rows << ", the chunk";
  import.imported.boundInputs = entry.getBoundInputs();
  import.imported.foldedNodes = entry.getFoldedNodes();
  return success();
}

FailureOr<Imported> GradientImport::run() {
  if (failed(checkNames()))
    return failure();
  // A target becomes a state, even if it is a scalar or the rule calls it a constant.
  std::vector<std::string> targets;
  for (const spec::Gradients &request : spec.get().gradients())
    for (const std::string &target : request.with_respect_to())
      if (model.initializer(target) && !llvm::is_contained(targets, target))
        targets.push_back(target);
  auto nowhere = [&](int) { return model.fileLoc(); };
  if (failed(import.states.setPatterns(targets, {}, nowhere, nowhere)))
    return failure();
  int64_t rows = chunk();
  Attribute coupling;
  if (rows && takesSingleRows()) {
    if (failed(findCoupling(rows, coupling)))
      return failure();
    rows = 1;
  }
  if (failed(importEntry(rows, coupling)))
    return failure();
  FailureOr<Imported> imported = import.finish();
  if (failed(imported))
    return failure();
  imported->externalFiles.push_back(spec.resolve(spec.get().model()));
  imported->verdicts.clear(); // nothing trains
  return imported;
}

bool Imported::differentiates() const {
  ModuleOp entries = *module;
  return spec || entries.lookupSymbol(GRADC_GRADIENTS_ENTRY);
}

FailureOr<Imported> gradc::importGradients(const SpecFile &spec, const OnnxModel &model,
                                           const ImportOptions &options) {
  return GradientImport(spec, model, options).run();
}
