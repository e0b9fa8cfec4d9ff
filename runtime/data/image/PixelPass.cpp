// Combines steps over pictures in one transform: a list of weights per side, a scale, and a single
// pass.
#include "runtime/data/image/PixelSteps.h"

#include "runtime/base/Text.h"

#include <algorithm>
#include <array>

namespace gradc::runtime {

namespace {

struct PlacedStep {
  std::shared_ptr<const PixelStep> step;
  uint32_t stage = 0; ///< whose random numbers it draws; 0: the next ones of the pass
};
using Steps = std::vector<PlacedStep>;

class PixelPass final : public Transform {
public:
  PixelPass(gradc_dtype from, Field result, Steps steps, bool channelsFirst)
      : Transform(std::move(result)), from(from), steps(std::move(steps)),
        channelsFirst(channelsFirst) {
    for (const PlacedStep &one : this->steps)
      isRandom |= one.step->isRandom();
  }

  Status apply(const Value &in, Random &random, ScratchSlot &own, Output &out) const override {
    PixelView view = {in.data, from, in.shape[0], in.shape[1], in.shape[2]};
    if (view.height < 1 || view.width < 1)
      return Status::error(text("has shape ", shapeText(in.shape), ", expected a pixel at least"));
    if (!own.object)
      own.object = std::make_shared<Work>();
    Work &work = *static_cast<Work *>(own.object.get());
    if (isRandom || work.height != view.height || work.width != view.width)
      if (Status status = makePlan(work, view, random); !status.ok())
        return status;

    PixelPlan &plan = work.plan;
    int64_t height = plan.rows.outputs(), width = plan.columns.outputs();
    auto room = channelsFirst ? out.room({view.channels, height, width})
                              : out.room({height, width, view.channels});
    if (!room)
      return room.status();
    work.resampler.run(view, plan.rows, plan.columns, plan.fill, plan.scale,
                       {*room, result.dtype, channelsFirst});
    return {};
  }

  std::unique_ptr<const Transform> followedBy(const Transform &next) const override {
    auto pass = dynamic_cast<const PixelPass *>(&next);
    if (!pass || channelsFirst)
      return nullptr;
    PixelStage reached = PixelStage::cropped;
    bool interpolates = false;
    for (const PlacedStep &one : steps) {
      reached = std::max(reached, one.step->leaves());
      interpolates |= one.step->interpolates();
    }
    // Bytes between two steps are rounded, unless all values are bytes already.
    if (interpolates && result.dtype == GRADC_U8 && pass->result.dtype != GRADC_U8)
      return nullptr;
    for (const PlacedStep &one : pass->steps) {
      if (reached > one.step->follows())
        return nullptr;
      reached = std::max(reached, one.step->leaves());
    }
    Steps all = steps;
    all.insert(all.end(), pass->steps.begin(), pass->steps.end());
    return std::make_unique<PixelPass>(from, pass->result, std::move(all), pass->channelsFirst);
  }

  std::unique_ptr<const Transform> drawingFrom(uint32_t stage) const override {
    Steps all = steps;
    for (PlacedStep &one : all)
      one.stage = stage;
    return std::make_unique<PixelPass>(from, result, std::move(all), channelsFirst);
  }
  bool movesAtRandom() const override { return isRandom; }
  bool drawsBySize() const override {
    return std::ranges::any_of(steps,
                               [](const PlacedStep &one) { return one.step->drawsBySize(); });
  }

  void tell(const Field &before, TensorSteps &out) const override {
    if (isRandom)
      return out.random();
    if (!before.isFixed())
      return out.other();
    PixelPlan plan = {Taps::identity(before.shape[0]), Taps::identity(before.shape[1]), 0, {}};
    Random random(0, 0, 0, 0);
    for (const PlacedStep &one : steps)
      if (!one.step->plan(plan, random).ok())
        return out.other();
    bool scales = plan.scale != PixelScale();
    bool computes = scales || !plan.rows.isSelection() || !plan.columns.isSelection();
    if (computes)
      out.cast(GRADC_F32);
    out.resample(0, plan.rows);
    out.resample(1, plan.columns);
    if (scales) {
      auto channels = size_t(before.shape[2]);
      std::vector<double> factors(plan.scale.scale.begin(), plan.scale.scale.begin() + channels),
          offsets(plan.scale.shift.begin(), plan.scale.shift.begin() + channels);
      out.scale(2, factors, offsets);
    }
    if (result.dtype == GRADC_F32)
      out.cast(GRADC_F32);
    else if (computes)
      out.round();
    if (channelsFirst)
      out.transpose(std::array<int64_t, 3>{2, 0, 1});
  }

private:
  struct Work {
    int64_t height = 0, width = 0; ///< of the pictures that the plan is for
    PixelPlan plan;
    Resampler resampler;
  };

  Status makePlan(Work &work, const PixelView &view, Random &random) const {
    work.height = work.width = 0;
    work.plan = {Taps::identity(view.height), Taps::identity(view.width), 0, {}};
    for (const PlacedStep &one : steps) {
      Random own = random.ofStage(one.stage);
      if (Status status = one.step->plan(work.plan, one.stage ? own : random); !status.ok())
        return status;
    }
    work.height = view.height;
    work.width = view.width;
    return {};
  }

  gradc_dtype from;
  Steps steps;
  bool channelsFirst, isRandom = false;
};

} // namespace

Result<PictureField> pictureField(const Field &field, std::string_view step) {
  bool isPicture = (field.dtype == GRADC_U8 || field.dtype == GRADC_F32) &&
                   field.shape.size() == 3 && field.shape[2] >= 1 && field.shape[2] <= maxChannels;
  if (!isPicture)
    return Status::invalid(text(step, " of field '", field.name,
                                "' expects pictures [height, width, channels] of type u8 or f32 "
                                "with 1 to ",
                                maxChannels, " channels, found ", findDataType(field.dtype)->name,
                                ' ', shapeText(field.shape)));
  return PictureField{field.dtype, field.shape[0], field.shape[1], field.shape[2], field.isIndices};
}

Result<int64_t> pictureSide(Config config, std::string_view step, std::string_view side) {
  int64_t size = config.integer(side, 0);
  if (size >= 1 && size <= 32768)
    return size;
  return Status::invalid(text(step, " { ", side, " } is ", size, ", expected 1 to 32768"));
}

Result<std::unique_ptr<const Transform>> makePixelPass(const Field &before,
                                                       const PictureField &after,
                                                       std::shared_ptr<const PixelStep> step,
                                                       bool channelsFirst) {
  Field result = {before.name, after.dtype, {after.height, after.width, after.channels}};
  result.isIndices = after.isIndices;
  if (channelsFirst)
    result.shape = {after.channels, after.height, after.width};
  Steps steps = {{std::move(step)}};
  return std::unique_ptr<const Transform>(std::make_unique<PixelPass>(
      before.dtype, std::move(result), std::move(steps), channelsFirst));
}

} // namespace gradc::runtime
