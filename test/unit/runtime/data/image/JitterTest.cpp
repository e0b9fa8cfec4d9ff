// Color adjustments against torchvision's, and their random order.
#include "runtime/data/image/Jitter.h"

#include "test/unit/runtime/data/image/References.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace gradc::runtime;
using namespace gradc::runtime::test;

namespace {

std::vector<float> picture() {
  PixelView view = References::get().view("picture");
  std::vector<float> values(size_t(view.height * view.width * view.channels));
  std::memcpy(values.data(), view.pixels, values.size() * sizeof(float));
  return values;
}

double worstDifference(const std::vector<float> &values, const std::string &reference) {
  PixelView view = References::get().view(reference);
  double worst = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    float expected;
    std::memcpy(&expected, view.pixels + i * sizeof expected, sizeof expected);
    worst = std::max(worst, double(std::abs(values[i] - expected)));
  }
  return worst;
}

TEST(JitterTest, AgreesWithTorchvision) {
  struct Case {
    Adjustment adjustment;
    float factor;
    const char *name;
  };
  for (Case c : {Case{Adjustment::brightness, 1.3f, "brightness"},
                 {Adjustment::contrast, 0.6f, "contrast"},
                 {Adjustment::saturation, 1.7f, "saturation"},
                 {Adjustment::hue, 0.1f, "hue"}}) {
    auto values = picture();
    EXPECT_GT(worstDifference(values, std::string("adjust-") + c.name), 0.05);
    adjustColors(c.adjustment, c.factor, values.data(), int64_t(values.size() / 3), 3, 1);
    EXPECT_LT(worstDifference(values, std::string("adjust-") + c.name), 1e-5) << c.name;
    // The same picture in 0..255.
    auto large = picture();
    for (float &value : large)
      value *= 255;
    adjustColors(c.adjustment, c.factor, large.data(), int64_t(large.size() / 3), 3, 255);
    for (float &value : large)
      value /= 255;
    EXPECT_LT(worstDifference(large, std::string("adjust-") + c.name), 1e-5) << c.name;
  }
}

TEST(JitterTest, AlphaStaysAndGrayHasNoHue) {
  std::vector<float> grayAlpha = {10, 100, 30, 200};
  adjustColors(Adjustment::hue, 0.3f, grayAlpha.data(), 2, 2, 255);
  adjustColors(Adjustment::saturation, 2, grayAlpha.data(), 2, 2, 255);
  adjustColors(Adjustment::contrast, 0, grayAlpha.data(), 2, 2, 255);
  EXPECT_EQ(grayAlpha, (std::vector<float>{20, 100, 20, 200}));
  std::vector<float> rgba = {10, 20, 30, 40};
  adjustColors(Adjustment::brightness, 2, rgba.data(), 1, 4, 255);
  EXPECT_EQ(rgba, (std::vector<float>{20, 40, 60, 40}));
}

TEST(JitterTest, IsAFunctionOfTheRandomNumbers) {
  auto jittered = [](uint64_t stream, const JitterReach &reach) {
    auto values = picture();
    Random random(7, stream);
    jitterColors(reach, random, values.data(), int64_t(values.size() / 3), 3, 1);
    return values;
  };
  JitterReach reach = {0.4f, 0.4f, 0.4f, 0.1f};
  EXPECT_EQ(jittered(1, reach), jittered(1, reach));
  EXPECT_NE(jittered(1, reach), jittered(2, reach));
  EXPECT_EQ(jittered(1, {}), picture());
  for (float value : jittered(3, {5, 5, 5, 0.5f})) {
    EXPECT_GE(value, 0);
    EXPECT_LE(value, 1);
  }
}

} // namespace
