// The stages that a spec's `data` block may name, and how a chain of them becomes a data set.
#ifndef RUNTIME_DATA_STAGES_H
#define RUNTIME_DATA_STAGES_H

#include "runtime/core/Config.h"
#include "runtime/data/Loader.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace gradc {

/// A field that the source has to give, and for whom: "model input 'x' is fed from", "filter
/// reads".
struct FieldUse {
  std::string field;
  std::string user;
};

/// What the stages are built for.
struct DataContext {
  std::vector<std::string> folders; ///< where relative paths are looked up, in this order
  std::vector<Demand> demands;      ///< of the model's data inputs, in their order
  uint64_t seed = 0;
  bool tailAllowed = true; ///< the model takes a smaller last batch
  /// The demands' fields and those that stages read besides; makeDataset fills it in.
  std::vector<FieldUse> uses;
};

/// Builds the data set of a `data` block. Its fields are the demands, in their order.
Result<std::shared_ptr<const Dataset>> makeDataset(Config data, DataContext context);

/// What the stages so far have made: a table, and how it will be read.
struct Pipeline {
  std::shared_ptr<const Table> table;
  std::optional<BatchRule> rule;   ///< from the batch stage on
  std::optional<int> prefetch;     ///< depth; 0: to be found
  std::vector<std::string> stages; ///< names of those that are metered
  bool joined = false;             ///< the last map became a part of the one before it

  /// The number of the first of `count` scratch slots that are the caller's alone.
  size_t newSlots(size_t count) {
    slots += count;
    return slots - count;
  }

private:
  size_t slots = 0;
};

Status applyNpz(Config config, const DataContext &context, Pipeline &pipeline);
Status applyNpy(Config config, const DataContext &context, Pipeline &pipeline);
Status applyCsv(Config config, const DataContext &context, Pipeline &pipeline);
Status applyIdx(Config config, const DataContext &context, Pipeline &pipeline);
Status applyFolder(Config config, const DataContext &context, Pipeline &pipeline);
Status applyTfRecord(Config config, const DataContext &context, Pipeline &pipeline);
Status applyRows(Config config, const DataContext &context, Pipeline &pipeline);
Status applyMap(Config config, const DataContext &context, Pipeline &pipeline);
Status applyShuffle(Config config, const DataContext &context, Pipeline &pipeline);
Status applyTake(Config config, const DataContext &context, Pipeline &pipeline);
Status applySkip(Config config, const DataContext &context, Pipeline &pipeline);
Status applyRepeat(Config config, const DataContext &context, Pipeline &pipeline);
Status applyShard(Config config, const DataContext &context, Pipeline &pipeline);
Status applyFeed(const DataContext &context, Pipeline &pipeline);
Status applyBatch(Config config, const DataContext &context, Pipeline &pipeline);
Status applyPrefetch(Config config, const DataContext &context, Pipeline &pipeline);

/// Sets the limits that follow from the budget.
Result<std::shared_ptr<const Dataset>> makeBatches(std::shared_ptr<const Table> table,
                                                   const BatchRule &rule, LoaderOptions options);

} // namespace gradc

#endif
