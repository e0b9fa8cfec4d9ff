// MatMul and Gemm, and their fused forms.
#include "dialects/Pch.h"

#include "compiler/import/onnx/ops/Products.h"
#include "compiler/import/onnx/ops/elementwise/Activation.h"
#include "compiler/import/support/Names.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

static LogicalResult shapesDoNotFit(Node &n, const Twine &lhsDim, int64_t lhs, const Twine &rhsDim,
                                    int64_t rhs, unsigned i = 0, unsigned j = 1) {
  return n.error() << "expected " << lhsDim << " (" << lhs << ") to match " << rhsDim << " (" << rhs
                   << "): lhs is " << n.describeOperand(i) << ", rhs is " << n.describeOperand(j);
}

static Value matmul(Node &n, Value lhs, Value rhs, bool transposeLhs = false,
                    bool transposeRhs = false) {
  UnitAttr yes = n.builder().getUnitAttr(), no;
  return n.builder().createOrFold<MatmulOp>(n.loc(), lhs, rhs, transposeLhs ? yes : no,
                                            transposeRhs ? yes : no);
}

bool gradc::sumsProducts(Type element) { return isa<Float32Type, Float64Type>(element); }

/// Whether the last two dims of both are those of one row and one column. A row of a matrix may be
/// the only row of a batch, and stays one.
static bool areVectors(ArrayRef<int64_t> lhs, ArrayRef<int64_t> rhs) {
  if (lhs.size() == 1 && rhs.size() == 1)
    return true;
  return lhs.size() > 2 && rhs.size() > 2 && lhs[lhs.size() - 2] == 1 && rhs.back() == 1;
}

/// A vector counts as a row or a column; batch dims are broadcast.
FailureOr<Expr> gradc::numpyMatmul(Node &n, Expr a, Expr b, unsigned i, unsigned j) {
  int64_t lhsRank = a.type().getRank(), rhsRank = b.type().getRank();
  if (lhsRank == 0 || rhsRank == 0)
    return n.error() << "expected operands of rank 1 or more, found " << n.describeOperand(i)
                     << " and " << n.describeOperand(j);
  SmallVector<int64_t> lhs(a.shape()), rhs(b.shape());
  if (lhs.size() == 1)
    lhs.insert(lhs.begin(), 1);
  if (rhs.size() == 1)
    rhs.push_back(1);
  int64_t rows = lhs[lhs.size() - 2], depth = lhs.back(), columns = rhs.back();
  if (depth != rhs[rhs.size() - 2])
    return shapesDoNotFit(n, "the last dim of lhs", depth,
                          rhsRank == 1 ? "the dim of rhs" : "the second-to-last dim of rhs",
                          rhs[rhs.size() - 2], i, j);
  ArrayRef<int64_t> lhsBatch = ArrayRef(lhs).drop_back(2), rhsBatch = ArrayRef(rhs).drop_back(2);
  auto batch = broadcastShape(lhsBatch, rhsBatch);
  if (!batch)
    return n.error() << "expected batch dims that broadcast, found " << n.describeOperand(i)
                     << " and " << n.describeOperand(j);

  SmallVector<int64_t> result(*batch);
  if (lhsRank > 1)
    result.push_back(rows);
  if (rhsRank > 1)
    result.push_back(columns);
  if (failed(n.expectSensible(result)))
    return failure();
  auto withDims = [&](ArrayRef<int64_t> dims, int64_t x, int64_t y) {
    SmallVector<int64_t> shape(dims);
    shape.append({x, y});
    return shape;
  };
  if (areVectors(a.shape(), b.shape()) && sumsProducts(a.element())) {
    auto vectors = [&](Expr x, ArrayRef<int64_t> own) {
      SmallVector<int64_t> shape(own), common(*batch);
      shape.push_back(depth);
      common.push_back(depth);
      return n.expr(n.broadcast(x.reshape(shape), common));
    };
    Expr products = vectors(a, lhsBatch) * vectors(b, rhsBatch);
    return products.sum({int64_t(batch->size())}).reshape(result);
  }
  a = a.reshape(lhs);
  b = b.reshape(rhs);
  if (rhs.size() == 2) {
    // All batches share one weight: one product with more rows instead of many products.
    int64_t all = rows;
    for (int64_t d : lhsBatch)
      all *= d;
    Expr product = a.with(matmul(n, a.reshape({all, depth}), b));
    return product.reshape(result);
  }
  Expr product = a.with(matmul(n, n.broadcast(a, withDims(*batch, rows, depth)),
                               n.broadcast(b, withDims(*batch, depth, columns))));
  return product.reshape(result);
}

