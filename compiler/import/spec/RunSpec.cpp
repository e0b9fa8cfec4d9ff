// Checks the parts of a training spec that concern the run as a whole: when it evaluates, and
// actions that depend on evaluations.
#include "dialects/Pch.h"

#include "compiler/import/spec/SpecChecker.h"

#include <cmath>

using namespace mlir;
using namespace gradc;

void gradc::checkWatch(Checker &c, const spec::Training &training, ArrayRef<SpecFile::Step> place,
                       StringRef block, StringRef metric) {
  c.require(training.has_evaluation(), place, ("evaluation, which " + block + " looks at").str(),
            "evaluation { data { ... } }");
  if (directionOf(training, metric))
    return;
  std::vector<std::string> names = {"loss"};
  for (const spec::Metric &one : training.metric())
    if (directionOf(training, metricName(one)))
      names.push_back(metricName(one));
  size_t count = names.size();
  for (const spec::EvaluationSet &set : training.evaluation().set())
    for (size_t i = 0; i < count; ++i)
      names.push_back(set.name() + "/" + names[i]);
  SmallVector<SpecFile::Step> at(place);
  at.push_back("metric");
  c.error(at) << "expected a metric of the spec or the loss (" << llvm::join(names, ", ")
              << "), found \"" << metric << "\"";
}

/// If training holds out rows by a split, evaluation on the same source must use exactly those
/// rows.
static void checkSplits(Checker &c, const spec::Training &training) {
  spec::Source trains = training.data().source(), evaluates = training.evaluation().data().source();
  spec::Split split = trains.split(), other = evaluates.split();
  bool isSplit = trains.has_split(), isOther = evaluates.has_split();
  trains.clear_split();
  evaluates.clear_split();
  if (!isSplit || !isOther || trains.SerializeAsString() != evaluates.SerializeAsString())
    return;
  split.set_held_out(!split.held_out());
  other.set_held_out(other.held_out());
  if (split.SerializeAsString() != other.SerializeAsString())
    c.error({"evaluation", "data", "source", "split"})
        << "expected the split of the data to train on, " << (split.held_out() ? "with" : "without")
        << " held_out: true: other rows would be in both, or in neither";
}

/// Logs call a metric of a set "NAME/METRIC".
static void checkSets(Checker &c, const spec::Training &training) {
  llvm::StringSet<> names;
  for (auto [i, set] : llvm::enumerate(training.evaluation().set())) {
    SpecPlace place = {"evaluation", {"set", int(i)}};
    checkEntryName(c, place, set.name(), "sets of the evaluation", "name: \"elsewhere\"", names);
    if (set.name().empty())
      continue;
    for (const spec::Metric &metric : training.metric())
      if (StringRef(metricName(metric)).starts_with(set.name() + "/"))
        c.error(place + "name") << "metric \"" << metricName(metric)
                                << "\" is called like one of the set \"" << set.name()
                                << "\": rename one of them";
  }
}

void gradc::checkEvaluations(Checker &c, const spec::Training &training) {
  auto metricOf = [](const auto &block) { return block.has_metric() ? block.metric() : "loss"; };
  if (training.has_early_stopping()) {
    const spec::EarlyStopping &stopping = training.early_stopping();
    c.require(stopping.has_patience(), {"early_stopping"}, "patience", "patience: 5");
    c.expect(!stopping.has_patience() || stopping.patience() > 0, {"early_stopping", "patience"},
             "patience", "above 0", stopping.patience());
    c.expect(stopping.min_delta() >= 0 && std::isfinite(stopping.min_delta()),
             {"early_stopping", "min_delta"}, "min_delta", "of 0 or more and finite",
             stopping.min_delta());
    checkWatch(c, training, {"early_stopping"}, "early_stopping", metricOf(stopping));
  }
  if (training.checkpoint().has_best())
    checkWatch(c, training, {"checkpoint", "best"}, "best", metricOf(training.checkpoint().best()));
  bool keepsBest =
      training.checkpoint().has_best() || (training.has_checkpoint() && training.has_evaluation());
  if (training.export_().best() && !keepsBest)
    c.error({"export", "best"}) << "export { best } needs the checkpoint that it exports: add "
                                   "checkpoint { directory: \"run\" best {} }";
  checkSplits(c, training);
  checkSets(c, training);
  c.expect(!training.evaluation().has_every_steps() || training.evaluation().every_steps() > 0,
           {"evaluation"}, "every_steps", "above 0", training.evaluation().every_steps());
}

void gradc::setDirections(spec::Training &training) {
  auto set = [&](auto &block) {
    if (!block.has_direction())
      block.set_direction(
          directionOf(training, block.has_metric() ? block.metric() : "loss").value_or(spec::MIN));
  };
  if (training.schedule().has_reduce_on_plateau())
    set(*training.mutable_schedule()->mutable_reduce_on_plateau());
  if (training.has_early_stopping())
    set(*training.mutable_early_stopping());
  if (training.checkpoint().has_best())
    set(*training.mutable_checkpoint()->mutable_best());
}
