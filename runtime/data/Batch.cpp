// Batches of rows in an epoch's order, epoch after epoch.
#include "runtime/data/Stages.h"

#include "runtime/core/Text.h"

#include <algorithm>
#include <new>

namespace gradc {

static constexpr size_t alignment = 64;

void Batch::Free::operator()(std::byte *bytes) const {
  ::operator delete[](bytes, std::align_val_t(alignment));
}

Batch::Batch(std::span<const Field> fields, int64_t capacity) {
  for (const Field &field : fields) {
    // Whole cache lines, so that no two buffers share one.
    size_t bytes = (field.bytes() * size_t(capacity) + alignment) / alignment * alignment;
    buffers.emplace_back(
        static_cast<std::byte *>(::operator new[](bytes, std::align_val_t(alignment))));
  }
}

namespace {

class Batches final : public Dataset {
public:
  Batches(std::shared_ptr<const Table> table, int64_t size, bool dropRemainder)
      : table(std::move(table)), size(size), dropRemainder(dropRemainder) {}

  std::span<const Field> fields() const override { return table->fields(); }
  int64_t rows() const override { return table->rows() - droppedRows(); }
  int64_t batchSize() const override { return size; }
  int64_t tailSize() const override { return dropRemainder ? 0 : table->rows() % size; }
  int64_t batchesPerEpoch() const override { return table->rows() / size + (tailSize() != 0); }
  int64_t droppedRows() const override { return dropRemainder ? table->rows() % size : 0; }
  std::unique_ptr<Iterator> iterate() const override;

  const Table &source() const { return *table; }

private:
  std::shared_ptr<const Table> table;
  int64_t size;
  bool dropRemainder;
};

class BatchesIterator final : public Iterator {
public:
  explicit BatchesIterator(const Batches &dataset) : dataset(dataset) {}

  Status next(Batch &batch) override {
    if (orderedEpoch != at.epoch || order.empty()) {
      dataset.source().order(at.epoch, order);
      orderedEpoch = at.epoch;
    }
    auto left = dataset.rows() - int64_t(at.row);
    batch.rows = std::min(dataset.batchSize(), left);
    RowList rows = {at.epoch, {order.data() + at.row, size_t(batch.rows)}};
    for (size_t field = 0; field < batch.fieldCount(); ++field)
      if (Status status = dataset.source().read(field, rows, scratch, batch.field(field));
          !status.ok())
        return status;
    batch.endsEpoch = batch.rows == left;
    at = batch.endsEpoch ? Position{at.epoch + 1, 0}
                         : Position{at.epoch, at.row + uint64_t(batch.rows)};
    batch.after = at;
    return {};
  }

  Position position() const override { return at; }

  Status restore(Position position) override {
    if (position.row >= uint64_t(dataset.rows()))
      return Status::error(text("cannot go on at row ", position.row, " of an epoch: ",
                                dataset.source().origin(), " gives ", dataset.rows(), " rows"));
    at = position;
    return {};
  }

private:
  const Batches &dataset;
  Scratch scratch;
  Position at;
  std::vector<int64_t> order; ///< of epoch `orderedEpoch`
  uint64_t orderedEpoch = 0;
};

std::unique_ptr<Iterator> Batches::iterate() const {
  return std::make_unique<BatchesIterator>(*this);
}

} // namespace

Result<std::shared_ptr<const Dataset>> makeBatches(std::shared_ptr<const Table> table, int64_t size,
                                                   bool dropRemainder) {
  if (size < 1)
    return Status::invalid(text("batch size is ", size, ", expected 1 or more"));
  if (dropRemainder && table->rows() < size)
    return Status::error(text(table->origin(), " gives ", table->rows(),
                              " rows, expected at least one batch of ", size));
  return std::shared_ptr<const Dataset>(
      std::make_shared<Batches>(std::move(table), size, dropRemainder));
}

Status applyBatch(Config config, const DataContext &context, Pipeline &pipeline) {
  // Without an entry for the smaller last batch its rows have nowhere to go.
  bool dropRemainder = config.boolean("drop_remainder", false) || !context.tailAllowed;
  auto dataset = makeBatches(pipeline.table, config.integer("size", 1), dropRemainder);
  if (!dataset)
    return dataset.status();
  pipeline.dataset = std::move(*dataset);
  return {};
}

} // namespace gradc
