// map { model { } } before batch: runs a model on each row.
#include "runtime/base/Text.h"
#include "runtime/data/stage/Stages.h"
#include "runtime/data/transform/MapModel.h"

#include <algorithm>

namespace gradc::runtime {

namespace {

class ModelRows final : public TableStage {
public:
  ModelRows(std::shared_ptr<const Table> input, std::shared_ptr<const MapModel> given,
            std::vector<size_t> read, uint64_t seed, size_t slot)
      : TableStage(std::move(input)), model(std::move(given)), sources(std::move(read)), seed(seed),
        slot(slot) {
    auto before = this->input->fields();
    for (size_t i = 0; i < before.size(); ++i)
      if (std::none_of(model->outputs.begin(), model->outputs.end(),
                       [&](const Field &made) { return made.name == before[i].name; }))
        add(before[i], i);
    for (const Field &made : model->outputs)
      add(made, before.size());
    firstMade = fieldList.size() - model->outputs.size();
  }

  std::span<const Field> fields() const override { return fieldList; }
  const std::byte *column(size_t field) const override {
    return field < firstMade ? input->column(origins[field]) : nullptr;
  }
  std::string describe(size_t field) const override {
    return field < firstMade ? input->describe(origins[field])
                             : text("field '", fieldList[field].name, "' of ", model->name);
  }

  std::string describeRow(int64_t row, size_t field) const override {
    return input->describeRow(row, field < firstMade ? origins[field] : noField);
  }

  Result<Value> view(size_t field, RowRef row, Scratch &scratch) const override {
    if (field < firstMade)
      return input->view(origins[field], row, scratch);
    auto run = ModelRun::of(*model, scratch.slot(slot), 1);
    if (!run)
      return run.status();
    ModelRun &here = **run;
    if (here.made.row != row.row || here.made.epoch != row.epoch) {
      here.made.row = -1;
      for (size_t i = 0; i < sources.size(); ++i) {
        auto value = input->view(sources[i], row, scratch);
        if (!value)
          return value.status();
        here.bind(i, value->data);
      }
      if (Status ran = here.run(Random(seed, uint32_t(slot + 1), row.epoch, row.row)); !ran.ok())
        return ran;
      here.made = row;
    }
    const Field &made = fieldList[field];
    return Value{here.output(field - firstMade), made.shape, made.bytes()};
  }

  Status read(size_t field, RowList rows, Scratch &scratch, std::byte *out) const override {
    return field < firstMade ? input->read(origins[field], rows, scratch, out)
                             : Table::read(field, rows, scratch, out);
  }

private:
  void add(const Field &field, size_t origin) {
    fieldList.push_back(field);
    origins.push_back(origin);
  }

  std::shared_ptr<const MapModel> model;
  std::vector<size_t> sources; ///< fields of the input, for each input of the model
  uint64_t seed;
  size_t slot;
  std::vector<Field> fieldList;
  std::vector<size_t> origins; ///< fields of the input; those from `firstMade` on have none
  size_t firstMade;
};

} // namespace

Status applyModel(Config map, const DataContext &context, Pipeline &pipeline) {
  auto model = MapModel::find(map, context.models, /*tail=*/false);
  if (!model)
    return model.status();
  const Table &table = *pipeline.table;
  std::vector<size_t> read;
  for (size_t i = 0; i < (*model)->inputs.size(); ++i) {
    auto field = findField(table, (*model)->inputs[i].name, (*model)->name);
    if (!field)
      return field.status();
    if (Status status = (*model)->check(i, table.fields()[*field], table.describe(*field));
        !status.ok())
      return status;
    read.push_back(*field);
  }
  // If called field by field, a model with several outputs would run once per output.
  pipeline.rowByRow |= (*model)->outputs.size() > 1;
  pipeline.table = std::make_shared<ModelRows>(pipeline.table, std::move(*model), std::move(read),
                                               context.seed, pipeline.newSlots(1));
  return {};
}

} // namespace gradc::runtime
