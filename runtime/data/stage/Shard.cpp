// Takes every count-th row of an epoch's order.
#include "runtime/base/Text.h"
#include "runtime/data/stage/Stages.h"

namespace gradc::runtime {

namespace {

class Shard final : public TableStage {
public:
  Shard(std::shared_ptr<const Table> input, int64_t count, int64_t index)
      : TableStage(std::move(input)), count(count), index(index) {}

  int64_t rows() const override { return input->rows() / count + (input->rows() % count > index); }

  void order(uint64_t epoch, std::vector<int64_t> &rows) const override {
    input->order(epoch, rows);
    size_t kept = 0;
    for (auto i = size_t(index); i < rows.size(); i += size_t(count))
      rows[kept++] = rows[i];
    rows.resize(kept);
  }

private:
  int64_t count, index;
};

} // namespace

Status applyShard(Config config, const DataContext &, Pipeline &pipeline) {
  int64_t count = config.integer("count", 0), index = config.integer("index", 0);
  if (count < 1)
    return Status::invalid(text("shard { count } is ", count, ", expected 1 or more"));
  if (index < 0 || index >= count)
    return Status::invalid(text("shard { index } is ", index, ", expected 0 to ", count - 1,
                                " (count is ", count, ')'));
  auto shard = std::make_shared<Shard>(pipeline.table, count, index);
  if (shard->rows() == 0)
    return Status::error(text("the data set is empty: shard ", index, " of ", count,
                              " has none of the ", RowCount{pipeline.table->rows()}, " of ",
                              pipeline.table->origin()));
  pipeline.table = std::move(shard);
  return {};
}

} // namespace gradc::runtime
