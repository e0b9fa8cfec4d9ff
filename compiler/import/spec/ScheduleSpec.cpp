// Checks the learning rate's schedule in a training spec.
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
      .Case("threshold", {[](double value) { return value >= 0 && std::isfinite(value); },
                          "of 0 or more and finite"})
      // Shares of the optimizer's rate, which is the highest one.
      .Cases({"start", "end"}, {[](double value) { return value >= 0 && value <= 1; },
                                "from 0 to 1, a share of learning_rate"})
      .Case("base", {[](double value) { return value >= 0 && value < 1; },
                     "from 0 to below 1, a share of learning_rate"})
      .Case("initial_divisor", {[](double value) { return value >= 1 && std::isfinite(value); },
                                "of 1 or more and finite"})
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

/// Checks that the rate is never above the optimizer's and ends where it should, and the momenta
/// between which it moves.
static void checkOneCycle(Checker &c, const SpecPlace &place, const spec::OneCycleRate &cycle) {
  double divisor = cycle.has_initial_divisor() ? cycle.initial_divisor() : 25;
  c.expect(!(divisor * cycle.final_divisor() < 1) || !cycle.has_final_divisor(),
           place + "final_divisor", "final_divisor",
           "of 1 / initial_divisor or more, as the rate would end above learning_rate",
           cycle.final_divisor());
  c.expect(!cycle.three_phases() || !(cycle.rise() > 0.5), place + "rise", "rise",
           "of at most 0.5, as three_phases rises and falls back over as many steps", cycle.rise());
  for (auto [name, given] : {std::pair("base_momentum", cycle.has_base_momentum()),
                             std::pair("max_momentum", cycle.has_max_momentum())})
    if (given && !cycle.cycle_momentum())
      c.error(place + name)
          << name
          << " is that of a momentum that changes: add cycle_momentum: true, or leave it out";
  double low = cycle.has_base_momentum() ? cycle.base_momentum() : 0.85,
         high = cycle.has_max_momentum() ? cycle.max_momentum() : 0.95;
  c.expect(!cycle.cycle_momentum() || !(low > high),
           place + (cycle.has_base_momentum() ? "base_momentum" : "max_momentum"), "base_momentum",
           "of at most max_momentum, " + numberText(high), low);
}

