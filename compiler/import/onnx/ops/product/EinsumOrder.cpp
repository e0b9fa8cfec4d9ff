// Up to `mostCompared` factors, all orders are compared; of more, the pair is multiplied first
// whose product is the smallest, relative to its factors. Gradients multiply as often as the
// product itself, so the best order for one is the best for all.
#include "compiler/import/onnx/ops/product/EinsumOrder.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace gradc;

/// Of 8 factors, 6,561 divisions of subsets are compared.
static constexpr unsigned mostCompared = 8;

/// The number of elements of a tensor with these dims.
static uint64_t countOf(const SmallBitVector &dims, ArrayRef<int64_t> sizes) {
  uint64_t count = 1;
  for (unsigned d : dims.set_bits())
    count = SaturatingMultiply<uint64_t>(count, sizes[d]);
  return count;
}

namespace {
/// The best order for each subset of the factors. Factor i is bit n - 1 - i of a subset, so that
/// counting down tries the division of the last factor first.
class AllOrders {
public:
  explicit AllOrders(const EinsumFactors &of) : of(of), count(of.factors.size()) {
    best.resize(size_t(1) << count);
    for (unsigned subset = 1; subset < best.size(); ++subset)
      findBest(subset);
  }

  /// Appends the pairs of a subset to `pairs`, and returns the number of its product.
  unsigned append(unsigned subset, SmallVectorImpl<std::pair<unsigned, unsigned>> &pairs) const {
    if (isPowerOf2_32(subset))
      return count - 1 - Log2_32(subset);
    unsigned left = append(best[subset].left, pairs);
    unsigned right = append(subset & ~best[subset].left, pairs);
    pairs.push_back({left, right});
    return count + pairs.size() - 1;
  }

private:
  struct Best {
    SmallBitVector dims; ///< of the product of the subset
    uint64_t multiplications = 0;
    unsigned left = 0; ///< the subset whose product is the left factor
  };

  void findBest(unsigned subset) {
    Best &here = best[subset];
    SmallBitVector inside(of.sizes.size()), outside(of.result);
    for (unsigned i : seq(count))
      (subset >> (count - 1 - i) & 1 ? inside : outside) |= of.factors[i];
    here.dims = inside;
    here.dims &= outside;
    if (isPowerOf2_32(subset))
      return;
    here.multiplications = ~uint64_t(0);
    unsigned first = bit_floor(subset);
    for (unsigned left = (subset - 1) & subset; left & first; left = (left - 1) & subset) {
      const Best &a = best[left], &b = best[subset & ~left];
      SmallBitVector dims(a.dims);
      dims |= b.dims;
      uint64_t total = SaturatingAdd(countOf(dims, of.sizes), a.multiplications, b.multiplications);
      if (total < here.multiplications || !here.left) {
        here.multiplications = total;
        here.left = left;
      }
    }
  }

  const EinsumFactors &of;
  unsigned count;
  SmallVector<Best> best;
};
} // namespace

/// The dims of the product of two of the `left` factors.
static SmallBitVector dimsOfProduct(const EinsumFactors &of, ArrayRef<SmallBitVector> dims,
                                    ArrayRef<unsigned> left, unsigned i, unsigned j) {
  SmallBitVector inside(dims[left[i]]), outside(of.result);
  inside |= dims[left[j]];
  for (unsigned other : seq<unsigned>(left.size()))
    if (other != i && other != j)
      outside |= dims[left[other]];
  inside &= outside;
  return inside;
}

static SmallVector<std::pair<unsigned, unsigned>> orderBySizes(const EinsumFactors &of) {
  SmallVector<SmallBitVector> dims(of.factors);
  SmallVector<std::pair<unsigned, unsigned>> pairs;
  SmallVector<unsigned> left = to_vector(seq<unsigned>(dims.size()));
  // As doubles: the growth may be negative.
  auto elements = [&](const SmallBitVector &tensor) { return double(countOf(tensor, of.sizes)); };
  while (left.size() > 1) {
    double least = std::numeric_limits<double>::infinity();
    unsigned first = 0, second = 1;
    for (unsigned i : seq<unsigned>(left.size()))
      for (unsigned j : seq<unsigned>(i + 1, left.size())) {
        double growth = elements(dimsOfProduct(of, dims, left, i, j)) - elements(dims[left[i]]) -
                        elements(dims[left[j]]);
        if (growth < least)
          std::tie(least, first, second) = std::tuple(growth, i, j);
      }
    dims.push_back(dimsOfProduct(of, dims, left, first, second));
    pairs.push_back({left[first], left[second]});
    left[first] = dims.size() - 1;
    left.erase(left.begin() + second);
  }
  return pairs;
}

SmallVector<std::pair<unsigned, unsigned>> gradc::einsumOrder(const EinsumFactors &of) {
  if (of.factors.size() > mostCompared)
    return orderBySizes(of);
  SmallVector<std::pair<unsigned, unsigned>> pairs;
  AllOrders(of).append((1u << of.factors.size()) - 1, pairs);
  return pairs;
}
