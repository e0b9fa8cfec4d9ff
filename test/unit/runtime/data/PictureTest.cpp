// Pictures from folders and records through the steps of a spec, and errors for invalid ones.
#include "runtime/data/image/Decode.h"
#include "runtime/data/image/Resample.h"
#include "test/unit/runtime/data/DataTesting.h"
#include "test/unit/runtime/data/Records.h"
#include "test/unit/runtime/data/image/References.h"

#include <cmath>
#include <cstring>
#include <span>
#include <sys/stat.h>

using namespace gradc::runtime;
using namespace gradc::runtime::test;

namespace {

Bytes picture(const std::string &name) {
  auto bytes = References::get().bytes("file-" + name);
  return {bytes.begin(), bytes.end()};
}

/// A PNG file of one gray pixel of 16 bits.
Bytes deepGray() {
  constexpr unsigned char file[] = {
      0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48,
      0x44, 0x52, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x01, 0x10, 0x00, 0x00, 0x00,
      0x00, 0x6a, 0xee, 0x47, 0x16, 0x00, 0x00, 0x00, 0x0b, 0x49, 0x44, 0x41, 0x54, 0x78,
      0x9c, 0x63, 0x60, 0x60, 0x04, 0x00, 0x00, 0x04, 0x00, 0x02, 0xbf, 0x7a, 0x3f, 0x4a,
      0x00, 0x00, 0x00, 0x00, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82};
  auto bytes = std::as_bytes(std::span(file));
  return {bytes.begin(), bytes.end()};
}

/// Two classes, five pictures, and a file that is not a picture.
class PictureTest : public testing::Test {
protected:
  PictureTest() {
    context.folders = {folder.path};
    context.demands = {{"image", "x", GRADC_F32, {3, 16, 16}, 0}, {"label", "y", GRADC_I64, {}, 2}};
    for (const char *name : {"pictures", "pictures/dogs", "pictures/cats", "pictures/cats/more"})
      mkdir((folder / name).c_str(), 0777);
    writeFile(folder / "pictures/dogs/1.jpg", picture("jpeg-420"));
    writeFile(folder / "pictures/dogs/2.PNG", picture("png-palette"));
    writeFile(folder / "pictures/cats/b.jpeg", picture("jpeg-progressive"));
    writeFile(folder / "pictures/cats/a.png", picture("png-rgb"));
    writeFile(folder / "pictures/cats/more/c.jpg", picture("jpeg-gray"));
    writeFile(folder / "pictures/cats/notes.txt", picture("jpeg-gray"));
    writeFile(folder / "pictures/cats/.hidden.jpg", picture("jpeg-gray"));
    writeFile(folder / "pictures/outside.jpg", picture("jpeg-gray"));
  }

  static std::string spec(std::string_view maps, std::string_view source = "path: \"pictures\"") {
    return "source { folder { " + std::string(source) + " } } " + std::string(maps) +
           " batch { size: 2 }";
  }
  static std::string map(std::string_view step) {
    return "map { field: \"image\" " + std::string(step) + " } ";
  }

  /// All pictures and labels of several epochs.
  struct Run {
    std::vector<float> pixels;
    std::vector<int64_t> labels;
    std::string error;
  };
  Run run(const std::string &data, int epochs = 1) {
    Run result;
    auto dataset = build(data, context);
    if (!dataset) {
      result.error = dataset.status().message();
      return result;
    }
    auto iterator = (*dataset)->iterate();
    Batch batch = (*dataset)->allocate();
    size_t perPicture = (*dataset)->fields()[0].elements();
    while (epochs) {
      if (Status status = iterator->next(batch); !status.ok()) {
        result.error = status.message();
        return result;
      }
      auto *pixels = reinterpret_cast<const float *>(batch.field(0));
      result.pixels.insert(result.pixels.end(), pixels, pixels + size_t(batch.rows) * perPicture);
      auto *labels = reinterpret_cast<const int64_t *>(batch.field(1));
      result.labels.insert(result.labels.end(), labels, labels + batch.rows);
      epochs -= batch.endsEpoch;
    }
    return result;
  }

  /// The first pixel of a mask with that class.
  static int64_t firstOf(const int64_t *mask, int64_t wanted) {
    int64_t i = 0;
    while (mask[i] != wanted)
      ++i;
    return i;
  }

