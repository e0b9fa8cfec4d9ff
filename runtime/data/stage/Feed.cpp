// Matches fields to the model's inputs, and checks labels while batches are made.
#include "runtime/base/Targets.h"
#include "runtime/base/Text.h"
#include "runtime/data/stage/ModelBatches.h"
#include "runtime/data/transform/Convert.h"

#include <algorithm>

namespace gradc::runtime {

namespace {

/// Rows in the form of batches.
class Feed final : public TableStage {
public:
  Feed(const Pipeline &pipeline, std::vector<Demand> demands, BatchLayout given)
      : TableStage(pipeline.table), source(pipeline.source), demands(std::move(demands)),
        layout(std::move(given)), origins(layout.origins), fieldList(layout.fields) {}

  std::span<const Field> fields() const override { return fieldList; }
  // Later stages only read whole rows, never a single computed field.
  const std::byte *column(size_t field) const override { return input->column(origins[field]); }
  std::string describe(size_t field) const override { return input->describe(origins[field]); }
  std::string describeRow(int64_t row, size_t field) const override {
    bool isRead = field < origins.size() && origins[field] != BatchLayout::made;
    return input->describeRow(row, isRead ? origins[field] : noField);
  }

  Result<Value> view(size_t field, RowRef row, Scratch &scratch) const override {
    auto value = input->view(origins[field], row, scratch);
    if (value.ok())
      if (Status status = check(field, {&row.row, 1}, value->data); !status.ok())
        return status;
    return value;
  }

  /// The work on batches whose rows are complete.
  Status finish(Batch &batch, RowList rows, Scratch &scratch) const {
    if (Status status = layout.models.apply(batch, rows, scratch); !status.ok())
      return status;
    for (size_t i = 0; i < demands.size(); ++i)
      if (origins[i] == BatchLayout::made)
        if (Status status = check(i, rows.rows, batch.field(i)); !status.ok())
          return status;
    return {};
  }

  Status read(size_t field, RowList rows, Scratch &scratch, std::byte *out) const override {
    if (origins[field] == BatchLayout::made)
      return {};
    if (Status status = input->read(origins[field], rows, scratch, out); !status.ok())
      return status;
    return check(field, rows.rows, out);
  }

private:
  /// Checks that targets are valid for the loss.
  Status check(size_t field, std::span<const int64_t> rows, const std::byte *out) const {
    if (field >= demands.size() || demands[field].classes == 0)
      return {};
    const Demand &demand = demands[field];
    size_t perRow = fieldList[field].elements();
    auto wrong = findWrongTarget(demand.dtype, out, perRow * rows.size(), demand.classes);
    if (!wrong)
      return {};
    int64_t row = rows[wrong->element / perRow];
    double number =
        elementAsDouble(demand.dtype, out + wrong->element * fieldList[field].elementBytes());
    return Status::error(text(
        wrong->found, inSource(demand.field, row, wrong->element % perRow, perRow, number), " in ",
        describeRow(row, field), ", field '", demand.field, "', expected ", wrong->expected));
  }

  /// If maps have changed a number, its value in the file, for a message: " (11 in the data)"; else
  /// "". Stages that repeat rows number the repetitions after all rows.
  std::string inSource(const std::string &name, int64_t row, size_t element, size_t perRow,
                       double number) const {
    auto fields = source->fields();
    auto field = std::ranges::find(fields, name, &Field::name);
    Scratch scratch;
    if (field == fields.end())
      return {};
    auto value =
        source->view(size_t(field - fields.begin()), {0, row % source->numbers()}, scratch);
    if (!value || value->bytes != perRow * field->elementBytes())
      return {};
    double held = elementAsDouble(field->dtype, value->data + element * field->elementBytes());
    return held == number ? std::string() : text(" (", held, " in the data)");
  }

  std::shared_ptr<const Table> source;
  std::vector<Demand> demands;
  BatchLayout layout;
  const std::vector<size_t> &origins;
  const std::vector<Field> &fieldList;
};

struct BehindFeed final : BatchStage {
  explicit BehindFeed(std::shared_ptr<const Feed> feed) : feed(std::move(feed)) {}
  Status apply(Batch &batch, RowList rows, Scratch &scratch) const override {
    return feed->finish(batch, rows, scratch);
  }
  std::shared_ptr<const Feed> feed;
};

} // namespace

Status checkDemand(const Demand &demand, const Field &field, const std::string &where) {
  bool isType = field.dtype != demand.dtype;
  if (!isType && field.shape == demand.shape)
    return {};
  // The input of a label bears the field's name. It has the type that the data had when the job was
  // compiled, or one that was assumed without data.
  std::string advice = demand.input == demand.field ? "compile again with these data" : "";
  std::string_view cast = castName(demand.dtype);
  if (isType && !cast.empty())
    advice += text(advice.empty() ? "" : ", or ", "add stage { map { field: \"", field.name,
                   "\" cast: ", cast, " } }");
  if (!advice.empty())
    advice = text(" (", advice, ')');
  auto differs = [&](const auto &what, const auto &found, const auto &expected) {
    return Status::error(text(where, " has ", what, ' ', found, ", but model input '", demand.input,
                              "' expects ", expected, advice));
  };
  return isType ? differs("type", findDataType(field.dtype)->name, findDataType(demand.dtype)->name)
                : differs("rows of shape", shapeText(field.shape), shapeText(demand.shape));
}

Status applyFeed(const DataContext &context, Pipeline &pipeline, const BatchRule &rule) {
  auto layout = planBatches(context, pipeline, rule);
  if (!layout)
    return layout.status();
  bool hasModels = !layout->models.steps.empty();
  auto feed = std::make_shared<Feed>(pipeline, context.demands, std::move(*layout));
  if (hasModels)
    pipeline.batchStage = std::make_shared<BehindFeed>(feed);
  pipeline.table = std::move(feed);
  return {};
}

} // namespace gradc::runtime
