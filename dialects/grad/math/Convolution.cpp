// Convolutions: shapes, gradients that are convolutions, the plain loop nest, and linalg over the
// dilated and padded operand.
#include "dialects/grad/Movement.h"
#include "dialects/grad/Permute.h"
#include "dialects/grad/math/Contraction.h"
#include "dialects/grad/math/Sampling.h"
#include "dialects/grad/math/Window.h"

using namespace mlir;
using namespace mlir::grad;

using Letters = std::array<StringRef, 3>;

static Letters splitDims(StringRef dims) {
  auto [operands, result] = dims.split("->");
  auto [lhs, rhs] = operands.split(',');
  return {lhs, rhs, result};
}

/// C1.
static LogicalResult checkDims(std::optional<Location> location, StringRef dims) {
  Letters letters = splitDims(dims);
  auto [lhs, rhs, result] = letters;
  if ((lhs + "," + rhs + "->" + result).str() != dims ||
      !llvm::all_of((lhs + rhs + result).str(), llvm::isLower))
    return emitOptionalError(location, "expected dims LHS,RHS->RESULT in letters a to z, found \"",
                             dims, "\"");
  for (char letter : (lhs + rhs + result).str()) {
    int64_t in = 0;
    for (StringRef side : letters) {
      if (side.count(letter) > 1)
        return emitOptionalError(location, "expected dim '", letter, "' once in a tensor, found \"",
                                 dims, "\"");
      in += side.contains(letter);
    }
    if (in < 2)
      return emitOptionalError(location, "expected dim '", letter,
                               "' in two tensors or in all, found \"", dims, "\"");
  }
  return success();
}

/// The size of each letter: the letters of the lhs, then the remaining letters of the rhs.
static llvm::MapVector<char, int64_t> sizesOf(const Letters &letters, int64_t spatial,
                                              ArrayRef<int64_t> lhs, ArrayRef<int64_t> rhs) {
  llvm::MapVector<char, int64_t> sizes;
  for (auto [letter, size] : llvm::zip(letters[0], lhs.drop_front(spatial)))
    sizes.insert({letter, size});
  for (auto [letter, size] : llvm::zip(letters[1], rhs.drop_front(spatial)))
    sizes.insert({letter, size});
  return sizes;
}

/// The summed letters, in the order of the rhs, whose elements are read as vectors: the last one
/// takes the shortest way through it.
static std::string contractedLetters(const Letters &letters) {
  std::string contracted;
  for (char letter : letters[1])
    if (!letters[2].contains(letter))
      contracted += letter;
  return contracted;
}

ContractionLetters ConvolutionOp::getLetters() {
  auto [lhs, rhs, result] = splitDims(getDims());
  // Without spatial dims it is a plain product.
  WindowAttr window = getWindow().getRank() > 0 ? getWindow() : WindowAttr();
  return {lhs.str(), rhs.str(), result.str(), window};
}

bool ConvolutionOp::readTransposed(unsigned operand, ArrayRef<int64_t> permutation) {
  int64_t spatial = getWindow().getRank();
  if (!keepsLeading(permutation, spatial))
    return false;
  ContractionLetters letters = getLetters();
  std::string &names = operand == 0 ? letters.lhs : letters.rhs, moved = names;
  for (auto [letter, from] : llvm::zip(names, permutation.drop_front(spatial)))
    moved[from - spatial] = letter;
  names = moved;
  setDims(letters.lhs + "," + letters.rhs + "->" + letters.result);
  return true;
}

// Pictures are stored as [y, x, picture, channel]. The gradient of the data has dilated or reversed
// windows. The gradient of a filter sums over pictures and keeps the data's channels, whereas the
// convolution itself keeps the pictures.
std::optional<ConvolutionPart> ConvolutionOp::getConvolutionPart() {
  WindowAttr window = getWindow();
  auto all = [](ArrayRef<int64_t> values) {
    return llvm::all_of(values, [](int64_t v) { return v == 1; });
  };
  if (window.getReversed() || !all(window.getBase())) {
    bool isAdjoint = (window.getReversed() || window.getTaps() == 1) && all(window.getStride());
    return isAdjoint ? std::optional(ConvolutionPart::data_gradient) : std::nullopt;
  }
  ContractionLetters letters = getLetters();
  bool sumsPictures = !letters.lhs.empty() && letters.isSummed(letters.lhs.front()) &&
                      !letters.isSummed(letters.lhs.back());
  return sumsPictures ? ConvolutionPart::filter_gradient : ConvolutionPart::forward;
}

