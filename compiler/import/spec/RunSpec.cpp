// Checks the parts of a training spec that concern the run as a whole: the learning rate's
// schedule, and actions that depend on evaluations.
#include "dialects/Pch.h"

#include "compiler/import/spec/OptimizerSpec.h"
#include "compiler/import/spec/SpecChecker.h"
#include "compiler/import/spec/SpecFields.h"

#include <cmath>

using namespace mlir;
using namespace gradc;

namespace {
struct Limits {
  bool (*holds)(double value);
  const char *text;
};
} // namespace

/// The range of a number. The field's name determines it, not the kind of schedule.
static Limits rangeOf(StringRef field) {
  return llvm::StringSwitch<Limits>(field)
      .Cases({"size", "length", "growth", "steps", "milestone", "up", "down"},
             {[](double value) { return value >= 1; }, "above 0"})
      .Cases({"patience", "cooldown"}, {[](double value) { return value >= 0; }, "of 0 or more"})
      .Case("rise", {[](double value) { return value >= 0 && value <= 1; }, "from 0 to 1"})
      .Cases({"minimum", "base_momentum", "max_momentum"},
             {[](double value) { return value >= 0 && value < 1; }, "from 0 to below 1"})
      .Cases({"end", "threshold", "base"},
             {[](double value) { return value >= 0 && std::isfinite(value); },
              "of 0 or more and finite"})
      .Default(
          {[](double value) { return value > 0 && std::isfinite(value); }, "above 0 and finite"});
}

static void checkRanges(Checker &c, ArrayRef<SpecFile::Step> place,
                        const google::protobuf::Message &block) {
  forEachField(block, [&](const SpecField &field) {
    if (!field.isNumber())
      return;
    Limits range = rangeOf(field.name);
    // Only the factor of a warm-up may be 0.
    if (block.GetDescriptor() == spec::WarmUp::descriptor() && field.name == "factor")
      range = rangeOf("end");
    SmallVector<SpecFile::Step> at(place);
    at.push_back(field.step());
    c.expect(range.holds(field.number()), at, field.name, range.text, field.number());
  });
}

/// Checks a block that watches a metric of the evaluations.
static void checkWatch(Checker &c, const spec::Training &training, ArrayRef<SpecFile::Step> place,
                       StringRef block, StringRef metric) {
  c.require(training.has_evaluation(), place, ("evaluation, which " + block + " looks at").str(),
            "evaluation { data { ... } }");
  if (directionOf(training, metric))
    return;
  std::vector<std::string> names = {"loss"};
  for (const spec::Metric &one : training.metric())
    if (directionOf(training, metricName(one)))
      names.push_back(metricName(one));
  SmallVector<SpecFile::Step> at(place);
  at.push_back("metric");
  c.error(at) << "expected a metric of the spec or the loss (" << llvm::join(names, ", ")
              << "), found \"" << metric << "\"";
}

/// Checks that each rule that trains something has a momentum to change.
static void checkOneCycle(Checker &c, const spec::Training &training) {
  const spec::OneCycleRate &cycle = training.schedule().one_cycle();
  for (auto [name, given] : {std::pair("base_momentum", cycle.has_base_momentum()),
                             std::pair("max_momentum", cycle.has_max_momentum())})
    if (given && !cycle.cycle_momentum())
      c.error({"schedule", "one_cycle", name})
          << name
          << " is that of a momentum that changes: add cycle_momentum: true, or leave it out";
  if (!cycle.cycle_momentum())
    return;
  auto check = [&](const SpecPlace &place, const spec::Optimizer &optimizer) {
    if (!optimizer.has_momentum() && !optimizer.has_adam() && !optimizer.has_adamw() &&
        !optimizerName(optimizer).empty())
      c.error(place)
          << "schedule { one_cycle { cycle_momentum } } takes momentum, adam or adamw, found "
          << optimizerName(optimizer);
  };
  SmallVector<StepSpec> steps = stepsOf(training);
  if (steps.front().isBlock())
    steps.emplace_back(training);
  for (const StepSpec &step : steps) {
    if (step.hasOwnOptimizer())
      check(step.optimizerPlace(), step.optimizer());
    for (auto [i, group] : llvm::enumerate(step.ownGroups()))
      if (group.has_optimizer())
        check(step.ownPlace({"group", int(i)}) + "optimizer", group.optimizer());
  }
}

