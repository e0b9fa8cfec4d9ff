// Whether a checkpoint fits an artifact, and how their jobs differ if it does not.
#include "runtime/train/checkpoint/Checkpoint.h"

#include "runtime/base/ShortFloats.h"
#include "runtime/base/Text.h"
#include "runtime/train/spec/Optimizers.h"

#include <algorithm>
#include <set>

namespace gradc::runtime {

/// The kinds among these that keep slots. AdamW is Adam with another decay: their slots are the
/// same.
static std::set<std::string> kindsWithSlots(const std::vector<std::string> &kinds) {
  std::set<std::string> found;
  for (const std::string &kind : kinds)
    if (kind != "sgd")
      found.insert(kind == "adamw" ? "adam" : kind);
  return found;
}

/// How the kinds of the checkpoint's optimizers and the artifact's differ; "" if they are alike, or
/// those of either are not known.
std::string Checkpoint::otherOptimizers(const Artifact &artifact) const {
  std::vector<std::string> wanted = optimizersOf(Config::job(artifact));
  if (theOptimizers.empty() || wanted.empty() ||
      kindsWithSlots(theOptimizers) == kindsWithSlots(wanted))
    return "";
  return text("it was trained with ", quotedList(theOptimizers), ", this artifact trains with ",
              quotedList(wanted));
}

/// Whether the file is of an earlier version, which does not say what keeps its slots.
bool Checkpoint::lacksRules() const {
  return std::ranges::any_of(theStates, [](const State &state) {
    return state.kind == GRADC_STATE_SLOT && state.rule.empty() &&
           !state.name.starts_with(GRADC_STEPS_PREFIX);
  });
}

static constexpr std::string_view otherSteps =
    "its `train` blocks or groups with frozen_until_step are not those of this artifact: ";

/// Tells how to use the weights of a run with another `prune` or `quantize` block.
static constexpr std::string_view asInitialWeights =
    "; to begin with its weights, write them with `gradc export CHECKPOINT -o FILE.safetensors`, "
    "and name that file in initial_weights (with ignore: \"*_range\" if the run quantized)";

/// How the checkpoint's job differs from one that has this state; "" if that does not explain why
/// the checkpoint lacks it.
std::string Checkpoint::whyLacking(std::string_view state, uint32_t kind,
                                   std::string_view rule) const {
  if (rule == GRADC_RANGE_RULE)
    return text("it did not quantize '", state.substr(0, state.rfind(GRADC_RANGE_SUFFIX)),
                "', which this artifact quantizes", asInitialWeights);
  if (kind != GRADC_STATE_SLOT)
    return "";
  if (state.starts_with(GRADC_STEPS_PREFIX))
    return text(otherSteps, "it lacks state '", state, '\'');
  const State *owner = find(state.substr(0, state.rfind('.'))); // "w" of "w.velocity"
  if (owner && owner->kind == GRADC_STATE_CONSTANT)
    return text("it did not train '", owner->name, "', which this artifact trains");
  if (owner && rule == GRADC_PRUNE_RULE)
    return text("it did not prune '", owner->name, "', which this artifact prunes",
                asInitialWeights);
  return "";
}

/// How the artifact's job differs from one that has this state; "" if that does not explain why
/// the artifact lacks it.
static std::string whyAbsent(const Artifact &artifact, const Checkpoint::State &state) {
  if (state.kind == GRADC_STATE_AVERAGE)
    return text(
        "it averages weights (ema or swa), this artifact does not: this artifact has no state '",
        state.name, '\'');
  if (state.rule == GRADC_PRUNE_RULE)
    return text(
        "it prunes parameters (prune), this artifact does not prune this one: this artifact "
        "has no state '",
        state.name, '\'');
  if (state.rule == GRADC_RANGE_RULE)
    return text("it quantizes activations (quantize), this artifact does not quantize this one: "
                "this artifact has no state '",
                state.name, '\'');
  if (state.name.starts_with(GRADC_STEPS_PREFIX))
    return text(otherSteps, "this artifact has no state '", state.name, '\'');
  auto isConstant = [&](const gradc_artifact_state &own) {
    return own.kind == GRADC_STATE_CONSTANT && artifact.string(own.tensor.name) == state.name;
  };
  if (std::ranges::any_of(artifact.states(), isConstant))
    return text("it trained '", state.name, "', which is constant in this artifact");
  return "";
}

/// Whether an earlier version may have written the range of an activation, without its rule.
static bool mayBeRange(const Checkpoint::State &state) {
  return state.kind == GRADC_STATE_STATISTIC && state.rule.empty() &&
         state.name.ends_with(GRADC_RANGE_SUFFIX);
}

Result<std::vector<const Checkpoint::State *>> Checkpoint::match(const Artifact &artifact,
                                                                 bool withSlots) const {
  std::string optimizers = withSlots ? otherOptimizers(artifact) : "";
  bool isModelAlone = !withSlots && optimizersOf(Config::job(artifact)).empty();
  auto isOther = [&](std::string_view what, const std::string &why) {
    return Status::error(text("checkpoint '", path, "' is of another ", what, ": ", why));
  };
  // `job`: how the jobs differ, if that explains the difference between the states.
  auto differs = [&](uint32_t kind, const std::string &job, const std::string &states) {
    if (!job.empty())
      return isOther("job", job);
    if (kind != GRADC_STATE_SLOT)
      return isOther("model", states);
    return isOther("optimizer", optimizers.empty() ? states : optimizers);
  };

  // The states decide, not the model hash: a checkpoint fits an artifact of another compiler
  // version, which may compute the hash differently.
  std::vector<const State *> found(artifact.states().size());
  for (size_t i = 0; i < found.size(); ++i) {
    const gradc_artifact_state &state = artifact.states()[i];
    // The artifact's own constants stay.
    if (state.kind == GRADC_STATE_CONSTANT || (state.kind == GRADC_STATE_SLOT && !withSlots))
      continue;
    std::string_view name = artifact.string(state.tensor.name);
    auto shape = artifact.elements<int64_t>(state.tensor.shape);
    std::string expected = typeText(state.tensor.dtype, shape);
    std::string_view rule = artifact.string(state.rule);
    const State *saved = find(name);
    if (!saved)
      saved = find(modelName(name, state.kind)); // an average starts at its weight
    if (!saved)
      return differs(state.kind, whyLacking(name, state.kind, rule),
                     text("it lacks state '", name, "' of ", expected));
    bool isWidened = state.kind == GRADC_STATE_AVERAGE && state.tensor.dtype == GRADC_F32 &&
                     isShortFloat(saved->dtype);
    uint64_t bytes = isWidened ? state.tensor.bytes / 2 : state.tensor.bytes;
    if ((saved->dtype != state.tensor.dtype && !isWidened) ||
        !std::ranges::equal(saved->shape, shape) || saved->bytes.size() != bytes)
      return differs(state.kind, "",
                     text("its state '", name, "' is ", typeText(saved->dtype, saved->shape),
                          ", this artifact's is ", expected));
    // Slots of several kinds have the same names and types.
    if (saved->rule != rule && !saved->rule.empty() && !rule.empty())
      return differs(state.kind, "",
                     text("its state '", name, "' is of '", saved->rule,
                          "', this artifact's is of '", rule, '\''));
    const State *average = isModelAlone ? averageOf(*saved) : nullptr;
    found[i] = average && std::ranges::equal(average->shape, shape) ? average : saved;
  }
  auto isTaken = [&](const State *state) {
    return state && std::ranges::find(found, state) != found.end();
  };
  auto isLeftOut = [&](const State &state) {
    const State *weight = find(modelName(state.name, state.kind));
    return state.name.starts_with(GRADC_FITTED_PREFIX) || isTaken(averageOf(state)) ||
           (state.kind == GRADC_STATE_AVERAGE && isTaken(weight));
  };
  for (const State &state : theStates)
    if (state.isOfModel() && state.kind != GRADC_STATE_CONSTANT &&
        (withSlots || state.kind != GRADC_STATE_SLOT) && !isTaken(&state) &&
        !(isModelAlone && isLeftOut(state)))
      return differs(state.kind, whyAbsent(artifact, state),
                     text("this artifact has no state '", state.name, '\'',
                          mayBeRange(state) ? " (a range, if the run quantized)" : ""));
  if (!optimizers.empty() && lacksRules())
    return isOther("optimizer", optimizers);
  return found;
}

} // namespace gradc::runtime
