// Adds losses, metrics, and regularizers to the results of an entry.
#include "dialects/Pch.h"

#include "compiler/import/objective/Metrics.h"
#include "compiler/import/objective/Objective.h"
#include "compiler/import/parameters/TrainedParameters.h"
#include "compiler/import/spec/SpecFields.h"
#include "dialects/grad/EntryAttributes.h"
#include "passes/distribution/MicroBatches.h"
#include "passes/training/StepAttributes.h"
#include "passes/training/TrainedStates.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

/// Whether a field of a loss or metric names an output of the graph.
static bool namesOutput(StringRef field) {
  return llvm::is_contained(
      {"logits", "predictions", "scalar", "other", "anchor", "positive", "negative"}, field);
}

static void addOutputs(const SpecFile &spec, const google::protobuf::Message &block,
                       ArrayRef<SpecFile::Step> place, SmallVectorImpl<NamedOutput> &outputs) {
  forEachField(block, [&](const SpecField &field) {
    SmallVector<SpecFile::Step> at(place);
    at.push_back(field.step());
    if (field.isBlock())
      addOutputs(spec, field.inner(), at, outputs);
    else if (namesOutput(field.name))
      outputs.push_back({field.text(), spec.at(at)});
  });
}

SmallVector<NamedOutput> gradc::outputsOf(const SpecFile &spec, const StepSpec &step) {
  SmallVector<NamedOutput> outputs;
  for (auto [i, loss] : llvm::enumerate(step.losses()))
    addOutputs(spec, loss, step.lossPlace(int(i)), outputs);
  for (auto [i, metric] : llvm::enumerate(step.metrics()))
    addOutputs(spec, metric, {{"metric", int(i)}}, outputs);
  if (step.hasOwnLosses())
    return outputs;
  for (auto [i, teacher] : llvm::enumerate(spec.get().teacher())) {
    SpecFile::Step place = {"teacher", int(i)};
    if (teacher.has_output())
      outputs.push_back({teacher.has_logits() ? teacher.logits() : teacher.output(),
                         spec.at({place, teacher.has_logits() ? "logits" : "output"})});
    for (auto [m, match] : llvm::enumerate(teacher.match()))
      outputs.push_back({match.student(), spec.at({place, {"match", int(m)}, "student"})});
  }
  return outputs;
}

/// If denominators differ between batches, evaluation returns both sums of each term: a mean of
/// quotients would not be the mean over all rows.
static void addLossSums(SpecValues &values, ArrayRef<LossTerm> terms) {
  EntryImport &entry = values.getEntry();
  if (entry.isTraining() ||
      llvm::none_of(terms, [](const LossTerm &term) { return term.isWeighted; }))
    return;
  Type f64 = values.getBuilder().getF64Type();
  for (const LossTerm &term : terms) {
    Expr sum = values.expr(term.numerator).cast(f64) * term.weight;
    // A mean computed by the model has the weight of its batch.
    Value rows = CountOp::create(values.getBuilder(), sum.getLoc(), values.batched(),
                                 ArrayRef<int64_t>{0}, IntegerAttr());
    Expr count = sum.with(term.denominator ? term.denominator : rows).cast(f64);
    entry.addResult(term.denominator ? sum : sum * count, "loss", GRADC_ROLE_SUMS);
    entry.addResult(count, "loss", GRADC_ROLE_SUMS);
  }
}

/// Whether a step is computed in parts, each of which needs its share of the loss.
static bool isInParts(func::FuncOp function) {
  return function->hasAttr(microBatchesName) || function->hasAttr(ranksName);
}

/// Adds the terms for a step in several parts. A mean computed by the model has equal weight in
/// each part.
static void addTerms(SpecValues &values, ArrayRef<LossTerm> terms) {
  OpBuilder &b = values.getBuilder();
  for (const LossTerm &term : terms) {
    Expr sum = values.expr(term.numerator);
    Value denominator = term.denominator ? term.denominator : sum.splat(1).get();
    if (term.weight != 1)
      sum = sum * term.weight;
    for (auto [value, role] :
         {std::pair(sum.get(), lossNumeratorRole), std::pair(denominator, lossDenominatorRole)})
      values.getEntry().addResult(value, role, GRADC_ROLE_LOSS,
                                  b.getNamedAttr(roleName, b.getStringAttr(role)));
  }
}

LogicalResult gradc::buildObjective(SpecValues &values, Teachers &teachers) {
  EntryImport &entry = values.getEntry();
  FailureOr<SmallVector<LossTerm>> terms = buildLosses(values);
  // Evaluations measure what teachers teach only if there is no other loss.
  bool hasTeachers = entry.isTraining() || values.getStep().losses().empty();
  bool ok = succeeded(terms) && (!hasTeachers || succeeded(teachers.addTerms(values, *terms)));
  if (ok)
    entry.addResult(sumTerms(values.getBuilder(), *terms), "loss", GRADC_ROLE_LOSS);
  for (auto [i, metric] : llvm::enumerate(values.getStep().metrics())) {
    FailureOr<MetricResults> results = buildMetric(values, int(i));
    ok &= succeeded(results);
    if (succeeded(results))
      for (Value value : results->values)
        entry.addResult(value, metricName(metric), results->role);
  }
  if (ok)
    addLossSums(values, *terms);
  if (ok && isInParts(entry.getFunction()))
    addTerms(values, *terms);
  return success(ok);
}

LogicalResult gradc::addRegularizers(Imported &imported, const States &states,
                                     const SpecFile &spec) {
  for (int i = 0; i < spec.get().regularizer_size(); ++i) {
    const spec::Regularizer &rule = spec.get().regularizer(i);
    FailureOr<llvm::SetVector<StringRef>> symbols =
        trainedParameters(imported, states, spec, {"regularizer", i}, rule.pattern());
    if (failed(symbols))
      return failure();
    for (auto function : imported.module->getOps<func::FuncOp>()) {
      if (!function->hasAttr(updateRuleName))
        continue;
      Operation *exit = function.front().getTerminator();
      OpBuilder b(exit);
      Expr loss(b, NameLoc::get(b.getStringAttr("regularizer"), spec.at({{"regularizer", i}})),
                exit->getOperand(0));
      Expr penalty = loss.splat(0);
      llvm::StringSet<> done;
      for (auto read : function.getOps<ReadOp>()) {
        if (!symbols->contains(read.getState()) || !isTrainedBy(function, read.getStateAttr()) ||
            !done.insert(read.getState()).second)
          continue;
        Expr w = loss.with(read.getResult());
        if (rule.l1() > 0)
          penalty = penalty + loss.with(sumAll(w.apply<AbsOp>())) * rule.l1();
        if (rule.l2() > 0)
          penalty = penalty + loss.with(sumAll(w * w)) * rule.l2();
      }
      exit->setOperand(0, loss + penalty);
      if (isInParts(function))
        addLossTerm(function, penalty);
    }
  }
  return success();
}
