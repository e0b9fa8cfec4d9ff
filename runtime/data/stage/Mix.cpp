// mix { field label mixup { } cutmix { } }: mixes each row of a batch with the row before it, and
// the first one with the last.
#include "runtime/base/Text.h"
#include "runtime/data/Meter.h"
#include "runtime/data/stage/MixDraw.h"
#include "runtime/data/stage/Stages.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

namespace gradc::runtime {

namespace {

struct MixRule {
  double mixup = 0, cutmix = 0; ///< alpha of each; 0: the batch is never mixed that way
  double probability = 1;       ///< that a batch is mixed
  double cutmixShare = 0;       ///< of the mixed batches
};

/// The numbers of a picture: [planes][height][width][depth].
struct Picture {
  int64_t planes = 1, height = 0, width = 0, depth = 1;
};

/// A field of the batch that is mixed.
struct MixedField {
  size_t place;    ///< among the batch's fields
  size_t elements; ///< of a row
  bool isLabel;    ///< never gets a box
  Picture picture; ///< only if boxes are pasted
};

/// to = kept * to + (1 - kept) * from
void blend(float *to, const float *from, size_t count, double kept) {
  auto own = float(kept), other = float(1 - kept);
  for (size_t i = 0; i < count; ++i)
    to[i] = own * to[i] + other * from[i];
}

void paste(float *to, const float *from, const Picture &picture, const Box &box) {
  auto count = size_t((box.right - box.left) * picture.depth);
  for (int64_t plane = 0; plane < picture.planes; ++plane)
    for (int64_t y = box.top; y < box.bottom; ++y) {
      int64_t begin = ((plane * picture.height + y) * picture.width + box.left) * picture.depth;
      std::memcpy(to + begin, from + begin, count * sizeof(float));
    }
}

class Mix final : public BatchStage {
public:
  Mix(std::shared_ptr<const BatchStage> before, const MixRule &rule, std::vector<MixedField> fields,
      uint64_t seed, size_t slot, uint32_t stage)
      : before(std::move(before)), rule(rule), fields(std::move(fields)), seed(seed), slot(slot),
        stage(stage) {}

