// The dims that ops report, checked against their computation.
#include "Instances.h"

#include "dialects/grad/Permute.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include <set>

using namespace mlir;
using namespace mlir::grad;
using namespace gradc::test;

using Permutation = SmallVector<int64_t>;

static int64_t rankOf(Type type) { return cast<RankedTensorType>(type).getRank(); }

static HostTensor transposed(const HostTensor &tensor, ArrayRef<int64_t> permutation) {
  RankedTensorType type = tensor.getType();
  HostTensor result(type.clone(applyPermutation(type.getShape(), permutation)));
  int64_t position = 0;
  forEachIndex(result.getShape(), [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> source(index.size());
    for (auto [d, p] : llvm::enumerate(permutation))
      source[p] = index[d];
    int64_t from = grad::linearize(source, tensor.getShape());
    if (isa<FloatType>(type.getElementType()))
      result.setFloat(position++, tensor.getFloat(from));
    else
      result.setInt(position++, tensor.getInt(from));
  });
  return result;
}

/// The order of the remaining dims after `reduced` are removed from a tensor transposed by
/// `permutation`.
static Permutation keptOrder(ArrayRef<int64_t> reduced, ArrayRef<int64_t> permutation) {
  Permutation kept = otherDims(permutation.size(), reduced), order;
  for (int64_t d : permutation)
    if (auto it = llvm::find(kept, d); it != kept.end())
      order.push_back(it - kept.begin());
  return order;
}

static std::vector<Permutation> permutationsOf(int64_t rank) {
  Permutation permutation = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  std::vector<Permutation> all;
  do
    all.push_back(permutation);
  while (std::next_permutation(permutation.begin(), permutation.end()));
  return all;
}

TEST_F(Contract, KindsOfLoopsSayWhichDimsTheyWalk) {
  forEachInstance(/*onlyF64=*/true, [](Instance &instance) {
    auto loops = dyn_cast<LoopsOpInterface>(instance.op);
    if (!loops)
      return;
    LoopKind kind = loops.getLoopKind();
    EXPECT_EQ(kind == LoopKind::contraction, isa<ContractionOpInterface>(instance.op));
    EXPECT_EQ(kind == LoopKind::reduction, isa<ReductionOpInterface>(instance.op) ||
                                               isa<WindowOpInterface>(instance.op) ||
                                               isa<ScatterOp>(instance.op));
    EXPECT_FALSE(isa<ReductionOpInterface>(instance.op) && isa<WindowOpInterface>(instance.op));
    EXPECT_EQ(kind == LoopKind::movement, isa<MovementOpInterface>(instance.op));
  });
}

TEST_F(Contract, ReductionsAndMovementsNameDimsOfTheirSizes) {
  forEachInstance(/*onlyF64=*/true, [](Instance &instance) {
    auto shapeOf = [](Value v) { return cast<RankedTensorType>(v.getType()).getShape(); };
    if (auto reduction = dyn_cast<ReductionOpInterface>(instance.op)) {
      ArrayRef<int64_t> operand = shapeOf(instance.op->getOperand(0));
      SmallVector<int64_t> kept;
      for (int64_t d : otherDims(operand.size(), reduction.getReducedDims()))
        kept.push_back(operand[d]);
      for (Value result : instance.op->getResults())
        EXPECT_TRUE(shapeOf(result) == operand || shapeOf(result) == ArrayRef(kept));
    }
    if (auto movement = dyn_cast<MovementOpInterface>(instance.op))
      EXPECT_EQ(movement.getResultDims().size(), shapeOf(instance.op->getOperand(0)).size());
  });
}

