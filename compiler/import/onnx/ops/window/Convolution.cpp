// Conv, FusedConv, ConvTranspose, and CausalConvWithState. Internally, spatial dims come first,
// then the batch, then channels. The transpositions before and after are explicit; those between
// two such ops cancel.
#include "dialects/Pch.h"

#include "compiler/import/onnx/ops/Pick.h"
#include "compiler/import/onnx/ops/Products.h"
#include "compiler/import/onnx/ops/elementwise/Activation.h"
#include "compiler/import/onnx/ops/window/Fold.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

/// Checks ranks and channels. The weight is [O, C / group, k...], or [C, O / group, k...] if
/// transposed.
static FailureOr<Channels> readChannels(Node &n, bool transposed, unsigned weight = 1) {
  int64_t groups = n.integer("group", 1);
  if (n.rank(0) < 3)
    return n.error() << "expected rank 3 or more, found " << n.describeOperand(0);
  if (n.rank(weight) != n.rank(0))
    return n.error() << "expected a weight of rank " << n.rank(0) << ", found "
                     << n.describeOperand(weight);
  bool ok = true;
  for (int64_t d = 0; d < n.rank(weight); ++d)
    if (n.shape(weight)[d] == 0) {
      n.error() << "expected a weight with elements, found " << n.describeOperand(weight);
      return failure();
    }
  if (auto kernel = n.integers("kernel_shape");
      kernel && *kernel != n.shape(weight).drop_front(2)) {
    n.error() << "expected kernel_shape " << formatDims(n.shape(weight).drop_front(2)) << " of "
              << n.describeOperand(weight) << ", found " << formatDims(*kernel);
    ok = false;
  }
  int64_t outer = n.shape(weight)[0], inner = n.shape(weight)[1], channels = n.shape(0)[1];
  if (groups < 1 || outer % groups != 0) {
    n.error() << "expected a group that divides dim 0 of " << n.describeOperand(weight)
              << ", found " << groups;
    ok = false;
  } else if (int64_t expected = transposed ? outer : inner * groups; channels != expected) {
    auto error = n.error() << "expected " << expected << " channels";
    if (!transposed && groups > 1)
      error << " (" << groups << " groups of " << inner << ")";
    error << " in dim 1 of " << n.describeOperand(0) << " for " << n.describeOperand(weight);
    ok = false;
  }
  if (!ok)
    return failure();
  return transposed ? Channels{groups, outer / groups, inner}
                    : Channels{groups, inner, outer / groups};
}

/// Whether the bias is the zeros of shape [O, 2] that PyTorch 2.15 writes, unless it optimizes the
/// model, for a 3-D convolution without a bias.
static bool areZerosOfNoBias(Node &n, int64_t results) {
  if (n.rank(1) != 5 || n.shape(2) != ArrayRef<int64_t>{results, 2})
    return false;
  std::optional<HostTensor> bias = n.tryKnown(2);
  for (int64_t i = 0; bias && i < bias->size(); ++i)
    if (bias->getFloat(i) != 0)
      return false;
  return bias.has_value();
}

/// The bias of a convolution; null if it has none.
static FailureOr<Value> readBias(Node &n, const Channels &channels) {
  int64_t results = channels.results();
  if (!n.operand(2))
    return Value();
  if (failed(n.expectSameElement(0, 2)))
    return failure();
  if (n.rank(2) == 1 && n.shape(2)[0] == results)
    return n.operand(2);
  if (areZerosOfNoBias(n, results))
    return Value();
  return n.error() << "expected a bias of " << results << " elements, found "
                   << n.describeOperand(2);
}

/// The weight as [k..., C, O], [k..., G, C, O] or [k..., C].
static Expr innerWeight(Expr w, const Channels &c, bool transposed) {
  int64_t rank = w.type().getRank();
  SmallVector<int64_t> spatial = llvm::to_vector(llvm::seq<int64_t>(2, rank));
  if (c.isDepthwise()) {
    SmallVector<int64_t> shape{c.groups};
    llvm::append_range(shape, w.shape().drop_front(2));
    SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(1, rank - 1));
    order.push_back(0);
    return w.reshape(shape).transpose(order);
  }
  if (c.groups == 1) {
    spatial.append({transposed ? 0 : 1, transposed ? 1 : 0});
    return w.transpose(spatial);
  }
  SmallVector<int64_t> shape{c.groups, transposed ? c.inputs : c.filters,
                             transposed ? c.filters : c.inputs};
  llvm::append_range(shape, w.shape().drop_front(2));
  SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(3, rank + 1));
  order.push_back(0);
  order.append({transposed ? 1 : 2, transposed ? 2 : 1});
  return w.reshape(shape).transpose(order);
}

