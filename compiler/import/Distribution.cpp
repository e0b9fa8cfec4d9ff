#include "dialects/Pch.h"

#include "compiler/import/Distribution.h"
#include "compiler/import/TrainEntries.h"
#include "compiler/import/spec/StepSpec.h"

#include "compiler/import/support/Names.h"
#include "dialects/grad/Grad.h"
#include "passes/support/DataParallel.h"
#include "passes/support/MicroBatches.h"
#include "passes/support/Ports.h"
#include "passes/support/ShardPlan.h"
#include "passes/support/Stages.h"

using namespace mlir;
using namespace mlir::grad;
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

/// Checks that workers can run steps independently of each other. The server runs the same entry
/// for whichever worker comes next, so all steps must be of one kind.
static bool checkStaleness(const SpecFile &spec) {
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

/// Checks that a step can be cut into stages, each of which runs on all rows of a batch.
static bool checkPipeline(const SpecFile &spec) {
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

/// Checks that ranks can share products: each has all rows, and entries are those of one process.
static bool checkTensor(const SpecFile &spec) {
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
  constexpr int64_t most = 4096;
  if (distribution.ranks() < 1 || distribution.ranks() > most)
    refuse({"distribution"}, "beside strategy: TENSOR, ranks from 1 to " + Twine(most) +
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

bool gradc::checkDistribution(const SpecFile &spec, int64_t batch) {
  if (!spec.get().has_distribution())
    return true;
  bool ok = checkTensor(spec),
       isTensor = spec.get().distribution().strategy() == spec::Distribution::TENSOR;
  if (batch < 2 && !isTensor) {
    emitError(spec.at({"distribution"}))
        << "expected a batch.size of 2 or more for ranks to share, found " << batch;
    ok = false;
  }
  const spec::Distribution &distribution = spec.get().distribution();
  bool isPipeline = distribution.strategy() == spec::Distribution::PIPELINE;
  if (int64_t parts = spec.get().micro_batches(); parts > 1 && !isPipeline && !isTensor) {
    auto refuse = [&](const Twine &expected) {
      emitError(spec.at({"micro_batches"})) << "beside distribution, expected " << expected;
      ok = false;
    };
    if (batch < 2 * parts)
      refuse("a batch.size of at least 2 rows for each of the " + Twine(parts) +
             " parts, which ranks share, found " + Twine(batch));
    if (!SpecFile::batchOf(spec.get().data()).drop_remainder())
      refuse("batch { drop_remainder: true }: ranks share parts of one size");
    if (distribution.synchronize_batch_norm())
      refuse("no synchronize_batch_norm: ranks exchange nothing before the last part");
  }
  ok = checkStaleness(spec) && ok;
  ok = checkPipeline(spec) && ok;
  bool hasServers = distribution.strategy() == spec::Distribution::PARAMETER_SERVER;
  if (distribution.has_servers() && (!hasServers || distribution.servers() < 1)) {
    emitError(spec.at({"distribution", "servers"}))
        << (hasServers ? "expected 1 server or more, found "
                       : "expected strategy: PARAMETER_SERVER beside servers, found servers: ")
        << distribution.servers();
    ok = false;
  }
  if (distribution.has_stall_seconds() && !(distribution.stall_seconds() > 0)) {
    emitError(spec.at({"distribution", "stall_seconds"}))
        << "expected a positive number of seconds, found "
        << numberText(distribution.stall_seconds());
    ok = false;
  }
  return ok;
}

void gradc::setRanks(func::FuncOp function, const SpecFile &spec) {
  if (!spec.get().has_distribution())
    return;
  Builder b(function.getContext());
  if (spec.get().distribution().strategy() == spec::Distribution::PIPELINE) {
    int64_t stages =
        spec.get().distribution().has_stages() ? spec.get().distribution().stages() : 2;
    function->setAttr(stagesName, b.getI64IntegerAttr(stages));
    return;
  }
  if (spec.get().distribution().strategy() == spec::Distribution::TENSOR) {
    function->getParentOp()->setAttr(shardsName,
                                     b.getI64IntegerAttr(spec.get().distribution().ranks()));
    return;
  }
  SmallVector<NamedAttribute> ranks;
  if (spec.get().distribution().wire() == spec::Distribution::BF16)
    ranks.push_back(b.getNamedAttr("bf16", b.getUnitAttr()));
  if (spec.get().distribution().synchronize_batch_norm())
    ranks.push_back(b.getNamedAttr("synchronize_batch_norm", b.getUnitAttr()));
  auto strategy = spec.get().distribution().strategy();
  if (strategy == spec::Distribution::SHARDED_OPTIMIZER ||
      strategy == spec::Distribution::PARAMETER_SERVER)
    ranks.push_back(b.getNamedAttr("cut", b.getUnitAttr()));
  function->setAttr(ranksName, b.getDictionaryAttr(ranks));
}

/// Whether `matches` holds for any op of the function or of its regions.
static bool has(func::FuncOp function, llvm::function_ref<bool(Operation *)> matches) {
  return function
      ->walk([&](Operation *op) {
        return matches(op) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Whether an op normalizes rows of the batch by the statistics of some of them.
static bool isBatchNorm(Operation *op) {
  auto norm = dyn_cast<NormalizeOp>(op);
  return norm && !norm.getCount() && llvm::is_contained(norm.getDims(), 0);
}

/// Where a step in parts is another one than a step on the whole batch.
static void remarkOnParts(func::FuncOp function, const SpecFile &spec) {
  Location where = spec.at({"distribution"});
  int64_t parts = spec.get().micro_batches();
  if (parts == 1)
    emitRemark(where) << "the stages of a pipeline wait for each other without micro_batches: only "
                         "one of them computes at a time";
  else if (has(function, isBatchNorm))
    emitRemark(where) << "batch normalization normalizes each of the " << parts
                      << " micro-batches by itself, and running statistics follow all of them in "
                         "turn: other values than on the whole batch, and those of one process "
                         "with the same micro_batches";
}

void gradc::remarkOnRanks(func::FuncOp function, const SpecFile &spec) {
  std::string first = stepsOf(spec.get()).front().entryName(); // others are like it
  if (function->hasAttr(stagesName) && function.getSymName() == first)
    return remarkOnParts(function, spec);
  if (!function->hasAttr(ranksName) || function.getSymName() != first)
    return;
  Location where = spec.at({"distribution"});
  if (has(function, isBatchNorm))
    emitRemark(where) << "batch normalization normalizes the rows of each rank by themselves, and "
                         "running statistics are the ranks' means: other values than in one "
                         "process, unless synchronize_batch_norm: true";
  if (has(function, [](Operation *op) {
        return isa<RandomBitsOp, RandomUniformOp, RandomNormalOp, DropoutOp>(op);
      }))
    emitRemark(where) << "each rank draws random numbers for its own rows: those of dropout and "
                         "the like are other ones than in one process";
  for (const spec::Loss &loss : spec.get().loss())
    if (loss.has_scalar())
      emitRemark(where) << "loss \"" << loss.scalar()
                        << "\" is taken for a mean over rows: the mean of the ranks' losses, each "
                           "of which counts as its rows";
  if (!resultsOfRole(function, gradc_role_name(GRADC_ROLE_SAMPLES)).empty())
    emitRemark(where) << "metrics that rank samples, such as auc, are in the log of steps those of "
                         "one rank's rows";
}