/// Checks that each rule that trains something has a momentum to change.
static void checkMomenta(Checker &c, const spec::Training &training) {
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

static void checkCyclic(Checker &c, const SpecPlace &place, const spec::CyclicRate &rule) {
  bool isExponential = rule.mode() == spec::CyclicRate::EXP_RANGE;
  c.require(!isExponential || rule.has_factor(), place, "factor", "factor: 0.9999");
  if (rule.has_factor() && !isExponential)
    c.error(place + "factor")
        << "factor is that of EXP_RANGE: add mode: EXP_RANGE, or leave it out";
  c.expect(!isExponential || !(rule.factor() > 1), place + "factor", "factor",
           "of at most 1, as cycles would rise above learning_rate", rule.factor());
}

static void checkPiecewise(Checker &c, const SpecPlace &place, const spec::PiecewiseRate &rule) {
  c.require(rule.milestone_size(), place, "milestones", "milestone: [30, 60, 80]");
  for (int i = 1; i < rule.milestone_size(); ++i)
    c.expect(rule.milestone(i) > rule.milestone(i - 1), place + SpecFile::Step("milestone", i),
             "milestone", "above the one before, " + std::to_string(rule.milestone(i - 1)),
             rule.milestone(i));
  int factors = rule.factor_size();
  c.expect(factors <= 1 || factors == rule.milestone_size(), place, "factors",
           "to be one, or one for each of " + std::to_string(rule.milestone_size()) + " milestones",
           factors);
}

static const google::protobuf::FieldDescriptor *kindOf(const google::protobuf::Message &block) {
  return block.GetReflection()->GetOneofFieldDescriptor(block,
                                                        block.GetDescriptor()->oneof_decl(0));
}

/// Checks the kind of a schedule or of a part of a sequence.
template <typename Block>
static void checkKind(Checker &c, const SpecPlace &block, const Block &schedule) {
  const google::protobuf::FieldDescriptor *kind = kindOf(schedule);
  std::string name(kind->name());
  SpecPlace place = block + name.c_str();
  checkRanges(c, place, schedule.GetReflection()->GetMessage(schedule, kind));
  if (schedule.has_step())
    c.require(schedule.step().has_size(), place, "size", "size: 1000");
  if (schedule.has_exponential())
    c.require(schedule.exponential().has_factor(), place, "factor", "factor: 0.999");
  if (schedule.has_piecewise())
    checkPiecewise(c, place, schedule.piecewise());
  if (schedule.has_one_cycle())
    checkOneCycle(c, place, schedule.one_cycle());
  if (schedule.has_cyclic())
    checkCyclic(c, place, schedule.cyclic());
  const spec::CosineRate &cosine = schedule.cosine();
  c.require(!cosine.restarts() || cosine.has_length(), place,
            "the length of the first of several cycles", "length: 1000");
  if (cosine.has_growth() && !cosine.restarts())
    c.error(place + "growth") << "growth is that of cycles: add restarts: true, or leave it out";
}

static void checkSequence(Checker &c, const spec::SequenceRate &sequence) {
  const SpecPlace place = {"schedule", "sequence"};
  c.require(sequence.part_size(), place, "parts",
            "part { until: 500 linear {} } part { cosine {} }");
  int64_t before = 0;
  for (int i = 0; i < sequence.part_size(); ++i) {
    const spec::SequencePart &part = sequence.part(i);
    SpecPlace at = place + SpecFile::Step("part", i);
    bool isLast = i + 1 == sequence.part_size();
    c.require(isLast || part.has_until(), at, "until", "until: 500");
    if (isLast && part.has_until())
      c.error(at + "until") << "the last part lasts to the end of the run: leave until out, or add "
                               "a part behind it, such as part { constant {} }";
    c.expect(!part.has_until() || part.until() > before, at + "until", "until",
             before ? "above that of the part before, " + std::to_string(before) : "above 0",
             part.until());
    before = std::max(before, part.until());
    c.require(kindOf(part), at, "the part's kind", "cosine {} or step { size: 1000 }");
    if (kindOf(part))
      checkKind(c, at, part);
    if (part.one_cycle().cycle_momentum())
      c.error(at + "one_cycle" + "cycle_momentum")
          << "a sequence does not change the momentum: leave cycle_momentum out, or use one_cycle "
             "alone";
  }
}

void gradc::checkSchedule(Checker &c, const spec::Training &training) {
  if (!training.has_schedule())
    return;
  const spec::Schedule &schedule = training.schedule();
  const google::protobuf::FieldDescriptor *kind = kindOf(schedule);
  c.require(kind || schedule.has_warm_up(), {"schedule"}, "the schedule's kind",
            "cosine {}, step { size: 1000 } or warm_up { steps: 500 }");
  if (schedule.has_warm_up()) {
    c.require(schedule.warm_up().has_steps(), {"schedule", "warm_up"}, "steps", "steps: 500");
    checkRanges(c, {"schedule", "warm_up"}, schedule.warm_up());
  }
  if (!kind)
    return;
  checkKind(c, {"schedule"}, schedule);
  if (schedule.one_cycle().cycle_momentum())
    checkMomenta(c, training);
  if (schedule.has_sequence())
    checkSequence(c, schedule.sequence());
  const spec::PlateauRate &plateau = schedule.reduce_on_plateau();
  if (schedule.has_reduce_on_plateau()) {
    checkWatch(c, training, {"schedule", "reduce_on_plateau"}, "reduce_on_plateau",
               plateau.has_metric() ? plateau.metric() : "loss");
    c.expect(!plateau.has_factor() || plateau.factor() < 1,
             {"schedule", "reduce_on_plateau", "factor"}, "factor", "below 1", plateau.factor());
  }
}
