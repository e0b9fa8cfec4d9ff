// An epoch that visits its rows several times, each time in another order and with other random
// numbers.
#include "runtime/base/Text.h"
#include "runtime/data/stage/Stages.h"

namespace gradc::runtime {

namespace {

/// Pass p of epoch e is epoch e * times + p of the input. Its row r has the number p * N + r here,
/// so rows of two passes are different rows.
class Repeat final : public TableStage {
public:
  Repeat(std::shared_ptr<const Table> input, int64_t times)
      : TableStage(std::move(input)), times(times), perPass(this->input->numbers()) {}

  int64_t rows() const override { return input->rows() * times; }
  int64_t numbers() const override { return perPass * times; }

  void order(uint64_t epoch, std::vector<int64_t> &rows) const override {
    rows.clear();
    std::vector<int64_t> pass;
    for (int64_t p = 0; p < times; ++p) {
      input->order(epoch * uint64_t(times) + uint64_t(p), pass);
      for (int64_t row : pass)
        rows.push_back(p * perPass + row);
    }
  }

  Result<Value> view(size_t field, RowRef row, Scratch &scratch) const override {
    return input->view(field, inner(row.epoch, row.row), scratch);
  }

  Status read(size_t field, RowList rows, Scratch &scratch, std::byte *out) const override {
    size_t bytes = fields()[field].bytes();
    for (size_t i = 0; i < rows.rows.size(); ++i) {
      RowRef row = inner(rows.epoch, rows.rows[i]);
      if (Status status = input->read(field, {row.epoch, {&row.row, 1}}, scratch, out + i * bytes);
          !status.ok())
        return status;
    }
    return {};
  }

  const std::byte *column(size_t) const override { return nullptr; }
  std::string describeRow(int64_t row, size_t field) const override {
    return input->describeRow(row % perPass, field);
  }

private:
  RowRef inner(uint64_t epoch, int64_t row) const {
    return {epoch * uint64_t(times) + uint64_t(row / perPass), row % perPass};
  }

  int64_t times, perPass;
};

} // namespace

Status applyRepeat(Config config, const DataContext &, Pipeline &pipeline) {
  int64_t times = config.integer("times", 0);
  if (times < 1)
    return Status::invalid(text("repeat { times } is ", times, ", expected 1 or more"));
  int64_t numbers;
  if (__builtin_mul_overflow(pipeline.table->numbers(), times, &numbers) || numbers > int64_t(1)
                                                                                          << 40)
    return Status::invalid(text("repeat { times } is ", times, ": an epoch of ",
                                pipeline.table->rows(), " rows would grow beyond all bounds"));
  pipeline.table = std::make_shared<Repeat>(pipeline.table, times);
  return {};
}

} // namespace gradc::runtime