Expr gradc::convolve(Node &n, Expr x, Expr weight, Value bias, const Channels &c, WindowAttr window,
                     bool transposed) {
  OpBuilder &b = n.builder();
  Expr inner = spatialFirst(x), w = innerWeight(weight, c, transposed);
  bool grouped = c.groups > 1 && !c.isDepthwise();
  if (grouped) {
    SmallVector<int64_t> shape(inner.shape().drop_back());
    shape.append({c.groups, c.inputs});
    inner = inner.reshape(shape);
  }
  Expr y = x.with(b.createOrFold<ConvolutionOp>(n.loc(), inner, w, c.dims(), window));
  if (grouped) {
    SmallVector<int64_t> shape(y.shape().drop_back(2));
    shape.push_back(c.results());
    y = y.reshape(shape);
  }
  if (bias)
    y = y + x.with(bias).broadcast(y.type(), {y.type().getRank() - 1});
  return channelsSecond(y);
}

static LogicalResult expectSensibleResult(Node &n, const Channels &c, WindowAttr window) {
  SmallVector<int64_t> shape{n.shape(0)[0], c.results()};
  for (auto [d, size] : llvm::enumerate(n.shape(0).drop_front(2)))
    shape.push_back(window.getOutputSize(d, size));
  return n.expectSensible(shape);
}

FailureOr<std::pair<Channels, WindowAttr>> gradc::readConvolution(Node &n, unsigned weight) {
  FailureOr<Channels> channels = readChannels(n, /*transposed=*/false, weight);
  if (n.rank(weight) < 3)
    return failure();
  FailureOr<Window> window = readWindow(n, n.shape(weight).drop_front(2));
  if (failed(channels) || failed(window))
    return failure();
  padToSame(*window, n.shape(0).drop_front(2));
  if (failed(expectFits(n, *window)))
    return failure();
  WindowAttr attribute = windowAttribute(n, *window);
  if (failed(expectSensibleResult(n, *channels, attribute)))
    return failure();
  return std::pair(*channels, attribute);
}

/// The convolution of operands 0 and 1, plus the bias.
static FailureOr<Expr> readAndConvolve(Node &n) {
  if (failed(n.expect(0, Kind::Float)) || failed(n.expectSameElement(0, 1)))
    return failure();
  auto read = readConvolution(n);
  if (failed(read))
    return failure();
  FailureOr<Value> bias = readBias(n, read->first);
  if (failed(bias))
    return failure();
  return convolve(n, n.expr(0u), n.expr(1u), *bias, read->first, read->second);
}

static LogicalResult importConv(Node &n) {
  FailureOr<Expr> y = readAndConvolve(n);
  return failed(y) ? failure() : n.set(*y);
}

/// Conv, plus operand 3 if there is one, then the named activation, in ONNX Runtime's optimized
/// models.
static LogicalResult importFusedConv(Node &n) {
  FailureOr<Expr> y = readAndConvolve(n);
  if (failed(y))
    return failure();
  if (n.operand(3)) {
    if (failed(n.expectSameElement(0, 3)))
      return failure();
    if (n.shape(3) != y->shape())
      return n.error() << "expected an addend " << formatDims(y->shape()) << ", found "
                       << n.describeOperand(3);
    y = *y + n.expr(3u);
  }
  if (!n.has("activation"))
    return n.set(*y);
  StringRef name = n.string("activation", "");
  auto activation = findFusedActivation(name);
  if (!activation)
    return n.error() << "has no activation function \"" << name << "\"";
  const onnx::AttributeProto *given = n.attribute("activation_params", AttributeType::reals);
  unsigned count = given ? given->floats_size() : 0;
  if (count < activation->parameterCount)
    return n.error() << "expected " << activation->parameterCount << " activation_params of "
                     << name << ", found " << count;
  if (activation->parameterCount >= 1)
    activation->alpha = given->floats(0);
  if (activation->parameterCount >= 2)
    activation->beta = given->floats(1);
  return n.set((*activation)(*y));
}

