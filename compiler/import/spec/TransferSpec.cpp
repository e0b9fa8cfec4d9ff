// Checks the parts that a training spec takes from other models: weights, classifiers, teachers,
// adapters.
#include "dialects/Pch.h"

#include "compiler/import/spec/SpecChecker.h"

#include <cmath>

using namespace mlir;
using namespace gradc;

static void checkInitialization(Checker &c, const spec::Training &training) {
  for (auto [i, block] : llvm::enumerate(training.reinitialize())) {
    SpecFile::Step place = {"reinitialize", int(i)};
    c.require(block.pattern_size(), {place}, "the pattern", "pattern: \"fc.*\"");
    for (const char *kind : {"kaiming_uniform", "kaiming_normal"}) {
      double slope = StringRef(kind).ends_with("normal") ? block.kaiming_normal().slope()
                                                         : block.kaiming_uniform().slope();
      c.expect(std::isfinite(slope), {place, kind, "slope"}, "slope", "finite", slope);
    }
    auto expectPositive = [&](const char *kind, const char *field, double value) {
      c.expect(value > 0 && std::isfinite(value), {place, kind, field}, field, "above 0 and finite",
               value);
    };
    expectPositive("xavier_uniform", "gain", block.xavier_uniform().gain());
    expectPositive("xavier_normal", "gain", block.xavier_normal().gain());
    expectPositive("normal", "deviation", block.normal().deviation());
    c.expect(std::isfinite(block.normal().mean()), {place, "normal", "mean"}, "mean", "finite",
             block.normal().mean());
    c.expect(std::isfinite(block.constant()), {place, "constant"}, "constant", "finite",
             block.constant());
    const spec::UniformValues &uniform = block.uniform();
    c.expect(std::isfinite(uniform.low()) && std::isfinite(uniform.high()) &&
                 uniform.low() < uniform.high(),
             {place, "uniform"}, "high", "above low, " + numberText(uniform.low()), uniform.high());
  }
}

static void checkHeads(Checker &c, const spec::Training &training) {
  for (auto [i, head] : llvm::enumerate(training.head())) {
    SpecFile::Step place = {"head", int(i)};
    if (head.weight().empty() == head.output().empty())
      c.error({place}) << "head takes weight or output, found "
                       << (head.has_weight() ? "both" : "neither")
                       << ": head { output: \"logits\" classes: 10 }";
    c.require(head.has_classes(), {place}, "classes", "classes: 10");
    c.expect(!head.has_classes() || head.classes() > 0, {place, "classes"}, "classes", "above 0",
             head.classes());
  }
}

static void checkTeachers(Checker &c, const spec::Training &training) {
  if (training.teacher_size() &&
      llvm::all_of(stepsOf(training), [](const StepSpec &step) { return step.hasOwnLosses(); }))
    c.error({{"teacher", 0}})
        << "no step learns from a teacher: every train block has losses of its "
           "own; leave out those of one";
  for (auto [i, block] : llvm::enumerate(training.teacher())) {
    SpecFile::Step place = {"teacher", int(i)};
    auto expectPositive = [&](ArrayRef<SpecFile::Step> at, double value) {
      c.expect(value > 0 && std::isfinite(value), at, at.back().name, "above 0 and finite", value);
    };
    c.require(!block.model().empty(), {place}, "model", "model: \"teacher.onnx\"");
    c.require(block.has_output() || block.match_size(), {place}, "what is learned",
              "output: \"logits\" or match { student: \"features\" teacher: \"features\" }");
    expectPositive({place, "temperature"}, block.temperature());
    expectPositive({place, "weight"}, block.weight());
    for (auto [f, feed] : llvm::enumerate(block.feed()))
      checkPair(c, {place, {"feed", int(f)}}, "feed", "input", feed.input(), "field", feed.field());
    for (auto [m, match] : llvm::enumerate(block.match())) {
      SpecFile::Step at = {"match", int(m)};
      checkPair(c, {place, at}, "match", "student", match.student(), "teacher", match.teacher());
      expectPositive({place, at, "weight"}, match.weight());
    }
  }
}

static void checkAdapters(Checker &c, const spec::Training &training) {
  for (auto [i, block] : llvm::enumerate(training.lora())) {
    SpecFile::Step place = {"lora", int(i)};
    c.require(block.pattern_size(), {place}, "the pattern", "pattern: \"*.weight\"");
    c.expect(block.rank() > 0, {place, "rank"}, "rank", "above 0", block.rank());
    c.expect(!block.has_alpha() || (block.alpha() > 0 && std::isfinite(block.alpha())),
             {place, "alpha"}, "alpha", "above 0 and finite", block.alpha());
    c.expect(block.dropout() >= 0 && block.dropout() < 1, {place, "dropout"}, "dropout",
             "from 0 to below 1", block.dropout());
  }
}

static void checkQuantization(Checker &c, const spec::Training &training) {
  if (!training.has_quantize())
    return;
  const spec::Quantize &block = training.quantize();
  c.expect(block.momentum() >= 0 && block.momentum() < 1, {"quantize", "momentum"}, "momentum",
           "from 0 to below 1", block.momentum());
  c.expect(block.begin_step() > 0, {"quantize", "begin_step"}, "begin_step", "above 0",
           block.begin_step());
  c.expect(!block.has_ranges_end_step() || block.ranges_end_step() > 0,
           {"quantize", "ranges_end_step"}, "ranges_end_step", "above 0", block.ranges_end_step());
  if (!block.activations() && block.inputs_of_size())
    c.error({"quantize", {"inputs_of", 0}})
        << "inputs_of quantizes activations, and activations is false";
  if (training.lora_size())
    c.error({{"lora", 0}})
        << "lora and quantize exclude each other: exports merge adapters into floats";
  const spec::Distribution &ranks = training.distribution();
  if (ranks.synchronize_batch_norm())
    c.error({"distribution", "synchronize_batch_norm"})
        << "quantize observes ranges on each rank; synchronize_batch_norm must be false";
  if (ranks.strategy() == spec::Distribution::PIPELINE ||
      ranks.strategy() == spec::Distribution::TENSOR ||
      ranks.strategy() == spec::Distribution::PARAMETER_SERVER)
    c.error({"distribution", "strategy"}) << "quantize needs a strategy in which each rank has the "
                                             "whole model, found "
                                          << spec::Distribution::Strategy_Name(ranks.strategy());
}

void gradc::checkTransfer(Checker &c, const spec::Training &training) {
  const spec::InitialWeights &weights = training.initial_weights();
  c.require(!training.has_initial_weights() || !weights.path().empty(), {"initial_weights"}, "path",
            "path: \"weights.safetensors\"");
  for (auto [i, rule] : llvm::enumerate(weights.rename()))
    c.require(!rule.from().empty(), {"initial_weights", {"rename", int(i)}}, "from",
              "from: \"backbone.\"");
  checkInitialization(c, training);
  checkHeads(c, training);
  checkTeachers(c, training);
  checkAdapters(c, training);
  checkQuantization(c, training);
}
