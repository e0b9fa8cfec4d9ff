// Kernels whose exponentials wait in a result until their sum is known, and those where they
// cannot.
#include "test/unit/compiler/codegen/KernelRunner.h"
#include "test/unit/compiler/codegen/KernelText.h"

#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

using namespace gradc::test;
using llvm::formatv;

namespace {

// Vectors of every other element are not next to each other, so each element is added up alone.
TEST(KeptRows, OfStridedOperands) {
  for (auto [start, stride] : {std::pair(1, 2), {300, -1}})
    expectRight(formatv(R"(exec.kernel @k(%x: {0}) attributes {{{1}} {{
      %z = grad.slice %x starts [0, {3}] sizes [13, 301] strides [1, {4}] : {0}
      %s = grad.softmax %z dim 1 : {2}
      exec.yield %s : {2} })",
                        tensor({13, 602}), schedule(8, "1, 16", "0, 1"), tensor({13, 301}), start,
                        stride));
}

// The sums have loops of their own, after the softmax's; they must leave its rows as they are.
TEST(KeptRows, BesideSumsInAnotherShape) {
  expectRight(formatv(R"(exec.kernel @k(%x: {0}) attributes {{{2}} {{
    %e = grad.exp %x : {0}
    %t = grad.reduce_sum %e dims [2] : {0}
    %b = grad.broadcast %t dims [0, 1] : {1} -> {0}
    %p = grad.div %e, %b : {0}
    %r = grad.transpose %t permutation [1, 0] : {1}
    exec.yield %p, %r : {0}, {3} })",
                      tensor({2, 4, 301}), tensor({2, 4}), schedule(8, "1, 1, 16", "0, 1, 2"),
                      tensor({4, 2})));
}

} // namespace