LogicalResult ConvolutionOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                              Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto lhs = cast<RankedTensorType>(adaptor.getLhs().getType());
  auto rhs = cast<RankedTensorType>(adaptor.getRhs().getType());
  WindowAttr window = adaptor.getWindow();
  int64_t spatial = window.getRank();
  if (failed(checkDims(loc, adaptor.getDims())))
    return failure();
  Letters letters = splitDims(adaptor.getDims());
  if (lhs.getRank() != spatial + int64_t(letters[0].size()) ||
      rhs.getRank() != spatial + int64_t(letters[1].size()))
    return emitOptionalError(loc, "expected lhs of rank ", spatial, " + ", letters[0].size(),
                             " and rhs of rank ", spatial, " + ", letters[1].size(), ", found ",
                             lhs, " and ", rhs);
  auto sizes = sizesOf(letters, spatial, lhs.getShape(), rhs.getShape());
  for (auto [letter, size] : llvm::zip(letters[1], rhs.getShape().drop_front(spatial)))
    if (sizes[letter] != size)
      return emitOptionalError(loc, "expected dim '", letter, "' of lhs (", sizes[letter],
                               ") to match rhs (", size, ")");
  if (rhs.getShape().take_front(spatial) != window.getSize())
    return emitOptionalError(loc, "expected the rhs' spatial dims to be the window's size ",
                             formatDims(window.getSize()), ", found ", rhs);
  if (!canMultiply(lhs.getElementType(), rhs.getElementType(), adaptor.getWide()))
    return emitOptionalError(loc, "expected lhs and rhs of one element type, found ",
                             lhs.getElementType(), " and ", rhs.getElementType());
  SmallVector<int64_t> shape;
  if (failed(inferWindows(loc, lhs, window, shape)))
    return failure();
  for (char letter : letters[2])
    shape.push_back(sizes[letter]);
  types.push_back(lhs.clone(shape, contractedElement(lhs.getElementType(), adaptor.getWide())));
  return success();
}

/// The window with its taps in order of increasing positions.
static WindowAttr countedUpwards(WindowAttr window) {
  return WindowAttr::get(window.getContext(), window.getSize(), window.getStride(), window.getLow(),
                         window.getHigh(), window.getBase(), window.getDilation(),
                         /*reversed=*/false);
}

/// `value` with its `spatial` leading dims in reverse order.
static Value reverseTaps(OpBuilder &b, Location location, Value value, int64_t spatial) {
  ArrayRef<int64_t> sizes = cast<RankedTensorType>(value.getType()).getShape();
  SmallVector<int64_t> starts(sizes.size(), 0), strides(sizes.size(), 1);
  for (int64_t d = 0; d < spatial; ++d) {
    starts[d] = sizes[d] - 1;
    strides[d] = -1;
  }
  return b.createOrFold<SliceOp>(location, value, starts, sizes, strides);
}

/// Whether the gradient of the taps is a sum over windows of the result's gradient, with the lhs'
/// elements as taps: a dilated lhs is mostly gaps, and the result has more positions.
static bool walksResult(WindowAttr window, ArrayRef<int64_t> input, ArrayRef<int64_t> output) {
  int64_t spatial = window.getRank();
  return llvm::any_of(window.getBase(), [](int64_t base) { return base > 1; }) &&
         llvm::product_of(output.take_front(spatial)) > llvm::product_of(input.take_front(spatial));
}

/// The letters of the rhs in the order in which a sum over windows of the result's gradient has
/// them: those of its second factor alone are last, because pairs of 16-bit factors and GPUs'
/// matrix instructions need columns of the second factor. If that leaves vectors mostly empty, the
/// order stays.
static std::string tapLetters(const Letters &letters, ArrayRef<int64_t> sizes) {
  constexpr int64_t manyColumns = 16; // a vector of f32 on the widest CPUs
  auto [lhs, rhs, result] = letters;
  std::string columns, others;
  int64_t columnCount = 1, rowCount = 1;
  for (auto [letter, size] : llvm::zip_equal(rhs, sizes)) {
    bool isColumn = !result.contains(letter);
    (isColumn ? columns : others) += letter;
    if (isColumn)
      columnCount *= size;
    else if (!lhs.contains(letter))
      rowCount *= size;
  }
  return columnCount >= std::min(rowCount, manyColumns) ? others + columns : rhs.str();
}

