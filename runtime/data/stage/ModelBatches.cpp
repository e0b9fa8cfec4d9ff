// A batch contains a field once per version: as it is in the rows, and as each model produces it.
#include "runtime/data/stage/ModelBatches.h"

#include "runtime/base/Text.h"
#include "runtime/core/artifact/EntryRows.h"

#include <cstring>

namespace gradc::runtime {

Status ModelBatches::apply(Batch &batch, RowList rows, Scratch &scratch) const {
  for (const Step &step : steps) {
    Meter::Scope scope(scratch.meter(), step.stage, rows.rows.size());
    size_t count = rows.rows.size();
    bool isTail = step.tail && int64_t(count) == step.tail->batch();
    const MapModel &model = isTail ? *step.tail : *step.whole;
    auto run = ModelRun::of(model, scratch.slot(step.slots + isTail), count);
    if (!run)
      return run.status();
    for (size_t i = 0; i < step.inputs.size(); ++i)
      (*run)->bind(i, batch.field(step.inputs[i]));
    Random random(seed, uint32_t(step.slots + 1), rows.epoch, rows.rows.front());
    if (Status ran = (*run)->run(random); !ran.ok())
      return ran;
    for (size_t i = 0; i < step.outputs.size(); ++i)
      std::memcpy(batch.field(step.outputs[i]), (*run)->output(i),
                  model.outputs[i].bytes() * count);
  }
  return {};
}

namespace {

class Planner {
public:
  Planner(const DataContext &context, Pipeline &pipeline) : context(context), pipeline(pipeline) {
    layout.models.seed = context.seed;
    for (const Demand &demand : context.demands) {
      layout.fields.push_back({demand.field, demand.dtype, demand.shape});
      layout.origins.push_back(BatchLayout::made);
    }
  }
  Status plan(const BatchRule &rule);

  BatchLayout layout;

private:
  using Step = ModelBatches::Step;

  Status addStep(Config map, const BatchRule &rule);
  Result<size_t> placeOf(const std::string &name, std::string_view reader);
  size_t makePlace(const Field &field, size_t step);
  bool isMadeFrom(size_t step, std::string_view name) const;
  /// The demand with that name, or the number of demands if there is none.
  size_t demandOf(std::string_view name) const {
    size_t i = 0;
    while (i < context.demands.size() && context.demands[i].field != name)
      ++i;
    return i;
  }

  const DataContext &context;
  Pipeline &pipeline;
  std::vector<size_t> places; ///< of the fields after the models so far
};

/// Whether any model from number `step` on produces the field.
bool Planner::isMadeFrom(size_t step, std::string_view name) const {
  const auto &steps = layout.models.steps;
  for (; step < steps.size(); ++step)
    for (const Field &made : steps[step].whole->outputs)
      if (made.name == name)
        return true;
  return false;
}

/// The version of the field that models from number `step` on see; the demand's version if it is
/// the last.
size_t Planner::makePlace(const Field &field, size_t step) {
  size_t place = demandOf(field.name);
  if (place == context.demands.size() || isMadeFrom(step, field.name)) {
    place = layout.fields.size();
    layout.fields.push_back(field);
    layout.origins.push_back(BatchLayout::made);
  }
  std::erase_if(places, [&](size_t other) { return layout.fields[other].name == field.name; });
  places.push_back(place);
  return place;
}

/// The field after the models so far; before any model, the field in the rows.
Result<size_t> Planner::placeOf(const std::string &name, std::string_view reader) {
  for (size_t place : places)
    if (layout.fields[place].name == name)
      return place;
  auto origin = findField(*pipeline.table, name, reader);
  if (!origin)
    return origin.status();
  size_t place = makePlace(pipeline.table->fields()[*origin], 0);
  layout.origins[place] = *origin;
  return place;
}

Status Planner::addStep(Config map, const BatchRule &rule) {
  auto whole = MapModel::find(map, context.models, /*tail=*/false);
  auto tail = MapModel::find(map, context.models, /*tail=*/true);
  for (const Status &status : {whole.status(), tail.status()})
    if (!status.ok())
      return status;
  Step step{std::move(*whole), std::move(*tail), {}, {}, pipeline.newSlots(2), 0};
  step.stage = uint32_t(pipeline.stages.size());
  pipeline.stages.push_back(step.whole->name);
  auto mismatch = [&](const char *which, int64_t expected, int64_t found) {
    return Status::error(text("the artifact was compiled for ", which, " of ", expected,
                              " rows for ", step.whole->name, ", but the data gives ", found,
                              ": compile it again with this data"));
  };
  if (step.whole->batch() != rule.size)
    return mismatch("batches", step.whole->batch(), rule.size);
  int64_t left = rule.dropsRest() ? 0 : pipeline.table->rows() % rule.size;
  if (step.whole->takesAnyRows()) {
    if (Status fits = checkRows(step.whole->session->artifact(), *step.whole->entry, left);
        left && !fits.ok())
      return Status::error(text(step.whole->name, ": ", fits.message()));
  } else if (int64_t expected = step.tail ? step.tail->batch() : 0; left && left != expected) {
    return mismatch("last batches", expected, left);
  }
  layout.models.steps.push_back(std::move(step));
  return {};
}

Status Planner::plan(const BatchRule &rule) {
  for (size_t i = context.behindBatch.size(); i-- > 0;)
    if (Status status = addStep(context.behindBatch[i], rule); !status.ok())
      return status;
  auto &steps = layout.models.steps;
  for (size_t s = 0; s < steps.size(); ++s) {
    Step &step = steps[s];
    for (size_t i = 0; i < step.whole->inputs.size(); ++i) {
      const std::string &name = step.whole->inputs[i].name;
      auto place = placeOf(name, step.whole->name);
      if (!place)
        return place.status();
      if (Status status = step.whole->check(i, layout.fields[*place], text("field '", name, '\''));
          !status.ok())
        return status;
      step.inputs.push_back(*place);
    }
    for (const Field &made : step.whole->outputs) {
      step.outputs.push_back(makePlace(made, s + 1));
      if (size_t demand = demandOf(made.name); demand == step.outputs.back())
        if (Status status = checkDemand(context.demands[demand], made,
                                        text("field '", made.name, "' of ", step.whole->name));
            !status.ok())
          return status;
    }
  }
  for (const Demand &demand : context.demands) {
    if (isMadeFrom(0, demand.field))
      continue;
    auto origin =
        findField(*pipeline.table, demand.field, text("model input '", demand.input, '\''));
    if (!origin)
      return origin.status();
    if (Status status = checkDemand(demand, pipeline.table->fields()[*origin],
                                    pipeline.table->describe(*origin));
        !status.ok())
      return status;
    layout.origins[demandOf(demand.field)] = *origin;
  }
  return {};
}

} // namespace

Result<BatchLayout> planBatches(const DataContext &context, Pipeline &pipeline,
                                const BatchRule &rule) {
  Planner planner(context, pipeline);
  if (Status status = planner.plan(rule); !status.ok())
    return status;
  return std::move(planner.layout);
}

} // namespace gradc::runtime
