// Resolves parameter groups, and writes their rules to the states of their parameters.
#include "dialects/Pch.h"

#include "compiler/import/Groups.h"
#include "compiler/import/spec/OptimizerSpec.h"
#include "compiler/import/support/Names.h"
#include "runtime/include/gradc/roles.h"
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

DictionaryAttr gradc::ruleOf(Builder &b, const spec::Optimizer &optimizer) {
  const google::protobuf::Message &rule = optimizerRule(optimizer);
  std::string kind = optimizerName(optimizer);
  NamedAttrList attributes;
  // AdamW is Adam with decay in place of l2.
  attributes.set("name", b.getStringAttr(kind == "adamw" ? StringRef("adam") : StringRef(kind)));
  for (int i = 0; i < rule.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor *field = rule.GetDescriptor()->field(i);
    std::string name(field->name());
    if (name == gradc_role_name(GRADC_ROLE_LEARNING_RATE))
      continue;
    if (Attribute value = hyperparameter(b, rule, field))
      attributes.set(name, value);
  }
  return attributes.getDictionary(b.getContext());
}

LogicalResult Groups::assign(int group, int index, ArrayRef<std::string> names) {
  const std::string &pattern = spec.get().group(group).pattern(index);
  std::vector<std::string> matches = matching(pattern, names);
  bool isNew = false;
  for (const std::string &name : matches)
    isNew |=
        members.try_emplace(name, Member{group, pattern}).second || members.at(name).group == group;
  if (isNew)
    return success();
  Location where = spec.at({{"group", group}, {"pattern", index}});
  if (!matches.empty())
    return emitError(where) << "group: all that \"" << pattern
                            << "\" matches is in groups before this one, the first match counts: "
                               "move the group to before \""
                            << members.at(matches.front()).pattern << "\"";
  auto error = emitError(where) << "group: no initializer matches \"" << pattern << "\"";
  if (std::string near = nearest(pattern, names); !near.empty())
    error << "; did you mean \"" << near << "\"?";
  return failure();
}

LogicalResult Groups::resolve() {
  std::vector<std::string> names;
  for (const onnx::TensorProto &t : model.graph().initializer())
    names.push_back(t.name());
  bool ok = true;
  for (int g = 0; g < spec.get().group_size(); ++g)
    for (int p = 0; p < spec.get().group(g).pattern_size(); ++p)
      ok &= succeeded(assign(g, p, names));
  return success(ok);
}

std::vector<std::string> Groups::frozen() const {
  std::vector<std::string> names;
  for (const auto &[name, member] : members)
    if (spec.get().group(member.group).frozen())
      names.push_back(name);
  return names;
}

/// The group's rule; null where it is the common one.
DictionaryAttr Groups::rule(Builder &b, int index) const {
  const spec::Group &group = spec.get().group(index);
  const spec::Optimizer &common = spec.get().optimizer();
  const spec::Optimizer &optimizer = group.has_optimizer() ? group.optimizer() : common;
  NamedAttrList attributes(ruleOf(b, optimizer));
  if (group.has_l2())
    attributes.set("l2", b.getF64FloatAttr(group.l2()));
  if (group.has_weight_decay())
    attributes.set("weight_decay", b.getF64FloatAttr(group.weight_decay()));
  double rate = group.has_learning_rate() ? group.learning_rate() : learningRate(optimizer);
  if (double factor = rate / learningRate(common); factor != 1)
    attributes.set("learning_rate_factor", b.getF64FloatAttr(factor));
  DictionaryAttr rule = attributes.getDictionary(b.getContext());
  return rule == ruleOf(b, common) ? DictionaryAttr() : rule;
}

/// Of the group's optimizer, or else the common one.
Location Groups::optimizerLoc(int group) const {
  if (group < 0 || !spec.get().group(group).has_optimizer())
    return spec.at({"optimizer"});
  return spec.at({{"group", group}, "optimizer"});
}

/// The update op that a rule names.
static OperationName updateOf(DictionaryAttr rule) {
  return {("grad." + rule.getAs<StringAttr>("name").getValue()).str(), rule.getContext()};
}

/// Says which parameters, of one or more, have too few dims for their rule.
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

LogicalResult Groups::apply(Imported &imported, const States &states) const {
  Builder b(imported.module->getContext());
  DictionaryAttr common = ruleOf(b, spec.get().optimizer());
  std::map<int, std::vector<const Verdict *>> tooSmall; // by group; -1: none
  for (Verdict &verdict : imported.verdicts) {
    auto member = members.find(verdict.initializer);
    int group = member == members.end() ? -1 : member->second.group;
    if (group >= 0)
      verdict.group = member->second.pattern;
    if (!verdict.trains)
      continue;
    auto state = imported.module->lookupSymbol<StateOp>(states.symbol(verdict.initializer));
    DictionaryAttr own = group < 0 ? DictionaryAttr() : rule(b, group);
    if (own)
      state->setAttr("grad.optimizer", own);
    OperationName op = updateOf(own ? own : common);
    if (state.getLogicalType().getRank() < op.getInterface<UpdateOpInterface>()->getLeastRank())
      tooSmall[group].push_back(&verdict);
  }
  for (const auto &[group, parameters] : tooSmall) {
    DictionaryAttr own = group < 0 ? DictionaryAttr() : rule(b, group);
    refuse(optimizerLoc(group), updateOf(own ? own : common), parameters);
  }
  return success(tooSmall.empty());
}
