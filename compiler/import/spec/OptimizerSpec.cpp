// Checks optimizers, groups, clipping, and the average by the names of their fields.
#include "dialects/Pch.h"

#include "compiler/import/spec/OptimizerSpec.h"
#include "compiler/import/spec/SpecChecker.h"

#include <cmath>

using namespace mlir;
using namespace gradc;
using google::protobuf::FieldDescriptor;

std::string gradc::optimizerName(const spec::Optimizer &optimizer) {
  const auto *kind = optimizer.GetReflection()->GetOneofFieldDescriptor(
      optimizer, optimizer.GetDescriptor()->oneof_decl(0));
  return kind ? std::string(kind->name()) : std::string();
}

const google::protobuf::Message &gradc::optimizerRule(const spec::Optimizer &optimizer) {
  return optimizer.GetReflection()->GetMessage(
      optimizer, optimizer.GetDescriptor()->FindFieldByName(optimizerName(optimizer)));
}

const FieldDescriptor *gradc::findHyperparameter(const spec::Optimizer &optimizer,
                                                 const std::string &name) {
  return optimizerRule(optimizer).GetDescriptor()->FindFieldByName(name);
}

namespace {
/// The allowed range of a hyperparameter, and whether a value is in it.
struct Bounds {
  const char *text;
  bool holds;
};
} // namespace

/// The name of a field, not its rule, determines the range. `mayBeZero`: the field's default is 0.
/// `observes`: steps without updates have a purpose.
static Bounds rangeOf(StringRef name, double value, bool mayBeZero, bool observes) {
  bool isAmount = (name == "learning_rate" && observes) || name == "l2" || name == "weight_decay" ||
                  name == "learning_rate_decay" || name == "initial_accumulator" ||
                  name == "momentum_decay" || (name == "epsilon" && mayBeZero);
  if (isAmount)
    return {"of 0 or more and finite", value >= 0 && std::isfinite(value)};
  if (name == "learning_rate" || name == "epsilon" || name == "trust_coefficient")
    return {"above 0 and finite", value > 0 && std::isfinite(value)};
  // The share of the previous value: momentum, beta, alpha.
  return {"from 0 to below 1", value >= 0 && value < 1};
}

/// Whether steps may have a learning rate of 0: they observe ranges, and no other rate is relative
/// to this one.
static bool observesAlone(const spec::Training &training) {
  return training.has_quantize() && training.group().empty() && training.train().empty();
}

static void checkMuon(Checker &c, ArrayRef<SpecFile::Step> place, const spec::Muon &muon) {
  SmallVector<SpecFile::Step> at(place);
  at.append({"muon", {"coefficients", 0}});
  if (int count = muon.coefficients_size(); count != 0 && count != 3)
    c.error(at) << "expected three coefficients, found " << count;
  for (auto [i, coefficient] : llvm::enumerate(muon.coefficients())) {
    at.back().index = int(i);
    c.expect(std::isfinite(coefficient), at, "coefficients", "that are finite", coefficient);
  }
  at.back() = "iterations";
  c.expect(muon.iterations() >= 1 && muon.iterations() < 100, at, "iterations", "from 1 to 99",
           muon.iterations());
}

/// `place`: the optimizer's.
static void checkOptimizer(Checker &c, ArrayRef<SpecFile::Step> place,
                           const spec::Optimizer &optimizer) {
  std::string kind = optimizerName(optimizer);
  if (kind.empty())
    return c.require(false, place, "optimizer", "optimizer { adam { learning_rate: 1e-3 } }");
  const google::protobuf::Message &rule = optimizerRule(optimizer);
  for (int i = 0; i < rule.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor *field = rule.GetDescriptor()->field(i);
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_DOUBLE || field->is_repeated())
      continue;
    double value = rule.GetReflection()->GetDouble(rule, field);
    std::string name(field->name());
    SmallVector<SpecFile::Step> at(place);
    at.append({kind.c_str(), name.c_str()});
    Bounds range =
        rangeOf(name, value, field->default_value_double() == 0, observesAlone(c.file.get()));
    c.expect(range.holds, at, name, range.text, value);
  }
  if (optimizer.has_muon())
    checkMuon(c, place, optimizer.muon());
  if (optimizer.momentum().nesterov() && optimizer.momentum().dampening() != 0) {
    SmallVector<SpecFile::Step> at(place);
    at.append({"momentum", "dampening"});
    c.error(at) << "expected no dampening beside nesterov, found "
                << numberText(optimizer.momentum().dampening());
  }
}

