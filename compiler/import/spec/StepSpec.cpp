// Checks the `train` blocks of a spec, and what they inherit from it.
#include "dialects/Pch.h"

#include "compiler/import/spec/SpecChecker.h"
#include "runtime/include/gradc/entries.h"

using namespace mlir;
using namespace gradc;

bool StepSpec::trains(StringRef initializer) const {
  if (!isBlock() || !block().trains_size())
    return true;
  return llvm::any_of(block().trains(),
                      [&](const std::string &pattern) { return matches(pattern, initializer); });
}

SmallVector<StepSpec> gradc::stepsOf(const spec::Training &training) {
  SmallVector<StepSpec> steps;
  for (int i = 0; i < training.train_size(); ++i)
    steps.emplace_back(training, i);
  if (steps.empty())
    steps.emplace_back(training);
  return steps;
}

void gradc::checkEntryName(Checker &c, const SpecPlace &place, const std::string &name,
                           StringRef what, StringRef example, llvm::StringSet<> &names) {
  c.require(!name.empty(), place, "the block's name", example);
  if (name.empty())
    return;
  auto isAllowed = [](char x) { return llvm::isAlnum(x) || x == '-' || x == '_'; };
  if (!llvm::all_of(name, isAllowed) || gradc_begins_suffix(name.data(), name.size()))
    c.error(place + "name")
        << "expected a name of letters, digits, - and _ other than length, rows, stage, tail, "
           "until and watch, found \""
        << name << "\"";
  else if (!names.insert(name).second)
    c.error(place + "name") << "two " << what << " are called \"" << name << "\"";
}

/// Whether the spec itself, not a `train` block, says what is learned: from labels or from
/// teachers.
static bool hasLoss(const spec::Training &training) {
  return training.loss_size() || training.teacher_size();
}

/// Requires a loss of the spec itself. `who`: why, for the message.
static void requireLoss(Checker &c, const spec::Training &training, StringRef who) {
  c.require(hasLoss(training), {}, ("loss" + who).str(),
            "loss { softmax_cross_entropy { logits: \"logits\" labels: \"labels\" } }");
}

static void checkWatches(Checker &c, const spec::Training &training) {
  for (auto [i, watch] : llvm::enumerate(training.watch())) {
    SpecPlace place = {{"watch", int(i)}};
    c.expect(watch.every() > 0, place + "every", "every", "above 0", watch.every());
    c.expect(!watch.has_histogram_bins() ||
                 (watch.histogram_bins() > 0 && watch.histogram_bins() <= 65536),
             place + "histogram_bins", "histogram_bins", "from 1 to 65536", watch.histogram_bins());
    if (!watch.gradients() && !watch.weights())
      c.error(place) << "expected gradients, weights or both to be watched, found neither";
  }
}

static void checkEqualAverage(Checker &c, const spec::Training &training) {
  const spec::Swa &swa = training.swa();
  c.require(swa.has_begin(), {"swa"}, "begin", "begin: 1000, or unit: EPOCHS begin: 75");
  c.expect(!swa.has_begin() || swa.begin() > 0, {"swa", "begin"}, "begin", "above 0", swa.begin());
  c.expect(swa.every() > 0, {"swa", "every"}, "every", "above 0", swa.every());
  if (training.has_ema())
    c.error({"swa"}) << "a weight has one average: leave ema or swa out";
  if (training.train_size())
    c.error({"swa"}) << "swa averages the weights of some steps, which train blocks share among "
                        "their kinds: use ema, or leave swa out";
}

void gradc::checkSteps(Checker &c, const spec::Training &training) {
  StepSpec whole(training);
  checkLosses(c, whole);
  checkUpdates(c, whole);
  if (!training.train_size())
    requireLoss(c, training, "");
  else if (training.has_evaluation())
    requireLoss(c, training, ", which evaluations compute beside train blocks");
  llvm::StringSet<> names;
  for (auto [i, block] : llvm::enumerate(training.train())) {
    SpecPlace place = {{"train", int(i)}};
    StepSpec step(training, int(i));
    checkEntryName(c, place, block.name(), "train blocks", "name: \"critic\"", names);
    c.expect(block.steps() > 0, place + "steps", "steps", "above 0", block.steps());
    if (block.loss_size())
      checkLosses(c, step);
    else if (!hasLoss(training))
      c.require(false, place, "loss of the block or of the spec", "loss { scalar: \"loss\" }");
    if (!block.has_optimizer() && !training.has_optimizer())
      c.require(false, place, "optimizer of the block or of the spec",
                "optimizer { adam { learning_rate: 1e-3 } }");
    checkUpdates(c, step);
  }
  checkWatches(c, training);
  if (training.has_ema())
    c.expect(training.ema().decay() >= 0 && training.ema().decay() < 1, {"ema", "decay"}, "decay",
             "from 0 to below 1", training.ema().decay());
  if (training.has_swa())
    checkEqualAverage(c, training);
}