// The gradient of the lhs uses the adjoint windows. The gradient of each tap of the rhs is a sum
// over windows, with the elements that the tap was multiplied with. Taps of a reversed window come
// out in reverse order. The adjoint convolution has the same rhs, so the windows may be over
// either picture.
LogicalResult ConvolutionOp::buildGradient(OpBuilder &b, ValueRange resultGradients,
                                           SmallVectorImpl<Value> &operandGradients) {
  Value g = storeFactor(b, *this, resultGradients[0]), lhs = getLhs(), rhs = getRhs();
  ArrayRef<int64_t> input = getLhs().getType().getShape(), taps = getRhs().getType().getShape(),
                    output = getType().getShape();
  if (llvm::is_contained(input, 0) || llvm::is_contained(taps, 0))
    return success();
  Letters letters = splitDims(getDims());
  auto [l, r, o] = letters;
  WindowAttr window = getWindow(), adjoint = window.getAdjoint(input, output);
  int64_t spatial = window.getRank();
  auto sum = [&](Value left, Value right, std::string dims, WindowAttr window) {
    Value wide = ConvolutionOp::create(b, getLoc(), left, right, dims, window, getWide());
    return storeFactor(b, *this, wide);
  };
  operandGradients[0] = sum(g, rhs, (o + "," + r + "->" + l).str(), adjoint);

  Value dRhs;
  std::string order = r.str();
  bool isReversed = window.getReversed();
  if (walksResult(window, input, output)) {
    order = tapLetters(letters, taps.drop_front(spatial));
    dRhs = sum(g, lhs, (o + "," + l + "->" + order).str(),
               countedUpwards(adjoint).getExchanged(output, input));
    isReversed = adjoint.getReversed();
  } else {
    dRhs = sum(lhs, g, (l + "," + o + "->" + r).str(),
               countedUpwards(window).getExchanged(input, output));
  }
  if (isReversed)
    dRhs = reverseTaps(b, getLoc(), dRhs, spatial);
  if (order != r) {
    auto permutation = llvm::to_vector(llvm::seq<int64_t>(0, spatial));
    for (char letter : r)
      permutation.push_back(spatial + int64_t(order.find(letter)));
    dRhs = b.createOrFold<TransposeOp>(getLoc(), dRhs, permutation);
  }
  operandGradients[1] = dRhs;
  return success();
}

/// Distance in a row-major tensor between neighbours along `letter`; 0 if the tensor lacks it.
static int64_t strideOf(char letter, StringRef letters, ArrayRef<int64_t> shape) {
  size_t at = letters.find(letter);
  if (at == StringRef::npos)
    return 0;
  return llvm::product_of(shape.take_back(letters.size() - 1 - at));
}

