// Draws an epoch's rows with replacement, by weights or with equal frequency per class.
#include "runtime/base/Text.h"
#include "runtime/data/Random.h"
#include "runtime/data/stage/Stages.h"
#include "runtime/data/transform/Convert.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace gradc::runtime {

namespace {

/// The rows that may be drawn, by number, and the cumulative sums of their weights.
struct Urn {
  std::vector<int64_t> rows;
  std::vector<double> sums;

  void add(int64_t row, double weight) {
    if (!(weight > 0))
      return;
    rows.push_back(row);
    sums.push_back((sums.empty() ? 0 : sums.back()) + weight);
  }

  int64_t draw(Random &random) const {
    double place = double(random.below(uint64_t(1) << 53)) * 0x1p-53 * sums.back();
    auto found = size_t(std::upper_bound(sums.begin(), sums.end(), place) - sums.begin());
    return rows[std::min(found, rows.size() - 1)]; // the product may round up to the total
  }
};

/// Draw k (from 0) of row r has the number k * N + r, so that later maps treat each draw as a
/// separate row with its own random numbers. Numbers stay below 2^47, the limit of Random: a row
/// drawn more often starts over.
class Sampler final : public TableStage {
public:
  Sampler(std::shared_ptr<const Table> input, Urn urn, int64_t draws, uint64_t seed, size_t slot)
      : TableStage(std::move(input)), urn(std::move(urn)), draws(draws), seed(seed), slot(slot),
        all(this->input->numbers()), most(std::min(draws, (int64_t(1) << 47) / all)) {}

  int64_t rows() const override { return draws; }
  int64_t numbers() const override { return all * most; }

  void order(uint64_t epoch, std::vector<int64_t> &rows) const override {
    // Row -1 is not a row of the stage, so no map uses these numbers.
    Random random(seed, uint32_t(slot + 1), epoch, -1);
    std::vector<int64_t> drawn(size_t(all), 0);
    rows.resize(size_t(draws));
    for (int64_t &number : rows) {
      int64_t row = urn.draw(random);
      number = drawn[size_t(row)]++ % most * all + row;
    }
  }

  Result<Value> view(size_t field, RowRef row, Scratch &scratch) const override {
    return input->view(field, {row.epoch, row.row % all}, scratch);
  }

  Status read(size_t field, RowList rows, Scratch &scratch, std::byte *out) const override {
    auto *inner = reinterpret_cast<int64_t *>(
        scratch.slot(slot).reserve(rows.rows.size() * sizeof(int64_t) + 1));
    for (size_t i = 0; i < rows.rows.size(); ++i)
      inner[i] = rows.rows[i] % all;
    return input->read(field, {rows.epoch, {inner, rows.rows.size()}}, scratch, out);
  }

