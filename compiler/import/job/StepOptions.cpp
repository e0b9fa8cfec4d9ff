// Checks the spec's options of a step, and sets the attributes from which passes read them.
#include "dialects/Pch.h"

#include "compiler/import/job/StepOptions.h"

#include "compiler/import/job/Distribution.h"
#include "compiler/import/onnx/ops/quantization/Quantization.h"
#include "compiler/import/support/Names.h"
#include "passes/training/StepAttributes.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace gradc;

/// Collects the names of all nodes, those of subgraphs included, and of those among them that must
/// be in f32: 16 bits have too few digits to round to 8 bits by.
static void collectNodes(const OnnxModel &model, const onnx::GraphProto &graph,
                         std::vector<std::string> &names, llvm::StringSet<> &exact) {
  for (const onnx::NodeProto &node : graph.node()) {
    names.push_back(nodeName(model.nodeLoc(node)));
    if (isOfQuantization(node))
      exact.insert(names.back());
    for (const onnx::AttributeProto &attribute : node.attribute())
      if (attribute.has_g())
        collectNodes(model, attribute.g(), names, exact);
  }
}

/// The nodes that `keep_fp32` names, and those that round to codes, in the model's order. A pattern
/// that matches no node is an error.
static FailureOr<std::vector<std::string>> nodesInF32(const SpecFile &spec,
                                                      const OnnxModel &model) {
  std::vector<std::string> patterns(spec.get().keep_fp32().begin(), spec.get().keep_fp32().end());
  PatternScope scope{"keep_fp32", "node", {}, /*areWeights=*/false};
  llvm::StringSet<> matches, exact;
  collectNodes(model, model.graph(), scope.names, exact);
  auto where = [&](int i) { return spec.at({{"keep_fp32", i}}); };
  if (failed(collectMatching(patterns, scope, where, matches)))
    return failure();
  llvm::erase_if(scope.names, [&](const std::string &name) {
    return !matches.contains(name) && !exact.contains(name);
  });
  return std::move(scope.names);
}

/// Whether the number is a power of two which, like its reciprocal, is a normal number of f32: both
/// are factors.
static bool isScale(double value) {
  int exponent;
  return std::frexp(value, &exponent) == 0.5 && std::abs(exponent - 1) <= 126;
}

static bool checkScaling(const SpecFile &spec) {
  if (!spec.get().has_loss_scaling())
    return true;
  const spec::LossScaling &scaling = spec.get().loss_scaling();
  Location where = spec.at({"loss_scaling"});
  if (spec.get().precision() != spec::FP16) {
    emitError(where) << "expected precision: FP16, whose gradients a scale keeps from becoming 0";
    return false;
  }
  bool ok = true;
  for (auto [name, value] :
       {std::pair("initial", scaling.initial()), std::pair("floor", scaling.floor())})
    if (!isScale(value)) {
      emitError(spec.at({"loss_scaling", name}))
          << "expected a power of two from 2^-126 to 2^126, found " << numberText(value);
      ok = false;
    }
  if (ok && scaling.floor() > scaling.initial()) {
    emitError(where) << "expected a floor of at most the initial scale, found "
                     << numberText(scaling.floor()) << " and " << numberText(scaling.initial());
    ok = false;
  }
  if (scaling.growth_interval() < 1) {
    emitError(spec.at({"loss_scaling", "growth_interval"}))
        << "expected a positive number of steps, found " << scaling.growth_interval();
    ok = false;
  }
  return ok;
}

LogicalResult gradc::checkStepOptions(const SpecFile &spec, const OnnxModel &model, int64_t batch) {
  bool ok = succeeded(nodesInF32(spec, model));
  ok &= checkScaling(spec);
  int64_t budget = spec.get().memory_budget_mb();
  if (spec.get().has_memory_budget_mb() && (budget < 1 || budget > maxBudgetMb)) {
    emitError(spec.at({"memory_budget_mb"}))
        << "expected from 1 to " << maxBudgetMb << " MiB, found " << budget;
    ok = false;
  }
  int64_t parts = spec.get().micro_batches();
  if (parts < 1 || batch % parts) {
    emitError(spec.at({"micro_batches"}))
        << "expected a number that divides batch.size " << batch << ", found " << parts;
    ok = false;
  }
  return success(checkDistribution(spec, batch) && ok);
}

int64_t gradc::countMicroBatches(const SpecFile &spec, int64_t batch, int64_t rows) {
  int64_t parts = llvm::divideCeil(rows, batch / spec.get().micro_batches());
  while (rows % parts)
    ++parts;
  return parts;
}

std::string gradc::suggestMicroBatches(const SpecFile &spec, const EntryImport &entry,
                                       RankedTensorType type) {
  const spec::Batch &batch = SpecFile::batchOf(spec.get().data());
  int64_t rows = type.getRank() ? type.getDimSize(0) : 0;
  // Batches by length have several sizes, and most distributions restrict micro-batches.
  if (!entry.isTraining() || spec.get().has_distribution() || batch.bucket_size() || rows < 1 ||
      batch.size() % rows)
    return "";
  // Parts of a smaller last batch may have another size all the same.
  int64_t parts = batch.size() / rows;
  if (parts == spec.get().micro_batches())
    return "";
  return ", or micro_batches: " + std::to_string(parts) + " for parts of that size";
}

/// The largest number of parts of any step, over data of `rows` rows (negative if unknown). The
/// last batch may have more parts than the others, because all parts of a step have one size.
static int64_t mostMicroBatches(const SpecFile &spec, int64_t rows) {
  const spec::Batch &batch = SpecFile::batchOf(spec.get().data());
  int64_t most = spec.get().micro_batches();
  if (rows < 0 || batch.drop_remainder() || batch.bucket_size() || rows % batch.size() == 0)
    return most;
  return std::max(most, countMicroBatches(spec, batch.size(), rows % batch.size()));
}

void gradc::setStepOptions(EntryImport &entry, const SpecFile &spec, int64_t rows,
                           int64_t microBatches) {
  func::FuncOp function = entry.getFunction();
  Builder b(function.getContext());
  if (spec.get().micro_batches() > 1) {
    int64_t most = mostMicroBatches(spec, rows);
    function->setAttr(microBatchesName, b.getI64IntegerAttr(microBatches));
    if (microBatches < most)
      function->setAttr(mostMicroBatchesName, b.getI64IntegerAttr(most));
    // All parts have one size. The spec asks for that, so no remark is needed. Ranks have some
    // rows of each part.
    if (!spec.get().has_distribution() || !sharesRows(spec.get().distribution())) {
      function->setAttr("grad.exact", b.getStringAttr("it is computed in parts"));
      function->setAttr("grad.said", b.getUnitAttr());
    }
  }
  setRanks(function, spec);
  if (spec.get().precision() == spec::FP32)
    return;
  bool isHalf = spec.get().precision() == spec::FP16;
  std::vector<std::string> nodes = *nodesInF32(spec, entry.getModel()); // already checked
  SmallVector<StringRef> high(nodes.begin(), nodes.end());
  NamedAttribute precision[] = {
      b.getNamedAttr("type", TypeAttr::get(isHalf ? Type(b.getF16Type()) : Type(b.getBF16Type()))),
      b.getNamedAttr("high", b.getStrArrayAttr(high))};
  function->setAttr("grad.precision", b.getDictionaryAttr(precision));
  if (isHalf)
    entry.scalarArgument(GRADC_ROLE_LOSS_SCALE);
}
