// Batches as a data set, and the stages that configure batches.
#include "runtime/data/stage/Stages.h"

#include "runtime/base/Text.h"
#include "runtime/data/load/LengthBuckets.h"

#include <algorithm>
#include <mutex>

namespace gradc::runtime {

/// The bytes of a field for this number of rows, in whole cache lines so that no two buffers share
/// one.
static size_t bufferBytes(const Field &field, int64_t capacity) {
  constexpr size_t line = 64;
  return (field.bytes() * size_t(capacity) + line) / line * line;
}

static size_t batchBytes(std::span<const Field> fields, int64_t capacity) {
  size_t bytes = 0;
  for (const Field &field : fields)
    bytes += bufferBytes(field, capacity);
  return bytes;
}

Batch::Batch(std::span<const Field> fields, int64_t capacity, std::shared_ptr<HostMemory> memory)
    : totalBytes(batchBytes(fields, capacity)) {
  buffers.reserve(fields.size());
  for (const Field &field : fields)
    buffers.emplace_back(static_cast<std::byte *>(memory->allocate(bufferBytes(field, capacity))),
                         Free{memory});
}

namespace {

class Batches final : public Dataset {
public:
  Batches(std::shared_ptr<const Table> table, const BatchRule &rule, const LoaderOptions &options)
      : table(std::move(table)), rule(rule), options(options) {}

