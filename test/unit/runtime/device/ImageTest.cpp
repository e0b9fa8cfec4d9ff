// Kernel images: loaded from memory, several at once, and never mistaken for each other.
#include "runtime/device/Image.h"
#include "test/unit/runtime/ArtifactBuilder.h"

#include <gtest/gtest.h>

using namespace gradc::runtime;
using namespace gradc::runtime::test;

namespace {

using Kernel = void (*)(void *const *, int64_t, int64_t);

TEST(Image, RunsKernelsFromMemory) {
  auto image = openElfImage(readFile(GRADC_TEST_KERNELS));
  ASSERT_TRUE(image) << image.status().message();
  auto kernel = reinterpret_cast<Kernel>((*image)->findKernel("double_rows"));
  ASSERT_NE(kernel, nullptr);
  EXPECT_EQ((*image)->findKernel("no_such_kernel"), nullptr);
  float in[32], out[32];
  for (int i = 0; i < 32; ++i)
    in[i] = float(i);
  void *slices[] = {in, out};
  kernel(slices, 0, 2);
  EXPECT_EQ(out[3], 6);
  EXPECT_EQ(out[17], 35);
}

// The loader identifies images by path: an image that reuses a descriptor must not be taken for an
// older one.
TEST(Image, TwoImagesAreTwo) {
  Bytes code = readFile(GRADC_TEST_KERNELS);
  auto first = openElfImage(code);
  auto second = openElfImage(code);
  ASSERT_TRUE(first && second);
  EXPECT_NE((*first)->findKernel("sum_all"), (*second)->findKernel("sum_all"));
  for (int i = 0; i < 50; ++i) {
    auto again = openElfImage(code);
    ASSERT_TRUE(again);
    EXPECT_NE((*again)->findKernel("sum_all"), (*first)->findKernel("sum_all"));
  }
}

TEST(Image, RefusesWhatIsNoImage) {
  auto text = openElfImage(Bytes(1000));
  ASSERT_FALSE(text);
  EXPECT_EQ(text.status().message(), "the kernel image is not an ELF object");
  Bytes truncated = readFile(GRADC_TEST_KERNELS);
  truncated.resize(100);
  auto cut = openElfImage(truncated);
  ASSERT_FALSE(cut);
  EXPECT_NE(cut.status().message().find("cannot load the kernel image: "), std::string::npos);
}

} // namespace