  const std::byte *column(size_t) const override { return nullptr; }
  std::string describeRow(int64_t row, size_t field) const override {
    return input->describeRow(row % all, field);
  }
  size_t held() const override {
    return input->held() + urn.rows.size() * (sizeof(int64_t) + sizeof(double));
  }

private:
  Urn urn;
  int64_t draws;
  uint64_t seed;
  size_t slot;
  int64_t all, most;
};

/// The block, with its field resolved.
struct Rule {
  std::string_view name;
  bool byClass;
  std::vector<double> classWeights;
  size_t field = 0;
  Converter toNumber = nullptr;
};

/// Checks the block alone; reports problems at their places.
Result<Rule> readRule(Config config, const DataContext &context) {
  Config weight = config.child("weight"), byClass = config.child("by_class");
  if (bool(weight) == bool(byClass))
    return Status::invalid(text("sampler has ",
                                weight ? "weight and by_class" : "neither weight nor by_class",
                                ", expected one of them: add by_class: \"label\""));
  Rule rule = {(weight ? weight : byClass).string(), bool(byClass), {}};
  Status first;
  for (Config value : config.children("class_weight")) {
    rule.classWeights.push_back(value.real(NAN));
    if (!(rule.classWeights.back() >= 0 && std::isfinite(rule.classWeights.back())))
      keepFirst(first,
                context.wrong(config, text("sampler { class_weight } is ", rule.classWeights.back(),
                                           ", expected a finite number of 0 or more")));
  }
  if (!first.ok())
    return first;
  if (weight && !rule.classWeights.empty())
    return context.wrong(config.child("class_weight"),
                         "sampler { class_weight } is that of by_class, "
                         "expected none beside weight");
  if (!rule.classWeights.empty() && *std::ranges::max_element(rule.classWeights) == 0)
    return context.wrong(config.child("class_weight"),
                         "sampler { class_weight } is 0 for all classes, expected one above 0");
  if (config.child("rows") && config.integer("rows", 0) < 1)
    return context.wrong(
        config.child("rows"),
        text("sampler { rows } is ", config.integer("rows", 0), ", expected 1 or more"));
  return rule;
}

Status findNumbers(Rule &rule, const Table &table) {
  auto found = findField(table, rule.name, "sampler");
  if (!found)
    return found.status();
  rule.field = *found;
  const Field &field = table.fields()[rule.field];
  rule.toNumber = findConverter(field.dtype, GRADC_F64);
  bool isFloat = field.dtype == GRADC_F32 || field.dtype == GRADC_F64;
  if (!field.isFixed() || field.elements() != 1 || !rule.toNumber || (rule.byClass && isFloat))
    return Status::invalid(text("sampler reads field '", rule.name, "' of type ",
                                findDataType(field.dtype)->name, " and shape ",
                                shapeText(field.shape), ", expected one ",
                                rule.byClass ? "integer" : "number", " a row"));
  return {};
}

/// The value of the field in each row that the first epoch visits, by row number; nan for other
/// rows. If unreadable rows are skipped, they are never drawn.
Result<std::vector<double>> readNumbers(const Rule &rule, const Table &table, bool skips) {
  std::vector<int64_t> order;
  table.order(0, order);
  std::vector<double> numbers(size_t(table.numbers()), NAN);
  Scratch scratch;
  for (int64_t row : order) {
    auto value = table.view(rule.field, {0, row}, scratch);
    double number = 0;
    if (!value && skips)
      continue;
    if (!value)
      return value.status();
    rule.toNumber(value->data, reinterpret_cast<std::byte *>(&number), 1, 1, -0.0);
    if (!(number >= 0 && std::isfinite(number)) || (rule.byClass && number >= 0x1p53))
      return Status::error(text(
          table.describeRow(row, rule.field), ": sampler finds ", number, " in field '", rule.name,
          "', expected ", rule.byClass ? "a class of 0 or more" : "a finite weight of 0 or more"));
    numbers[size_t(row)] = number;
  }
  return numbers;
}

/// Turns class weights into row weights: the class's weight divided by the number of its rows.
Status weighClasses(const Rule &rule, const Table &table, std::vector<double> &numbers) {
  std::map<int64_t, int64_t> counts;
  for (double number : numbers)
    if (!std::isnan(number))
      ++counts[int64_t(number)];
  int64_t last = counts.empty() ? -1 : counts.rbegin()->first;
  auto given = int64_t(rule.classWeights.size());
  if (given && last >= given)
    return Status::error(text("sampler finds class ", last, " in field '", rule.name, "' of ",
                              table.origin(), ", expected 0 to ", given - 1, ": class_weight has ",
                              given, " values"));
  auto weightOf = [&](int64_t label) { return given ? rule.classWeights[size_t(label)] : 1.0; };
  int64_t classes = std::max(given, last + 1);
  for (int64_t label = 0; label < classes; ++label)
    if (weightOf(label) > 0 && !counts.contains(label))
      return Status::error(text("sampler finds no row of class ", label, " in field '", rule.name,
                                "' of ", table.origin(), ", expected rows of each class from 0 to ",
                                classes - 1, " (a class_weight of 0 leaves a class out)"));
  for (double &number : numbers)
    if (!std::isnan(number))
      number = weightOf(int64_t(number)) / double(counts.at(int64_t(number)));
  return {};
}

} // namespace

/// Reads the field of all rows immediately.
Status applySampler(Config config, const DataContext &context, Pipeline &pipeline) {
  const std::shared_ptr<const Table> &table = pipeline.table;
  auto rule = readRule(config, context);
  if (!rule)
    return rule.status();
  int64_t draws = config.integer("rows", table->rows());
  if (config.child("rows"))
    pipeline.unknownRows.clear();
  pipeline.sampled = true;
  if (context.problems && table->fields().empty()) {
    pipeline.table = std::make_shared<Sampler>(table, Urn{}, draws, context.seed, 0);
    return {};
  }
  if (Status status = findNumbers(*rule, *table); !status.ok())
    return status;
  size_t slot = pipeline.newSlots(1);
  Urn urn;
  if (!context.problems) { // a description reads nothing
    auto weights = readNumbers(*rule, *table, context.skips);
    if (!weights)
      return weights.status();
    if (rule->byClass)
      if (Status status = weighClasses(*rule, *table, *weights); !status.ok())
        return status;
    for (size_t row = 0; row < weights->size(); ++row)
      urn.add(int64_t(row), (*weights)[row]);
    if (urn.rows.empty() || !std::isfinite(urn.sums.back()))
      return Status::error(text("sampler finds weights in field '", rule->name, "' of ",
                                table->origin(), " whose sum is ",
                                urn.rows.empty() ? 0.0 : urn.sums.back(),
                                ", expected a finite number above 0"));
  }
  pipeline.table = std::make_shared<Sampler>(table, std::move(urn), draws, context.seed, slot);
  return {};
}

} // namespace gradc::runtime
