// Selects rows by their numbers: a range, and within it a residue.
#include "runtime/base/Text.h"
#include "runtime/data/Stages.h"

#include <algorithm>

namespace gradc::runtime {

namespace {

struct RowRule {
  int64_t begin = 0, end = 0, every = 1;
  int64_t only = -1, except = -1; ///< residues; -1: no such condition

  bool holds(int64_t row) const {
    int64_t residue = row % every;
    return row >= begin && row < end && (only < 0 || residue == only) && residue != except;
  }
};

class Rows final : public TableStage {
public:
  Rows(std::shared_ptr<const Table> input, const RowRule &rule)
      : TableStage(std::move(input)), rule(rule) {
    std::vector<int64_t> selected;
    order(0, selected);
    count = int64_t(selected.size());
  }

  int64_t rows() const override { return count; }

  void order(uint64_t epoch, std::vector<int64_t> &rows) const override {
    input->order(epoch, rows);
    std::erase_if(rows, [&](int64_t row) { return !rule.holds(row); });
  }

private:
  RowRule rule;
  int64_t count = 0;
};

} // namespace

Status applyRows(Config config, const DataContext &, Pipeline &pipeline) {
  RowRule rule;
  int64_t available = pipeline.table->rows();
  rule.begin = config.integer("begin", 0);
  rule.end = std::min(config.integer("end", available), available);
  rule.every = config.integer("every", 1);
  rule.only = config.integer("only", -1);
  rule.except = config.integer("except", -1);
  if (rule.every < 1)
    return Status::invalid(text("rows { every } is ", rule.every, ", expected 1 or more"));
  for (auto [name, residue] : {std::pair("only", rule.only), std::pair("except", rule.except)})
    if (config.child(name) && (residue < 0 || residue >= rule.every))
      return Status::invalid(text("rows { ", name, " } is ", residue, ", expected 0 to ",
                                  rule.every - 1, " (every is ", rule.every, ')'));

  auto rows = std::make_shared<Rows>(pipeline.table, rule);
  if (rows->rows() == 0)
    return Status::error(text("the data set is empty: rows selects none of the ", available,
                              " rows of ", pipeline.table->origin()));
  pipeline.table = std::move(rows);
  return {};
}

} // namespace gradc::runtime
