// Finds the parameters that `prune` blocks match, and the dims of their groups and channels.
#include "dialects/Pch.h"

#include "compiler/import/parameters/Pruning.h"
#include "compiler/import/spec/RunLength.h"
#include "compiler/import/support/Names.h"
#include "passes/training/Pruning.h"
#include "passes/training/TrainedStates.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

namespace {
/// Resolves the blocks of the spec one by one.
class Pruner {
public:
  Pruner(Imported &imported, const States &states, const SpecFile &spec, const Groups &groups,
         const DimsOfWeights &weights)
      : imported(imported), states(states), spec(spec), groups(groups), weights(weights) {}

  LogicalResult run();

private:
  FailureOr<std::vector<std::string>> parametersOf(const std::string &pattern,
                                                   const spec::Prune &block, Location where);
  LogicalResult leaveOutputs(StringRef pattern, std::vector<std::string> &names, Location where);
  LogicalResult leaveUndivided(StringRef pattern, int64_t of, std::vector<std::string> &names,
                               Location where);
  LogicalResult prune(StringRef parameter, const spec::Prune &block, Location where);
  int64_t stepOfRun(StringRef parameter, int64_t step) const;
  void warnOfEnd() const;

  Imported &imported;
  const States &states;
  const SpecFile &spec;
  const Groups &groups;
  const DimsOfWeights &weights;
  llvm::StringSet<> taken;           ///< symbols: tied initializers are one parameter
  int64_t lastPruning = 0;           ///< the step of the run that prunes last, as far as is known
  std::optional<Location> lastPlace; ///< of the block that does so
};
} // namespace

/// Whether a pattern may match several names.
static bool hasWildcard(StringRef pattern) {
  return pattern.find_first_of("*?[") != StringRef::npos;
}

/// Leaves out weights whose channels are an output of the model: a classifier would lose classes.
LogicalResult Pruner::leaveOutputs(StringRef pattern, std::vector<std::string> &names,
                                   Location where) {
  std::string left, example;
  llvm::erase_if(names, [&](const std::string &name) {
    std::string output = weights.find(name)->second.modelOutput;
    if (output.empty() || taken.contains(states.symbol(name)))
      return false;
    example = name;
    left += (left.empty() ? "\"" : ", \"") + name + "\" (of \"" + output + "\")";
    return true;
  });
  std::string remedy = "; to prune \"" + example + "\", name it: pattern: \"" + example + '"';
  if (names.empty())
    return emitError(where) << "prune: \"" << pattern
                            << "\" matches only weights whose channels are outputs of the model, "
                            << left << remedy;
  if (!left.empty())
    emitRemark(where) << "prune: \"" << pattern
                      << "\" leaves out weights whose channels are outputs of the model, " << left
                      << remedy;
  return success();
}

/// Leaves out weights whose inputs are no whole number of groups, such as those of the first layer,
/// which often has three.
LogicalResult Pruner::leaveUndivided(StringRef pattern, int64_t of, std::vector<std::string> &names,
                                     Location where) {
  std::string left;
  llvm::erase_if(names, [&](const std::string &name) {
    const WeightDims &dims = weights.find(name)->second;
    int64_t inputs = states.state(name).getLogicalType().getDimSize(dims.input) / dims.groups;
    if (inputs % of == 0 || taken.contains(states.symbol(name)))
      return false;
    left += (left.empty() ? "\"" : ", \"") + name + "\" (" + std::to_string(inputs) +
            (inputs > 1 ? " inputs)" : " input)");
    return true;
  });
  if (names.empty())
    return emitError(where) << "prune: \"" << pattern
                            << "\" matches only weights whose inputs of: " << of
                            << " does not divide, " << left;
  if (!left.empty())
    emitRemark(where) << "prune: \"" << pattern << "\" leaves out weights whose inputs of: " << of
                      << " does not divide, " << left;
  return success();
}

