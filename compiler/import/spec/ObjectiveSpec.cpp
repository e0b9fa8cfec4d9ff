// Checks the losses, regularizers, and metrics of a training spec by the names of their fields.
#include "dialects/Pch.h"

#include "compiler/import/spec/SpecChecker.h"
#include "compiler/import/spec/SpecFields.h"
#include "llvm/ADT/StringSet.h"

#include <cmath>

using namespace mlir;
using namespace gradc;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

namespace {
/// The names that a kind of loss or metric requires: `first`, and one of `others`.
struct Needs {
  StringRef first;
  SmallVector<StringRef> others;
};
} // namespace

static std::string textOf(const Message &block, StringRef field) {
  const FieldDescriptor *found = block.GetDescriptor()->FindFieldByName(field.str());
  return found ? block.GetReflection()->GetString(block, found) : std::string();
}

/// A pair requires both names; alternatives (`logits` with `targets` or `labels`) require exactly
/// one.
static Needs needsOf(const Message &block) {
  auto has = [&](const char *field) { return block.GetDescriptor()->FindFieldByName(field); };
  Needs needs{has("logits") ? "logits" : "predictions", {}};
  for (const char *field : {"targets", "labels", "other"})
    if (has(field))
      needs.others.push_back(field);
  return needs;
}

static void checkNames(Checker &c, ArrayRef<SpecFile::Step> place, StringRef kind,
                       const Message &block) {
  if (block.GetDescriptor() == spec::Triplet::descriptor()) {
    for (const char *field : {"anchor", "positive", "negative"})
      c.require(!textOf(block, field).empty(), place, field, "the name of an output");
    return;
  }
  Needs needs = needsOf(block);
  SmallVector<StringRef> given = llvm::filter_to_vector(
      needs.others, [&](StringRef field) { return !textOf(block, field).empty(); });
  if (given.size() > 1)
    c.error(place) << kind << " takes " << given[0] << " or " << given[1] << ", found both";
  else
    checkPair(c, place, kind, needs.first, textOf(block, needs.first),
              llvm::join(needs.others, " or "), given.empty() ? "" : textOf(block, given[0]));
}

/// Checks a number's range, which its name determines.
static void checkNumber(Checker &c, ArrayRef<SpecFile::Step> place, StringRef name, double value) {
  auto expect = [&](bool holds, StringRef range) { c.expect(holds, place, name, range, value); };
  if (name == "label_smoothing")
    expect(value >= 0 && value < 1, "from 0 to below 1");
  else if (name == "alpha")
    expect(value >= 0 && value <= 1, "from 0 to 1");
  else if (name == "k")
    expect(value >= 1, "above 0");
  else if (name == "weight" || name == "delta" || name == "positive_weight")
    expect(value > 0 && std::isfinite(value), "above 0 and finite");
  else if (name != "ignore_index")
    expect(value >= 0 && std::isfinite(value), "of 0 or more and finite");
}

static void checkNumbers(Checker &c, ArrayRef<SpecFile::Step> place, const Message &block) {
  forEachField(block, [&](const SpecField &field) {
    SmallVector<SpecFile::Step> at(place);
    at.push_back(field.step());
    if (field.isNumber())
      checkNumber(c, at, field.name, field.number());
  });
}

/// The field of a oneof that is set, or null.
static const FieldDescriptor *kindOf(const Message &block) {
  return block.GetReflection()->GetOneofFieldDescriptor(block,
                                                        block.GetDescriptor()->oneof_decl(0));
}

static void checkLoss(Checker &c, const SpecPlace &place, const spec::Loss &loss) {
  checkNumbers(c, place, loss);
  const FieldDescriptor *kind = kindOf(loss);
  c.require(kind, place, "the loss's kind",
            "softmax_cross_entropy { logits: \"logits\" labels: \"labels\" }");
  if (!kind)
    return;
  std::string name(kind->name());
  if (loss.has_scalar()) {
    c.require(!loss.scalar().empty(), place + "scalar", "the output's name", "scalar: \"loss\"");
    if (loss.has_sample_weights())
      c.error(place + "sample_weights")
          << "a scalar of the model has no samples left to weigh: leave sample_weights out";
    return;
  }
  const Message &block = loss.GetReflection()->GetMessage(loss, kind);
  checkNames(c, place + name.c_str(), name, block);
  checkNumbers(c, place + name.c_str(), block);
}

void gradc::checkLosses(Checker &c, const StepSpec &step) {
  for (auto [i, loss] : llvm::enumerate(step.losses()))
    checkLoss(c, step.lossPlace(int(i)), loss);
}

void gradc::checkRegularizers(Checker &c, const spec::Training &training) {
  for (auto [i, rule] : llvm::enumerate(training.regularizer())) {
    SpecFile::Step place = {"regularizer", int(i)};
    checkNumbers(c, place, rule);
    c.require(rule.has_l1() || rule.has_l2(), {place}, "l1 or l2", "l2: 1e-4");
  }
}

std::string gradc::metricName(const spec::Metric &metric) {
  const FieldDescriptor *kind = kindOf(metric);
  return metric.has_name() ? metric.name() : kind ? std::string(kind->name()) : std::string();
}

void gradc::checkMetrics(Checker &c, const spec::Training &training) {
  // Keys that the log uses for other values.
  llvm::StringSet<> own = {
      "best",   "best_step", "entry",      "epoch",    "epoch_step", "epoch_steps",
      "epochs", "event",     "grad_norm",  "input_ms", "last_loss",  "loss",
      "lr",     "momentum",  "ms",         "ranks",    "reason",     "samples_per_second",
      "scale",  "seconds",   "sent_bytes", "skipped",  "step"};
  llvm::StringSet<> names;
  for (auto [i, metric] : llvm::enumerate(training.metric())) {
    SpecFile::Step place = {"metric", int(i)};
    const FieldDescriptor *kind = kindOf(metric);
    if (!kind) {
      c.require(false, {place}, "the metric's kind", "accuracy { ... }");
      continue;
    }
    std::string kindName(kind->name()), name = metricName(metric);
    const Message &block = metric.GetReflection()->GetMessage(metric, kind);
    checkNames(c, {place, kindName.c_str()}, kindName, block);
    checkNumbers(c, {place, kindName.c_str()}, block);
    if (name.empty() || own.contains(name))
      c.error({place}) << "expected a name of the metric's own, found \"" << name
                       << "\", which logs use for something else";
    else if (StringRef(name).ends_with("_is"))
      c.error({place}) << "expected a name that does not end in _is, found \"" << name
                       << "\": by such fields logs tell NaN from infinity";
    else if (!names.insert(name).second)
      c.error({place}) << "two metrics are called \"" << name
                       << "\": tell them apart, metric { name: \"...\" " << kindName
                       << " { ... } }";
  }
}

std::optional<spec::Direction> gradc::directionOf(const spec::Training &training,
                                                  StringRef metric) {
  for (const spec::EvaluationSet &set : training.evaluation().set())
    if (!set.name().empty() && metric.consume_front(set.name() + "/"))
      break;
  if (metric == "loss")
    return spec::MIN;
  for (const spec::Metric &one : training.metric())
    if (metric == metricName(one) && !one.has_confusion_matrix()) // not a number
      return one.has_perplexity() || one.has_mean_absolute_error() ||
                     one.has_root_mean_squared_error()
                 ? spec::MIN
                 : spec::MAX;
  return std::nullopt;
}
