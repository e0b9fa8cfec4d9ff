// Names the entries, and gives each entry the parameters that it trains.
#include "dialects/Pch.h"

#include "compiler/import/job/TrainEntries.h"
#include "compiler/import/parameters/TrainedParameters.h"
#include "compiler/import/support/Names.h"
#include "dialects/grad/EntryAttributes.h"
#include "passes/training/Reach.h"
#include "passes/training/TrainedStates.h"
#include "runtime/include/gradc/artifact.h"
#include "runtime/include/gradc/entries.h"
#include "llvm/ADT/StringSet.h"

#include <set>

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

static constexpr StringLiteral counterPrefix = GRADC_STEPS_PREFIX;

std::string TrainEntry::name() const {
  return step.entryName() + (until ? GRADC_UNTIL_INFIX + std::to_string(until) : std::string());
}

std::string gradc::lengthTwin(StringRef entry, int64_t length) {
  return (entry + GRADC_LENGTH_INFIX + Twine(length)).str();
}

SmallVector<TrainEntry> gradc::trainEntries(const SpecFile &spec, const OnnxModel &model,
                                            const Groups &groups) {
  SmallVector<TrainEntry> entries;
  for (const StepSpec &step : stepsOf(spec.get())) {
    std::set<int64_t> phases;
    for (const onnx::TensorProto &initializer : model.graph().initializer())
      if (int64_t until = groups.frozenUntil(initializer.name());
          until && step.trains(initializer.name()))
        phases.insert(until);
    for (int64_t until : phases)
      entries.push_back({step, until});
    entries.push_back({step});
  }
  return entries;
}

LogicalResult gradc::checkTrains(const SpecFile &spec, const OnnxModel &model) {
  PatternScope scope{"trains", "initializer", model.initializerNames()};
  bool ok = true;
  for (auto [i, block] : llvm::enumerate(spec.get().train())) {
    std::vector<std::string> patterns(block.trains().begin(), block.trains().end());
    auto where = [&](int p) { return spec.at({{"train", int(i)}, {"trains", p}}); };
    llvm::StringSet<> ignored;
    ok &= succeeded(collectMatching(patterns, scope, where, ignored));
  }
  return success(ok);
}

void gradc::describeUpdate(func::FuncOp train, const spec::Training &training,
                           const StepSpec &step) {
  Builder b(train.getContext());
  train->setAttr(updateRuleName, ruleOf(b, training, step.optimizer()));
  if (const spec::Clip *clip = step.clip()) {
    auto [name, limit] = clip->has_value()  ? std::pair("value", clip->value())
                         : clip->has_norm() ? std::pair("norm", clip->norm())
                                            : std::pair("global_norm", clip->global_norm());
    train->setAttr("grad.clip",
                   b.getDictionaryAttr(b.getNamedAttr(name, b.getF64FloatAttr(limit))));
  }
  if (training.has_ema())
    train->setAttr("grad.average", b.getF64FloatAttr(training.ema().decay()));
  if (training.has_swa())
    train->setAttr("grad.average",
                   b.getDictionaryAttr(
                       {b.getNamedAttr("begin", b.getI64IntegerAttr(training.swa().begin())),
                        b.getNamedAttr("every", b.getI64IntegerAttr(training.swa().every()))}));
}

/// The functions of an entry: the entry and its twins for watched gradients, for batches of another
/// length, and for a smaller last batch.
static SmallVector<func::FuncOp> functionsOf(ModuleOp module, const TrainEntry &entry,
                                             bool watching) {
  std::string name = entry.name() + (watching ? GRADC_WATCH_SUFFIX : "");
  return llvm::filter_to_vector(module.getOps<func::FuncOp>(), [&](func::FuncOp function) {
    StringRef twin = function.getSymName();
    return twin.consume_front(name) &&
           (twin.empty() || twin == GRADC_TAIL_SUFFIX || twin.starts_with(GRADC_LENGTH_INFIX));
  });
}

