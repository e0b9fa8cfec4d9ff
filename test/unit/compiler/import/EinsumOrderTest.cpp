// The order in which the factors of an einsum are multiplied.
#include "dialects/Pch.h"

#include "compiler/import/onnx/EinsumOrder.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace gradc;

namespace {

using Pairs = SmallVector<std::pair<unsigned, unsigned>>;

/// The order for factors whose dims are letters of these sizes.
Pairs orderOf(ArrayRef<StringRef> factors, StringRef result, const std::map<char, int64_t> &sizes) {
  EinsumFactors of;
  std::map<char, unsigned> dims;
  for (auto [letter, size] : sizes) {
    dims[letter] = of.sizes.size();
    of.sizes.push_back(size);
  }
  auto dimsOf = [&](StringRef letters) {
    llvm::SmallBitVector set(dims.size());
    for (char letter : letters)
      set.set(dims[letter]);
    return set;
  };
  for (StringRef letters : factors)
    of.factors.push_back(dimsOf(letters));
  of.result = dimsOf(result);
  return einsumOrder(of);
}

TEST(EinsumOrder, TakesTheFewestMultiplications) {
  // Two small factors first: 65,536 and 3,211,264 multiplications in place of 103 million.
  EXPECT_EQ(orderOf({"bxyc", "cdo", "bd"}, "bxyo",
                    {{'b', 4}, {'x', 28}, {'y', 28}, {'c', 32}, {'d', 16}, {'o', 32}}),
            (Pairs{{1, 2}, {0, 3}}));
  // A chain of matrices whose best order begins in its middle: 9,375 multiplications.
  EXPECT_EQ(orderOf({"ij", "jk", "kl", "lm"}, "im",
                    {{'i', 30}, {'j', 35}, {'k', 15}, {'l', 5}, {'m', 10}}),
            (Pairs{{1, 2}, {0, 4}, {5, 3}}));
  // A dim that the result lacks is summed before it is multiplied.
  EXPECT_EQ(orderOf({"ax", "ab", "bc"}, "c", {{'a', 2}, {'b', 8}, {'c', 8}, {'x', 1000}}),
            (Pairs{{0, 1}, {3, 2}}));
}

TEST(EinsumOrder, KeepsTheOrderOfEqualCosts) {
  EXPECT_EQ(orderOf({"bf", "bg", "bh"}, "bfgh", {{'b', 64}, {'f', 16}, {'g', 16}, {'h', 16}}),
            (Pairs{{0, 1}, {3, 2}}));
  EXPECT_EQ(orderOf({"a"}, "a", {{'a', 4}}), Pairs());
  // More elements than can be counted.
  constexpr int64_t huge = int64_t(1) << 40;
  EXPECT_EQ(orderOf({"a", "b", "c"}, "abc", {{'a', huge}, {'b', huge}, {'c', huge}}),
            (Pairs{{0, 1}, {3, 2}}));
}

TEST(EinsumOrder, OfManyFactorsTheSmallestProductComesFirst) {
  EXPECT_EQ(orderOf({"ab", "bc", "cd", "de", "ef", "fg", "gh", "hi", "ij"}, "aj",
                    {{'a', 4},
                     {'b', 4},
                     {'c', 4},
                     {'d', 4},
                     {'e', 4},
                     {'f', 4},
                     {'g', 4},
                     {'h', 9},
                     {'i', 2},
                     {'j', 4}}),
            (Pairs{{6, 7}, {0, 1}, {10, 2}, {11, 3}, {12, 4}, {13, 5}, {14, 9}, {15, 8}}));
}

} // namespace
