// The stages that a spec's `data` block may name. Each changes the product of the stages before it.
#ifndef RUNTIME_DATA_STAGE_STAGES_H
#define RUNTIME_DATA_STAGE_STAGES_H

#include "runtime/data/Pipeline.h"
#include "runtime/data/load/Loader.h"

namespace gradc::runtime {

// Stages on rows.
Status applyMap(Config config, const DataContext &context, Pipeline &pipeline);
/// The names of the fields that a map changes alike; of a map that names none, "".
std::vector<std::string> mappedFields(Config map);
Status applyShuffle(Config config, const DataContext &context, Pipeline &pipeline);
Status applyFilter(Config config, const DataContext &context, Pipeline &pipeline);
Status applyCache(Config config, const DataContext &context, Pipeline &pipeline);
Status applyTake(Config config, const DataContext &context, Pipeline &pipeline);
Status applySkip(Config config, const DataContext &context, Pipeline &pipeline);
Status applyRepeat(Config config, const DataContext &context, Pipeline &pipeline);
Status applyShard(Config config, const DataContext &context, Pipeline &pipeline);
// Few jobs have these: null in the smaller runner.
__attribute__((weak)) Status applySampler(Config config, const DataContext &context,
                                          Pipeline &pipeline);
__attribute__((weak)) Status applyWindow(Config config, const DataContext &context,
                                         Pipeline &pipeline);
/// A map that is a model.
__attribute__((weak)) Status applyModel(Config map, const DataContext &context, Pipeline &pipeline);
/// Adds the fields that a block `pad` creates for field `padded`, which is padded to `shape`.
__attribute__((weak)) Status applyPadMarks(Config pad, size_t padded,
                                           const std::vector<int64_t> &shape,
                                           const DataContext &context, Pipeline &pipeline);
// Stages on batches.
Status applyBatch(Config config, const DataContext &context, Pipeline &pipeline);
Status applyPrefetch(Config config, const DataContext &context, Pipeline &pipeline);
__attribute__((weak)) Status applyMix(Config config, const DataContext &context,
                                      Pipeline &pipeline);

// Parts of other stages: a source's selection and split of rows, and the fields of a batch.
Status applyRows(Config config, const DataContext &context, Pipeline &pipeline);
Status applySplit(Config config, const DataContext &context, Pipeline &pipeline);
Status applyFeed(const DataContext &context, Pipeline &pipeline, const BatchRule &rule);

/// The block batch of a data block, if it has buckets.
Config batchByLength(Config data);
/// Whether batches are made by the length of that field, which `pad` makes of one length.
bool countsLength(const DataContext &context, std::string_view field);
/// Fails with the first problem of the buckets of a block `batch`. For descriptions, which precede
/// every run.
Status checkBuckets(Config batch, const DataContext &context, const Pipeline &pipeline);
/// Reads the buckets of a block `batch` into the rule, and determines the bucket of each row. If
/// the data are only described, no row is read.
Status readBuckets(Config batch, const DataContext &context, Pipeline &pipeline, BatchRule &rule);
/// Cuts the batches' padded fields to the length of their bucket.
void cutToLength(Pipeline &pipeline, BatchRule &rule);
/// Whether a field's rows have the length of their bucket.
bool isByLength(const Pipeline &pipeline, const Field &field);

/// Interleaves the rows of a source's files as the source's block says.
Status applyInterleave(Config source, std::vector<std::shared_ptr<const Table>> tables,
                       Pipeline &pipeline);

/// Applies the limits that follow from the memory budget.
Result<std::shared_ptr<const Dataset>> makeBatches(std::shared_ptr<const Table> table,
                                                   const BatchRule &rule, LoaderOptions options);

} // namespace gradc::runtime

#endif
