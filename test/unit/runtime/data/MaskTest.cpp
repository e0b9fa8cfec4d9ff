// Pictures with masks: maps that treat both alike, and what is refused.
#include "test/unit/runtime/data/DataTesting.h"
#include "test/unit/runtime/data/image/References.h"

#include <filesystem>
#include <sys/stat.h>

using namespace gradc::runtime;
using namespace gradc::runtime::test;

namespace {

Bytes pictureFile(const std::string &name) {
  auto bytes = References::get().bytes("file-" + name);
  return {bytes.begin(), bytes.end()};
}

/// Four times the same file of one bit per pixel, 37 x 29, as a picture and as its mask.
class MaskTest : public testing::Test {
protected:
  MaskTest() {
    context.folders = {folder.path};
    for (const char *name : {"pictures", "masks"}) {
      mkdir((folder / name).c_str(), 0777);
      for (const char *file : {"a", "b", "c", "d"})
        writeFile(folder / (std::string(name) + "/" + file + ".png"), pictureFile("png-bits"));
    }
    demand(29, 37);
  }

  void demand(int64_t height, int64_t width) {
    context.demands = {{"image", "x", GRADC_F32, {height, width, 1}, 0},
                       {"mask", "m", GRADC_I64, {height, width, 1}, 0}};
  }
  static std::string both(std::string_view step) {
    return R"(map { field: "image" field: "mask" )" + std::string(step) + " } ";
  }
  static std::string image(std::string_view step) {
    return R"(map { field: "image" )" + std::string(step) + " } ";
  }
  static std::string mask(std::string_view step) {
    return R"(map { field: "mask" )" + std::string(step) + " } ";
  }
  std::string data(const std::string &maps) const {
    return R"(source { folder { path: "pictures" masks: "masks" } } )" + decoded + maps +
           image("cast: F32") + mask("cast: I64") + "batch { size: 4 }";
  }

