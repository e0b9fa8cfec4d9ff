// Non-maximum suppressions as single kernels.
#include "test/unit/compiler/codegen/KernelRunner.h"

#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

#include <numeric>
#include <random>

using namespace gradc::test;
using llvm::formatv;

namespace {

/// Boxes of sides up to 2 in a square of 10, of which most are candidates; an order per class.
void placeBoxes(std::vector<HostTensor> &operands, double threshold, int64_t limit) {
  std::mt19937 random(7);
  auto upTo = [&](double most) { return most * (random() / 4294967296.0); };
  for (int64_t i = 0; i < operands[0].size(); ++i) {
    double top = upTo(10), left = upTo(10), height = upTo(2), width = upTo(2);
    const double sides[] = {top, left, top + height, left + width, height * width};
    for (size_t side = 0; side < 5; ++side)
      operands[side].setFloat(i, sides[side]);
  }
  HostTensor &order = operands[5];
  int64_t boxes = order.getShape()[2];
  for (int64_t row = 0; row < order.size() / boxes; ++row) {
    std::vector<int64_t> places(static_cast<size_t>(boxes));
    std::iota(places.begin(), places.end(), 0);
    std::shuffle(places.begin(), places.end(), random);
    for (int64_t i = 0; i < boxes; ++i) {
      order.setInt(row * boxes + i, places[size_t(i)]);
      operands[6].setInt(row * boxes + i, random() % 4 > 0);
    }
  }
  operands[7].setFloat(0, threshold);
  operands[8].setInt(0, limit);
}

void expectKept(const std::string &element, int64_t images, int64_t classes, int64_t boxes,
                double threshold, int64_t limit) {
  std::string side = formatv("tensor<{0}x{1}x{2}>", images, boxes, element),
              row = formatv("tensor<{0}x{1}x{2}x", images, classes, boxes);
  expectRight(formatv(R"(exec.kernel @k(%t: {0}, %l: {0}, %b: {0}, %r: {0}, %a: {0},
      %o: {1}i64>, %c: {1}i1>, %x: tensor<{2}>, %n: tensor<i64>) attributes {{
      schedule = #exec.schedule<lanes = 8, tile = [1, 1, {3}], order = [0, 1, 2], grain = 1, suppression>} {{
      %k = grad.non_max_suppression %t, %l, %b, %r, %a order %o candidates %c threshold %x limit %n :
        {0}, {1}i64>, {1}i1>, tensor<{2}>, tensor<i64>
      exec.yield %k : {1}i1> })",
                      side, row, element, boxes),
              0, nullptr,
              [&](std::vector<HostTensor> &operands) { placeBoxes(operands, threshold, limit); });
}

TEST(Suppression, SizesAndLimits) {
  for (const char *element : {"f32", "f64"})
    for (int64_t boxes : {1, 7, 100, 333})
      for (int64_t limit : {0, 5, 1000})
        expectKept(element, 2, 3, boxes, 0.3, limit);
}

TEST(Suppression, Thresholds) {
  for (double threshold : {0.0, 0.5, 1.0})
    expectKept("f32", 1, 1, 200, threshold, 100);
}

} // namespace
