// Resizing against PyTorch and TensorFlow; cropping, flipping, padding and normalizing by hand.
#include "runtime/data/image/Resample.h"

#include "test/unit/runtime/data/image/References.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <numeric>

using namespace gradc::runtime;
using namespace gradc::runtime::test;

namespace {

Picture resample(const PixelView &in, const Taps &rows, const Taps &columns,
                 gradc_dtype dtype = GRADC_F32, float fill = 0, const PixelScale &scale = {},
                 bool channelsFirst = false) {
  Picture out;
  out.resize(rows.outputs(), columns.outputs(), in.channels, dtype);
  Resampler().run(in, rows, columns, fill, scale, {out.data(), dtype, channelsFirst});
  return out;
}

double worstDifference(const PixelView &a, const PixelView &b) {
  EXPECT_EQ(a.height, b.height);
  EXPECT_EQ(a.width, b.width);
  EXPECT_EQ(a.channels, b.channels);
  double worst = 0;
  for (int64_t y = 0; y < a.height; ++y)
    for (int64_t x = 0; x < a.width; ++x)
      for (int64_t c = 0; c < a.channels; ++c)
        worst = std::max(worst, std::abs(valueAt(a, y, x, c) - valueAt(b, y, x, c)));
  return worst;
}

Picture resizeReference(const std::string &size, Filter filter, bool antialias) {
  int height = 0, width = 0;
  EXPECT_EQ(std::sscanf(size.c_str(), "%dx%d", &height, &width), 2);
  PixelView in = References::get().view("picture");
  return resample(in, Taps::resize(in.height, height, filter, antialias),
                  Taps::resize(in.width, width, filter, antialias));
}

void expectAgreement(const std::string &prefix, Filter filter, bool antialias, double most = 1e-5) {
  auto sizes = References::get().names(prefix);
  EXPECT_EQ(sizes.size(), 5u);
  for (const std::string &size : sizes)
    EXPECT_LT(worstDifference(resizeReference(size, filter, antialias).view(),
                              References::get().view(prefix + size)),
              most)
        << prefix << size;
}

TEST(ResampleTest, AgreesWithPyTorch) {
  expectAgreement("torch-triangle-", Filter::bilinear, true);
  expectAgreement("torch-bilinear-", Filter::bilinear, false);
  expectAgreement("torch-cubic-", Filter::bicubic, true);
  expectAgreement("torch-nearest-", Filter::nearest, false);
}

TEST(ResampleTest, AgreesWithTensorFlow) {
  expectAgreement("tf-triangle-", Filter::bilinear, true);
  expectAgreement("tf-bilinear-", Filter::bilinear, false);
  expectAgreement("tf-cubic-", Filter::bicubic, true);
  // TensorFlow reads the weights of the narrow one from a table.
  expectAgreement("tf-narrow-cubic-", Filter::bicubic, false, 1e-3);
  expectAgreement("tf-area-", Filter::area, false);
}

TEST(ResampleTest, AnotherFilterIsNoticed) {
  EXPECT_GT(worstDifference(resizeReference("7x9", Filter::bilinear, false).view(),
                            References::get().view("torch-triangle-7x9")),
            0.01);
}

/// Bytes of 0, 7, 14, ... (mod 251), which no two neighbours share.
std::vector<uint8_t> ramp(int64_t count) {
  std::vector<uint8_t> bytes(static_cast<size_t>(count));
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = uint8_t(i * 7 % 251);
  return bytes;
}
PixelView viewOf(const std::vector<uint8_t> &bytes, int64_t height, int64_t width,
                 int64_t channels) {
  return {reinterpret_cast<const std::byte *>(bytes.data()), GRADC_U8, height, width, channels};
}

/// Plain loops in double over the same weights.
double expectedAt(const PixelView &in, const Taps &rows, const Taps &columns, double fill,
                  int64_t y, int64_t x, int64_t c) {
  if (rows.first(y) == Taps::outside || columns.first(x) == Taps::outside)
    return fill;
  double sum = 0;
  for (int64_t i = 0; i < rows.width(); ++i)
    for (int64_t j = 0; j < columns.width(); ++j)
      sum += double(rows.weights(y)[size_t(i)]) * double(columns.weights(x)[size_t(j)]) *
             valueAt(in, rows.first(y) + i, columns.first(x) + j, c);
  return sum;
}

TEST(ResampleTest, EveryKindAgreesWithPlainLoops) {
  PixelScale scale;
  scale.scale = {0.5f, -2, 0.01f, 3};
  scale.shift = {1, 200, -1, 0.25f};
  for (int64_t channels = 1; channels <= 4; ++channels) {
    auto bytes = ramp(23 * 31 * channels);
    PixelView in = viewOf(bytes, 23, 31, channels);
    std::vector<float> floats(bytes.begin(), bytes.end());
    PixelView asFloats = {reinterpret_cast<const std::byte *>(floats.data()), GRADC_F32, 23, 31,
                          channels};
    // 8 is a full vector of pixels; 3 x 2 is less than one; 23 x 31 to 2 x 3 takes many weights.
    for (auto [height, width] : {std::pair(23, 31), {17, 24}, {3, 2}, {40, 33}, {9, 8}}) {
      Taps rows = Taps::resize(23, height, Filter::bilinear, true),
           columns = Taps::resize(31, width, Filter::bilinear, true);
      rows.pad(1, 2);
      columns.flip();
      columns.pad(3, 0);
      columns.crop(1, columns.outputs() - 2);
      Picture hwc = resample(in, rows, columns, GRADC_F32, 9, scale),
              chw = resample(in, rows, columns, GRADC_F32, 9, scale, true),
              rounded = resample(in, rows, columns, GRADC_U8, 9, scale),
              fromFloats = resample(asFloats, rows, columns, GRADC_F32, 9, scale);
      EXPECT_EQ(worstDifference(hwc.view(), fromFloats.view()), 0);
      for (int64_t y = 0; y < hwc.height; ++y)
        for (int64_t x = 0; x < hwc.width; ++x)
          for (int64_t c = 0; c < channels; ++c) {
            double expected =
                expectedAt(in, rows, columns, 9, y, x, c) * double(scale.scale[size_t(c)]) +
                double(scale.shift[size_t(c)]);
            ASSERT_NEAR(valueAt(hwc.view(), y, x, c), expected, 1e-3);
            PixelView plane = chw.view();
            plane.channels = 1;
            plane.height *= channels;
            ASSERT_EQ(valueAt(plane, c * hwc.height + y, x, 0), valueAt(hwc.view(), y, x, c));
            ASSERT_NEAR(valueAt(rounded.view(), y, x, c), std::clamp(expected, 0.0, 255.0), 0.501);
          }
    }
  }
}

TEST(ResampleTest, SelectionIsExact) {
  auto bytes = ramp(5 * 6 * 3);
  PixelView in = viewOf(bytes, 5, 6, 3);
  Taps rows = Taps::identity(5), columns = Taps::identity(6);
  rows.crop(1, 3);
  columns.crop(2, 4);
  columns.flip();
  rows.pad(1, 0);
  EXPECT_TRUE(rows.isSelection());
  Picture out = resample(in, rows, columns, GRADC_U8, 77);
  ASSERT_EQ(out.height, 4);
  ASSERT_EQ(out.width, 4);
  for (int64_t y = 0; y < 4; ++y)
    for (int64_t x = 0; x < 4; ++x)
      for (int64_t c = 0; c < 3; ++c)
        EXPECT_EQ(valueAt(out.view(), y, x, c), y == 0 ? 77 : valueAt(in, y, 5 - x, c));
}

TEST(ResampleTest, RoundsToNearestAndLimits) {
  std::vector<float> values = {-1, 0.49f, 0.5f, 254.4f, 254.6f, 300, NAN, 1e30f, 127.5f};
  PixelView in = {reinterpret_cast<const std::byte *>(values.data()), GRADC_F32, 1, 9, 1};
  Picture out = resample(in, Taps::identity(1), Taps::identity(9), GRADC_U8);
  std::vector<int> found;
  for (int64_t x = 0; x < 9; ++x)
    found.push_back(int(valueAt(out.view(), 0, x, 0)));
  EXPECT_EQ(found, (std::vector<int>{0, 0, 1, 254, 255, 255, 0, 255, 128}));
}

TEST(TapsTest, WeightsSumToOneInsideThePicture) {
  for (Filter filter : {Filter::nearest, Filter::bilinear, Filter::bicubic, Filter::area})
    for (bool antialias : {false, true})
      for (int64_t from : {1, 2, 3, 7, 224, 256})
        for (int64_t to : {1, 2, 3, 5, 64, 224, 300}) {
          Taps taps = Taps::resize(from, to, filter, antialias);
          ASSERT_EQ(taps.outputs(), to);
          for (int64_t i = 0; i < to; ++i) {
            auto weights = taps.weights(i);
            ASSERT_NEAR(std::accumulate(weights.begin(), weights.end(), 0.0), 1, 1e-6);
            ASSERT_GE(taps.first(i), 0);
            ASSERT_LE(taps.first(i) + taps.width(), from);
          }
        }
}

TEST(TapsTest, SameSizeChangesNothing) {
  for (Filter filter : {Filter::nearest, Filter::bilinear, Filter::bicubic, Filter::area}) {
    auto bytes = ramp(9 * 11);
    PixelView in = viewOf(bytes, 9, 11, 1);
    Picture out =
        resample(in, Taps::resize(9, 9, filter, true), Taps::resize(11, 11, filter, true));
    EXPECT_EQ(worstDifference(in, out.view()), 0);
  }
}

} // namespace