/// The trained parameters that a pattern takes: a name that one, a wildcard the weights of layers,
/// since "*.weight" also matches scales of normalizations and embeddings, which few mean to prune.
/// Of parameters that do not train, those that match alone are named with the reason why.
FailureOr<std::vector<std::string>> Pruner::parametersOf(const std::string &pattern,
                                                         const spec::Prune &block, Location where) {
  PatternScope scope{"prune", "parameter that trains", {}};
  const Verdict *constant = nullptr;
  for (const Verdict &verdict : imported.verdicts)
    if (verdict.trains)
      scope.names.push_back(verdict.initializer);
    else if (!constant && matches(pattern, verdict.initializer))
      constant = &verdict;
  if (constant &&
      llvm::none_of(scope.names, [&](StringRef name) { return matches(pattern, name); }))
    return emitError(where) << "prune: \"" << constant->initializer
                            << "\" does not train: " << constant->reason;
  FailureOr<std::vector<std::string>> found = matching(pattern, scope, where);
  // A name may contain brackets itself.
  if (failed(found) || !hasWildcard(pattern) || llvm::is_contained(*found, pattern))
    return found;
  std::string other = found->front();
  llvm::erase_if(*found, [&](StringRef name) { return !weights.contains(name); });
  if (found->empty())
    return emitError(where) << "prune: \"" << pattern
                            << "\" matches no weight of MatMul, Gemm, Conv or ConvTranspose, which "
                               "alone a pattern with wildcards prunes; to prune \""
                            << other << "\", name it: pattern: \"" << other << '"';
  if (block.structure() == spec::Prune::CHANNELS && failed(leaveOutputs(pattern, *found, where)))
    return failure();
  if (block.has_of() && failed(leaveUndivided(pattern, block.of(), *found, where)))
    return failure();
  return found;
}

/// For example "0 to 0.8 of its elements, steps 1 to 440".
static std::string inWords(const PruneRule &rule, RankedTensorType type) {
  std::string text;
  bool isGradual = rule.endStep > rule.beginStep;
  double whole = std::max<int64_t>(rule.of, 1);
  if (isGradual)
    text = numberText(rule.initialSparsity * whole) + " to ";
  text += numberText(rule.sparsity * whole) + " of ";
  if (rule.of)
    text += "each " + std::to_string(rule.of) + " inputs";
  else if (rule.dim >= 0)
    text += "its " + std::to_string(type.getDimSize(rule.dim) * rule.blocks) + " channels";
  else
    text += "its elements";
  if (!isGradual)
    return text + ", step " + std::to_string(rule.beginStep);
  return text + ", steps " + std::to_string(rule.beginStep) + " to " + std::to_string(rule.endStep);
}

LogicalResult Pruner::prune(StringRef parameter, const spec::Prune &block, Location where) {
  StateOp state = states.state(parameter);
  RankedTensorType type = state.getLogicalType();
  auto refuse = [&] {
    return emitError(where) << "prune: parameter \"" << parameter << "\" of "
                            << formatDims(type.getShape()) << ' ';
  };
  if (state->hasAttr(lazyName))
    return refuse() << "is in a lazy group, which updates only the rows that a step reads: masks "
                       "are of all rows";
  PruneRule rule;
  rule.initialSparsity = block.initial_sparsity();
  rule.sparsity = block.sparsity();
  rule.beginStep = block.begin_step();
  rule.endStep = block.has_end_step() ? block.end_step() : block.begin_step();
  rule.every = block.every();
  bool isGrouped = block.has_of();
  int64_t groups = 1;
  if (isGrouped || block.structure() == spec::Prune::CHANNELS) {
    auto dims = weights.find(parameter);
    if (dims == weights.end())
      return refuse() << "is no weight of MatMul, Gemm, Conv or ConvTranspose, whose "
                      << (isGrouped ? "inputs keep and of divide into groups"
                                    : "output channels structure: CHANNELS masks");
    rule.dim = isGrouped ? dims->second.input : dims->second.output;
    groups = dims->second.groups;
    rule.blocks = isGrouped ? 1 : groups;
  }
  if (isGrouped) {
    int64_t inputs = type.getDimSize(rule.dim) / groups;
    if (inputs % block.of())
      return refuse() << "has " << inputs << " inputs" << (groups > 1 ? " per group" : "")
                      << ", dim " << rule.dim << ", which of: " << block.of() << " does not divide";
    rule.of = block.of();
    rule.sparsity = 1 - double(block.keep()) / double(block.of());
  }
  Builder b(state.getContext());
  state->setAttr(pruneName, rule.toAttribute(b));
  int64_t last = stepOfRun(parameter, rule.endStep);
  for (Verdict &verdict : imported.verdicts)
    if (verdict.initializer == parameter)
      verdict.pruned =
          inWords(rule, type) + (last == rule.endStep ? "" : " of those that train it");
  auto counter = state->getAttrOfType<FlatSymbolRefAttr>(stepsName);
  int64_t &end = imported.pruningEnds[counter ? counter.getValue().str() : ""];
  end = std::max(end, rule.endStep);
  if (last > lastPruning) {
    lastPruning = last;
    lastPlace = where;
  }
  return success();
}