namespace {
/// Numbers of a product's dims for Node::commonExtent. Its batch dims are -3, -4, ... from the
/// last.
enum Place : int64_t { row, column, depth };
} // namespace

/// Operand `i` with zeros behind its extent, if products are summed along it, as those of gradients
/// are: elements behind it may be anything, even NaN.
static Expr factor(Node &n, unsigned i, const std::optional<RunExtent> &common) {
  std::optional<RunExtent> own = n.extent(i);
  bool isSummed = own && common && (common->dim == depth || n.mayDifferentiate());
  return isSummed ? n.neutralBehindExtent(i, n.expr(i), own->dim, 0) : n.expr(i);
}

/// The places of the dims of numpy.matmul's operand 0 or 1 of this rank.
static SmallVector<int64_t> placesOfFactor(unsigned i, int64_t rank) {
  if (rank < 2)
    return SmallVector<int64_t>(rank, depth);
  SmallVector<int64_t> places = llvm::to_vector(llvm::seq<int64_t>(-rank, -2));
  if (i == 0)
    places.append({row, depth});
  else
    places.append({depth, column});
  return places;
}

static LogicalResult importMatMul(Node &n) {
  if (failed(n.expect(0, Kind::Number)) || failed(n.expectSameElement(0, 1)))
    return failure();
  auto extent = n.commonExtent({placesOfFactor(0, n.rank(0)), placesOfFactor(1, n.rank(1))});
  if (failed(extent))
    return failure();
  FailureOr<Expr> product = numpyMatmul(n, factor(n, 0, *extent), factor(n, 1, *extent), 0, 1);
  if (failed(product))
    return failure();
  if (!*extent || (*extent)->dim == depth)
    return n.set(*product);
  int64_t rank = product->type().getRank(), rows = n.rank(0) > 1, columns = n.rank(1) > 1;
  int64_t place = (*extent)->dim;
  int64_t dim = place == column ? rank - 1
                : place == row  ? rank - 1 - columns
                                : rank - rows - columns + place + 2;
  return n.set(0, *product, {dim, (*extent)->count});
}

/// With its last two dims transposed; a vector stays as it is.
static Expr turned(Expr x) {
  SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, x.type().getRank()));
  if (order.size() > 1)
    std::swap(order.back(), order[order.size() - 2]);
  return x.transpose(order);
}

/// alpha A' B', in ONNX Runtime's optimized models.
static LogicalResult importFusedMatMul(Node &n) {
  double alpha = n.real("alpha", 1);
  bool transposeLhs = n.integer("transA", 0), transposeRhs = n.integer("transB", 0);
  if (failed(n.expect(0, Kind::Float)) || failed(n.expectSameElement(0, 1)))
    return failure();
  if (n.integer("transBatchA", 0) || n.integer("transBatchB", 0))
    return n.error() << "cannot take transBatchA and transBatchB";
  Expr lhs = n.expr(0u), rhs = n.expr(1u);
  FailureOr<Expr> product =
      numpyMatmul(n, transposeLhs ? turned(lhs) : lhs, transposeRhs ? turned(rhs) : rhs, 0, 1);
  if (failed(product))
    return failure();
  return n.set(alpha == 1 ? *product : *product * alpha);
}