// An op on transposed operands computes the op's result, transposed.
TEST_F(Contract, PermutedOpsComputeTheSameElsewhere) {
  std::set<StringRef> seen;
  forEachInstance(/*onlyF64=*/true, [&](Instance &instance) {
    Operation *op = instance.op;
    auto permutes = dyn_cast<PermuteOpInterface>(op);
    if (!permutes)
      return;
    int64_t rank = rankOf(op->getOperand(0).getType());
    SmallVector<HostTensor> operands = instance.randomOperands(7);
    SmallVector<HostTensor> expected = evaluateOp(op, operands);
    for (const Permutation &permutation : permutationsOf(rank)) {
      if (!permutes.canPermute(permutation))
        continue;
      seen.insert(op->getName().getStringRef());
      OpBuilder b(op);
      SmallVector<Value> values;
      SmallVector<HostTensor> moved;
      for (auto [operand, tensor] : llvm::zip_equal(op->getOperands(), operands)) {
        bool isScalar = rankOf(operand.getType()) == 0;
        values.push_back(isScalar ? operand
                                  : TransposeOp::create(b, op->getLoc(), operand, permutation));
        moved.push_back(isScalar ? tensor : transposed(tensor, permutation));
      }
      Operation *permuted = permutes.buildPermuted(b, values, permutation);
      ASSERT_TRUE(succeeded(verify(permuted)));
      for (auto [found, before] : llvm::zip_equal(evaluateOp(permuted, moved), expected)) {
        Permutation order = permutation;
        if (rankOf(before.getType()) < rank)
          order = keptOrder(cast<ReductionOpInterface>(op).getReducedDims(), permutation);
        HostTensor wanted = transposed(before, order);
        ASSERT_EQ(found.getType(), wanted.getType());
        expectClose(found, wanted, 1e-12);
      }
    }
  });
  EXPECT_TRUE(seen.count("grad.window_max") && seen.count("grad.normalize") &&
              seen.count("grad.slice"));
}

// An einsum over the letters computes the product; reading another order gives the same result.
TEST_F(Contract, LettersOfContractionsAreThoseOfTheirDims) {
  forEachInstance(/*onlyF64=*/true, [](Instance &instance) {
    auto contraction = dyn_cast<ContractionOpInterface>(instance.op);
    if (!contraction)
      return;
    Operation *op = instance.op;
    ContractionLetters letters = contraction.getLetters();
    std::map<char, int64_t> sizes;
    for (auto [names, value] : {std::pair(StringRef(letters.lhs), Value(op->getOperand(0))),
                                std::pair(StringRef(letters.rhs), Value(op->getOperand(1))),
                                std::pair(StringRef(letters.result), Value(op->getResult(0)))}) {
      ArrayRef<int64_t> shape = cast<RankedTensorType>(value.getType()).getShape();
      ASSERT_EQ(shape.size(), letters.windowRank() + names.size());
      for (auto [i, letter] : llvm::enumerate(names)) {
        EXPECT_EQ(letters.dimOf(names, letter), letters.windowRank() + int64_t(i));
        EXPECT_EQ(sizes.try_emplace(letter, shape[letters.windowRank() + i]).first->second,
                  shape[letters.windowRank() + i]);
        EXPECT_EQ(letters.isBatch(letter) + letters.isRow(letter) + letters.isColumn(letter) +
                      letters.isSummed(letter),
                  1);
      }
    }
    SmallVector<HostTensor> operands = instance.randomOperands(8);
    SmallVector<HostTensor> expected = evaluateOp(op, operands);
    for (unsigned side : {0, 1})
      for (const Permutation &permutation :
           permutationsOf(rankOf(op->getOperand(side).getType()))) {
        Operation *copy = op->clone();
        OpBuilder(op).insert(copy);
        if (!cast<ContractionOpInterface>(copy).readTransposed(side, permutation)) {
          EXPECT_TRUE(OperationEquivalence::isEquivalentTo(copy, op,
                                                           OperationEquivalence::IgnoreLocations));
          copy->erase();
          continue;
        }
        // The operand is a transpose of what is now read.
        SmallVector<HostTensor> read(operands);
        read[side] = transposed(operands[side], invertPermutationVector(permutation));
        OpBuilder b(copy);
        copy->setOperand(side, TransposeOp::create(b, op->getLoc(), op->getOperand(side),
                                                   invertPermutationVector(permutation)));
        ASSERT_TRUE(succeeded(verify(copy)));
        expectClose(evaluateOp(copy, read)[0], expected[0], 1e-12);
      }
  });
}

