// Takes the first rows of an epoch's order, or the rows after them.
#include "runtime/base/Text.h"
#include "runtime/data/stage/Stages.h"

#include <algorithm>

namespace gradc::runtime {

namespace {

class Slice final : public TableStage {
public:
  Slice(std::shared_ptr<const Table> input, int64_t begin, int64_t count)
      : TableStage(std::move(input)), begin(begin), count(count) {}

  int64_t rows() const override { return count; }

  void order(uint64_t epoch, std::vector<int64_t> &rows) const override {
    input->order(epoch, rows);
    rows.resize(size_t(begin + count));
    rows.erase(rows.begin(), rows.begin() + ptrdiff_t(begin));
  }

private:
  int64_t begin, count;
};

Status applySlice(std::string_view name, int64_t asked, int64_t begin, int64_t count,
                  Pipeline &pipeline) {
  if (asked < 1)
    return Status::invalid(text(name, " { rows } is ", asked, ", expected 1 or more"));
  if (count < 1)
    return Status::error(text("the data set is empty: ", name, " leaves none of the ",
                              RowCount{pipeline.table->rows()}, " of ", pipeline.table->origin()));
  pipeline.table = std::make_shared<Slice>(pipeline.table, begin, count);
  return {};
}

} // namespace

Status applyTake(Config config, const DataContext &, Pipeline &pipeline) {
  int64_t rows = config.integer("rows", 0);
  return applySlice("take", rows, 0, std::min(rows, pipeline.table->rows()), pipeline);
}

Status applySkip(Config config, const DataContext &, Pipeline &pipeline) {
  int64_t rows = config.integer("rows", 0), all = pipeline.table->rows();
  return applySlice("skip", rows, std::min(rows, all), std::max<int64_t>(all - rows, 0), pipeline);
}

} // namespace gradc::runtime