static void checkCyclic(Checker &c, const spec::CyclicRate &rule) {
  bool isExponential = rule.mode() == spec::CyclicRate::EXP_RANGE;
  c.require(!isExponential || rule.has_factor(), {"schedule", "cyclic"}, "factor",
            "factor: 0.9999");
  if (rule.has_factor() && !isExponential)
    c.error({"schedule", "cyclic", "factor"})
        << "factor is that of EXP_RANGE: add mode: EXP_RANGE, or leave it out";
}

static void checkPiecewise(Checker &c, const spec::PiecewiseRate &rule) {
  c.require(rule.milestone_size(), {"schedule", "piecewise"}, "milestones",
            "milestone: [30, 60, 80]");
  for (int i = 1; i < rule.milestone_size(); ++i)
    c.expect(rule.milestone(i) > rule.milestone(i - 1), {"schedule", "piecewise", {"milestone", i}},
             "milestone", "above the one before, " + std::to_string(rule.milestone(i - 1)),
             rule.milestone(i));
  int factors = rule.factor_size();
  c.expect(factors <= 1 || factors == rule.milestone_size(), {"schedule", "piecewise"}, "factors",
           "to be one, or one for each of " + std::to_string(rule.milestone_size()) + " milestones",
           factors);
}

void gradc::checkSchedule(Checker &c, const spec::Training &training) {
  if (!training.has_schedule())
    return;
  const spec::Schedule &schedule = training.schedule();
  const auto *kind = schedule.GetReflection()->GetOneofFieldDescriptor(
      schedule, schedule.GetDescriptor()->oneof_decl(0));
  c.require(kind || schedule.has_warm_up(), {"schedule"}, "the schedule's kind",
            "cosine {}, step { size: 1000 } or warm_up { steps: 500 }");
  if (schedule.has_warm_up()) {
    c.require(schedule.warm_up().has_steps(), {"schedule", "warm_up"}, "steps", "steps: 500");
    checkRanges(c, {"schedule", "warm_up"}, schedule.warm_up());
  }
  if (!kind)
    return;
  std::string name(kind->name());
  checkRanges(c, {"schedule", name.c_str()}, schedule.GetReflection()->GetMessage(schedule, kind));
  if (schedule.has_step())
    c.require(schedule.step().has_size(), {"schedule", "step"}, "size", "size: 1000");
  if (schedule.has_exponential())
    c.require(schedule.exponential().has_factor(), {"schedule", "exponential"}, "factor",
              "factor: 0.999");
  if (schedule.has_piecewise())
    checkPiecewise(c, schedule.piecewise());
  if (schedule.has_one_cycle())
    checkOneCycle(c, training);
  if (schedule.has_cyclic())
    checkCyclic(c, schedule.cyclic());
  const spec::CosineRate &cosine = schedule.cosine();
  c.require(!cosine.restarts() || cosine.has_length(), {"schedule", "cosine"},
            "the length of the first of several cycles", "length: 1000");
  if (cosine.has_growth() && !cosine.restarts())
    c.error({"schedule", "cosine", "growth"})
        << "growth is that of cycles: add restarts: true, or leave it out";
  const spec::PlateauRate &plateau = schedule.reduce_on_plateau();
  if (schedule.has_reduce_on_plateau()) {
    checkWatch(c, training, {"schedule", "reduce_on_plateau"}, "reduce_on_plateau",
               plateau.has_metric() ? plateau.metric() : "loss");
    c.expect(!plateau.has_factor() || plateau.factor() < 1,
             {"schedule", "reduce_on_plateau", "factor"}, "factor", "below 1", plateau.factor());
  }
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