  std::span<const Field> fields() const override { return table->fields(); }
  int64_t rows() const override { return table->rows() - droppedRows(); }
  int64_t batchSize() const override { return rule.size; }
  int64_t tailSize() const override {
    return rule.dropsRest() || rule.buckets ? 0 : table->rows() % rule.size;
  }
  BatchSizes sizesOf(size_t bucket) const override {
    const LengthBuckets::Bucket &rows = rule.buckets->buckets[bucket];
    return {rows.count < rows.size ? 0 : rows.size, rule.dropsRest() ? 0 : rows.count % rows.size};
  }
  int64_t batchesPerEpoch() const override {
    return rule.buckets ? rule.buckets->batches(rule.dropsRest())
                        : table->rows() / rule.size + (tailSize() != 0);
  }
  int64_t batchesBefore(Position position) const override {
    if (!rule.buckets)
      return (int64_t(position.row) + rule.size - 1) / rule.size;
    if (position.row == 0) // also at the end of each epoch
      return 0;
    std::vector<int64_t> order;
    std::vector<size_t> ends = orderOf(*table, rule, position.epoch, order);
    return std::ranges::upper_bound(ends, position.row) - ends.begin();
  }
  int64_t batchesLeft(Position position) const override {
    if (rule.buckets)
      return batchesPerEpoch() - batchesBefore(position);
    int64_t left = table->rows() - int64_t(position.row);
    return left / rule.size + (!rule.dropsRest() && left % rule.size != 0);
  }
  int64_t droppedRows() const override {
    if (!rule.dropsRest())
      return 0;
    return rule.buckets ? rule.buckets->rest() : table->rows() % rule.size;
  }
  size_t rowElements(const Batch &batch, size_t field) const override {
    size_t elements = fields()[field].elements();
    if (!rule.buckets || !rule.buckets->isCut[field])
      return elements;
    const LengthBuckets &all = *rule.buckets;
    return elements / size_t(all.longest()) * size_t(all.buckets[batch.bucket].length);
  }
  std::unique_ptr<Iterator> iterate() const override {
    // A resumed run may begin in rows that its own batches leave out: the next epoch is next then.
    // Batches made by length are in an order that excludes such rows.
    return makeLoader(*table, rule, rule.buckets ? rows() : table->rows(), options);
  }
  Batch allocate() const override { return Batch(fields(), rule.capacity(), options.hostMemory); }
  std::string describeRow(const Batch &batch, int64_t row) const override {
    // If bad rows are skipped, it is not known afterwards which rows were together.
    if (rule.skips)
      return text("row ", row, " of the batch");
    auto [epoch, before] = batch.begin;
    std::lock_guard lock(mutex);
    if (described.empty() || epoch != describedEpoch)
      (void)orderOf(*table, rule, epoch, described);
    describedEpoch = epoch;
    return table->describeRow(described[size_t(before) + size_t(batch.firstRow + row)], noField);
  }

private:
  std::shared_ptr<const Table> table;
  BatchRule rule;
  LoaderOptions options;
  // Predictions describe each row of an epoch.
  mutable std::mutex mutex;
  mutable std::vector<int64_t> described; ///< the order of epoch `describedEpoch`
  mutable uint64_t describedEpoch = 0;
};

} // namespace

Result<std::shared_ptr<const Dataset>> makeBatches(std::shared_ptr<const Table> table,
                                                   const BatchRule &rule, LoaderOptions options) {
  if (rule.buckets && rule.buckets->batches(rule.dropsRest()) == 0)
    return Status::error(text(table->origin(), " gives ", RowCount{table->rows()},
                              ", which fill no batch of any bucket"));
  if (!rule.buckets && rule.dropsRest() && table->rows() < rule.size)
    return Status::error(text(table->origin(), " gives ", RowCount{table->rows()},
                              ", expected at least one batch of ", rule.size));
  // The caller's batch, and the batches made ahead.
  size_t bytes = batchBytes(table->fields(), rule.capacity());
  size_t batches = options.budget / std::max<size_t>(bytes, 1);
  size_t least = size_t(options.heldBatches) + (rule.skips ? 2 : 1);
  if (batches < least)
    return Status(Code::doesNotFit, text("data { memory_mb } allows ", options.budget >> 20,
                                         " MB, expected at least ", ((least * bytes) >> 20) + 1,
                                         ": ", least, " batches of ", rule.capacity(), " rows of ",
                                         bytes / size_t(rule.capacity()), " bytes"));
  Autotune::Limits &limits = options.limits;
  limits.maxDepth = int(std::min<size_t>(batches - size_t(options.heldBatches), 64));
  limits.depth = std::min(limits.depth, limits.maxDepth);
  return std::shared_ptr<const Dataset>(
      std::make_shared<Batches>(std::move(table), rule, std::move(options)));
}

Status applyBatch(Config config, const DataContext &context, Pipeline &pipeline) {
  if (pipeline.rule)
    return Status::invalid("data stage 'batch' comes twice");
  int64_t size = config.integer("size", 0);
  if (!config.child("size"))
    return Status::invalid("batch has no size: add size: 32");
  if (size < 1)
    return context.wrong(config.child("size"),
                         text("batch { size } is ", size, ", expected 1 or more"));
  if (Config by = config.child("by"); by && !config.child("bucket"))
    return context.wrong(by, "batch { by } is for buckets: add bucket { length: 32 }");
  BatchRule rule{size};
  rule.skips = context.skips;
  if (config.child("bucket"))
    if (Status status = readBuckets(config, context, pipeline, rule); !status.ok())
      return status;
  // Without an entry for the smaller last batch, its rows cannot be used.
  rule.dropRemainder = config.boolean("drop_remainder", false) || !context.tailAllowed;
  if (!context.problems)
    if (Status status = applyFeed(context, pipeline, rule); !status.ok())
      return status;
  if (rule.buckets && !context.problems)
    cutToLength(pipeline, rule);
  pipeline.rule = std::move(rule);
  return {};
}

Status applyPrefetch(Config config, const DataContext &context, Pipeline &pipeline) {
  int64_t depth = config.integer("depth", 0);
  if (depth < 0 || depth > 1024)
    return context.wrong(config.child("depth"), text("prefetch { depth } is ", depth,
                                                     ", expected 0 (found by measuring) to 1024"));
  if (!pipeline.rule)
    return Status::invalid("data stage 'prefetch' comes before batch");
  pipeline.prefetch = int(depth);
  return {};
}

} // namespace gradc::runtime