/// alpha A' B' + beta C, then the activation if there is one.
static LogicalResult gemm(Node &n, const NamedActivation *activation) {
  n.ignore("broadcast"); // from opset 6, which requires it if C broadcasts
  double alpha = n.real("alpha", 1), beta = n.real("beta", 1);
  bool transposeLhs = n.integer("transA", 0), transposeRhs = n.integer("transB", 0);
  for (unsigned i = 0; i < n.operandCount(); ++i)
    if (failed(n.expect(i, Kind::Number)) || failed(n.expectSameElement(0, i)))
      return failure();
  if (failed(n.expectRank(0, 2)) || failed(n.expectRank(1, 2)))
    return failure();
  int64_t lhsDepth = n.shape(0)[!transposeLhs], rhsDepth = n.shape(1)[transposeRhs];
  if (lhsDepth != rhsDepth)
    return shapesDoNotFit(n, "lhs dim " + Twine(!transposeLhs), lhsDepth,
                          "rhs dim " + Twine(int(transposeRhs)), rhsDepth);
  SmallVector<int64_t> shape{n.shape(0)[transposeLhs], n.shape(1)[!transposeRhs]};
  if (failed(n.expectSensible(shape)))
    return failure();
  auto isWhole = [](double x) { return x == std::trunc(x); };
  if (!isa<FloatType>(n.element(0)) && !(isWhole(alpha) && isWhole(beta)))
    return n.error() << "expected whole numbers as alpha and beta of integers, found "
                     << numberText(alpha) << " and " << numberText(beta);
  bool hasBias = n.operand(2) && beta != 0;
  auto common = hasBias ? broadcastShape(shape, n.shape(2)) : shape;
  if (!common || *common != shape) {
    auto error = n.error() << "expected a bias that broadcasts to [";
    llvm::interleaveComma(shape, error);
    return error << "], found " << n.describeOperand(2);
  }
  SmallVector<int64_t> lhs{row, depth}, rhs{depth, column}, bias{row, column};
  if (transposeLhs)
    std::swap(lhs[0], lhs[1]);
  if (transposeRhs)
    std::swap(rhs[0], rhs[1]);
  if (hasBias && n.rank(2) < 2)
    bias.erase(bias.begin(), bias.end() - n.rank(2));
  auto extent = hasBias ? n.commonExtent({lhs, rhs, bias}) : n.commonExtent({lhs, rhs});
  if (failed(extent))
    return failure();
  auto set = [&](Expr y) {
    if (activation)
      y = (*activation)(y);
    return *extent && (*extent)->dim != depth ? n.set(0, y, **extent) : n.set(y);
  };
  Expr product =
      n.expr(matmul(n, factor(n, 0, *extent), factor(n, 1, *extent), transposeLhs, transposeRhs));
  if (alpha != 1)
    product = product * alpha;
  if (!hasBias)
    return set(product);
  Expr added = n.expr(2u);
  if (beta != 1)
    added = added * beta;
  return set(product + n.expr(n.broadcast(added, shape)));
}

static LogicalResult importGemm(Node &n) { return gemm(n, nullptr); }

/// In ONNX Runtime's optimized models.
static LogicalResult importFusedGemm(Node &n) {
  if (failed(n.expect(0, Kind::Float)))
    return failure();
  StringRef name = n.string("activation", "");
  auto activation = findFusedActivation(name);
  if (!activation)
    return n.error() << "has no activation function \"" << name << "\"";
  activation->alpha = n.real("activation_alpha", activation->alpha);
  StringRef second = n.has("activation_gamma") ? "activation_gamma" : "activation_beta";
  activation->beta = n.real(second, activation->beta);
  return gemm(n, &*activation);
}

void gradc::addContractionOps(OpTable &ops) {
  ops["MatMul"] = {importMatMul, 2, 2};
  ops["Gemm"] = {importGemm, 2, 3};
  ops["com.microsoft::FusedGemm"] = {importFusedGemm, 2, 3};
  ops["com.microsoft::FusedMatMul"] = {importFusedMatMul, 2, 2};
  ops["com.microsoft::TransposeMatMul"] = {importFusedMatMul, 2, 2}; // its name in older models
  takeExtents(ops, TakesExtents::itself, {"MatMul", "Gemm", "com.microsoft::FusedGemm"});
}
