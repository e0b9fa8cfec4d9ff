#include "dialects/Pch.h"

#include "compiler/import/StepOptions.h"

#include "compiler/import/support/Names.h"
#include "passes/support/MicroBatches.h"
#include "llvm/Support/GlobPattern.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace gradc;

/// Each pattern names a node.
static bool checkPatterns(const SpecFile &spec, const OnnxModel &model) {
  std::vector<std::string> nodes;
  for (const onnx::NodeProto &node : model.graph().node())
    nodes.push_back(node.name());
  bool ok = true;
  for (auto [i, pattern] : llvm::enumerate(spec.get().keep_fp32())) {
    Location where = spec.at({{"keep_fp32", int(i)}});
    auto glob = llvm::GlobPattern::create(pattern);
    if (!glob) {
      emitError(where) << "expected a glob pattern, found \"" << pattern
                       << "\": " << llvm::toString(glob.takeError());
      ok = false;
    } else if (llvm::none_of(nodes, [&](const std::string &name) { return glob->match(name); })) {
      unknownName(where, "node", pattern, nodes);
      ok = false;
    }
  }
  return ok;
}

static bool isPowerOfTwo(double value) {
  int exponent;
  return std::frexp(value, &exponent) == 0.5;
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
    if (!isPowerOfTwo(value)) {
      emitError(spec.at({"loss_scaling", name}))
          << "expected a power of two, found " << numberText(value);
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
  bool ok = checkPatterns(spec, model);
  ok &= checkScaling(spec);
  if (spec.get().has_memory_budget_mb() && spec.get().memory_budget_mb() < 1) {
    emitError(spec.at({"memory_budget_mb"}))
        << "expected at least 1 MiB, found " << spec.get().memory_budget_mb();
    ok = false;
  }
  int64_t parts = spec.get().micro_batches();
  if (parts < 1 || batch % parts) {
    emitError(spec.at({"micro_batches"}))
        << "expected a number that divides batch.size " << batch << ", found " << parts;
    ok = false;
  }
  return success(ok);
}

int64_t gradc::countMicroBatches(const SpecFile &spec, int64_t batch, int64_t rows) {
  int64_t parts = llvm::divideCeil(rows, batch / spec.get().micro_batches());
  while (rows % parts)
    ++parts;
  return parts;
}

void gradc::setStepOptions(EntryImport &entry, const SpecFile &spec, int64_t microBatches) {
  func::FuncOp function = entry.getFunction();
  Builder b(function.getContext());
  if (int64_t most = spec.get().micro_batches(); most > 1) {
    function->setAttr(microBatchesName, b.getI64IntegerAttr(microBatches));
    if (microBatches < most)
      function->setAttr(mostMicroBatchesName, b.getI64IntegerAttr(most));
    // The parts are of one size. Nobody needs to hear that: the spec asks for it.
    function->setAttr("grad.exact", b.getStringAttr("it is computed in parts"));
    function->setAttr("grad.said", b.getUnitAttr());
  }
  if (spec.get().precision() == spec::FP32)
    return;
  bool isHalf = spec.get().precision() == spec::FP16;
  SmallVector<StringRef> high(spec.get().keep_fp32().begin(), spec.get().keep_fp32().end());
  NamedAttribute precision[] = {
      b.getNamedAttr("type", TypeAttr::get(isHalf ? Type(b.getF16Type()) : Type(b.getBF16Type()))),
      b.getNamedAttr("high", b.getStrArrayAttr(high))};
  function->setAttr("grad.precision", b.getDictionaryAttr(precision));
  if (isHalf)
    entry.scalarArgument(GRADC_ROLE_LOSS_SCALE);
}