  Status apply(Batch &batch, RowList rows, Scratch &scratch) const override {
    if (before)
      if (Status status = before->apply(batch, rows, scratch); !status.ok())
        return status;
    Meter::Scope scope(scratch.meter(), stage, rows.rows.size());
    auto count = size_t(batch.rows);
    bool hasPartner = rows.rows.size() > count;
    if (count == 0 || (count == 1 && !hasPartner))
      return {};
    // The batch's position is the same on all ranks, and after a resume.
    Random random(seed, uint32_t(slot + 1), batch.begin.epoch, int64_t(batch.begin.row));
    if (drawShare(random) >= rule.probability)
      return {};
    bool pastes = drawShare(random) < rule.cutmixShare;
    double kept = drawBeta(random, pastes ? rule.cutmix : rule.mixup);
    Box box = {};
    if (pastes) {
      const Picture &picture = fields.front().picture;
      box = drawBox(random, kept, picture.height, picture.width);
      kept = 1 - double(box.area()) / double(picture.height * picture.width);
    }
    for (const MixedField &field : fields) {
      auto *values = reinterpret_cast<float *>(batch.field(field.place));
      const float *last = values + count * field.elements;
      if (!hasPartner) {
        // The last row is mixed before the first one takes it.
        size_t bytes = field.elements * sizeof(float);
        std::byte *copy = scratch.slot(slot).reserve(bytes);
        std::memcpy(copy, last - field.elements, bytes);
        last = reinterpret_cast<const float *>(copy);
      }
      for (size_t row = count; row-- > 0;) {
        float *to = values + row * field.elements;
        const float *from = row ? to - field.elements : last;
        if (pastes && !field.isLabel)
          paste(to, from, field.picture, box);
        else
          blend(to, from, field.elements, kept);
      }
    }
    return {};
  }

private:
  std::shared_ptr<const BatchStage> before; ///< null: none
  MixRule rule;
  std::vector<MixedField> fields; ///< pictures first
  uint64_t seed;
  size_t slot; ///< the last row before it was mixed
  uint32_t stage;
};

/// Reads a block's alpha into `alpha`, which stays 0 if there is no such block.
Status readAlpha(Config block, const DataContext &context, double &alpha) {
  if (!block)
    return {};
  alpha = block.real("alpha", 1);
  if (alpha > 0 && std::isfinite(alpha))
    return {};
  return context.wrong(block.child("alpha"), text(block.name(), " { alpha } is ", alpha,
                                                  ", expected a finite number above 0"));
}

Result<MixRule> readRule(Config config, const DataContext &context) {
  Config mixup = config.child("mixup"), cutmix = config.child("cutmix");
  if (!config.child("field"))
    return Status::invalid("mix has no field: add field: \"image\"");
  if (!config.child("label"))
    return Status::invalid("mix has no label, which is mixed as the pictures are: add label: "
                           "\"label\"");
  if (!mixup && !cutmix)
    return Status::invalid("mix has neither mixup nor cutmix, expected one of them or both: add "
                           "mixup { alpha: 0.2 }");
  MixRule rule;
  for (Status status :
       {readAlpha(mixup, context, rule.mixup), readAlpha(cutmix, context, rule.cutmix)})
    if (!status.ok())
      return status;
  rule.probability = config.real("probability", 1);
  rule.cutmixShare = config.real("cutmix_probability", 0.5);
  for (auto [name, value] : {std::pair("probability", rule.probability),
                             std::pair("cutmix_probability", rule.cutmixShare)})
    if (!(value >= 0 && value <= 1))
      return context.wrong(config.child(name),
                           text("mix { ", name, " } is ", value, ", expected 0 to 1"));
  if (mixup && cutmix)
    return rule;
  if (Config chosen = config.child("cutmix_probability"))
    return context.wrong(chosen, "mix { cutmix_probability } chooses between mixup and cutmix, "
                                 "expected both of them beside it");
  rule.cutmixShare = cutmix ? 1 : 0;
  return rule;
}

/// Fails if the numbers of a field cannot be mixed.
Status expectFloats(const Field &field, bool isLabel) {
  if (field.dtype == GRADC_F32)
    return {};
  auto advice = [&](const auto &...map) {
    return text(" (add stage { map { field: \"", field.name, "\" ", map..., " } } before batch)");
  };
  const char *found = findDataType(field.dtype)->name;
  int64_t classes = std::max(field.classes, field.categories);
  if (isLabel)
    return Status::invalid(text("mix makes distributions of labels, expected f32 in field '",
                                field.name, "', found ", found,
                                advice("one_hot { classes: ", classes ? classes : 10, " }")));
  return Status::invalid(
      text("mix expects f32 in field '", field.name, "', found ", found, advice("cast: F32")));
}

/// How boxes lie in the rows of a field.
Result<Picture> pictureOf(const Field &field, bool channelsFirst) {
  const std::vector<int64_t> &shape = field.shape;
  bool hasPixels = std::ranges::all_of(shape, [](int64_t dim) { return dim > 0; });
  if (hasPixels && shape.size() == 2)
    return Picture{1, shape[0], shape[1], 1};
  if (hasPixels && shape.size() == 3)
    return channelsFirst ? Picture{shape[0], shape[1], shape[2], 1}
                         : Picture{1, shape[0], shape[1], shape[2]};
  return Status::invalid(text("cutmix expects pictures in field '", field.name,
                              "', which have height and width, or those and channels, found shape ",
                              shapeText(shape)));
}

/// One field; none if the data's description lacks it.
Result<std::optional<MixedField>> findMixed(std::string_view name, bool isLabel, Config cutmix,
                                            std::span<const Field> fields, bool isDescribed) {
  auto found = std::ranges::find(fields, name, &Field::name);
  if (found == fields.end() && isDescribed)
    return std::optional<MixedField>();
  if (found == fields.end()) {
    std::vector<std::string> fed;
    for (const Field &field : fields)
      fed.push_back(field.name);
    return Status::invalid(
        text("mix names field '", name, "', expected one that feeds the model: ", quotedList(fed)));
  }
  if (Status status = expectFloats(*found, isLabel); !status.ok())
    return status;
  MixedField mixed = {size_t(found - fields.begin()), found->elements(), isLabel, {}};
  if (cutmix && !isLabel) {
    auto picture = pictureOf(*found, cutmix.boolean("channels_first", true));
    if (!picture)
      return picture.status();
    mixed.picture = *picture;
  }
  return std::optional(mixed);
}

/// The fields that the block names, pictures first.
Result<std::vector<MixedField>> findFields(Config config, const DataContext &context,
                                           const Pipeline &pipeline) {
  std::span<const Field> fields = pipeline.table->fields();
  if (!context.problems)
    fields = fields.first(context.demands.size()); // others only feed models before
  std::vector<std::string_view> names;
  std::vector<MixedField> mixed;
  for (std::string_view part : {"field", "label"})
    for (Config named : config.children(part)) {
      std::string_view name = named.string();
      if (std::ranges::count(names, name))
        return Status::invalid(text("mix names field '", name, "' twice"));
      names.push_back(name);
      bool isLabel = part == "label";
      auto one =
          findMixed(name, isLabel, config.child("cutmix"), fields, context.problems != nullptr);
      if (!one)
        return one.status();
      if (!*one)
        continue;
      const Picture &picture = (*one)->picture,
                    &first = mixed.empty() ? picture : mixed.front().picture;
      if (!isLabel && (picture.height != first.height || picture.width != first.width))
        return Status::invalid(text("cutmix cuts one box out of pictures of one size, found ",
                                    first.height, " x ", first.width, " and, in field '", name,
                                    "', ", picture.height, " x ", picture.width));
      mixed.push_back(**one);
    }
  return mixed;
}

} // namespace

Status applyMix(Config config, const DataContext &context, Pipeline &pipeline) {
  if (!pipeline.rule)
    return Status::invalid("data stage 'mix' comes before batch, expected behind it");
  if (pipeline.rule->mixes)
    return Status::invalid("data stage 'mix' comes twice");
  pipeline.rule->mixes = true;
  if (pipeline.rule->buckets)
    return Status::invalid("mix comes after batch { bucket }, expected batches of one length");
  auto rule = readRule(config, context);
  if (!rule)
    return rule.status();
  auto fields = findFields(config, context, pipeline);
  if (!fields || context.problems)
    return fields.status();
  auto stage = uint32_t(pipeline.stages.size());
  pipeline.stages.emplace_back("mix");
  pipeline.batchStage =
      std::make_shared<Mix>(std::move(pipeline.batchStage), *rule, std::move(*fields), context.seed,
                            pipeline.newSlots(1), stage);
  return {};
}

} // namespace gradc::runtime
