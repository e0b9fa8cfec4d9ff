// map { standardize { } }: each value's distance from the mean of the training rows, in standard
// deviations.
#include "runtime/base/Text.h"
#include "runtime/data/transform/Convert.h"
#include "runtime/data/transform/Transform.h"

#include <cmath>

namespace gradc::runtime {

namespace {

/// Assigns means to elements: element i of a row has mean i / inner % count.
struct Places {
  size_t count = 1, inner = 1;
  int64_t axis = 0;
};

class Standardize final : public Transform {
public:
  Standardize(const Field &before, Places places, const std::vector<double> &fitted,
              std::string key, double epsilon)
      : Transform({before.name, GRADC_F32, before.shape}), width(before.elementBytes()),
        toNumber(findConverter(before.dtype, GRADC_F64)), places(places), key(std::move(key)),
        epsilon(epsilon), numbers(standardization(fitted, epsilon)) {}

  Status apply(const Value &in, Random &, ScratchSlot &own, Output &out) const override {
    auto room = out.room(in.shape);
    if (!room)
      return room.status();
    size_t elements = in.bytes / width;
    auto reserved = own.tryReserve(elements * sizeof(double) + 1);
    if (!reserved)
      return reserved.status();
    auto *values = reinterpret_cast<double *>(*reserved);
    toNumber(in.data, reinterpret_cast<std::byte *>(values), elements, 1, -0.0);
    auto *to = reinterpret_cast<float *>(*room);
    for (size_t i = 0, place = 0; i < elements; place = place + 1 == places.count ? 0 : place + 1)
      for (size_t end = i + places.inner; i < end; ++i)
        to[i] = float((values[i] - numbers.means[place]) * numbers.scales[place]);
    return {};
  }

  void tell(const Field &, TensorSteps &steps) const override {
    steps.cast(GRADC_F64);
    steps.standardize(places.axis, int64_t(places.count), key, epsilon);
    steps.cast(GRADC_F32);
  }

private:
  size_t width;
  Converter toNumber;
  Places places;
  std::string key;
  double epsilon;
  Standardization numbers;
};

/// Mean and sum of squared distances per place, over all rows of an epoch, each row once, in the
/// order of their numbers (Welford's recurrence).
Result<std::vector<double>> fit(const Table &table, size_t field, const Places &places) {
  std::vector<int64_t> order;
  table.order(0, order);
  std::vector<bool> isVisited(size_t(table.numbers()));
  for (int64_t row : order)
    isVisited[size_t(row)] = true;
  const Field &before = table.fields()[field];
  Converter toNumber = findConverter(before.dtype, GRADC_F64);
  size_t elements = before.elements();
  std::vector<double> numbers(elements), fitted(2 * places.count);
  std::vector<int64_t> counts(places.count);
  Scratch scratch;
  for (size_t row = 0; row < isVisited.size(); ++row) {
    if (!isVisited[row])
      continue;
    auto value = table.view(field, {0, int64_t(row)}, scratch);
    if (!value) // its batch reports the error, or skips the row
      continue;
    toNumber(value->data, reinterpret_cast<std::byte *>(numbers.data()), elements, 1, -0.0);
    for (size_t i = 0; i < elements; ++i) {
      if (!std::isfinite(numbers[i]))
        return Status::error(text("standardize of field '", before.name, "' finds ", numbers[i],
                                  " in ", table.describeRow(int64_t(row), field),
                                  ", expected finite numbers"));
      size_t place = i / places.inner % places.count;
      double &mean = fitted[2 * place], &squares = fitted[2 * place + 1];
      double distance = numbers[i] - mean;
      mean += distance / double(++counts[place]);
      squares += distance * (numbers[i] - mean);
    }
  }
  for (size_t place = 0; place < places.count; ++place) {
    if (counts[place] == 0)
      return Status::error(text("standardize of field '", before.name, "' finds no row of ",
                                table.origin(), " that can be read"));
    double &deviation = fitted[2 * place + 1];
    deviation = std::sqrt(deviation / double(counts[place]));
    if (!std::isfinite(fitted[2 * place]) || !std::isfinite(deviation))
      return Status::error(text("standardize of field '", before.name, "' finds values in ",
                                table.origin(), " that are not finite"));
  }
  return fitted;
}

} // namespace

Result<std::unique_ptr<const Transform>> makeStandardize(Config config, const Table &table,
                                                         size_t field, const DataContext &context,
                                                         std::string key) {
  double epsilon = config.real("epsilon", 1e-7);
  if (!(epsilon >= 0))
    return Status::invalid(text("standardize { epsilon } is ", epsilon, ", expected 0 or more"));
  if (field == noField)
    return std::unique_ptr<const Transform>();
  const Field &before = table.fields()[field];
  if (!before.isFixed() || !findConverter(before.dtype, GRADC_F64))
    return Status::invalid(text("standardize of field '", before.name, "' finds rows of type ",
                                findDataType(before.dtype)->name, " and shape ",
                                shapeText(before.shape), ", expected numbers of one shape"));
  int64_t rank = int64_t(before.shape.size()), axis = config.integer("axis", -1);
  if (axis < -1 || axis >= std::max<int64_t>(rank, 1))
    return Status::invalid(text("standardize { axis } is ", axis, ", expected -1 to ", rank - 1));
  Places places;
  if (rank) {
    axis = axis < 0 ? rank - 1 : axis;
    places.axis = axis;
    places.count = size_t(before.shape[size_t(axis)]);
    for (int64_t i = axis + 1; i < rank; ++i)
      places.inner *= size_t(before.shape[size_t(i)]);
  }
  // Statistics known from a checkpoint, or from training during evaluation, are not computed again.
  std::vector<double> fitted;
  if (context.state && context.state->contains(key)) {
    fitted = context.state->at(key);
    if (fitted.size() != 2 * places.count)
      return Status::error(text("standardize of field '", before.name, "' has statistics of ",
                                fitted.size() / 2, " places, expected ", places.count));
  } else if (context.problems) {
    fitted.resize(2 * places.count); // the values do not matter
  } else if (!context.fits) {
    return Status::error(text("standardize of field '", before.name,
                              "' goes by the training rows: name a checkpoint of the training "
                              "with --checkpoint"));
  } else {
    auto found = fit(table, field, places);
    if (!found)
      return found.status();
    fitted = std::move(*found);
    if (context.state)
      context.state->emplace(key, fitted);
  }
  return std::unique_ptr<const Transform>(
      std::make_unique<Standardize>(before, places, fitted, std::move(key), epsilon));
}

Standardization standardization(std::span<const double> fitted, double epsilon) {
  Standardization numbers;
  for (size_t i = 0; i + 1 < fitted.size(); i += 2) {
    double deviation = fitted[i + 1] + epsilon;
    numbers.means.push_back(fitted[i]);
    numbers.scales.push_back(deviation > 0 ? 1 / deviation : 0);
  }
  return numbers;
}

} // namespace gradc::runtime