namespace {
/// The states that the loss of a step depends on.
struct Reached {
  StepSpec step;
  llvm::StringSet<> states;
};

/// Decides about initializers one by one.
class Decision {
public:
  Decision(Imported &imported, const States &states, const SpecFile &spec, const Groups &groups)
      : imported(imported), states(states), spec(spec), groups(groups) {}

  void findReached(const StepSpec &step);
  void judge(Verdict &verdict);
  LogicalResult tell(ArrayRef<TrainEntry> entries);
  LogicalResult watch(ArrayRef<TrainEntry> entries);

private:
  bool trains(const TrainEntry &entry, const Verdict &verdict) const;
  LogicalResult expectSome(const TrainEntry &entry) const;
  Location placeOfPhase(int64_t until) const;

  Imported &imported;
  const States &states;
  const SpecFile &spec;
  const Groups &groups;
  SmallVector<Reached, 0> steps;
  llvm::StringMap<std::string> why; ///< a state is not reached
};
} // namespace

void Decision::findReached(const StepSpec &step) {
  auto train = imported.module->lookupSymbol<func::FuncOp>(step.entryName());
  SmallVector<Value> reads;
  for (auto read : train.getOps<ReadOp>())
    reads.push_back(read);
  SmallVector<Reach> reaches = findReach(train.front().getTerminator()->getOperand(0), reads);
  Reached &reached = steps.emplace_back(Reached{step, {}});
  for (auto [read, reach] : llvm::zip(reads, reaches)) {
    StringRef state = read.getDefiningOp<ReadOp>().getState();
    // An op without a gradient is an error of differentiation and is reported at its node.
    if (reach.arrival == Arrival::arrives || reach.arrival == Arrival::missing)
      reached.states.insert(state);
    else if (reach.arrival == Arrival::stopped)
      why[state] = "no gradient gets through \"" + nodeName(reach.op) + "\"";
  }
}

/// A parameter trains only if a loss depends on it.
void Decision::judge(Verdict &verdict) {
  if (!verdict.trains)
    return;
  StateOp state = states.state(verdict.initializer);
  StringRef symbol = state.getSymName();
  std::string by, where;
  bool isNamed = false;
  for (const Reached &reached : steps) {
    if (!reached.step.trains(verdict.initializer))
      continue;
    isNamed = true;
    if (reached.states.contains(symbol)) {
      where += (where.empty() ? "" : "+") + reached.step.name();
      by += (by.empty() ? "" : " and ") + ("\"" + reached.step.name() + "\"");
    }
  }
  if (by.empty()) {
    verdict.trains = false;
    verdict.reason = !isNamed               ? "no train block names it"
                     : why.contains(symbol) ? why[symbol]
                                            : "the loss does not depend on it";
    state.setKind(StateKind::constant);
    return;
  }
  int64_t frozen = groups.frozenUntil(verdict.initializer);
  if (spec.get().train_size())
    verdict.reason += ", trained by " + by;
  if (frozen)
    verdict.reason += ", from step " + std::to_string(frozen + 1) + " on";
  if (where.empty() && !frozen)
    return;
  if (frozen)
    where += (where.empty() ? "" : "/") + std::to_string(frozen);
  state->setAttr(stepsName,
                 FlatSymbolRefAttr::get(state.getContext(), counterPrefix.str() + where));
}

bool Decision::trains(const TrainEntry &entry, const Verdict &verdict) const {
  const Reached &reached = *llvm::find_if(
      steps, [&](const Reached &one) { return one.step.name() == entry.step.name(); });
  return verdict.trains && entry.step.trains(verdict.initializer) &&
         reached.states.contains(states.symbol(verdict.initializer)) &&
         (!entry.until || groups.frozenUntil(verdict.initializer) < entry.until);
}