/// Conv with channels last, also in the weight, in the diffusion models that ONNX Runtime
/// optimizes.
static LogicalResult importNhwcConv(Node &n) {
  int64_t rank = n.rank(1);
  if (rank < 3)
    return n.error() << "expected rank 3 or more, found " << n.describeOperand(1);
  SmallVector<int64_t> order{0, rank - 1};
  llvm::append_range(order, llvm::seq<int64_t>(1, rank - 1));
  n.replaceOperand(1, n.expr(1u).transpose(order));
  return importChannelsLast(n, importConv);
}

/// Computes padding and output_padding from output_shape, or from auto_pad SAME, for which the
/// number of results is the number of operand elements times the stride.
static LogicalResult padToShape(Node &n, Window &w, SmallVector<int64_t> &extra) {
  auto given = n.integers("output_shape");
  if (given && failed(expectNumbers(n, "output_shape", *given, w.rank(), 1)))
    return failure();
  if (!given && !w.isSame())
    return success();
  for (int64_t d = 0; d < w.rank(); ++d) {
    int64_t size = n.shape(0)[d + 2];
    int64_t wanted = given ? (*given)[d] : size * w.strides[d];
    int64_t total = w.strides[d] * (size - 1) + extra[d] + w.extent(d) - wanted;
    w.setPads(d, std::max<int64_t>(total, 0));
    extra[d] += std::max<int64_t>(-total, 0);
  }
  return success();
}

/// A transposed convolution as a product with all taps, whose windows overlap: vectors run along
/// taps and channels. [N, C, d...] to [N, O, picture...].
static Expr foldProduct(Node &n, const Channels &c, const Columns &columns) {
  Expr x = n.expr(0u), weight = n.expr(1u);
  int64_t samples = n.shape(0)[0], taps = c.filters * llvm::product_of(columns.window.kernel);
  int64_t windows = llvm::product_of(columns.positions);
  Expr rows = x.reshape({samples, c.inputs, windows}).transpose({0, 2, 1});
  Expr products = x.with(
      n.builder().createOrFold<MatmulOp>(n.loc(), rows.reshape({samples * windows, c.inputs}),
                                         weight.reshape({c.inputs, taps}), UnitAttr(), UnitAttr()));
  SmallVector<int64_t> shape{samples, c.filters};
  llvm::append_range(shape, columns.picture);
  Expr ofTaps = products.reshape({samples, windows, taps}).transpose({0, 2, 1});
  return fold(n, ofTaps, columns).reshape(shape);
}

/// Whether that takes less time: with few results per position, a convolution would leave most
/// lanes of its vectors empty. In 16 bits, products would be rounded before they are added.
static bool isFolded(Node &n, const Channels &c, const Columns &columns) {
  constexpr int64_t fewFilters = 8, lanes = 16;
  return c.groups == 1 && c.filters <= fewFilters && isa<Float32Type, Float64Type>(n.element(0)) &&
         hasFewBlocks(columns) && c.filters * llvm::product_of(columns.window.kernel) >= lanes;
}