/// An op with that text over tensors of rank 4.
static std::optional<ConvolutionPart> partOf(MLIRContext &context, const char *dims,
                                             const char *window, const char *lhs, const char *rhs) {
  std::string text = std::string("grad.convolution %0, %1 dims \"") + dims + "\" window " + window +
                     " : " + lhs + ", " + rhs;
  Sample sample{text.c_str(), {{lhs}, {rhs}}, {"f64"}};
  Instance instance(context, sample, "f64");
  EXPECT_TRUE(instance.op);
  return cast<ContractionOpInterface>(instance.op).getConvolutionPart();
}

// Independent of sizes: each of the first two may have more taps than results.
TEST_F(Contract, ConvolutionsKnowWhatTheyCompute) {
  EXPECT_EQ(partOf(context, "nc,co->no", "<[3, 3] low [1, 1] high [1, 1]>", "tensor<2x2x2x3xf64>",
                   "tensor<3x3x3x4xf64>"),
            ConvolutionPart::forward);
  EXPECT_EQ(partOf(context, "nc,no->co", "<[2, 2] low [1, 1] high [1, 1]>", "tensor<2x2x2x3xf64>",
                   "tensor<2x2x2x4xf64>"),
            ConvolutionPart::filter_gradient);
  EXPECT_EQ(partOf(context, "no,co->nc", "<[3, 3] low [1, 1] high [1, 1] reversed>",
                   "tensor<8x8x2x4xf64>", "tensor<3x3x3x4xf64>"),
            ConvolutionPart::data_gradient);
  EXPECT_EQ(partOf(context, "nc,nc->c", "<[2, 2]>", "tensor<4x4x2x3xf64>", "tensor<2x2x2x3xf64>"),
            ConvolutionPart::filter_gradient);
  EXPECT_EQ(partOf(context, "no,nc->oc", "<[2, 2] low [1, 1] high [1, 1] dilation [2, 2]>",
                   "tensor<4x4x2x4xf64>", "tensor<2x2x2x3xf64>"),
            ConvolutionPart::filter_gradient);
  EXPECT_EQ(partOf(context, "nc,c->nc", "<[2, 2]>", "tensor<4x4x2x3xf64>", "tensor<2x2x3xf64>"),
            ConvolutionPart::forward);
  EXPECT_EQ(partOf(context, "no,co->nc", "<[3, 3] stride [2, 2] reversed>", "tensor<8x8x2x4xf64>",
                   "tensor<3x3x3x4xf64>"),
            std::nullopt);
}

// A multiply-add counts as two; only taps inside the data count.
TEST_F(Contract, CountsFlops) {
  auto module = parseSourceString<ModuleOp>(R"(
    func.func @f(%a: tensor<8x16xf32>, %b: tensor<16x32xf32>, %c: tensor<2x16x4xf32>, %d: tensor<2x5x16xf32>,
                 %x: tensor<4x5x2x3xf32>, %w: tensor<3x3x3x7xf32>) {
      %0 = grad.matmul %a, %b {test.flops = 8192} : tensor<8x16xf32>, tensor<16x32xf32>
      %1 = grad.matmul %c, %d transpose_lhs transpose_rhs {test.flops = 1280} : tensor<2x16x4xf32>, tensor<2x5x16xf32>
      %2 = grad.convolution %x, %w dims "nc,co->no" window <[3, 3] low [1, 1] high [1, 1]> {test.flops = 10920}
          : tensor<4x5x2x3xf32>, tensor<3x3x3x7xf32>
      %3 = grad.window_sum %x window <[2, 2] stride [2, 2]> {test.flops = 96} : tensor<4x5x2x3xf32>
      %4 = grad.reduce_sum %x dims [0, 1] {test.flops = 120} : tensor<4x5x2x3xf32>
      %5 = grad.exp %a {test.flops = 128} : tensor<8x16xf32>
      return
    })",
                                            &context);
  ASSERT_TRUE(module);
  int64_t ops = 0;
  module->walk([&](CostOpInterface op) {
    auto expected = op->getAttrOfType<IntegerAttr>("test.flops");
    ASSERT_TRUE(expected);
    EXPECT_EQ(op.getFlops(), expected.getInt()) << op->getName().getStringRef().str();
    ++ops;
  });
  EXPECT_EQ(ops, 6);
}