/// The location of a group that is frozen until the given step.
Location Decision::placeOfPhase(int64_t until) const {
  SmallVector<StepSpec> all = stepsOf(spec.get());
  all.emplace_back(spec.get());
  for (const StepSpec &step : all)
    for (auto [i, group] : llvm::enumerate(step.ownGroups()))
      if (group.frozen_until_step() == until)
        return spec.at(step.ownPlace({"group", int(i)}) + "frozen_until_step");
  return spec.at(ArrayRef<SpecFile::Step>());
}

LogicalResult Decision::expectSome(const TrainEntry &entry) const {
  if (llvm::any_of(imported.verdicts, [&](const Verdict &one) { return trains(entry, one); }))
    return success();
  if (entry.until) {
    auto error = emitError(placeOfPhase(entry.until))
                 << "nothing trains in the first " << entry.until << " steps";
    if (entry.step.isBlock())
      error << " of \"" << entry.step.name() << "\"";
    return failure();
  }
  if (!entry.step.isBlock()) // reported for the model
    return success();
  return emitError(spec.at(entry.step.ownPlace({"trains", 0})))
         << "train block \"" << entry.step.name()
         << "\" trains nothing: its losses depend on no parameter that it names; see what `gradc "
            "check` says about each";
}

LogicalResult Decision::tell(ArrayRef<TrainEntry> entries) {
  bool ok = true;
  for (const TrainEntry &entry : entries)
    ok &= succeeded(expectSome(entry));
  bool isPlain = entries.size() == 1 && !entries.front().step.isBlock();
  if (!ok || isPlain)
    return success(ok);
  Builder b(imported.module->getContext());
  for (const TrainEntry &entry : entries) {
    SmallVector<Attribute> trained;
    for (const Verdict &verdict : imported.verdicts)
      if (trains(entry, verdict))
        trained.push_back(
            FlatSymbolRefAttr::get(b.getContext(), states.symbol(verdict.initializer)));
    for (bool watching : {false, true})
      for (func::FuncOp function : functionsOf(*imported.module, entry, watching))
        function->setAttr(trainsName, b.getArrayAttr(trained));
  }
  return success();
}

/// Removes a twin that is left without parameters.
LogicalResult Decision::watch(ArrayRef<TrainEntry> entries) {
  llvm::SetVector<StringRef> watched;
  bool ok = true;
  for (auto [i, block] : llvm::enumerate(spec.get().watch())) {
    auto symbols = trainedParameters(imported, states, spec, {"watch", int(i)}, block.pattern());
    ok &= succeeded(symbols);
    if (succeeded(symbols) && block.gradients())
      watched.insert_range(*symbols);
  }
  if (!ok || watched.empty())
    return success(ok);
  Builder b(imported.module->getContext());
  for (const TrainEntry &entry : entries) {
    SmallVector<Attribute> found;
    for (const Verdict &verdict : imported.verdicts)
      if (StringRef symbol = states.symbol(verdict.initializer);
          trains(entry, verdict) && watched.contains(symbol))
        found.push_back(FlatSymbolRefAttr::get(b.getContext(), symbol));
    for (func::FuncOp function : functionsOf(*imported.module, entry, /*watching=*/true)) {
      function->removeAttr("grad.average");
      function->setAttr(watchName, b.getArrayAttr(found));
      if (found.empty())
        function.erase();
    }
  }
  return success();
}

bool gradc::watchesGradients(const spec::Training &training) {
  return llvm::any_of(training.watch(), [](const spec::Watch &block) { return block.gradients(); });
}

LogicalResult gradc::decideTraining(Imported &imported, const States &states, const SpecFile &spec,
                                    const Groups &groups, ArrayRef<TrainEntry> entries) {
  Decision decision(imported, states, spec, groups);
  for (const TrainEntry &entry : entries)
    if (!entry.until)
      decision.findReached(entry.step);
  for (Verdict &verdict : imported.verdicts)
    decision.judge(verdict);
  LogicalResult told = decision.tell(entries), watched = decision.watch(entries);
  return success(succeeded(told) && succeeded(watched));
}
