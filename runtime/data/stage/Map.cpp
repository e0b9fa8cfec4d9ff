// Applies a transform to one field of every row.
#include "runtime/base/Text.h"
#include "runtime/data/Meter.h"
#include "runtime/data/stage/Stages.h"
#include "runtime/data/transform/Transform.h"

#include <algorithm>
#include <iterator>

namespace gradc::runtime {

namespace {

class Map final : public TableStage {
public:
  Map(std::shared_ptr<const Table> input, size_t mapped, std::unique_ptr<const Transform> transform,
      uint64_t seed, size_t slot)
      : TableStage(std::move(input)), mapped(mapped), transform(std::move(transform)), seed(seed),
        slot(slot) {
    auto before = this->input->fields();
    fieldList.assign(before.begin(), before.end());
    fieldList[mapped] = this->transform->result;
  }

  std::span<const Field> fields() const override { return fieldList; }
  const std::byte *column(size_t field) const override {
    return field == mapped ? nullptr : input->column(field);
  }

  Result<Value> view(size_t field, RowRef row, Scratch &scratch) const override {
    if (field != mapped)
      return input->view(field, row, scratch);
    Output out(fieldList[field], scratch.slot(slot + 1));
    if (Status status = apply(row, scratch, out); !status.ok())
      return status;
    return out.value();
  }

  Status read(size_t field, RowList rows, Scratch &scratch, std::byte *out) const override {
    if (field != mapped)
      return input->read(field, rows, scratch, out);
    size_t bytes = fieldList[field].bytes(), made = 0;
    if (const std::byte *column = input->column(field))
      made = transform->applyAll(column, rows.rows, out);
    for (; made < rows.rows.size(); ++made) {
      Output place(fieldList[field], out + made * bytes);
      if (Status status = apply({rows.epoch, rows.rows[made]}, scratch, place); !status.ok())
        return status;
    }
    return {};
  }

  /// This stage and the following transform as one stage; null if they stay separate.
  std::shared_ptr<const Table> followedBy(size_t field, const Transform &next) const {
    auto both = field == mapped ? transform->followedBy(next) : nullptr;
    return both ? std::make_shared<Map>(input, mapped, std::move(both), seed, slot) : nullptr;
  }

private:
  Status apply(RowRef row, Scratch &scratch, Output &out) const {
    auto in = input->view(mapped, row, scratch);
    if (!in)
      return in.status();
    Random random(seed, uint32_t(slot + 1), row.epoch, row.row);
    Status status = transform->apply(*in, random, scratch.slot(slot), out);
    if (status.ok())
      return status;
    return Status(status.code(), text(describeRow(row.row), ": field '", fieldList[mapped].name,
                                      "' ", status.message()));
  }

  size_t mapped;
  std::unique_ptr<const Transform> transform;
  uint64_t seed;
  size_t slot; ///< the transform's result; the next transform uses it
  std::vector<Field> fieldList;
};

constexpr MapKind kinds[] = {
    {"one_hot", makeOneHot}, {"pad", makePad}, {"transpose", makeTranspose}};

/// The kind that a map block names; null for a block that casts, scales, and shifts.
const MapKind *kindOf(Config config) {
  auto find = [&](std::span<const MapKind> among) -> const MapKind * {
    auto named = [&](const MapKind &kind) { return bool(config.child(kind.name)); };
    auto found = std::find_if(among.begin(), among.end(), named);
    return found == among.end() ? nullptr : &*found;
  };
  const MapKind *kind = find(kinds);
  return kind || !pictureMaps ? kind : find(pictureMaps());
}

/// The key in the state for the statistics of the next standardize of a field; each standardize has
/// its own.
std::string keyOfNext(const Table &table, size_t field, std::vector<size_t> &standardized) {
  std::string key = text("standardize ", table.fields()[field].name);
  for (size_t earlier : standardized)
    if (earlier == field)
      key.insert(0, "again ");
  standardized.push_back(field);
  return key;
}

/// The transform of a map block, for field `index` of the table. At `noField`, only the block
/// itself is checked.
Result<std::unique_ptr<const Transform>>
makeTransform(Config config, size_t index, const DataContext &context, Pipeline &pipeline) {
  auto fields = pipeline.table->fields();
  const Field *before = index == noField ? nullptr : &fields[index];
  Config standardize = config.child("standardize");
  const MapKind *kind = kindOf(config);
  if (!standardize && !kind)
    return makeCast(config, before);
  if (config.child("cast") || config.child("scale") || config.child("offset"))
    return Status::invalid("map has cast, scale or offset beside another thing to do, expected one "
                           "of them: write two map stages");
  if (!standardize)
    return kind->make(config.child(kind->name), before);
  return makeStandardize(standardize, *pipeline.table, index, context,
                         before ? keyOfNext(*pipeline.table, index, pipeline.standardized)
                                : std::string());
}

} // namespace

Status applyMap(Config config, const DataContext &context, Pipeline &pipeline) {
  if (config.child("model"))
    return applyModel ? applyModel(config, context, pipeline)
                      : Status::invalid("data stage 'model' is unknown to this runtime");
  std::string_view name = config.string("field");
  auto fields = pipeline.table->fields();
  std::vector<std::string> names;
  size_t index = noField;
  for (size_t i = 0; i < fields.size(); ++i) {
    names.push_back(fields[i].name);
    if (fields[i].name == name)
      index = i;
  }
  if (index == noField && !context.problems)
    return Status::invalid(text("map names field '", name,
                                "', expected one that feeds the model: ", quotedList(names)));
  if (config.child("transpose") && index != noField && isByLength(pipeline, fields[index]))
    return context.wrong(config, text("transpose of field '", name,
                                      "' comes after pad, expected before it where batches are "
                                      "made by length"));
  auto transform = makeTransform(config, index, context, pipeline);
  if (!transform || index == noField)
    return transform.status();
  if (isByLength(pipeline, fields[index]) &&
      ((*transform)->result.shape.empty() ||
       (*transform)->result.shape.front() != fields[index].shape.front()))
    return context.wrong(config, text("map of field '", name,
                                      "' changes its length behind pad, where batches are made by "
                                      "length"));
  if (context.maps)
    context.maps->add(config, fields[index], **transform);
  if (Config pad = config.child("pad")) {
    if (!applyPadMarks)
      return Status::invalid("data stage 'pad' is unknown to this runtime");
    if (Status status = applyPadMarks(pad, index, (*transform)->result.shape, context, pipeline);
        !status.ok())
      return status;
  }
  auto before = withoutMeter(pipeline.table);
  if (auto last = dynamic_cast<const Map *>(before.get()))
    if (auto both = last->followedBy(index, **transform)) {
      pipeline.table = std::move(both);
      pipeline.joined = true;
      return {};
    }
  pipeline.table = std::make_shared<Map>(pipeline.table, index, std::move(*transform), context.seed,
                                         pipeline.newSlots(2));
  return {};
}

} // namespace gradc::runtime
