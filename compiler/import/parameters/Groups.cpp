// Resolves parameter groups and writes their rules to the states of their parameters.
#include "dialects/Pch.h"

#include "compiler/import/parameters/Groups.h"
#include "compiler/import/spec/OptimizerSpec.h"
#include "passes/entry/Ports.h"
#include "passes/training/TrainedStates.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;
using google::protobuf::FieldDescriptor;

static Attribute hyperparameter(Builder &b, const google::protobuf::Message &rule,
                                const FieldDescriptor *field) {
  const google::protobuf::Reflection *values = rule.GetReflection();
  if (field->is_repeated()) {
    SmallVector<double> all;
    for (int i = 0; i < values->FieldSize(rule, field); ++i)
      all.push_back(values->GetRepeatedDouble(rule, field, i));
    return all.empty() ? Attribute() : b.getDenseF64ArrayAttr(all);
  }
  switch (field->cpp_type()) {
  case FieldDescriptor::CPPTYPE_BOOL:
    return values->GetBool(rule, field) ? b.getUnitAttr() : Attribute();
  case FieldDescriptor::CPPTYPE_INT64:
    return b.getI64IntegerAttr(values->GetInt64(rule, field));
  default:
    return b.getF64FloatAttr(values->GetDouble(rule, field));
  }
}

DictionaryAttr gradc::ruleOf(Builder &b, const spec::Training &training,
                             const spec::Optimizer &optimizer) {
  const google::protobuf::Message &rule = optimizerRule(optimizer);
  std::string kind = optimizerName(optimizer);
  NamedAttrList attributes;
  // AdamW is Adam with weight decay instead of l2.
  attributes.set("name", b.getStringAttr(kind == "adamw" ? StringRef("adam") : StringRef(kind)));
  for (int i = 0; i < rule.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor *field = rule.GetDescriptor()->field(i);
    std::string name(field->name());
    if (name == gradc_role_name(GRADC_ROLE_LEARNING_RATE))
      continue;
    if (Attribute value = hyperparameter(b, rule, field))
      attributes.set(name, value);
  }
  if (training.schedule().one_cycle().cycle_momentum())
    attributes.set("cycled", b.getUnitAttr());
  return attributes.getDictionary(b.getContext());
}

LogicalResult Groups::assign(int group, int index, const PatternScope &scope) {
  const std::string &pattern = groups[group].block->pattern(index);
  Location where = spec.at(groups[group].place + SpecFile::Step("pattern", index));
  FailureOr<std::vector<std::string>> matches = matching(pattern, scope, where);
  if (failed(matches))
    return failure();
  bool isNew = false;
  for (const std::string &name : *matches)
    isNew |=
        members.try_emplace(name, Member{group, pattern}).second || members.at(name).group == group;
  if (isNew)
    return success();
  return emitError(where) << "group: all that \"" << pattern
                          << "\" matches is in groups before this one, the first match counts: "
                             "move the group to before \""
                          << members.at(matches->front()).pattern << "\"";
}

LogicalResult Groups::resolve() {
  std::vector<std::string> names = model.initializerNames();
  SmallVector<StepSpec> steps = stepsOf(spec.get());
  if (steps.front().isBlock())
    steps.emplace_back(spec.get());
  bool ok = true;
  for (const StepSpec &step : steps) {
    PatternScope scope{
        "group", step.isBlock() ? "initializer that the block trains" : "initializer", {}};
    llvm::copy_if(names, std::back_inserter(scope.names),
                  [&](StringRef name) { return step.trains(name); });
    for (auto [g, block] : llvm::enumerate(step.ownGroups())) {
      groups.push_back({&block, step.ownPlace({"group", int(g)}), step});
      for (int p = 0; p < block.pattern_size(); ++p)
        ok &= succeeded(assign(int(groups.size()) - 1, p, scope));
    }
  }
  return success(ok);
}

std::vector<std::string> Groups::frozen() const {
  std::vector<std::string> names;
  for (const auto &[name, member] : members)
    if (groups[member.group].block->frozen())
      names.push_back(name);
  return names;
}

int64_t Groups::frozenUntil(StringRef initializer) const {
  auto member = members.find(initializer.str());
  return member == members.end() ? 0 : groups[member->second.group].block->frozen_until_step();
}

/// The rule of the group's parameters in the given step.
FailureOr<DictionaryAttr> Groups::rule(Builder &b, int index, const StepSpec &step) const {
  const spec::Optimizer &common = step.optimizer();
  if (index < 0)
    return ruleOf(b, spec.get(), common);
  const spec::Group &group = *groups[index].block;
  const spec::Optimizer &optimizer = group.has_optimizer() ? group.optimizer() : common;
  NamedAttrList attributes(ruleOf(b, spec.get(), optimizer));
  for (auto [name, given, value] :
       {std::tuple("l2", group.has_l2(), group.l2()),
        std::tuple("weight_decay", group.has_weight_decay(), group.weight_decay())}) {
    if (!given)
      continue;
    if (!findHyperparameter(optimizer, name))
      return emitError(spec.at(groups[index].place + name))
             << optimizerName(optimizer) << ", by which \"" << step.name()
             << "\" trains parameters of the group, has no " << name;
    attributes.set(name, b.getF64FloatAttr(value));
  }
  // PyTorch's SparseAdam adds epsilon where Keras' Adam does: before it corrects the moments.
  if (group.lazy() && cast<StringAttr>(attributes.get("name")) == "adam")
    attributes.set("keras", b.getUnitAttr());
  return attributes.getDictionary(b.getContext());
}