  TemporaryFolder folder;
  DataContext context;
  const std::string usual = map("decode { }") + map("resize { height: 16 width: 16 }") +
                            map("normalize { mean: 0.5 deviation: 0.25 }");
};

TEST_F(PictureTest, FolderGivesClassesInTheOrderOfTheirNames) {
  Run all = run(spec(usual));
  EXPECT_EQ(all.error, "");
  EXPECT_EQ(all.labels, (std::vector<int64_t>{0, 0, 0, 1, 1}));
  // The first is cats/a.png, the last dogs/2.PNG.
  const char *names[] = {"png-rgb", "jpeg-progressive", "jpeg-gray", "jpeg-420", "png-palette"};
  for (size_t i = 0; i < 5; ++i) {
    Picture decoded, resized;
    ASSERT_TRUE(decodePicture(picture(names[i]), {}, decoded).ok());
    resized.resize(16, 16, 3, GRADC_F32);
    Resampler().run(decoded.view(), Taps::resize(29, 16, Filter::bilinear, true),
                    Taps::resize(37, 16, Filter::bilinear, true), 0, {},
                    {resized.data(), GRADC_F32, false});
    for (int64_t y = 0; y < 16; ++y)
      for (int64_t x = 0; x < 16; ++x)
        for (int64_t c = 0; c < 3; ++c)
          ASSERT_NEAR(double(all.pixels[size_t(((int64_t(i) * 3 + c) * 16 + y) * 16 + x)]),
                      (valueAt(resized.view(), y, x, c) / 255 - 0.5) / 0.25, 1e-5)
              << names[i];
  }
}

TEST_F(PictureTest, ListFileGivesPathsAndLabels) {
  auto list = [&](std::string_view text) {
    auto raw = reinterpret_cast<const std::byte *>(text.data());
    writeFile(folder / "list.txt", Bytes(raw, raw + text.size()));
    return run(spec(usual, "path: \"pictures\" list: \"list.txt\""));
  };
  EXPECT_EQ(list("dogs/1.jpg 1\n# no picture\n\n  \ncats/a.png\t0\r\noutside.jpg 1").labels,
            (std::vector<int64_t>{1, 0, 1}));
  EXPECT_EQ(list("dogs/1.jpg wolf\ncats/a.png lynx\ndogs/2.PNG wolf\n").labels,
            (std::vector<int64_t>{1, 0, 1}));
  EXPECT_EQ(list("dogs/1.jpg 1\nalone\n").error,
            folder / "list.txt" + ":2: expected a path and a label, found 'alone'");
  EXPECT_EQ(list("dogs/1.jpg -1\n").error,
            "'" + folder / "list.txt" + "' has label -1, expected 0 or more");
  EXPECT_EQ(list("dogs/1.jpg 9223372036854775807\n").error,
            "'" + folder / "list.txt" +
                "' has label 9223372036854775807, expected at most 9223372036854775806");
  EXPECT_EQ(list("#\n").error, "the list '" + folder / "list.txt" + "' names no picture");
  EXPECT_EQ(list("dogs/3.jpg 1\n").error,
            "'" + folder / "pictures/dogs/3.jpg" + "' cannot be read: No such file or directory");
  ASSERT_EQ(mkfifo((folder / "pictures/dogs/3.jpg").c_str(), 0600), 0); // nobody writes to it
  EXPECT_EQ(list("dogs/3.jpg 1\n").error,
            "'" + folder / "pictures/dogs/3.jpg" + "' cannot be read: not a regular file");
}

TEST_F(PictureTest, FolderErrorsNameTheFolder) {
  EXPECT_EQ(run(spec(usual, "path: \"photos\"")).error,
            "cannot find data file 'photos', tried '" + folder / "photos" + "'");
  EXPECT_EQ(run(spec(usual, "path: \"pictures/dogs\"")).error,
            "the folder '" + folder / "pictures/dogs" +
                "' has no folders in it, expected one for each class");
  mkdir((folder / "pictures/birds").c_str(), 0777);
  EXPECT_EQ(run(spec(usual)).error, "the folder '" + folder / "pictures/birds" +
                                        "' holds no picture (.jpg, .jpeg or .png), expected some "
                                        "of each class");
  EXPECT_EQ(run(spec(usual, "path: \"pictures/outside.jpg\"")).error,
            "cannot read the folder '" + folder / "pictures/outside.jpg" + "': Not a directory");
}

/// The masks are png-bits, of 1 bit, and png-palette.
TEST_F(PictureTest, MasksAreOneMoreFieldOfFiles) {
  for (const char *name : {"masks", "masks/dogs", "masks/cats", "masks/cats/more"})
    mkdir((folder / name).c_str(), 0777);
  for (const char *name : {"dogs/1", "dogs/2", "cats/a", "cats/b", "cats/more/c"})
    writeFile(folder / ("masks/" + std::string(name) + ".png"), picture("png-bits"));
  std::string maps =
      map("decode { }") + map("resize { height: 16 width: 16 }") +
      map("normalize { mean: 0.5 deviation: 0.25 }") +
      "map { field: \"mask\" decode { indices: true } } map { field: \"mask\" resize "
      "{ height: 29 width: 37 filter: NEAREST } } map { field: \"mask\" cast: I64 } ";
  std::string source = "path: \"pictures\" masks: \"masks\"";
  context.demands[1] = {"mask", "m", GRADC_I64, {29, 37, 1}, 0};
  // There are no labels, so a picture outside of the folders of classes is one, too.
  EXPECT_EQ(run(spec(maps, source)).error, "the folder '" + folder / "masks" +
                                               "' has no mask (.png, .jpg or .jpeg) for the "
                                               "picture 'outside.jpg'");
  writeFile(folder / "masks/outside.png", picture("png-palette"));
  writeFile(folder / "masks/notes.txt", picture("png-bits"));

  auto dataset = build(spec(maps, source), context);
  ASSERT_TRUE(dataset.ok()) << dataset.status().message();
  EXPECT_EQ((*dataset)->rows(), 6);
  auto iterator = (*dataset)->iterate();
  Batch batch = (*dataset)->allocate();
  Picture gray, colors;
  ASSERT_TRUE(decodePicture(picture("png-bits"), {.channels = 1}, gray).ok());
  ASSERT_TRUE(decodePicture(picture("png-palette"), {}, colors).ok());
  constexpr int64_t pixels = 29 * 37;
  for (int64_t first = 0; first < 6; first += 2) {
    ASSERT_TRUE(iterator->next(batch).ok());
    auto *masks = reinterpret_cast<const int64_t *>(batch.field(1));
    for (int64_t i = 0; i < 2 * pixels; ++i) {
      int64_t y = i % pixels / 37, x = i % 37;
      if (first == 0 && i < pixels) { // outside.jpg: an index is a color
        for (int64_t c = 0; c < 3; ++c)
          ASSERT_EQ(valueAt(colors.view(), y, x, c),
                    valueAt(colors.view(), firstOf(masks, masks[i]) / 37,
                            firstOf(masks, masks[i]) % 37, c));
      } else {
        ASSERT_EQ(double(masks[i]) * 255, valueAt(gray.view(), y, x, 0));
      }
    }
  }

  writeFile(folder / "masks/outside.jpg", picture("jpeg-gray"));
  EXPECT_EQ(run(spec(maps, source)).error,
            "the folder '" + folder / "masks" +
                "' has two masks for one picture, 'outside.jpg' and 'outside.png'");
  remove((folder / "masks/outside.png").c_str());
  EXPECT_EQ(run(spec(maps, source)).error,
            "'" + folder / "masks/outside.jpg" +
                "': field 'mask' is a JPEG file, whose pixels are not stored exactly: expected a "
                "PNG file of indices");
  writeFile(folder / "masks/outside.jpg", picture("png-rgb"));
  EXPECT_EQ(run(spec(maps, source)).error,
            "'" + folder / "masks/outside.jpg" +
                "': field 'mask' is a PNG file of colors, expected a palette or gray values");
  writeFile(folder / "masks/outside.jpg", deepGray());
  EXPECT_EQ(run(spec(maps, source)).error,
            "'" + folder / "masks/outside.jpg" +
                "': field 'mask' is a PNG file of 16 bits a pixel, expected 8 or fewer");
  EXPECT_EQ(run(spec("map { field: \"mask\" decode { indices: true channels: 3 } }", source)).error,
            "decode { indices } has 1 channel, found channels: 3");

  // A label that the source names has folders of classes.
  context.demands.push_back({"kind", "k", GRADC_I64, {}, 2});
  EXPECT_EQ(run(spec(maps, source)).error, "model input 'k' is fed from field 'kind', but the "
                                           "folder source has 'image' and 'mask'");
  dataset = build(spec(maps, source + " label: \"kind\""), context);
  ASSERT_TRUE(dataset.ok()) << dataset.status().message();
  EXPECT_EQ((*dataset)->rows(), 5);
}

TEST_F(PictureTest, PictureErrorsNameTheFile) {
  std::string path = folder / "pictures/cats/a.png";
  writeFile(path, {});
  EXPECT_EQ(run(spec(usual)).error, "'" + path + "': field 'image' is empty");
  writeFile(path, Bytes(50));
  EXPECT_EQ(run(spec(usual)).error,
            "'" + path + "': field 'image' is neither a JPEG nor a PNG file");
  Bytes cut = picture("jpeg-444");
  cut.resize(cut.size() / 2);
  writeFile(path, cut);
  EXPECT_EQ(run(spec(usual)).error,
            "'" + path + "': field 'image' is no sound JPEG file: Premature end of JPEG file");
  writeFile(path, picture("png-rgb"));
  EXPECT_EQ(run(spec(map("decode { max_pixels: 1000 }") + map("resize { height: 16 width: 16 }") +
                     map("normalize { }")))
                .error,
            "'" + path + "': field 'image' has 37 x 29 pixels, expected at most 1000 in all");
  EXPECT_EQ(run(spec(map("decode { }") + map("crop { height: 30 width: 20 }") +
                     map("resize { height: 16 width: 16 }") + map("normalize { }")))
                .error,
            "'" + path + "': field 'image' has 37 x 29 pixels, expected at least 20 x 30 to crop");
}

TEST_F(PictureTest, PicturesOfVaryingSizeAreNoInput) {
  EXPECT_EQ(run(spec(map("decode { }") + map("normalize { }"))).error,
            "field 'image' of '" + folder / "pictures" +
                "' has rows of shape [3, ?, ?], but model input 'x' expects [3, 16, 16]");
}

TEST_F(PictureTest, StepsAreTheSameTogetherAndApart) {
  context.demands[0].shape = {3, 10, 12};
  std::string before = map("decode { }") + map("crop { height: 28 width: 36 }") +
                       map("resize { height: 14 width: 18 }");
  std::string steps = map("random_crop { height: 11 width: 13 padding: 2 fill: 7 }") +
                      map("flip { vertical: 0.5 }") + map("crop { height: 10 width: 12 }"),
              last = map("normalize { mean: 0.1 mean: 0.2 mean: 0.3 deviation: 0.5 deviation: 0.25 "
                         "deviation: 2 }");
  Run together = run(spec(before + steps + last), 2);
  // A step without effect keeps the passes separate.
  std::string apart = map("color_jitter { }");
  Run split = run(spec(before + apart + steps + last), 2);
  EXPECT_EQ(together.error, "");
  EXPECT_EQ(split.error, "");
  EXPECT_EQ(together.pixels.size(), split.pixels.size());
  Run fixed = run(spec(before + map("crop { height: 10 width: 12 }") + last)),
      fixedApart = run(spec(before + apart + map("crop { height: 10 width: 12 }") + apart + last));
  EXPECT_EQ(fixed.error, "");
  EXPECT_EQ(fixed.pixels, fixedApart.pixels);
}

TEST_F(PictureTest, RandomStepsAreAFunctionOfSeedEpochAndRow) {
  context.demands[0].shape = {3, 10, 12};
  std::string data =
      map("decode { }") + map("random_crop { height: 20 width: 24 }") + map("flip { }") +
      map("resize { height: 10 width: 12 }") +
      map("color_jitter { brightness: 0.5 contrast: 0.5 saturation: 0.5 hue: 0.1 }") +
      map("normalize { }");
  context.seed = 3;
  Run first = run(spec(data), 2), again = run(spec(data), 2);
  EXPECT_EQ(first.error, "");
  EXPECT_EQ(first.pixels, again.pixels);
  size_t epoch = first.pixels.size() / 2;
  EXPECT_NE(std::vector(first.pixels.begin(), first.pixels.begin() + ptrdiff_t(epoch)),
            std::vector(first.pixels.begin() + ptrdiff_t(epoch), first.pixels.end()));
  context.seed = 4;
  EXPECT_NE(run(spec(data), 2).pixels, first.pixels);
}

TEST_F(PictureTest, ScaledDecodingIsCloseToFullDecoding) {
  context.demands[0].shape = {3, 7, 9};
  auto at = [&](std::string_view decode) {
    return run(spec(map(decode) + map("resize { height: 7 width: 9 }") + map("normalize { }")));
  };
  Run full = at("decode { }"), half = at("decode { min_height: 14 min_width: 18 }");
  EXPECT_EQ(half.error, "");
  double sum = 0;
  for (size_t i = 0; i < full.pixels.size(); ++i)
    sum += double(std::abs(full.pixels[i] - half.pixels[i]));
  EXPECT_GT(sum, 0);
  EXPECT_LT(sum / double(full.pixels.size()), 0.05);
}

TEST_F(PictureTest, SpecErrors) {
  struct Case {
    std::string maps, message;
  };
  std::string decoded = map("decode { }");
  for (const Case &c : std::vector<Case>{
           {map("resize { height: 16 width: 16 }"),
            "resize of field 'image' expects pictures [height, width, channels] of type u8 or f32 "
            "with 1 to 4 channels, found u8 [?]"},
           {decoded + decoded,
            "decode of field 'image' expects files, u8 [varying], found u8 [?, ?, 3]"},
           {map("decode { channels: 2 }"), "decode { channels } is 2, expected 1, 3 or 4"},
           {map("decode { max_pixels: 0 }"), "decode { max_pixels } is 0, expected 1 or more"},
           {map("decode { min_height: 5 }"),
            "decode has min_height or min_width, expected both or none"},
           {decoded + map("resize { height: 16 }"), "resize { width } is 0, expected 1 to 32768"},
           {decoded + map("resize { shorter: 40000 }"),
            "resize { shorter } is 40000, expected 1 to 32768"},
           {decoded + map("resize { height: 1 width: 1 filter: CUBIC }"),
            "resize { filter } is 'CUBIC', expected BILINEAR, BICUBIC, NEAREST or AREA"},
           {decoded + map("crop { width: 16 }"), "crop { height } is 0, expected 1 to 32768"},
           {decoded + map("random_crop { height: 16 width: 16 padding: -1 }"),
            "random_crop { padding } is -1, expected 0 to 32768"},
           {decoded + map("random_crop { height: 16 width: 16 fill: 256 }"),
            "random_crop { fill } is 256, expected 0 to 255"},
           {decoded + map("flip { horizontal: 1.5 }"), "flip has probability 1.5, expected 0 to 1"},
           {decoded + map("color_jitter { hue: 0.75 }"),
            "color_jitter { hue } is 0.75, expected 0 to 0.5"},
           {decoded + map("color_jitter { max: 1 }"),
            "color_jitter { max } is 1, expected 255 for bytes"},
           {decoded + map("normalize { mean: 1 mean: 2 }"),
            "normalize { mean } has 2 values, expected 1 or one for each of 3 channels"},
           {decoded + map("normalize { deviation: 0 }"),
            "normalize has max 255, mean 0 and deviation 0, expected finite numbers, max and "
            "deviation above 0"}})
    EXPECT_EQ(run(spec(c.maps)).error, c.message);
}

/// The same pictures in records.
class RecordSourceTest : public PictureTest {
protected:
  RecordSourceTest() {
    for (Demand &demand : context.demands)
      demand.classes = demand.field == "label" ? 3 : 0;
    writeFile(folder / "one.tfrecord", tfRecords({example("png-rgb", 0), example("jpeg-420", 1)}));
    writeFile(folder / "two.tfrecord", tfRecords({example("jpeg-gray", 2)}));
  }
  static Bytes example(const char *name, int64_t label) {
    return encodeExample({{"image/encoded", bytesFeature({picture(name)})},
                          {"label", integersFeature({label})},
                          {"box", floatsFeature({1, 2, float(label)})}});
  }
  static std::string records(std::string_view paths, std::string_view label = "type: INT64") {
    return "source { tfrecord { " + std::string(paths) +
           R"( feature { name: "image/encoded" field: "image" } feature { name: "label" )" +
           std::string(label) + " } } } ";
  }
  const std::string both = R"(path: "one.tfrecord" path: "two.tfrecord")";
};

TEST_F(RecordSourceTest, FilesTakeTurns) {
  Run all = run(records(both) + usual + "batch { size: 2 }");
  EXPECT_EQ(all.error, "");
  EXPECT_EQ(all.labels, (std::vector<int64_t>{0, 2, 1}));
  Run folders = run(spec(usual));
  size_t picture = 3 * 16 * 16;
  EXPECT_TRUE(std::equal(all.pixels.begin(), all.pixels.begin() + ptrdiff_t(picture),
                         folders.pixels.begin()));
}

// Programs that write a given number of files leave some without records.
TEST_F(RecordSourceTest, SomeFilesMayBeEmpty) {
  for (const char *name : {"none-1.tfrecord", "none-2.tfrecord"})
    writeFile(folder / name, {});
  const std::string first = R"(path: "none-1.tfrecord" )", last = R"( path: "none-2.tfrecord")";
  for (const std::string &paths : {first + both, both + last, first + both + last}) {
    Run all = run(records(paths) + usual + "batch { size: 2 }");
    EXPECT_EQ(all.error, "");
    EXPECT_EQ(all.labels, (std::vector<int64_t>{0, 2, 1}));
  }
  for (const std::string &paths : {first + last, std::string("path: \"none-*.tfrecord\"")})
    EXPECT_EQ(run(records(paths) + usual + "batch { size: 2 }").error,
              "the data set is empty: there is no row in 2 files from '" +
                  folder / "none-1.tfrecord" + "' on");
}

TEST_F(RecordSourceTest, FixedShapes) {
  context.demands = {{"box", "x", GRADC_F32, {3}, 0}, {"label", "y", GRADC_I64, {}, 3}};
  auto shaped = [&](std::string_view feature) {
    return run("source { tfrecord { " + both + " feature { " + std::string(feature) +
               " } feature { name: \"label\" type: INT64 } } } batch { size: 2 }");
  };
  EXPECT_EQ(shaped("name: \"box\" type: FLOAT shape: 3").pixels,
            (std::vector<float>{1, 2, 0, 1, 2, 2, 1, 2, 1}));
  context.demands[0].shape = {2};
  EXPECT_EQ(shaped("name: \"box\" type: FLOAT shape: 2").error,
            "record 0 of '" + folder / "one.tfrecord" +
                "': feature 'box' has 3 values, expected 2");
  EXPECT_EQ(shaped("name: \"box\" type: FLOAT shape: 0").error,
            "tfrecord feature 'box' has shape [0], expected dims of 1 or more, 2^30 values at "
            "most");
}

TEST_F(RecordSourceTest, ErrorsNameFileAndRecord) {
  auto error = [&] { return run(records(both) + usual + "batch { size: 2 }").error; };
  Bytes whole = tfRecords({example("png-rgb", 0), example("jpeg-420", 1)}), damaged = whole;
  damaged[40] ^= std::byte(1);
  writeFile(folder / "two.tfrecord", damaged);
  EXPECT_EQ(error(), "record 0 of '" + folder / "two.tfrecord" +
                         "' is damaged: the checksum of its data differs");
  whole.resize(whole.size() - 10);
  writeFile(folder / "two.tfrecord", whole);
  EXPECT_TRUE(
      error().starts_with("record 1 of '" + folder / "two.tfrecord" + "' is cut off: expected "));
  writeFile(folder / "two.tfrecord", tfRecords({encodeExample({})}));
  EXPECT_EQ(error(),
            "record 0 of '" + folder / "two.tfrecord" + "' has no feature 'image/encoded'");
  EXPECT_EQ(run(records("path: \"three.tfrecord\"") + usual + "batch { size: 2 }").error,
            "cannot find data file 'three.tfrecord', tried '" + folder / "three.tfrecord" + "'");
  writeFile(folder / "one.tfrecord", {});
  EXPECT_EQ(run(records("path: \"one.tfrecord\"") + usual + "batch { size: 2 }").error,
            "the data set is empty: '" + folder / "one.tfrecord" + "' has no records");
  EXPECT_EQ(run(records(both, "type: TEXT") + usual + "batch { size: 2 }").error,
            "tfrecord feature 'label' has type 'TEXT', expected BYTES, FLOAT or INT64");
}

} // namespace
