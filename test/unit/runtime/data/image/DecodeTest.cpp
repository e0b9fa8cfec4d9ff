// Decoded pictures against Pillow's, and damaged files.
#include "runtime/data/image/Decode.h"

#include "test/unit/runtime/data/image/References.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace gradc::runtime;
using namespace gradc::runtime::test;

namespace {

using File = std::vector<std::byte>;

File file(const std::string &name) {
  auto bytes = References::get().bytes("file-" + name);
  return {bytes.begin(), bytes.end()};
}

std::string decodeError(const File &bytes, const DecodeOptions &options = {}) {
  Picture picture;
  return decodePicture(bytes, options, picture).message();
}

void expectPixels(const std::string &name, int64_t channels, const std::string &reference) {
  DecodeOptions options;
  options.channels = channels;
  Picture picture;
  Status status = decodePicture(file(name), options, picture);
  ASSERT_TRUE(status.ok()) << name << ' ' << status.message();
  PixelView expected = References::get().view("pixels-" + reference), found = picture.view();
  ASSERT_EQ(found.height, expected.height);
  ASSERT_EQ(found.width, expected.width);
  ASSERT_EQ(found.channels, expected.channels);
  for (int64_t y = 0; y < found.height; ++y)
    for (int64_t x = 0; x < found.width; ++x)
      for (int64_t c = 0; c < found.channels; ++c)
        ASSERT_NEAR(valueAt(found, y, x, c), valueAt(expected, y, x, c), 1)
            << reference << ' ' << y << ' ' << x << ' ' << c;
}

TEST(DecodeTest, AgreesWithPillowToOneLevel) {
  auto names = References::get().names("file-");
  EXPECT_EQ(names.size(), 16u);
  for (const std::string &name : names)
    expectPixels(name, 3, name);
  expectPixels("png-rgb", 1, "png-rgb-gray");
  expectPixels("png-rgba", 4, "png-rgba-rgba");
  expectPixels("png-transparent", 4, "png-transparent-rgba");
}

TEST(DecodeTest, ChannelsOfTheFile) {
  for (auto [name, channels] : {std::pair("jpeg-420", 3),
                                {"jpeg-gray", 1},
                                {"jpeg-cmyk", 3},
                                {"png-rgb", 3},
                                {"png-gray", 1},
                                {"png-bits", 1},
                                {"png-palette", 3},
                                {"png-transparent", 4},
                                {"png-gray-alpha", 2},
                                {"png-rgba", 4},
                                {"png-16", 3}}) {
    DecodeOptions options;
    options.channels = 0;
    Picture picture;
    ASSERT_TRUE(decodePicture(file(name), options, picture).ok());
    EXPECT_EQ(picture.channels, channels) << name;
    EXPECT_EQ(picture.height, 29);
    EXPECT_EQ(picture.width, 37);
  }
}

TEST(DecodeTest, ScalesJpegsByPowersOfTwo) {
  DecodeOptions options;
  auto sizeAt = [&](int64_t height, int64_t width) {
    options.scaledHeight = height;
    options.scaledWidth = width;
    Picture picture;
    EXPECT_TRUE(decodePicture(file("jpeg-420"), options, picture).ok());
    return std::pair(picture.height, picture.width);
  };
  EXPECT_EQ(sizeAt(15, 18), std::pair(int64_t(29), int64_t(37))); // half of 29 is below 15
  EXPECT_EQ(sizeAt(14, 18), std::pair(int64_t(15), int64_t(19)));
  EXPECT_EQ(sizeAt(7, 9), std::pair(int64_t(8), int64_t(10)));
  EXPECT_EQ(sizeAt(1, 1), std::pair(int64_t(4), int64_t(5)));
}

TEST(DecodeTest, RefusesWhatIsNoPicture) {
  EXPECT_EQ(decodeError({}), "is empty");
  EXPECT_EQ(decodeError(File(100)), "is neither a JPEG nor a PNG file");
}

TEST(DecodeTest, RefusesOtherChannels) {
  DecodeOptions options;
  options.channels = 4;
  EXPECT_EQ(decodeError(file("jpeg-420"), options),
            "is a JPEG file, which gives 1 or 3 channels, expected 4");
  options.channels = 1;
  EXPECT_EQ(decodeError(file("jpeg-cmyk"), options),
            "is a CMYK JPEG file, expected gray or RGB for 1 channel");
}

TEST(DecodeTest, TruncatedAnywhereIsAnError) {
  for (const std::string &name : References::get().names("file-")) {
    File whole = file(name);
    // The last bytes only mark the end of the file.
    size_t needed = whole.size() - (name.starts_with("jpeg") ? 2 : 12);
    for (size_t length = 0; length < needed; length += 1 + length / 16) {
      Picture picture;
      File cut(whole.begin(), whole.begin() + ptrdiff_t(length));
      EXPECT_FALSE(decodePicture(cut, {}, picture).ok()) << name << " cut to " << length;
    }
  }
  File cut = file("jpeg-444");
  cut.resize(cut.size() / 2);
  EXPECT_EQ(decodeError(cut), "is no sound JPEG file: Premature end of JPEG file");
  cut = file("png-rgb");
  cut.resize(cut.size() / 2);
  EXPECT_EQ(decodeError(cut), "is no sound PNG file: the file ends too early");
}

TEST(DecodeTest, DamagedBytesNeverCrash) {
  for (const std::string &name : References::get().names("file-"))
    for (size_t step = 1; step < 40; ++step) {
      File damaged = file(name);
      for (size_t at = 8 + step; at < damaged.size(); at += 37 * step)
        damaged[at] ^= std::byte(step * 29);
      Picture picture;
      DecodeOptions options;
      options.maxPixels = 1 << 20;
      Status status = decodePicture(damaged, options, picture);
      if (!status.ok())
        EXPECT_FALSE(status.message().empty());
    }
  File damaged = file("png-rgb");
  damaged[damaged.size() / 2] ^= std::byte(1);
  EXPECT_NE(decodeError(damaged), "");
}

TEST(DecodeTest, AbsurdSizesAreRefusedBeforeMemoryIsTaken) {
  File jpeg = file("jpeg-444"), png = file("png-rgb");
  for (size_t at = 0;; ++at)
    if (jpeg[at] == std::byte(0xff) && jpeg[at + 1] == std::byte(0xc0)) {
      for (size_t i : {5, 7}) // height and width of the frame
        jpeg[at + i] = std::byte(0xea), jpeg[at + i + 1] = std::byte(0x60);
      break;
    }
  EXPECT_EQ(decodeError(jpeg), "has 60000 x 60000 pixels, expected at most 134217728 in all");

  DecodeOptions options;
  options.maxPixels = 37 * 29 - 1;
  EXPECT_EQ(decodeError(png, options), "has 37 x 29 pixels, expected at most 1072 in all");
  options.maxPixels = 37 * 29;
  EXPECT_EQ(decodeError(png, options), "");
}

} // namespace
