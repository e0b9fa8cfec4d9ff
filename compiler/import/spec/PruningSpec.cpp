// Checks the blocks `prune` of a training spec.
#include "dialects/Pch.h"

#include "compiler/import/spec/RunLength.h"
#include "compiler/import/spec/SpecChecker.h"

using namespace mlir;
using namespace gradc;

/// N:M sparsity replaces `sparsity`.
static void checkGroups(Checker &c, SpecFile::Step place, const spec::Prune &block) {
  if (!block.has_keep() || !block.has_of()) {
    c.error({place}) << "prune needs keep and of, found no " << (block.has_keep() ? "of" : "keep")
                     << ": prune { pattern: \"*.weight\" keep: 2 of: 4 }";
    return;
  }
  c.expect(block.of() > 1, {place, "of"}, "of", "above 1", block.of());
  c.expect(block.keep() > 0 && block.keep() < block.of(), {place, "keep"}, "keep",
           "above 0 and below of, " + std::to_string(block.of()), block.keep());
  if (block.has_sparsity())
    c.error({place, "sparsity"}) << "expected keep and of, or sparsity, found both: the sparsity "
                                    "of keep and of is 1 - keep / of";
  if (block.structure() == spec::Prune::CHANNELS)
    c.error({place, "structure"}) << "expected structure: ELEMENTS beside keep and of";
}

void gradc::checkPruning(Checker &c, const spec::Training &training) {
  for (auto [i, block] : llvm::enumerate(training.prune())) {
    SpecFile::Step place = {"prune", int(i)};
    c.require(block.pattern_size(), {place}, "the pattern", "pattern: \"*.weight\"");
    bool isGrouped = block.has_keep() || block.has_of();
    if (isGrouped)
      checkGroups(c, place, block);
    else
      c.require(block.has_sparsity(), {place}, "sparsity", "sparsity: 0.8");
    c.expect(block.sparsity() >= 0 && block.sparsity() < 1, {place, "sparsity"}, "sparsity",
             "from 0 to below 1", block.sparsity());
    double last = isGrouped && block.of() > 0 ? 1 - double(block.keep()) / double(block.of())
                                              : block.sparsity();
    c.expect(!block.has_initial_sparsity() ||
                 (block.initial_sparsity() >= 0 && block.initial_sparsity() <= last),
             {place, "initial_sparsity"}, "initial_sparsity",
             "from 0 to the last sparsity, " + numberText(last), block.initial_sparsity());
    c.expect(block.begin_step() > 0, {place, "begin_step"}, "begin_step", "above 0",
             block.begin_step());
    int64_t end = block.has_end_step() ? block.end_step() : block.begin_step();
    c.expect(end >= block.begin_step(), {place, "end_step"}, "end_step",
             "from begin_step, " + std::to_string(block.begin_step()) + ", on", end);
    c.expect(end <= mostCountedSteps, {place, block.has_end_step() ? "end_step" : "begin_step"},
             block.has_end_step() ? "end_step" : "begin_step",
             "up to " + std::to_string(mostCountedSteps), end);
    c.expect(block.every() > 0, {place, "every"}, "every", "above 0", block.every());
  }
  auto strategy = training.distribution().strategy();
  if (training.prune_size() && strategy != spec::Distribution::MIRRORED &&
      strategy != spec::Distribution::MULTI_WORKER)
    c.error({"distribution", "strategy"})
        << "expected strategy: MIRRORED or MULTI_WORKER beside prune, found strategy: "
        << spec::Distribution::Strategy_Name(strategy)
        << ": the elements of a parameter compete with each other, and there no rank updates all "
           "of them";
}