/// The rule of a parameter in all steps that train it; null if each of these steps uses its common
/// rule.
FailureOr<DictionaryAttr> Groups::ownRule(Builder &b, const Verdict &verdict, int group) const {
  DictionaryAttr own;
  std::string first;
  bool isCommon = true;
  for (const StepSpec &step : stepsOf(spec.get())) {
    if (!step.trains(verdict.initializer))
      continue;
    FailureOr<DictionaryAttr> found = rule(b, group, step);
    if (failed(found))
      return failure();
    isCommon &= *found == ruleOf(b, spec.get(), step.optimizer());
    if (own && own != *found)
      return emitError(optimizerLoc(group, step)) << "\"" << first << "\" and \"" << step.name()
                                                  << "\" both train \"" << verdict.initializer
                                                  << "\", by different rules, but it has one set "
                                                     "of optimizer slots: give both one rule, "
                                                     "or the parameter to one of them";
    if (!own)
      first = step.name();
    own = *found;
  }
  return isCommon ? DictionaryAttr() : own;
}

/// The location of the group's optimizer, or of the common one.
Location Groups::optimizerLoc(int group, const StepSpec &step) const {
  if (group < 0 || !groups[group].block->has_optimizer())
    return spec.at(step.optimizerPlace());
  return spec.at(groups[group].place + "optimizer");
}

/// The update op that a rule names.
static OperationName updateOf(DictionaryAttr rule) {
  return {("grad." + rule.getAs<StringAttr>("name").getValue()).str(), rule.getContext()};
}

/// Reports which parameters have too few dims for their rule. `parameters` is not empty.
static void refuse(Location where, OperationName op, ArrayRef<const Verdict *> parameters) {
  const Verdict &first = *parameters.front();
  auto error = emitError(where) << op.stripDialect() << " takes parameters of "
                                << op.getInterface<UpdateOpInterface>()->getLeastRank()
                                << " dims or more, found \"" << first.initializer << "\" ("
                                << first.type << ")";
  if (parameters.size() > 1)
    error << " and " << parameters.size() - 1 << " more";
  error << "; give them another rule: group { pattern: \"" << first.initializer
        << "\" optimizer { adamw {} } }";
}

/// Adds to each entry the learning rates of the groups that it trains.
static void addRates(ModuleOp module) {
  Builder b(module.getContext());
  Type scalar = RankedTensorType::get({}, b.getF32Type());
  StringRef role = gradc_role_name(GRADC_ROLE_LEARNING_RATE);
  for (auto function : module.getOps<func::FuncOp>()) {
    if (!function->hasAttr(updateRuleName))
      continue;
    llvm::SetVector<StringAttr> rates;
    for (auto read : function.getOps<ReadOp>())
      if (isTrainedBy(function, read.getStateAttr()))
        if (auto rate =
                module.lookupSymbol<StateOp>(read.getState())->getAttrOfType<StringAttr>(rateName))
          rates.insert(rate);
    for (StringAttr rate : rates) {
      addArgument(function, scalar, (role + " " + rate.getValue()).str(), role);
      function.setArgAttr(function.getNumArguments() - 1, fieldName, rate);
    }
  }
}

LogicalResult Groups::apply(Imported &imported, const States &states) const {
  Builder b(imported.module->getContext());
  SmallVector<StepSpec> steps = stepsOf(spec.get());
  // Keyed by the location of the rule.
  llvm::MapVector<Location, std::pair<OperationName, std::vector<const Verdict *>>> tooSmall;
  bool ok = true;
  for (Verdict &verdict : imported.verdicts) {
    auto member = members.find(verdict.initializer);
    int group = member == members.end() ? -1 : member->second.group;
    if (group >= 0)
      verdict.group = member->second.pattern;
    if (!verdict.trains)
      continue;
    FailureOr<DictionaryAttr> own = ownRule(b, verdict, group);
    ok &= succeeded(own);
    if (failed(own))
      continue;
    StateOp state = states.state(verdict.initializer);
    if (*own)
      state->setAttr(updateRuleName, *own);
    if (group >= 0 && groups[group].block->lazy())
      state->setAttr(lazyName, b.getUnitAttr());
    if (group >= 0)
      state->setAttr(rateName, b.getStringAttr(groups[group].block->pattern(0)));
    const StepSpec &step =
        *llvm::find_if(steps, [&](const StepSpec &one) { return one.trains(verdict.initializer); });
    OperationName op = updateOf(*own ? *own : ruleOf(b, spec.get(), step.optimizer()));
    if (state.getLogicalType().getRank() < op.getInterface<UpdateOpInterface>()->getLeastRank())
      tooSmall.try_emplace(optimizerLoc(group, step), op, std::vector<const Verdict *>())
          .first->second.second.push_back(&verdict);
  }
  for (const auto &[where, refused] : tooSmall)
    refuse(where, refused.first, refused.second);
  addRates(*imported.module);
  return success(ok && tooSmall.empty());
}
