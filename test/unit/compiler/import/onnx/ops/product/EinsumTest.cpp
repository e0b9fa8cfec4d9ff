// Einsum and other products of vectors: their values, their form, and the order of their factors.
#include "dialects/Pch.h"

#include "compiler/import/onnx/ops/product/EinsumOrder.h"
#include "test/unit/compiler/import/OneNode.h"

using namespace mlir;
using namespace gradc;

namespace {

using Shape = OneNode::Shape;
/// TensorProto's number of the type.
enum { FLOAT16 = 10 };

class EinsumTest : public OneNodeTest {};

TEST_F(EinsumTest, TakesDiagonalsSumsBroadcastsAndChains) {
  auto of = [](const char *equation) { return OneNode("Einsum", 12).set("equation", equation); };
  expect(of("ii").input({2, 2}), {}, {3});
  expect(of("iji->j").input({2, 2, 2}), {2}, {5, 9});
  expect(of("b,a").input({2}).input({3}), {3, 2}, {0, 0, 0, 1, 0, 2});
  expect(of("...i,i...->...").input({2, 2}).input({2, 1}, {1, 1}), {2}, {1, 5});
  expect(of("ij,jk,kl->li").input({1, 2}).input({2, 2}).input({2, 1}, {1, 1}), {1, 1}, {5});
  // Factors in another order than written, and more of them than are compared in all orders.
  expect(of("bxc,cdo,bd->bxo").input({2, 3, 2}).input({2, 2, 2}).input({2, 2}), {2, 3, 2},
         {6, 7, 22, 27, 38, 47, 218, 283, 282, 367, 346, 451});
  expect(of("bx,cdo,bd->oc").input({2, 3}).input({2, 2, 2}).input({2, 2}), {2, 2},
         {78, 330, 141, 393});
  OneNode chain = of("ab,bc,cd,de,ef,fg,gh,hi,ij->aj");
  for (int i = 0; i < 9; ++i)
    chain.input({2, 2});
  expect(chain, {2, 2}, {12558, 22363, 44726, 79647});
  expect(of("i j , j -> i").input({2, 1}, {2, 3}).input({3}, {1, 2, 3}), {2}, {12, 18});
  expectFails(of("ij,jk").input({2, 2}), {"expected an equation of 1 operands, found \"ij,jk\""});
  expectFails(of("ij->k").input({2, 2}), {"expected distinct letters of operands in the result"});
  expectFails(of("ij->ii").input({2, 2}), {"expected distinct letters of operands in the result"});
  expectFails(of("ijk").input({2, 2}), {"expected a term for 2 dims, found \"ijk\""});
  expectFails(of("i1").input({2, 2}), {"expected letters, with at most one ellipsis a term"});
  expectFails(of("ij,jk").input({2, 2}).input({3, 2}),
              {"expected one size for each letter, found 2 and 3 in operand 1"});
  expectFails(of("ii").input({2, 3}), {"expected dims 0 and 1 of operand 0"});
}

/// Products of two vectors are sums; those of 16 bits, and those of a matrix of one row, are not.
TEST_F(EinsumTest, VectorsAreMultipliedElementByElement) {
  auto einsum = [](const char *equation, int32_t type = 1) {
    return OneNode("Einsum", 12)
        .set("equation", equation)
        .input({2, 2}, {}, type)
        .input({2, 2}, {}, type);
  };
  expect(einsum("bi,bi->b"), {2}, {1, 13});
  expect(einsum("ij,ji->"), {}, {13});
  EXPECT_EQ(count<grad::MatmulOp>(einsum("ij,ji->")), 0);
  EXPECT_EQ(count<grad::MatmulOp>(einsum("ij,ji->", FLOAT16)), 1);
  EXPECT_EQ(count<grad::MatmulOp>(einsum("ij,jk->ik")), 1);
  auto matmul = [](const Shape &a, const Shape &b) {
    return OneNode("MatMul", 13).input(a).input(b);
  };
  expect(matmul({3}, {3}), {}, {5});
  expect(matmul({2, 1, 2}, {2, 2, 1}), {2, 1, 1}, {1, 13});
  expect(matmul({2, 1, 2}, {1, 2, 1}), {2, 1, 1}, {1, 3});
  expect(matmul({1, 2}, {2, 1}), {1, 1}, {1});
  for (const OneNode &one : {matmul({3}, {3}), matmul({2, 1, 2}, {2, 2, 1})})
    EXPECT_EQ(count<grad::MatmulOp>(one), 0);
  for (const OneNode &one : {matmul({1, 2}, {2, 1}), matmul({2, 1, 2}, {2, 2, 2})})
    EXPECT_EQ(count<grad::MatmulOp>(one), 1);
}

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