/// Checks the numbers of a group that replace those of its optimizer. `common`: the rule without
/// the group.
static void checkNumbers(Checker &c, const SpecPlace &block, const spec::Group &group,
                         const spec::Optimizer &common) {
  for (auto [name, given, value] :
       {std::tuple("learning_rate", group.has_learning_rate(), group.learning_rate()),
        std::tuple("l2", group.has_l2(), group.l2()),
        std::tuple("weight_decay", group.has_weight_decay(), group.weight_decay())}) {
    if (!given)
      continue;
    SpecPlace place = block + name;
    Bounds range = rangeOf(name, value, false, observesAlone(c.file.get()));
    c.expect(range.holds, place, name, range.text, value);
    std::string kind = optimizerName(common);
    if (group.frozen())
      c.error(place) << "a frozen group has no " << name;
    else if (group.has_optimizer())
      c.error(place) << "a group's optimizer has its own " << name << ": set it there";
    else if (!kind.empty() && !findHyperparameter(common, name))
      c.error(place) << kind << " has no " << name
                     << (StringRef(name) == "l2" ? "; its decay is weight_decay"
                                                 : "; its decay is l2");
  }
}

/// A lazy group leaves out rows, so nothing may change all of them.
static void checkLazy(Checker &c, const SpecPlace &place, const spec::Group &group,
                      const spec::Optimizer &optimizer) {
  auto refuse = [&](const Twine &why) {
    c.error(place) << "a lazy group updates only the rows that a step reads, but " << why;
  };
  for (auto [name, given, own] :
       {std::tuple("l2", group.has_l2(), group.l2()),
        std::tuple("weight_decay", group.has_weight_decay(), group.weight_decay())}) {
    std::string kind = optimizerName(optimizer);
    const auto *field = kind.empty() ? nullptr : findHyperparameter(optimizer, name);
    if (!field)
      continue;
    const google::protobuf::Message &rule = optimizerRule(optimizer);
    double value = given ? own : rule.GetReflection()->GetDouble(rule, field);
    if (value != 0)
      refuse("the " + Twine(name) + " " + numberText(value) + " of " + kind +
             " changes all rows: set it to 0");
  }
  const spec::Training &training = c.file.get();
  if (group.frozen())
    refuse("a frozen group has no updates");
  if (training.has_ema())
    refuse("`ema` averages all rows");
  if (training.has_swa())
    refuse("`swa` averages all rows");
  if (training.has_distribution())
    refuse("ranks add up gradients of all rows");
}

static void checkGroup(Checker &c, const SpecPlace &place, const spec::Group &group,
                       const StepSpec &step) {
  c.require(group.pattern_size() > 0, place, "the group's pattern", "pattern: \"*.bias\"");
  checkNumbers(c, place, group, step.optimizer());
  if (group.frozen() && step.isBlock())
    c.error(place + "frozen")
        << "a train block leaves out what it does not train: say so in trains";
  if (group.has_frozen_until_step()) {
    c.expect(group.frozen_until_step() > 0, place + "frozen_until_step", "frozen_until_step",
             "above 0", group.frozen_until_step());
    if (group.frozen())
      c.error(place + "frozen_until_step")
          << "a frozen group stays so: leave frozen or frozen_until_step out";
  }
  if (group.lazy())
    checkLazy(c, place + "lazy", group,
              group.has_optimizer() ? group.optimizer() : step.optimizer());
  if (!group.has_optimizer())
    return;
  if (group.frozen())
    c.error(place + "optimizer") << "a frozen group has no optimizer";
  checkOptimizer(c, place + "optimizer", group.optimizer());
}

static void checkClip(Checker &c, const SpecPlace &place, const spec::Clip &clip) {
  auto expect = [&](const char *name, double limit) {
    c.expect(limit > 0 && std::isfinite(limit), place + name, name, "above 0 and finite", limit);
  };
  switch (clip.kind_case()) {
  case spec::Clip::kGlobalNorm:
    return expect("global_norm", clip.global_norm());
  case spec::Clip::kNorm:
    return expect("norm", clip.norm());
  case spec::Clip::kValue:
    return expect("value", clip.value());
  case spec::Clip::KIND_NOT_SET:
    return c.require(false, place, "the limit", "global_norm: 1.0, norm: 1.0 or value: 0.5");
  }
}

void gradc::checkUpdates(Checker &c, const StepSpec &step) {
  if (step.hasOwnOptimizer())
    checkOptimizer(c, step.optimizerPlace(), step.optimizer());
  for (auto [i, group] : llvm::enumerate(step.ownGroups()))
    checkGroup(c, step.ownPlace({"group", int(i)}), group, step);
  if (step.ownClip())
    checkClip(c, step.ownPlace("clip"), *step.ownClip());
}