void ConvolutionOp::evaluate(ArrayRef<HostTensor> operands, MutableArrayRef<HostTensor> results) {
  const HostTensor &lhs = operands[0], &rhs = operands[1];
  Letters letters = splitDims(getDims());
  int64_t spatial = getWindow().getRank();
  auto sizes = sizesOf(letters, spatial, lhs.getShape(), rhs.getShape());
  std::string contracted = contractedLetters(letters);
  auto stridesOf = [&](StringRef names, int64_t side) {
    return llvm::map_to_vector(names, [&](char letter) {
      return strideOf(letter, letters[side], operands[side].getShape());
    });
  };
  auto offset = [](ArrayRef<int64_t> index, ArrayRef<int64_t> strides) {
    int64_t sum = 0;
    for (auto [i, stride] : llvm::zip_equal(index, strides))
      sum += i * stride;
    return sum;
  };
  SmallVector<int64_t> contractedSizes =
      llvm::map_to_vector(contracted, [&](char letter) { return sizes[letter]; });
  SmallVector<int64_t> lhsFree = stridesOf(letters[2], 0), rhsFree = stridesOf(letters[2], 1),
                       lhsSummed = stridesOf(contracted, 0), rhsSummed = stridesOf(contracted, 1);
  int64_t lhsElement = llvm::product_of(lhs.getShape().drop_front(spatial));
  int64_t rhsElement = llvm::product_of(rhs.getShape().drop_front(spatial));
  bool isFloat = isa<FloatType>(lhs.getElementType());

  int64_t next = 0;
  forEachIndex(results[0].getShape(), [&](ArrayRef<int64_t> index) {
    int64_t position = next++;
    if (!SamplingScope::wants(position))
      return;
    int64_t left = offset(index.drop_front(spatial), lhsFree),
            right = offset(index.drop_front(spatial), rhsFree);
    double sum = 0;
    uint64_t whole = 0;
    forEachTap(getWindow(), lhs.getShape(), index, [&](int64_t tap, ArrayRef<int64_t> element) {
      int64_t from = linearize(element, lhs.getShape().take_front(spatial)) * lhsElement + left;
      forEachIndex(contractedSizes, [&](ArrayRef<int64_t> summed) {
        int64_t l = from + offset(summed, lhsSummed);
        int64_t r = tap * rhsElement + right + offset(summed, rhsSummed);
        if (isFloat)
          sum += lhs.getFloat(l) * rhs.getFloat(r);
        else
          whole += uint64_t(lhs.getInt(l)) * uint64_t(rhs.getInt(r));
      });
    });
    if (isFloat)
      results[0].setFloat(position, sum);
    else
      results[0].setInt(position, int64_t(whole));
  });
}

int64_t ConvolutionOp::getFlops() {
  ArrayRef<int64_t> lhs = getLhs().getType().getShape(), rhs = getRhs().getType().getShape();
  int64_t products = countTaps(getWindow(), lhs);
  for (auto [letter, size] : sizesOf(splitDims(getDims()), getWindow().getRank(), lhs, rhs))
    products *= size;
  return 2 * products;
}

LoopKind ConvolutionOp::getLoopKind() { return LoopKind::contraction; }

/// The rhs with its taps in order of increasing positions.
static Value turnAround(OpBuilder &b, Location loc, Value rhs, WindowAttr window) {
  auto type = cast<RankedTensorType>(rhs.getType());
  SmallVector<AffineExpr> input;
  for (int64_t d = 0; d < type.getRank(); ++d) {
    AffineExpr dim = b.getAffineDimExpr(d);
    input.push_back(d < window.getRank() ? type.getDimSize(d) - 1 - dim : dim);
  }
  Value empty = tensor::EmptyOp::create(b, loc, type.getShape(), type.getElementType());
  return copyLoops(b, loc, rhs, empty, AffineMap::get(type.getRank(), 0, input, b.getContext()),
                   b.getMultiDimIdentityMap(type.getRank()));
}

// Loops over result dims, taps, then contracted letters.
SmallVector<Value> ConvolutionOp::lowerToLoops(OpBuilder &b, ValueRange operands) {
  WindowAttr window = getWindow();
  Letters letters = splitDims(getDims());
  int64_t spatial = window.getRank(), parallel = getType().getRank();
  std::string names = (letters[2] + contractedLetters(letters)).str();
  int64_t dims = spatial + names.size() + spatial;

  Value lhs = spreadOut(b, getLoc(), operands[0], window,
                        HostTensor(RankedTensorType::get({}, getLhs().getType().getElementType())));
  // linalg takes a loop's length from a map that is the plain dim, so K - 1 - k cannot appear in
  // the maps of this generic.
  Value rhs = operands[1];
  if (window.getReversed() && window.getTaps() > 1)
    rhs = turnAround(b, getLoc(), rhs, window);

  auto mapOf = [&](SmallVector<AffineExpr> places, StringRef side) {
    for (char letter : side) {
      int64_t at = spatial + int64_t(names.find(letter));
      places.push_back(b.getAffineDimExpr(at < parallel ? at : at + spatial));
    }
    return AffineMap::get(dims, 0, places, b.getContext());
  };
  SmallVector<AffineExpr> taps, windows;
  for (int64_t d = 0; d < spatial; ++d) {
    taps.push_back(b.getAffineDimExpr(parallel + d));
    windows.push_back(b.getAffineDimExpr(d));
  }
  return contractionLoops(b, *this, {lhs, rhs},
                          {mapOf(tapPositions(b, window, 0, parallel), letters[0]),
                           mapOf(taps, letters[1]), mapOf(windows, letters[2])},
                          parallel);
}
