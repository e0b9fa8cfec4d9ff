// Selects rows by number: a range, and a residue within it.
#include "runtime/base/Text.h"
#include "runtime/data/stage/Stages.h"

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

  /// The number of rows among 0 to all - 1 that the rule selects.
  int64_t count(int64_t all) const {
    int64_t first = std::min(begin, all), last = std::clamp(end, first, all);
    auto withResidue = [&](int64_t residue) {
      auto below = [&](int64_t row) { return row / every + (row % every > residue); };
      return below(last) - below(first);
    };
    if (only >= 0)
      return only == except ? 0 : withResidue(only);
    return last - first - (except >= 0 ? withResidue(except) : 0);
  }
};

class Rows final : public TableStage {
public:
  Rows(std::shared_ptr<const Table> input, const RowRule &rule)
      : TableStage(std::move(input)), rule(rule), count(rule.count(this->input->rows())) {}

  int64_t rows() const override { return count; }

  void order(uint64_t epoch, std::vector<int64_t> &rows) const override {
    input->order(epoch, rows);
    std::erase_if(rows, [&](int64_t row) { return !rule.holds(row); });
  }

private:
  RowRule rule;
  int64_t count;
};

} // namespace

/// Reads the block. Reports all its problems; returns the first one.
static Status readRule(Config config, const DataContext &context, RowRule &rule) {
  Status first;
  auto wrong = [&](const auto &...parts) {
    keepFirst(first, context.wrong(config, text("rows ", parts...)));
  };
  rule.begin = config.integer("begin", 0);
  rule.end = config.integer("end", INT64_MAX);
  rule.every = config.integer("every", 1);
  rule.only = config.integer("only", -1);
  rule.except = config.integer("except", -1);
  bool hasOnly = bool(config.child("only")), hasExcept = bool(config.child("except"));
  if (rule.begin < 0 || rule.begin >= rule.end)
    wrong("{ begin } is ", rule.begin, ", expected 0 or more and below end");
  if (hasOnly && hasExcept)
    wrong("has only and except, expected one of them");
  if ((hasOnly || hasExcept) && !config.child("every"))
    wrong("has ", hasOnly ? "only" : "except", " without every: add every: 5");
  else if (rule.every < 1)
    wrong("{ every } is ", rule.every, ", expected 1 or more");
  else
    for (auto [name, residue] : {std::pair("only", rule.only), std::pair("except", rule.except)})
      if (config.child(name) && (residue < 0 || residue >= rule.every))
        wrong("{ ", name, " } is ", residue, ", expected 0 to ", rule.every - 1, " (every is ",
              rule.every, ')');
  return first;
}

Status applyRows(Config config, const DataContext &context, Pipeline &pipeline) {
  RowRule rule;
  if (Status status = readRule(config, context, rule); !status.ok())
    return status;
  auto rows = std::make_shared<Rows>(pipeline.table, rule);
  if (rows->rows() == 0)
    return Status::error(text("the data set is empty: rows selects none of the ",
                              RowCount{pipeline.table->rows()}, " of ", pipeline.table->origin()));
  pipeline.table = std::move(rows);
  return {};
}

} // namespace gradc::runtime
