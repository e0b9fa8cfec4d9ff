// Keeps the rows in which a field has one of the given values.
#include "runtime/base/Text.h"
#include "runtime/data/stage/Stages.h"
#include "runtime/data/transform/Convert.h"

#include <algorithm>
#include <cmath>

namespace gradc::runtime {

namespace {

class Filter final : public TableStage {
public:
  Filter(std::shared_ptr<const Table> input, std::vector<bool> keeps, int64_t count)
      : TableStage(std::move(input)), keeps(std::move(keeps)), count(count) {}

  int64_t rows() const override { return count; }

  void order(uint64_t epoch, std::vector<int64_t> &rows) const override {
    input->order(epoch, rows);
    std::erase_if(rows, [&](int64_t row) { return !keeps[size_t(row)]; });
  }

private:
  std::vector<bool> keeps; ///< [row]
  int64_t count;
};

struct Rule {
  double least, most;
  std::vector<double> only, except;

  bool holds(double value) const {
    auto has = [&](const std::vector<double> &list) {
      return std::find(list.begin(), list.end(), value) != list.end();
    };
    return value >= least && value <= most && (only.empty() || has(only)) && !has(except);
  }
};

Result<Rule> readRule(Config config, const DataContext &context) {
  Rule rule = {config.real("least", -HUGE_VAL), config.real("most", HUGE_VAL), {}, {}};
  for (Config value : config.children("only"))
    rule.only.push_back(value.real(0));
  for (Config value : config.children("except"))
    rule.except.push_back(value.real(0));
  for (Config value : config.children())
    if (std::isnan(value.real(0)))
      return context.wrong(value, text("filter { ", value.name(), " } is nan, expected a number"));
  if (rule.least > rule.most)
    return context.wrong(config.child("least"),
                         text("filter { least } is ", rule.least, ", expected at most ", rule.most,
                              ", which is filter { most }"));
  bool holdsAny = rule.only.empty();
  for (double value : rule.only)
    holdsAny |= rule.holds(value);
  if (!holdsAny)
    return context.wrong(config.child("only"),
                         "filter keeps no row: least, most or except rule out each value of only");
  return rule;
}

} // namespace

/// Reads all rows immediately: without that, the number of rows, and so the last batch, is unknown.
Status applyFilter(Config config, const DataContext &context, Pipeline &pipeline) {
  const Table &table = *pipeline.table;
  std::string_view name = config.string("field");
  if (context.problems)
    pipeline.unknownRows = "how many rows filter keeps is known when they are read";
  auto rule = readRule(config, context);
  if (!rule)
    return rule.status();
  if (context.problems && table.fields().empty())
    return {};
  auto found = findField(table, name, "filter");
  if (!found)
    return found.status();
  size_t index = *found;
  const Field &field = table.fields()[index];
  Converter toNumber = findConverter(field.dtype, GRADC_F64);
  if (!field.isFixed() || field.elements() != 1 || !toNumber)
    return Status::invalid(text("filter reads field '", name, "' of type ",
                                findDataType(field.dtype)->name, " and shape ",
                                shapeText(field.shape), ", expected one number a row"));
  if (context.problems)
    return {}; // a description reads no rows
  std::vector<int64_t> order;
  table.order(0, order);
  std::vector<bool> keeps(size_t(table.numbers())), seen(keeps.size());
  Scratch scratch;
  int64_t kept = 0;
  for (int64_t row : order) {
    if (!seen[size_t(row)]) {
      seen[size_t(row)] = true;
      auto value = table.view(index, {0, row}, scratch);
      double number = 0;
      // A row that cannot be read is kept; its batch reports the error or skips the row.
      keeps[size_t(row)] = true;
      if (value && toNumber(value->data, reinterpret_cast<std::byte *>(&number), 1, 1, -0.0) == 1)
        keeps[size_t(row)] = rule->holds(number);
    }
    kept += keeps[size_t(row)];
  }
  if (kept == 0)
    return Status::error(text("the data set is empty: filter keeps none of the ", order.size(),
                              " rows of ", table.origin()));
  pipeline.table = std::make_shared<Filter>(pipeline.table, std::move(keeps), kept);
  return {};
}

} // namespace gradc::runtime
