// Determines what table columns leave to their rows: their categories, and the values that fill
// empty cells.
#include "runtime/base/Text.h"
#include "runtime/data/chain/Chain.h"
#include "runtime/data/source/CsvReader.h"
#include "runtime/data/transform/Convert.h"
#include "runtime/include/gradc/data.h"

#include <algorithm>
#include <cmath>

namespace gradc::runtime {

namespace {

bool asks(Config field) {
  Config categories = field.child("categories");
  return field.child("fill") || (categories && categories.children("value").empty());
}

std::string nameOf(Config field) {
  return std::string(field.string("name", field.string("column")));
}

/// The values of one column in row order, without those of empty cells.
using Values = std::vector<double>;

/// `skips`: rows that cannot be read are left out.
Result<std::vector<Values>> readColumns(const Table &table, size_t field, bool skips) {
  const Field &shape = table.fields()[field];
  Converter toNumber = findConverter(shape.dtype, GRADC_F64);
  double mark = FittedColumns::markOf(shape.dtype);
  std::vector<Values> columns(shape.elements());
  Values row(columns.size());
  std::vector<int64_t> order;
  table.order(0, order);
  std::sort(order.begin(), order.end());
  Scratch scratch;
  for (int64_t number : order) {
    auto value = table.view(field, {0, number}, scratch);
    if (!value && skips)
      continue;
    if (!value)
      return value.status();
    toNumber(value->data, reinterpret_cast<std::byte *>(row.data()), row.size(), 1, -0.0);
    for (size_t i = 0; i < row.size(); ++i)
      if (!std::isnan(row[i]) && row[i] != mark)
        columns[i].push_back(row[i]);
  }
  return columns;
}

double mean(const Values &values) {
  double mean = 0, count = 0;
  for (double value : values)
    mean += (value - mean) / ++count;
  return mean;
}

/// For an even number of values, the lower of the two middle ones, which is a value that occurs.
double median(Values values) {
  auto middle = values.begin() + int64_t(values.size() - 1) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// The lowest, if several values are equally frequent.
double mostFrequent(Values values) {
  std::sort(values.begin(), values.end());
  double best = 0;
  int64_t most = 0;
  for (auto run = values.begin(); run != values.end();) {
    auto end = std::upper_bound(run, values.end(), *run);
    if (end - run > most) {
      most = end - run;
      best = *run;
    }
    run = end;
  }
  return best;
}

class Fit {
public:
  Fit(void *self, gradc_data_fitted fitted) : self(self), fitted(fitted) {}

  Status run(Config data, const char *folder);
  /// The value that an error is about; 0: the source.
  uint32_t place() const { return part ? part.position() : 0; }

private:
  Status fitField(Config field, const Table &table);
  Status fillField(Config field, std::vector<Values> columns, bool isInteger);
  /// The numbers of the categories that occur, in alphabetical order of their texts.
  Result<std::vector<size_t>> tellCategories(Config field, const std::vector<Values> &columns);

  void *self;
  gradc_data_fitted fitted;
  FittedColumns fit;
  bool skips = false; ///< rows that cannot be read
  Config part;        ///< of the block, that an error is about
};

Result<std::vector<size_t>> Fit::tellCategories(Config field, const std::vector<Values> &columns) {
  const std::vector<std::string> &values = fit.categories.at(nameOf(field))->values;
  std::vector<bool> occurs(values.size());
  for (const Values &column : columns)
    for (double number : column)
      occurs[size_t(number)] = true;
  std::vector<size_t> order;
  for (size_t i = 0; i < values.size(); ++i)
    if (occurs[i])
      order.push_back(i);
  if (order.empty())
    return Status::error(
        text("field '", nameOf(field), "' has no text in any row that is trained on"));
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a] < values[b]; });
  std::vector<const char *> texts;
  if (field.string("fill") == "CATEGORY")
    texts.push_back("");
  for (size_t i : order)
    texts.push_back(values[i].c_str());
  // The table is read as a whole, so its other rows need numbers as well.
  auto other = std::ranges::find(occurs, false);
  if (other != occurs.end() && !field.child("categories").child("unknown"))
    return Status::error(text(
        "'", values[size_t(other - occurs.begin())].substr(0, 40), "' of field '", nameOf(field),
        "' is in no row that is trained on, but in others, held out or left out; to read it as one "
        "more category, write categories { unknown: ",
        texts.size(), " }"));
  fitted(self, field.position(), uint32_t(texts.size()), texts.data(), nullptr);
  return order;
}

Status Fit::fillField(Config field, std::vector<Values> columns, bool isInteger) {
  std::string_view rule = field.string("fill");
  std::vector<double> numbers;
  for (Values &column : columns) {
    if (column.empty())
      return Status::error(
          text("fill: ", rule, " of field '", nameOf(field), "' finds a column without any value"));
    double number = rule == "MEAN"     ? mean(column)
                    : rule == "MEDIAN" ? median(column)
                                       : mostFrequent(column);
    numbers.push_back(isInteger ? std::round(number) : number);
  }
  fitted(self, field.position(), uint32_t(numbers.size()), nullptr, numbers.data());
  return {};
}

Status Fit::fitField(Config field, const Table &table) {
  auto found = findField(table, nameOf(field), "fill or categories");
  if (!found)
    return found.status();
  auto columns = readColumns(table, *found, skips);
  if (!columns)
    return columns.status();
  std::string_view rule = field.string("fill");
  Config categories = field.child("categories");
  if (categories && categories.children("value").empty()) {
    auto order = tellCategories(field, *columns);
    if (!order)
      return order.status();
    // The most frequent category is reported by its final number.
    std::vector<double> places(*std::ranges::max_element(*order) + 1);
    for (size_t place = 0; place < order->size(); ++place)
      places[(*order)[place]] = double(place);
    for (Values &column : *columns)
      for (double &number : column)
        number = places[size_t(number)];
  }
  if (rule.empty() || rule == "CATEGORY")
    return {};
  gradc_dtype dtype = table.fields()[*found].dtype;
  return fillField(field, std::move(*columns), dtype == GRADC_I32 || dtype == GRADC_I64);
}

Status Fit::run(Config data, const char *folder) {
  DataContext context;
  context.folders = {folder};
  context.fit = &fit;
  context.skips = skips = data.string("on_error") == "SKIP";
  std::vector<Config> asking;
  for (Config field : data.child("source").child("csv").children("field"))
    if (asks(field)) {
      asking.push_back(field);
      context.uses.push_back({nameOf(field), "fill or categories reads"});
    }
  if (asking.empty())
    return {};
  if (Config by = data.child("source").child("split").child("stratify"))
    context.uses.push_back({std::string(by.string()), "split { stratify } reads"});
  Pipeline pipeline;
  Status status = applySource(data.child("source"), context, pipeline);
  part = pipeline.part;
  for (size_t i = 0; status.ok() && i < asking.size(); ++i) {
    part = asking[i];
    status = fitField(part, *pipeline.table);
  }
  return status;
}

} // namespace

} // namespace gradc::runtime

int gradc_data_fit(const gradc_artifact_value *values, const char *strings, const char *folder,
                   void *self, gradc_data_fitted fitted,
                   void (*problem)(void *self, uint32_t value, const char *message)) {
  using namespace gradc::runtime;
  Fit fit(self, fitted);
  Status status = fit.run(Config(values, strings), folder);
  if (status.ok())
    return 0;
  problem(self, fit.place(), status.message().c_str());
  return int(status.code());
}
