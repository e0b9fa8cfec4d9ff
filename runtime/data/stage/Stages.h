// The stages that a spec's `data` block may name: each changes what those before it have made.
#ifndef RUNTIME_DATA_STAGES_H
#define RUNTIME_DATA_STAGES_H

#include "runtime/data/Pipeline.h"
#include "runtime/data/load/Loader.h"

namespace gradc::runtime {

// Of rows.
Status applyMap(Config config, const DataContext &context, Pipeline &pipeline);
Status applyShuffle(Config config, const DataContext &context, Pipeline &pipeline);
Status applyFilter(Config config, const DataContext &context, Pipeline &pipeline);
Status applyCache(Config config, const DataContext &context, Pipeline &pipeline);
Status applyTake(Config config, const DataContext &context, Pipeline &pipeline);
Status applySkip(Config config, const DataContext &context, Pipeline &pipeline);
Status applyRepeat(Config config, const DataContext &context, Pipeline &pipeline);
Status applySampler(Config config, const DataContext &context, Pipeline &pipeline);
Status applyShard(Config config, const DataContext &context, Pipeline &pipeline);
// Of batches.
Status applyBatch(Config config, const DataContext &context, Pipeline &pipeline);
Status applyPrefetch(Config config, const DataContext &context, Pipeline &pipeline);

// Parts of other stages: a map that is a model, the choice of rows and the split that a source may
// have, and the fields of a batch.
Status applyModel(Config map, const DataContext &context, Pipeline &pipeline);
Status applyRows(Config config, const DataContext &context, Pipeline &pipeline);
Status applySplit(Config config, const DataContext &context, Pipeline &pipeline);
Status applyFeed(const DataContext &context, Pipeline &pipeline, const BatchRule &rule);

/// Adds the fields that a block `pad` makes beside field `padded`, which becomes `shape`.
Status applyPadMarks(Config pad, size_t padded, const std::vector<int64_t> &shape,
                     const DataContext &context, Pipeline &pipeline);

/// Fails with the first problem of the buckets of a block `batch`; for descriptions, which come
/// before every run.
Status checkBuckets(Config batch, const DataContext &context, const Pipeline &pipeline);
/// Reads the buckets of a block `batch` into the rule, and which one each row is in. Where data are
/// only described, no row is read.
Status readBuckets(Config batch, const DataContext &context, Pipeline &pipeline, BatchRule &rule);
/// Cuts the batches' padded fields to the length of their bucket.
void cutToLength(Pipeline &pipeline, BatchRule &rule);
/// Whether a field's rows are as long as their bucket.
bool isByLength(const Pipeline &pipeline, const Field &field);

/// The rows of a source's several files, some from each in turn, as its block says.
Status applyInterleave(Config source, std::vector<std::shared_ptr<const Table>> tables,
                       Pipeline &pipeline);

/// Sets the limits that follow from the budget.
Result<std::shared_ptr<const Dataset>> makeBatches(std::shared_ptr<const Table> table,
                                                   const BatchRule &rule, LoaderOptions options);

} // namespace gradc::runtime

#endif