/// The step of the run in which a parameter trains for the `step`-th time: `train` blocks take
/// turns, and groups are frozen at first. An estimate: a run may skip steps, or begin with a
/// checkpoint of other turns.
int64_t Pruner::stepOfRun(StringRef parameter, int64_t step) const {
  auto symbol = FlatSymbolRefAttr::get(imported.module->getContext(), states.symbol(parameter));
  SmallVector<std::pair<int64_t, bool>> turns; // steps in a row, and whether they train it
  int64_t cycle = 0, training = 0;
  for (const StepSpec &kind : stepsOf(spec.get())) {
    auto entry = imported.module->lookupSymbol<func::FuncOp>(kind.entryName());
    turns.push_back({kind.count(), isTrainedBy(entry, symbol)});
    cycle += kind.count();
    training += turns.back().second ? kind.count() : 0;
  }
  // 1. Counted as if it had trained from the beginning.
  int64_t frozen = groups.frozenUntil(parameter);
  step += frozen / cycle * training;
  int64_t rest = frozen % cycle;
  for (auto [count, trains] : turns) {
    step += trains ? std::min(count, rest) : 0;
    rest -= std::min(count, rest);
  }
  // 2. Whole cycles, and the part of the last one.
  int64_t whole = (step - 1) / training, at = whole * cycle;
  step -= whole * training;
  for (auto [count, trains] : turns) {
    if (trains && step <= count)
      return at + step;
    step -= trains ? count : 0;
    at += count;
  }
  llvm_unreachable("a cycle has `training` steps that train it");
}

/// Says that the run ends too early, if its steps are known.
void Pruner::warnOfEnd() const {
  RunLength run(spec.get(), imported.data.front().rows);
  if (!run.steps || *run.steps >= lastPruning)
    return;
  auto warning = emitWarning(*lastPlace) << "prune: the last pruning is at step " << lastPruning
                                         << ", but the run ends at step " << *run.steps
                                         << ": parameters do not reach their sparsity";
  if (spec.get().has_evaluation())
    warning << ", no evaluation is the best one, and an export holds the last states";
}

LogicalResult Pruner::run() {
  bool ok = true;
  for (auto [i, block] : llvm::enumerate(spec.get().prune()))
    for (auto [p, pattern] : llvm::enumerate(block.pattern())) {
      Location where = spec.at({{"prune", int(i)}, {"pattern", int(p)}});
      FailureOr<std::vector<std::string>> names = parametersOf(pattern, block, where);
      ok &= succeeded(names);
      if (succeeded(names))
        for (const std::string &name : *names)
          if (taken.insert(states.symbol(name)).second)
            ok &= succeeded(prune(name, block, where));
    }
  if (ok && lastPruning)
    warnOfEnd();
  return success(ok);
}

DimsOfWeights gradc::dimsOfWeights(const SpecFile &spec, const OnnxModel &model) {
  DimsOfWeights weights;
  if (!spec.get().prune_size())
    return weights;
  GraphUses uses(model.graph());
  for (const onnx::TensorProto &tensor : model.graph().initializer())
    if (std::optional<WeightDims> dims = weightDims(uses, tensor.name()))
      weights[tensor.name()] = {*dims, ""};
  for (const onnx::ValueInfoProto &output : model.graph().output())
    if (auto found = weights.find(lastProduct(uses, output.name()).weight); found != weights.end())
      found->second.modelOutput = output.name();
  return weights;
}

LogicalResult gradc::addPruning(Imported &imported, const States &states, const SpecFile &spec,
                                const Groups &groups, const DimsOfWeights &weights) {
  return Pruner(imported, states, spec, groups, weights).run();
}
