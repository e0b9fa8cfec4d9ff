// Checks the spec's `distribution` block, and sets the attributes by which passes divide a step.
#include "dialects/Pch.h"

#include "compiler/import/job/Distribution.h"
#include "compiler/import/job/StrategyChecks.h"
#include "compiler/import/job/TrainEntries.h"
#include "compiler/import/spec/StepSpec.h"
#include "compiler/import/support/Names.h"
#include "dialects/grad/Grad.h"
#include "passes/distribution/ShardPlan.h"
#include "passes/entry/Ports.h"
#include "passes/training/StepAttributes.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

bool gradc::sharesRows(const spec::Distribution &distribution) {
  bool dividesModel = distribution.strategy() == spec::Distribution::PIPELINE ||
                      distribution.strategy() == spec::Distribution::TENSOR;
  return !dividesModel || distribution.data_parallel();
}

bool gradc::checkDistribution(const SpecFile &spec, int64_t batch) {
  if (!spec.get().has_distribution())
    return true;
  const spec::Distribution &distribution = spec.get().distribution();
  bool ok = checkTensor(spec), isShared = sharesRows(distribution);
  bool isTensor = distribution.strategy() == spec::Distribution::TENSOR;
  if (batch < 2 && (!isTensor || isShared)) {
    emitError(spec.at({"distribution"}))
        << "expected a batch.size of 2 or more for ranks to share, found " << batch;
    ok = false;
  }
  if (int64_t parts = spec.get().micro_batches(); parts > 1 && isShared) {
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
  if (distribution.data_parallel() && distribution.strategy() != spec::Distribution::PIPELINE &&
      !isTensor) {
    emitError(spec.at({"distribution", "data_parallel"}))
        << "expected strategy: PIPELINE or TENSOR beside data_parallel, found strategy: "
        << spec::Distribution::Strategy_Name(distribution.strategy())
        << ", whose ranks share each batch without it";
    ok = false;
  }
  bool hasServers = distribution.strategy() == spec::Distribution::PARAMETER_SERVER;
  if (distribution.has_servers() &&
      (!hasServers || distribution.servers() < 1 || distribution.servers() > 4096)) {
    emitError(spec.at({"distribution", "servers"}))
        << (hasServers ? "expected from 1 to 4096 servers, found "
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
  const spec::Distribution &distribution = spec.get().distribution();
  auto strategy = distribution.strategy();
  if (strategy == spec::Distribution::PIPELINE)
    function->setAttr(stagesName,
                      b.getI64IntegerAttr(distribution.has_stages() ? distribution.stages() : 2));
  if (strategy == spec::Distribution::TENSOR)
    function->getParentOp()->setAttr(shardsName, b.getI64IntegerAttr(distribution.ranks()));
  if (!sharesRows(distribution))
    return;
  SmallVector<NamedAttribute> ranks;
  if (distribution.wire() == spec::Distribution::BF16)
    ranks.push_back(b.getNamedAttr("bf16", b.getUnitAttr()));
  if (distribution.synchronize_batch_norm())
    ranks.push_back(b.getNamedAttr("synchronize_batch_norm", b.getUnitAttr()));
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
  else if (!function->hasAttr(ranksName) && has(function, isBatchNorm))
    emitRemark(where) << "batch normalization normalizes each of the " << parts
                      << " micro-batches by itself, and running statistics follow all of them in "
                         "turn: other values than on the whole batch, and those of one process "
                         "with the same micro_batches";
}

void gradc::remarkOnRanks(func::FuncOp function, const SpecFile &spec) {
  std::string first = stepsOf(spec.get()).front().entryName(); // others are like it
  if (function->hasAttr(stagesName) && function.getSymName() == first)
    remarkOnParts(function, spec);
  if (!function->hasAttr(ranksName) || function.getSymName() != first)
    return;
  Location where = spec.at({"distribution"});
  if (has(function, isBatchNorm))
    emitRemark(where) << "batch normalization normalizes the rows of each rank by themselves, and "
                         "running statistics are the ranks' means: other values than in one "
                         "process, unless synchronize_batch_norm: true";
  if (spec.get().has_quantize() && spec.get().quantize().activations())
    emitRemark(where) << "quantize takes ranges from the rows of each rank, and stores the ranks' "
                         "means: other values than in one process";
  if (has(function, [](Operation *op) {
        return isa<RandomBitsOp, RandomUniformOp, RandomNormalOp, DropoutOp>(op);
      }))
    emitRemark(where) << "each rank draws random numbers for its own rows: those of dropout and "
                         "the like are other ones than in one process";
  for (const spec::Loss &loss : spec.get().loss())
    if (loss.has_scalar())
      emitRemark(where)
          << "evaluations take loss \"" << loss.scalar()
          << "\" for a mean over rows: the mean of the ranks' losses, each of which "
             "counts as its rows; of a sum, that is another value than in one process";
  if (!resultsOfRole(function, gradc_role_name(GRADC_ROLE_SAMPLES)).empty())
    emitRemark(where) << "metrics that rank samples, such as auc, are in the log of steps those of "
                         "one rank's rows";
}