/// The adjoint of a convolution: a convolution with reversed taps over the operand spread by the
/// stride.
static LogicalResult importConvTranspose(Node &n) {
  if (failed(n.expect(0, Kind::Float)) || failed(n.expectSameElement(0, 1)))
    return failure();
  FailureOr<Channels> channels = readChannels(n, /*transposed=*/true);
  if (n.rank(1) < 3)
    return failure();
  FailureOr<Window> window = readWindow(n, n.shape(1).drop_front(2));
  auto given = n.integers("output_padding");
  if (failed(channels) || failed(window))
    return failure();
  FailureOr<Value> bias = readBias(n, *channels);
  if (failed(bias))
    return failure();
  Window &w = *window;
  SmallVector<int64_t> extra = given ? *given : SmallVector<int64_t>(w.rank(), 0);
  if (failed(expectNumbers(n, "output_padding", extra, w.rank(), 0)) ||
      failed(padToShape(n, w, extra)))
    return failure();

  SmallVector<int64_t> ones(w.rank(), 1), low, high;
  Columns columns{w, n.shape(0)[0] * channels->filters, {}, {}};
  for (int64_t d = 0; d < w.rank(); ++d) {
    low.push_back(w.extent(d) - 1 - w.low[d]);
    high.push_back(w.extent(d) - 1 - w.high[d] + extra[d]);
    int64_t size = n.shape(0)[d + 2];
    int64_t result = w.strides[d] * (size - 1) + extra[d] + w.extent(d) - w.low[d] - w.high[d];
    if (size < 1 || result < 1)
      return n.error() << "expected a result of at least one element, found " << result
                       << " from dim " << d + 2 << " of " << n.describeOperand(0);
    columns.positions.push_back(size);
    columns.picture.push_back(result);
  }
  auto attribute = WindowAttr::get(n.builder().getContext(), w.kernel, ones, low, high, w.strides,
                                   w.dilations, /*reversed=*/true);
  if (failed(expectSensibleResult(n, *channels, attribute)))
    return failure();
  if (isFolded(n, *channels, columns)) {
    Expr y = foldProduct(n, *channels, columns);
    return n.set(*bias ? y + n.expr(*bias).broadcast(y.type(), {1}) : y);
  }
  return n.set(convolve(n, n.expr(0u), n.expr(1u), *bias, *channels, attribute, true));
}

/// A depthwise convolution over the preceding elements, `past` or zeros, followed by the operand.
/// The end of both becomes the state for the next call.
static LogicalResult importCausalConvWithState(Node &n) {
  StringRef activation = n.string("activation", "none");
  if (failed(n.expect(0, Kind::Float)) || failed(n.expectRank(0, 3)) || failed(n.expectRank(1, 3)))
    return failure();
  for (unsigned i = 1; i < n.operandCount(); ++i)
    if (n.operand(i) && failed(n.expectSameElement(0, i)))
      return failure();
  if (activation != "none" && activation != "silu" && activation != "swish")
    return n.error() << "expected activation \"none\", \"silu\" or \"swish\", found \""
                     << activation << "\"";
  int64_t rows = n.shape(0)[0], channels = n.shape(0)[1], size = n.shape(0)[2];
  int64_t taps = n.shape(1)[2], before = taps - 1;
  if (n.shape(1).drop_back() != ArrayRef<int64_t>{channels, 1} || taps < 1 || size < 1)
    return n.error() << "expected [N, C, L] and a weight [C, 1, K] with elements, found "
                     << n.describeOperand(0) << " and " << n.describeOperand(1);
  Channels depthwise{channels, 1, 1};
  FailureOr<Value> bias = readBias(n, depthwise);
  if (failed(bias))
    return failure();
  SmallVector<int64_t> past{rows, channels, before}, none{0, 0, 0};
  if (n.operand(3) && n.shape(3) != ArrayRef(past))
    return n.error() << "expected a past state " << formatDims(past) << ", found "
                     << n.describeOperand(3);
  OpBuilder &b = n.builder();
  Expr x = n.expr(0u);
  Expr all = n.operand(3) ? x.with(b.createOrFold<ConcatenateOp>(
                                n.loc(), ValueRange{n.operand(3), n.operand(0)}, 2))
                          : padAround(x, {0, 0, before}, none);
  auto window = WindowAttr::get(b.getContext(), {taps}, {1}, {0}, {0}, {1}, {1}, false);
  Expr y = convolve(n, all, n.expr(1u), *bias, depthwise, window);
  (void)n.set(1, all.slice(2, size, before));
  return n.set(activation == "none" ? y : y.apply<SiluOp>());
}

void gradc::addConvolutionOps(OpTable &ops) {
  ops["Conv"] = {importConv, 2, 3};
  ops["com.microsoft::FusedConv"] = {importFusedConv, 2, 4};
  ops["com.microsoft::NhwcConv"] = {importNhwcConv, 2, 3};
  ops["CausalConvWithState"] = {importCausalConvWithState, 2, 4};
  ops["ConvTranspose"] = {importConvTranspose, 2, 3};
  takeExtents(ops, TakesExtents::rows, {"Conv", "com.microsoft::FusedConv", "ConvTranspose"});
}
