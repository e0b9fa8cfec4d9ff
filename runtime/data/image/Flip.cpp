// map { flip { horizontal vertical } }: mirrors pictures with the given probabilities.
#include "runtime/base/Text.h"
#include "runtime/data/image/PictureMaps.h"
#include "runtime/data/image/PixelSteps.h"

namespace gradc::runtime {

namespace {

class Flip final : public PixelStep {
public:
  Flip(float horizontal, float vertical) : horizontal(horizontal), vertical(vertical) {}

  Status plan(PixelPlan &plan, Random &random) const override {
    // Both numbers are always drawn, so that one probability does not influence the other.
    bool flipsColumns = random.uniform() < horizontal, flipsRows = random.uniform() < vertical;
    if (flipsColumns)
      plan.columns.flip();
    if (flipsRows)
      plan.rows.flip();
    return {};
  }
  bool isRandom() const override { return !isCertain(horizontal) || !isCertain(vertical); }
  PixelStage leaves() const override { return PixelStage::selected; }

private:
  static bool isCertain(float chance) { return chance == 0 || chance == 1; }

  float horizontal, vertical;
};

} // namespace

Result<std::unique_ptr<const Transform>> makeFlip(Config config, const Field *before) {
  double chances[2] = {config.real("horizontal", 0.5), config.real("vertical", 0)};
  for (double chance : chances)
    if (!(chance >= 0 && chance <= 1))
      return Status::invalid(text("flip has probability ", chance, ", expected 0 to 1"));
  if (!before)
    return std::unique_ptr<const Transform>();
  auto picture = pictureField(*before, "flip");
  if (!picture)
    return picture.status();
  return makePixelPass(
      *before, *picture,
      std::make_shared<Flip>(static_cast<float>(chances[0]), static_cast<float>(chances[1])));
}

} // namespace gradc::runtime
