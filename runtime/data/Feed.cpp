// Matches fields to the model's inputs, and checks labels as batches are made.
#include "runtime/core/Text.h"
#include "runtime/data/Convert.h"
#include "runtime/data/Stages.h"

#include <cstring>

namespace gradc {

namespace {

template <typename T>
size_t firstOutside(const std::byte *values, size_t count, int64_t classes, int64_t &found) {
  for (size_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, values + i * sizeof value, sizeof value);
    // A negative label is a huge unsigned one.
    if (uint64_t(value) >= uint64_t(classes)) {
      found = int64_t(value);
      return i;
    }
  }
  return count;
}

/// Index of the first label outside [0, classes), or `count`. Labels of other types are not
/// checked.
size_t firstOutside(gradc_dtype dtype, const std::byte *values, size_t count, int64_t classes,
                    int64_t &found) {
  switch (dtype) {
  case GRADC_I64:
    return firstOutside<int64_t>(values, count, classes, found);
  case GRADC_I32:
    return firstOutside<int32_t>(values, count, classes, found);
  case GRADC_U8:
    return firstOutside<uint8_t>(values, count, classes, found);
  default:
    return count;
  }
}

class Feed final : public TableStage {
public:
  Feed(std::shared_ptr<const Table> input, std::vector<Demand> demands, std::vector<size_t> origins)
      : TableStage(std::move(input)), demands(std::move(demands)), origins(std::move(origins)) {
    for (const Demand &demand : this->demands)
      fieldList.push_back({demand.field, demand.dtype, demand.shape});
  }

  std::span<const Field> fields() const override { return fieldList; }
  const std::byte *column(size_t field) const override { return input->column(origins[field]); }
  std::string describe(size_t field) const override { return input->describe(origins[field]); }

  Result<Value> view(size_t field, RowRef row, Scratch &scratch) const override {
    auto value = input->view(origins[field], row, scratch);
    if (value.ok())
      if (Status status = check(field, {&row.row, 1}, value->data); !status.ok())
        return status;
    return value;
  }

  Status read(size_t field, RowList rows, Scratch &scratch, std::byte *out) const override {
    if (Status status = input->read(origins[field], rows, scratch, out); !status.ok())
      return status;
    return check(field, rows.rows, out);
  }

private:
  /// Labels must be classes of the model.
  Status check(size_t field, std::span<const int64_t> rows, const std::byte *out) const {
    const Demand &demand = demands[field];
    if (demand.classes == 0)
      return {};
    size_t perRow = fieldList[field].elements(), count = perRow * rows.size();
    int64_t found = 0;
    size_t bad = firstOutside(demand.dtype, out, count, demand.classes, found);
    if (bad == count)
      return {};
    return Status::error(text("label ", found, " in ", describeRow(rows[bad / perRow]), ", field '",
                              demand.field, "', is out of range, expected 0 to ",
                              demand.classes - 1));
  }

  std::vector<Demand> demands;
  std::vector<size_t> origins;
  std::vector<Field> fieldList;
};

Status check(const Demand &demand, const Field &field, const std::string &where) {
  if (field.dtype != demand.dtype) {
    std::string advice;
    if (std::string_view cast = castName(demand.dtype); !cast.empty())
      advice = text(" (add map { field: \"", field.name, "\" cast: ", cast, " })");
    return Status::error(text(where, " has type ", findDataType(field.dtype)->name,
                              ", but model input '", demand.input, "' expects ",
                              findDataType(demand.dtype)->name, advice));
  }
  if (field.shape != demand.shape)
    return Status::error(text(where, " has rows of shape ", shapeText(field.shape),
                              ", but model input '", demand.input, "' expects ",
                              shapeText(demand.shape)));
  return {};
}

} // namespace

Status applyFeed(const DataContext &context, Pipeline &pipeline) {
  auto fields = pipeline.table->fields();
  std::vector<size_t> origins;
  for (const Demand &demand : context.demands)
    for (size_t i = 0; i < fields.size(); ++i)
      if (fields[i].name == demand.field) {
        if (Status status = check(demand, fields[i], pipeline.table->describe(i)); !status.ok())
          return status;
        origins.push_back(i);
      }
  pipeline.table = std::make_shared<Feed>(pipeline.table, context.demands, std::move(origins));
  return {};
}

} // namespace gradc
