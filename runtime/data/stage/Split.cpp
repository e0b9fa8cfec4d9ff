// source { split { } }: holds out rows at random, and takes either them or the others.
#include "runtime/base/Text.h"
#include "runtime/data/Random.h"
#include "runtime/data/stage/Stages.h"
#include "runtime/data/transform/Convert.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace gradc::runtime {

namespace {

class Split final : public TableStage {
public:
  Split(std::shared_ptr<const Table> input, std::vector<bool> takes, int64_t count)
      : TableStage(std::move(input)), takes(std::move(takes)), count(count) {}

  int64_t rows() const override { return count; }

  void order(uint64_t epoch, std::vector<int64_t> &rows) const override {
    input->order(epoch, rows);
    std::erase_if(rows, [&](int64_t row) { return !takes[size_t(row)]; });
  }

private:
  std::vector<bool> takes; ///< [row]; empty in a description, which reads no row
  int64_t count;
};

/// The rows with one value of the field that a split stratifies by; all rows if there is no such
/// field.
struct Stratum {
  std::vector<int64_t> rows;
  int64_t held = 0;
  double rest = 0; ///< of its share, what rounding down has left
};

/// The rows grouped by value, in the order in which the values first occur. `skips`: rows that
/// cannot be read are one more group.
Result<std::vector<Stratum>> findStrata(const Table &table, std::string_view name,
                                        const std::vector<int64_t> &rows, bool skips) {
  if (name.empty())
    return std::vector<Stratum>{{rows}};
  auto found = findField(table, name, "split { stratify }");
  if (!found)
    return found.status();
  Converter toNumber = findConverter(table.fields()[*found].dtype, GRADC_F64);
  std::vector<Stratum> strata;
  std::map<double, size_t> places;
  Scratch scratch;
  for (int64_t row : rows) {
    auto value = table.view(*found, {0, row}, scratch);
    if (!value && !skips)
      return value.status();
    double number = -std::numeric_limits<double>::infinity();
    if (value)
      toNumber(value->data, reinterpret_cast<std::byte *>(&number), 1, 1, -0.0);
    auto [place, isNew] = places.try_emplace(number, strata.size());
    if (isNew)
      strata.emplace_back();
    strata[place->second].rows.push_back(row);
  }
  return strata;
}

/// Distributes `held` held-out rows by largest remainders, and leaves at least one row of each
/// stratum.
bool shareOut(std::vector<Stratum> &strata, double fraction, int64_t held) {
  std::vector<Stratum *> order;
  bool isOne = strata.size() == 1;
  for (Stratum &stratum : strata) {
    double share = isOne ? double(held) : fraction * double(stratum.rows.size());
    stratum.held = int64_t(share);
    stratum.rest = share - double(stratum.held);
    held -= stratum.held;
    order.push_back(&stratum);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const Stratum *a, const Stratum *b) { return a->rest > b->rest; });
  for (bool changes = true; held > 0 && changes;) {
    changes = false;
    for (Stratum *stratum : order)
      if (held > 0 && stratum->held + 1 < int64_t(stratum->rows.size())) {
        ++stratum->held;
        --held;
        changes = true;
      }
  }
  return held == 0;
}

/// Marks the held-out rows of a stratum: those with the lowest random numbers, which only depend on
/// seed and row.
void holdOut(Stratum &stratum, uint64_t seed, std::vector<bool> &isHeld) {
  std::vector<std::pair<uint64_t, int64_t>> drawn;
  for (int64_t row : stratum.rows) {
    Random random(seed, uint64_t(row));
    uint64_t high = random.next();
    drawn.emplace_back(high << 32 | random.next(), row);
  }
  std::nth_element(drawn.begin(), drawn.begin() + stratum.held, drawn.end());
  for (int64_t i = 0; i < stratum.held; ++i)
    isHeld[size_t(drawn[size_t(i)].second)] = true;
}

/// Refuses a field that is not a single integer per row.
Status checkField(const Table &table, std::string_view name) {
  auto found = findField(table, name, "split { stratify }");
  if (!found)
    return found.status();
  const Field &field = table.fields()[*found];
  bool isFloat = findDataType(field.dtype)->floating;
  if (field.isFixed() && field.elements() == 1 && !isFloat && findConverter(field.dtype, GRADC_F64))
    return {};
  return Status::invalid(text("split { stratify } reads field '", name, "' of type ",
                              findDataType(field.dtype)->name, " and shape ",
                              shapeText(field.shape), ", expected one integer a row"));
}

} // namespace

Status applySplit(Config config, const DataContext &context, Pipeline &pipeline) {
  // 1. Compute the number of held-out rows, which requires reading none.
  double fraction = config.real("fraction", 0);
  if (!(fraction > 0 && fraction < 1))
    return context.wrong(config, text("split { fraction } is ", fraction,
                                      ", expected above 0 and below 1: add fraction: 0.2"));
  std::shared_ptr<const Table> table = pipeline.table;
  int64_t all = table->rows(), held = std::llround(fraction * double(all));
  bool takesHeld = config.boolean("held_out", false);
  int64_t count = takesHeld ? held : all - held;
  std::string_view stratify = config.string("stratify");
  if (!stratify.empty() && !table->fields().empty())
    if (Status status = checkField(*table, stratify); !status.ok())
      return status;
  if (held == 0 || held == all)
    return Status::error(text("split holds out ", held, " of the ", RowCount{all}, " of ",
                              table->origin(), ", expected some, and others to be left"));
  pipeline.scattered = "split";
  if (context.problems) {
    pipeline.table = std::make_shared<Split>(table, std::vector<bool>(), count);
    return {};
  }

  // 2. Choose them.
  std::vector<int64_t> rows;
  table->order(0, rows);
  std::sort(rows.begin(), rows.end());
  auto strata = findStrata(*table, stratify, rows, context.skips);
  if (!strata)
    return strata.status();
  if (!shareOut(*strata, fraction, held))
    return Status::error(text("split cannot hold out ", held, " of the ", RowCount{all}, " of ",
                              table->origin(), " and leave one of each of the ", strata->size(),
                              " values of field '", stratify, "'"));
  std::vector<bool> takes(size_t(table->numbers()));
  for (Stratum &stratum : *strata)
    holdOut(stratum, uint64_t(config.integer("seed", 0)), takes);
  if (!takesHeld)
    takes.flip();
  pipeline.table = std::make_shared<Split>(table, std::move(takes), count);
  return {};
}

} // namespace gradc::runtime