  TemporaryFolder folder;
  DataContext context;
  const std::string decoded = image("decode { channels: 1 }") + mask("decode { indices: true }");
};

/// White is class 1, as png-bits has no palette.
TEST_F(MaskTest, PicturesAndMasksAreCutAndFlippedAlike) {
  demand(20, 20);
  std::string maps = both("random_crop { height: 20 width: 20 }") + both("flip { vertical: 0.5 }");
  auto pixels = firstBatch<float>(data(maps), context);
  auto classes = firstBatch<int64_t>(data(maps), context, 1);
  ASSERT_EQ(pixels.size(), 4u * 400);
  ASSERT_EQ(classes.size(), pixels.size());
  for (size_t i = 0; i < pixels.size(); ++i)
    ASSERT_EQ(pixels[i], float(classes[i] * 255)) << i;
  EXPECT_FALSE(std::equal(pixels.begin(), pixels.begin() + 400, pixels.begin() + 400));
}

TEST_F(MaskTest, ABorderHasAClassOfItsOwn) {
  demand(33, 41);
  std::string maps = both("random_crop { height: 33 width: 41 padding: 2 fill: 7 mask_fill: 9 }");
  auto pixels = firstBatch<float>(data(maps), context);
  auto classes = firstBatch<int64_t>(data(maps), context, 1);
  ASSERT_EQ(pixels.size(), classes.size());
  int64_t border = 0;
  for (size_t i = 0; i < pixels.size(); ++i) {
    ASSERT_EQ(pixels[i] == 7, classes[i] == 9) << i;
    border += classes[i] == 9;
  }
  EXPECT_EQ(border, 4 * (33 * 41 - 29 * 37));
  EXPECT_EQ(buildError(data(both("random_crop { height: 9 width: 9 mask_fill: 256 }")), context),
            "random_crop { mask_fill } is 256, expected a class, 0 to 255");
}

TEST_F(MaskTest, PicturesThatAreCutAlikeHaveOneSize) {
  demand(8, 8);
  std::string smaller = mask("resize { shorter: 20 filter: NEAREST }"),
              crop = "random_crop { height: 8 width: 8 }";
  EXPECT_EQ(batchError(data(smaller + both(crop)), context),
            "'" + folder / "masks/a.png" +
                "': field 'mask' has 26 x 20 pixels, expected those of field 'image', 37 x 29, as "
                "both are cut at the same random place");
  // What is resized before has one size, which is known without reading.
  EXPECT_EQ(
      batchError(data(smaller + both("resize { height: 9 width: 9 filter: NEAREST }") + both(crop)),
                 context),
      "");
}

TEST_F(MaskTest, FieldsHaveNamesOfTheirOwn) {
  auto error = [&](const std::string &names) {
    return buildError("source { folder { path: \"pictures\" " + names + " } } batch { size: 4 }",
                      context);
  };
  EXPECT_EQ(error(R"(masks: "masks" mask: "image")"),
            "folder gives the name 'image' to its pictures and its masks: write image or mask with "
            "another one");
  EXPECT_EQ(error(R"(masks: "masks" image: "mask")"),
            "folder gives the name 'mask' to its pictures and its masks: write image or mask with "
            "another one");
  EXPECT_EQ(error(R"(masks: "masks" label: "mask")"),
            "folder gives the name 'mask' to its labels and its masks: write label or mask with "
            "another one");
  EXPECT_EQ(error(R"(image: "label")"),
            "folder gives the name 'label' to its pictures and its labels: write image or label "
            "with another one");
  EXPECT_EQ(
      error(R"(mask: "classes")"),
      "folder { mask } names a field 'classes' of masks, but there is no folder of masks: add "
      "masks: \"masks\"");
}

TEST_F(MaskTest, ErrorsOfAMaskNameItsFile) {
  demand(29, 37);
  std::string maps = both("resize { height: 29 width: 37 }"), path = folder / "masks/c.png";
  writeFile(path, {});
  for (const char *before : {"", "repeat { times: 2 } "})
    EXPECT_EQ(batchError(data(maps + before), context), "'" + path + "': field 'mask' is empty");
  writeFile(path, pictureFile("png-bits"));
  // A class that the loss does not have.
  context.demands[1].classes = 1;
  std::string error = batchError(data(maps), context);
  EXPECT_NE(error.find(" in '" + folder / "masks/a.png" + "', field 'mask', expected "),
            std::string::npos)
      << error;
  // The other way around, a picture's error does not name the mask.
  writeFile(folder / "pictures/a.png", {});
  EXPECT_EQ(batchError(data(maps), context),
            "'" + folder / "pictures/a.png" + "': field 'image' is empty");
}

TEST_F(MaskTest, ARandomMapOfAPictureWithoutItsMaskIsRefused) {
  EXPECT_EQ(buildError(data(image("flip { }") + mask("flip { }")), context),
            "flip of field 'image' alone leaves its mask 'mask' as it is, which would not fit any "
            "more: name both, field: \"image\" field: \"mask\"");
  EXPECT_EQ(buildError(data(mask("random_crop { height: 29 width: 37 }")), context),
            "random_crop of field 'mask' alone leaves its picture 'image' as it is, which would "
            "not fit any more: name both, field: \"image\" field: \"mask\"");
  // These move nothing at random.
  EXPECT_EQ(
      buildError(data(both("resize { height: 29 width: 37 filter: NEAREST }") +
                      image("flip { horizontal: 1 }") + image("color_jitter { brightness: 0.5 }")),
                 context),
      "built");
  // Pictures alone have no masks.
  context.demands.pop_back();
  EXPECT_EQ(buildError(R"(source { folder { path: "pictures" masks: "masks" } } )" +
                           image("decode { channels: 1 }") + image("flip { }") +
                           image("resize { height: 29 width: 37 }") + "batch { size: 4 }",
                       context),
            "built");
}

TEST_F(MaskTest, ClassesAreNotMixed) {
  demand(10, 10);
  auto classes = firstBatch<int64_t>(data(both("resize { height: 10 width: 10 }")), context, 1);
  ASSERT_EQ(classes.size(), 400u);
  for (int64_t number : classes)
    ASSERT_TRUE(number == 0 || number == 1) << number;
  EXPECT_EQ(classes,
            firstBatch<int64_t>(data(image("resize { height: 10 width: 10 }") +
                                     mask("resize { height: 10 width: 10 filter: NEAREST }")),
                                context, 1));
  for (std::string filter : {"BILINEAR", "AREA"}) {
    std::string resize = "resize { height: 10 width: 10 filter: " + filter + " }",
                message = "resize { filter: " + filter +
                          " } of field 'mask' would mix classes: its pixels are indices, and what "
                          "lies between two of them is another class; leave filter out, or write "
                          "NEAREST";
    EXPECT_EQ(buildError(data(both(resize)), context), message);
    EXPECT_EQ(buildError(data(image("resize { height: 10 width: 10 }") + mask(resize)), context),
              message);
    EXPECT_EQ(buildError(
                  data(image("resize { height: 10 width: 10 }") + mask("cast: F32") + mask(resize)),
                  context),
              message);
  }
  // Numbers that are no classes any more may lie between two others.
  context.demands[1].dtype = GRADC_F32;
  EXPECT_EQ(buildError(R"(source { folder { path: "pictures" masks: "masks" } } )" + decoded +
                           image("resize { height: 10 width: 10 }") + mask("cast: F32 scale: 0.5") +
                           mask("resize { height: 10 width: 10 }") + "batch { size: 4 }",
                       context),
            "built");
}

TEST_F(MaskTest, ColorsOfClassesDoNotChange) {
  EXPECT_EQ(buildError(data(both("color_jitter { brightness: 0.5 }")), context),
            "color_jitter of field 'mask' would change its pixels, which are classes: name fields "
            "of colors only");
  EXPECT_EQ(buildError(data(both("random_erase { }")), context),
            "random_erase of field 'mask' would change its pixels, which are classes: name fields "
            "of colors only");
  EXPECT_EQ(buildError(data(image("random_erase { value: 256 }")), context),
            "random_erase { value } is 256, expected 0 to 255");
}

TEST_F(MaskTest, ACacheFileIsMadeAgainWhenPicturesOrMasksChange) {
  demand(9, 9);
  auto cached = [&] { // the number of the file: another one if it was written
    firstBatch<float>(data("cache { path: \"kept\" } " + both("resize { height: 9 width: 9 }")),
                      context);
    struct stat file = {};
    EXPECT_EQ(stat((folder / "kept").c_str(), &file), 0);
    return file.st_ino;
  };
  auto before = cached();
  EXPECT_EQ(cached(), before);
  for (const char *changed : {"pictures/d.png", "masks/a.png"}) {
    auto time = std::filesystem::last_write_time(folder / changed);
    std::filesystem::last_write_time(folder / changed, time - std::chrono::seconds(100));
    auto after = cached();
    EXPECT_NE(after, before) << changed;
    before = after;
  }
  // Another name is another place in the order.
  for (const std::string &kind : {folder / "pictures/", folder / "masks/"})
    std::filesystem::rename(kind + "a.png", kind + "e.png");
  EXPECT_NE(cached(), before);
}

} // namespace
