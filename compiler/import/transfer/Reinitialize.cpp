// Draws new values of initializers by the rules of torch.nn.init.
#include "dialects/Pch.h"

#include "compiler/import/support/Names.h"
#include "compiler/import/transfer/Draws.h"
#include "compiler/import/transfer/InitialValues.h"
#include "compiler/import/transfer/Layers.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

namespace {
/// Values a + b x, with x drawn from a distribution.
struct Rule {
  enum { constant, uniform, normal } kind;
  double a = 0, b = 0;

  static Rule symmetric(double bound) { return {uniform, -bound, 2 * bound}; }
};
} // namespace

static HostTensor draw(int64_t seed, StringRef name, RankedTensorType type, Rule rule) {
  HostTensor values(type);
  Draws draws(seed, name);
  for (int64_t i = 0, n = values.size(); i < n; ++i) {
    double x = rule.kind == Rule::constant  ? 0
               : rule.kind == Rule::uniform ? draws.uniform(uint64_t(i))
                                            : draws.normal(uint64_t(i));
    values.setFloat(i, rule.a + rule.b * x);
  }
  return values;
}

HostTensor gradc::drawUniform(const SpecFile &spec, StringRef initializer, RankedTensorType type,
                              double bound) {
  return draw(spec.get().seed(), initializer, type, Rule::symmetric(bound));
}

/// The initial values of a new PyTorch layer; nullopt for a parameter of no layer.
static std::optional<Rule> defaultRule(const LayerParameter &parameter) {
  switch (parameter.role) {
  case ParameterRole::weight:
  case ParameterRole::bias:
    return Rule::symmetric(1 / std::sqrt(double(std::max<int64_t>(parameter.fanIn, 1))));
  case ParameterRole::recurrent:
    return Rule::symmetric(1 / std::sqrt(double(std::max<int64_t>(parameter.hidden, 1))));
  case ParameterRole::scale:
  case ParameterRole::variance:
    return Rule{Rule::constant, 1};
  case ParameterRole::shift:
  case ParameterRole::mean:
    return Rule{Rule::constant, 0};
  case ParameterRole::embedding:
    return Rule{Rule::normal, 0, 1};
  case ParameterRole::other:
    return std::nullopt;
  }
  llvm_unreachable("all roles are above");
}

/// A distribution with this deviation.
static Rule ofDeviation(bool isNormal, double deviation) {
  return isNormal ? Rule{Rule::normal, 0, deviation} : Rule::symmetric(std::sqrt(3.0) * deviation);
}

/// Returns nullopt if the rule is for weights of layers and the parameter is not one.
static std::optional<Rule> ruleOf(const spec::Reinitialize &block,
                                  const LayerParameter &parameter) {
  bool isWeight = parameter.role == ParameterRole::weight;
  double fanIn = double(parameter.fanIn), fanOut = double(parameter.fanOut);
  auto kaiming = [&](const spec::Kaiming &rule, bool isNormal) -> std::optional<Rule> {
    if (!isWeight)
      return std::nullopt;
    double gain = std::sqrt(2 / (1 + rule.slope() * rule.slope()));
    return ofDeviation(isNormal, gain / std::sqrt(rule.fan_out() ? fanOut : fanIn));
  };
  auto xavier = [&](const spec::Xavier &rule, bool isNormal) -> std::optional<Rule> {
    if (!isWeight)
      return std::nullopt;
    return ofDeviation(isNormal, rule.gain() * std::sqrt(2 / (fanIn + fanOut)));
  };
  switch (block.kind_case()) {
  case spec::Reinitialize::kKaimingUniform:
    return kaiming(block.kaiming_uniform(), false);
  case spec::Reinitialize::kKaimingNormal:
    return kaiming(block.kaiming_normal(), true);
  case spec::Reinitialize::kXavierUniform:
    return xavier(block.xavier_uniform(), false);
  case spec::Reinitialize::kXavierNormal:
    return xavier(block.xavier_normal(), true);
  case spec::Reinitialize::kNormal:
    return Rule{Rule::normal, block.normal().mean(), block.normal().deviation()};
  case spec::Reinitialize::kUniform:
    return Rule{Rule::uniform, block.uniform().low(),
                block.uniform().high() - block.uniform().low()};
  case spec::Reinitialize::kConstant:
    return Rule{Rule::constant, block.constant()};
  case spec::Reinitialize::KIND_NOT_SET:
    return defaultRule(parameter);
  }
  llvm_unreachable("all kinds are above");
}

/// Reports why no rule applies to a parameter.
static LogicalResult refuse(Location where, const spec::Reinitialize &block, StringRef name,
                            const LayerParameter &parameter, RankedTensorType type) {
  auto error = emitError(where) << "reinitialize: ";
  if (block.kind_case() == spec::Reinitialize::KIND_NOT_SET)
    error << "no layer of PyTorch says how \"" << name << "\", " << describe(type) << ", begins";
  else
    error << block.GetDescriptor()->FindFieldByNumber(block.kind_case())->name()
          << " is for weights of MatMul, Gemm and Conv, found \"" << name << "\", "
          << describe(type);
  if (parameter.node)
    error << ", of node \"" << parameter.node->name() << "\" (" << parameter.node->op_type() << ")";
  return error << "; give it normal { deviation: 0.02 } or constant: 0";
}

LogicalResult gradc::drawReinitialized(const SpecFile &spec, const OnnxModel &model,
                                       InitialValues &values) {
  if (spec.get().reinitialize().empty())
    return success();
  GraphUses uses(model.graph());
  PatternScope scope{"reinitialize", "initializer", {}};
  for (const onnx::TensorProto &tensor : model.graph().initializer())
    if (isa_and_nonnull<FloatType>(elementType(*model.fileLoc().getContext(), tensor.data_type())))
      scope.names.push_back(tensor.name());
  bool ok = true;
  for (auto [i, block] : llvm::enumerate(spec.get().reinitialize())) {
    for (auto [p, pattern] : llvm::enumerate(block.pattern())) {
      Location where = spec.at({{"reinitialize", int(i)}, {"pattern", int(p)}});
      FailureOr<std::vector<std::string>> names = matching(pattern, scope, where);
      ok &= succeeded(names);
      if (failed(names))
        continue;
      for (const std::string &name : *names) {
        FailureOr<RankedTensorType> type = model.type(*uses.initializer(name), where);
        LayerParameter parameter = layerParameter(uses, name);
        std::optional<Rule> rule = ruleOf(block, parameter);
        if (rule)
          values[name] = draw(spec.get().seed(), name, *type, *rule);
        else
          ok &= succeeded(refuse(where, block, name, parameter, *type));
      }
    }
  }
  return success(ok);
}

FailureOr<HostTensor> gradc::drawFresh(const SpecFile &spec, const OnnxModel &model,
                                       StringRef initializer) {
  GraphUses uses(model.graph());
  FailureOr<RankedTensorType> type =
      model.type(*uses.initializer(initializer), model.nameLoc(initializer));
  if (failed(type))
    return failure();
  Rule rule = defaultRule(layerParameter(uses, initializer)).value_or(Rule{Rule::constant, 0});
  return draw(spec.get().seed(), initializer, *type, rule);
}
