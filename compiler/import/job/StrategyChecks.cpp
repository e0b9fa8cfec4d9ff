// Each check has the conditions of one strategy, which messages give with their reasons.
#include "dialects/Pch.h"

#include "compiler/import/job/StrategyChecks.h"
#include "compiler/import/job/TrainEntries.h"
#include "compiler/import/spec/StepSpec.h"
#include "runtime/include/gradc/artifact.h"

using namespace mlir;
using namespace gradc;

/// The first step at which any frozen group of any kind of step starts to train; 0 if no group is
/// frozen.
static int64_t thawOf(const spec::Training &training) {
  for (const StepSpec &step : stepsOf(training))
    for (const auto *groups : {&training.group(), &step.ownGroups()})
      for (const spec::Group &group : *groups)
        if (group.frozen_until_step() > 0)
          return group.frozen_until_step();
  return 0;
}

bool gradc::checkStaleness(const SpecFile &spec) {
  const spec::Training &training = spec.get();
  const spec::Distribution &distribution = training.distribution();
  if (!distribution.has_staleness())
    return true;
  bool ok = true;
  auto refuse = [&](const Twine &expected) {
    emitError(spec.at({"distribution", "staleness"})) << "expected " << expected;
    ok = false;
  };
  if (distribution.staleness() < 0)
    refuse("0 steps or more, found " + Twine(distribution.staleness()));
  if (distribution.strategy() != spec::Distribution::PARAMETER_SERVER)
    refuse("strategy: PARAMETER_SERVER beside staleness, found strategy: " +
           spec::Distribution::Strategy_Name(distribution.strategy()));
  if (distribution.staleness() <= 0)
    return ok;
  if (distribution.servers() > 1)
    refuse("one server beside staleness, found servers: " + Twine(distribution.servers()));
  if (distribution.synchronize_batch_norm())
    refuse("no synchronize_batch_norm beside staleness: workers do not wait for each other");
  if (training.has_loss_scaling())
    refuse("no loss_scaling beside staleness: each worker would have a scale of its own");
  if (training.train_size() > 1)
    refuse("at most one train block beside staleness, found " + Twine(training.train_size()) +
           ": workers may be at steps of different blocks");
  if (int64_t thaw = thawOf(training))
    refuse("no frozen_until_step beside staleness, found frozen_until_step: " + Twine(thaw) +
           ": some workers may have reached that step and others not");
  if (int buckets = SpecFile::batchOf(training.data()).bucket_size())
    refuse("batches of one length beside staleness, found " + Twine(buckets) +
           " batch { bucket }: workers may be at batches of different lengths");
  return ok;
}

bool gradc::checkPipeline(const SpecFile &spec) {
  const spec::Training &training = spec.get();
  const spec::Distribution &distribution = training.distribution();
  bool isPipeline = distribution.strategy() == spec::Distribution::PIPELINE, ok = true;
  auto refuse = [&](const char *field, const Twine &expected) {
    emitError(spec.at({"distribution", field})) << "expected " << expected;
    ok = false;
  };
  constexpr int64_t most = 64;
  if (distribution.has_stages() &&
      (!isPipeline || distribution.stages() < 2 || distribution.stages() > most))
    refuse("stages", (isPipeline ? "from 2 to 64 stages, found "
                                 : "strategy: PIPELINE beside stages, found stages: ") +
                         Twine(distribution.stages()));
  if (!isPipeline)
    return ok;
  if (distribution.synchronize_batch_norm())
    refuse("synchronize_batch_norm",
           "no synchronize_batch_norm beside strategy: PIPELINE: a stage normalizes each part of "
           "the batch by itself");
  if (distribution.wire() == spec::Distribution::BF16)
    refuse("wire", "wire: F32 beside strategy: PIPELINE: stages send values at their precision");
  if (!SpecFile::batchOf(training.data()).drop_remainder())
    refuse("strategy", "batch { drop_remainder: true } beside strategy: PIPELINE: its stages are "
                       "compiled for batches of one size");
  if (training.train_size() > 1)
    refuse("strategy", "at most one train block beside strategy: PIPELINE, found " +
                           Twine(training.train_size()));
  if (int64_t thaw = thawOf(training))
    refuse("strategy", "no frozen_until_step beside strategy: PIPELINE, found frozen_until_step: " +
                           Twine(thaw));
  if (int buckets = SpecFile::batchOf(training.data()).bucket_size())
    refuse("strategy", "batches of one length beside strategy: PIPELINE, found " + Twine(buckets) +
                           " batch { bucket }");
  if (watchesGradients(training))
    refuse("strategy",
           "no watch { gradients } beside strategy: PIPELINE: no stage has all of them");
  return ok;
}

bool gradc::checkTensor(const SpecFile &spec) {
  const spec::Training &training = spec.get();
  const spec::Distribution &distribution = training.distribution();
  bool isTensor = distribution.strategy() == spec::Distribution::TENSOR, ok = true;
  auto refuse = [&](ArrayRef<SpecFile::Step> path, const Twine &expected) {
    emitError(spec.at(path)) << "expected " << expected;
    ok = false;
  };
  if (!isTensor) {
    if (distribution.has_ranks())
      refuse({"distribution", "ranks"},
             "strategy: TENSOR beside ranks, found strategy: " +
                 spec::Distribution::Strategy_Name(distribution.strategy()));
    return ok;
  }
  if (distribution.ranks() < 1 || distribution.ranks() > GRADC_MAX_RANKS)
    refuse({"distribution"}, "beside strategy: TENSOR, ranks from 1 to " + Twine(GRADC_MAX_RANKS) +
                                 ", found " + Twine(distribution.ranks()));
  const std::string beside = " beside strategy: TENSOR";
  if (distribution.wire() == spec::Distribution::BF16)
    refuse({"distribution", "wire"},
           "no wire: BF16" + beside + ": what ranks sum are activations and their gradients");
  if (distribution.synchronize_batch_norm())
    refuse({"distribution", "synchronize_batch_norm"},
           "no synchronize_batch_norm" + beside + ": each rank has all rows");
  if (training.micro_batches() > 1)
    refuse({"micro_batches"}, "no micro_batches" + beside);
  if (training.watch_size())
    refuse({"distribution"}, "no watch" + beside + ": no rank has a whole parameter");
  return ok;
}
