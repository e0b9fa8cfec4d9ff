// Applies a transform to a field of every row, or alike to several.
#include "runtime/base/Text.h"
#include "runtime/data/Meter.h"
#include "runtime/data/Provenance.h"
#include "runtime/data/stage/MappedTable.h"
#include "runtime/data/stage/Stages.h"

#include <algorithm>
#include <iterator>
#include <optional>

namespace gradc::runtime {

namespace {

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
  std::string key = before ? keyOfNext(*pipeline.table, index, pipeline.standardized) : "";
  auto made = makeStandardize(standardize, *pipeline.table, index, context, key);
  // The statistics may be of other rows: those of the training.
  if (context.provenance && context.state)
    if (auto fitted = context.state->find(key); fitted != context.state->end())
      context.provenance->addContent(std::as_bytes(std::span(fitted->second)));
  return made;
}

/// The transform for the field `name`; none if a description does not know the field.
Result<MappedField> mapField(Config config, std::string_view name, const DataContext &context,
                             Pipeline &pipeline) {
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
  if (!transform)
    return transform.status();
  if (index == noField)
    return MappedField{index, nullptr};
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
  return MappedField{index, std::move(*transform)};
}

/// Fails if pictures are moved at random, but not their masks, or the other way around.
Status expectMasks(std::string_view kind, std::span<const MappedField> mapped,
                   const DataContext &context, std::span<const Field> fields) {
  for (const MappedField &one : mapped) {
    const Field &moved = fields[one.index];
    for (size_t i = 0; one.transform->movesAtRandom() && i < fields.size(); ++i) {
      bool isMask = fields[i].maskOf == moved.name, isPicture = fields[i].name == moved.maskOf;
      if ((!isMask && !isPicture) || std::ranges::count(mapped, i, &MappedField::index) ||
          (context.problems && !context.problems->mayUse(fields[i].name)))
        continue;
      return Status::invalid(text(kind, " of field '", moved.name, "' alone leaves its ",
                                  isMask ? "mask" : "picture", " '", fields[i].name,
                                  "' as it is, which would not fit any more: name both, field: \"",
                                  isMask ? moved.name : moved.maskOf, "\" field: \"",
                                  isMask ? fields[i].name : moved.name, "\""));
    }
  }
  return {};
}

/// Whether pictures that are cut at the same random place have one size: true, or unknown before
/// they are read; an error if they have not.
Result<bool> haveOneSize(std::string_view kind, std::span<const MappedField> mapped,
                         std::span<const Field> fields) {
  const Field &first = fields[mapped.front().index];
  bool isFixed = true;
  for (const MappedField &one : mapped) {
    const Field &field = fields[one.index];
    isFixed &= field.isFixed();
    if (isFixed && (field.shape[0] != first.shape[0] || field.shape[1] != first.shape[1]))
      return Status::invalid(text(kind,
                                  " cuts pictures of one size at the same place, found field '",
                                  first.name, "' of shape ", shapeText(first.shape), " and field '",
                                  field.name, "' of shape ", shapeText(field.shape)));
  }
  return isFixed;
}

} // namespace

std::vector<std::string> mappedFields(Config map) {
  std::vector<std::string> names;
  for (Config field : map.children("field"))
    names.emplace_back(field.string());
  if (names.empty())
    names.emplace_back();
  return names;
}

Status applyMap(Config config, const DataContext &context, Pipeline &pipeline) {
  if (config.child("model"))
    return applyModel ? applyModel(config, context, pipeline)
                      : Status::invalid("data stage 'model' is unknown to this runtime");
  // 1. The fields and their transforms.
  std::vector<std::string> names = mappedFields(config);
  std::vector<MappedField> mapped;
  for (const std::string &name : names) {
    if (std::ranges::count(names, name) > 1)
      return Status::invalid(text("map names field '", name, "' twice"));
    auto one = mapField(config, name, context, pipeline);
    if (!one)
      return one.status();
    mapped.push_back(std::move(*one));
  }
  if (std::ranges::count(mapped, noField, &MappedField::index))
    return {}; // only described
  const MapKind *kind = kindOf(config);
  std::string_view kindName = kind ? kind->name : "map";
  auto fields = pipeline.table->fields();
  if (Status status = expectMasks(kindName, mapped, context, fields); !status.ok())
    return status;

  // 2. Several fields draw the random numbers of one stage.
  std::optional<size_t> sizes;
  if (mapped.size() > 1) {
    size_t slot = pipeline.newSlots(1);
    if (mapped.front().transform->drawsBySize()) {
      auto isOneSize = haveOneSize(kindName, mapped, fields);
      if (!isOneSize)
        return isOneSize.status();
      if (!*isOneSize)
        sizes = slot;
    }
    for (MappedField &one : mapped) {
      if (auto alike = one.transform->drawingFrom(uint32_t(slot + 1)))
        one.transform = std::move(alike);
      else
        one.stage = uint32_t(slot + 1);
    }
  }

  // 3. One stage with the map before it, or one more. Sizes are those of the pictures that a stage
  // takes.
  auto before = withoutMeter(pipeline.table);
  if (auto last = dynamic_cast<const MappedTable *>(before.get()); last && !sizes)
    if (auto both = last->followedBy(mapped)) {
      pipeline.table = std::move(both);
      pipeline.joined = true;
      return {};
    }
  for (MappedField &one : mapped) {
    one.slot = pipeline.newSlots(2);
    if (one.stage == 0)
      one.stage = uint32_t(one.slot + 1);
  }
  // Field by field, the first picture of each row would be made again for its size.
  pipeline.rowByRow |= sizes.has_value();
  pipeline.table =
      std::make_shared<MappedTable>(pipeline.table, std::move(mapped), context.seed, sizes);
  return {};
}

} // namespace gradc::runtime
