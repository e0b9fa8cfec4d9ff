// The window attribute: text, geometry, and its two duals, from which all gradients of convolutions
// and pools are built.
#include "dialects/grad/math/Window.h"

#include "dialects/grad/Movement.h"

using namespace mlir;
using namespace mlir::grad;

// Text --------------------------------------------------------------------------------------------

namespace {
/// An optional part of the text: its keyword and default value.
struct Part {
  StringRef keyword;
  int64_t otherwise;
};
constexpr Part parts[] = {{"stride", 1}, {"low", 0}, {"high", 0}, {"base", 1}, {"dilation", 1}};
} // namespace

static ParseResult parseNumbers(AsmParser &parser, SmallVectorImpl<int64_t> &numbers) {
  return parser.parseCommaSeparatedList(
      AsmParser::Delimiter::Square, [&] { return parser.parseInteger(numbers.emplace_back()); });
}

Attribute WindowAttr::parse(AsmParser &parser, Type) {
  SMLoc start = parser.getCurrentLocation();
  SmallVector<int64_t> size;
  if (parser.parseLess() || parseNumbers(parser, size))
    return {};
  SmallVector<int64_t> given[std::size(parts)];
  for (auto [part, numbers] : llvm::zip(parts, given)) {
    numbers.assign(size.size(), part.otherwise);
    if (failed(parser.parseOptionalKeyword(part.keyword)))
      continue;
    numbers.clear();
    if (parseNumbers(parser, numbers))
      return {};
  }
  bool reversed = succeeded(parser.parseOptionalKeyword("reversed"));
  if (parser.parseGreater())
    return {};
  auto emitError = [&] { return parser.emitError(start); };
  return getChecked(llvm::function_ref<InFlightDiagnostic()>(emitError), parser.getContext(),
                    ArrayRef(size), ArrayRef(given[0]), ArrayRef(given[1]), ArrayRef(given[2]),
                    ArrayRef(given[3]), ArrayRef(given[4]), reversed);
}

void WindowAttr::print(AsmPrinter &printer) const {
  ArrayRef<int64_t> numbers[] = {getStride(), getLow(), getHigh(), getBase(), getDilation()};
  printer << '<' << formatDims(getSize());
  for (auto [part, given] : llvm::zip(parts, numbers))
    if (llvm::any_of(given, [&](int64_t n) { return n != part.otherwise; }))
      printer << ' ' << part.keyword << ' ' << formatDims(given);
  printer << (getReversed() ? " reversed>" : ">");
}

LogicalResult WindowAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                                 ArrayRef<int64_t> size, ArrayRef<int64_t> stride,
                                 ArrayRef<int64_t> low, ArrayRef<int64_t> high,
                                 ArrayRef<int64_t> base, ArrayRef<int64_t> dilation, bool) {
  ArrayRef<int64_t> numbers[] = {stride, low, high, base, dilation};
  for (auto [part, given] : llvm::zip(parts, numbers))
    if (given.size() != size.size())
      return emitError() << "expected one " << part.keyword << " a dim (" << size.size()
                         << "), found " << formatDims(given);
  auto positive = [&](StringRef what, ArrayRef<int64_t> given) -> LogicalResult {
    if (llvm::any_of(given, [](int64_t n) { return n < 1; }))
      return emitError() << "expected " << what << " of 1 or more, found " << formatDims(given);
    return success();
  };
  return success(succeeded(positive("size", size)) && succeeded(positive("stride", stride)) &&
                 succeeded(positive("base", base)) && succeeded(positive("dilation", dilation)));
}

// Geometry ----------------------------------------------------------------------------------------

int64_t WindowAttr::getTaps() const { return llvm::product_of(getSize()); }

static int64_t spreadSize(WindowAttr window, int64_t d, int64_t inputSize) {
  return inputSize > 0 ? (inputSize - 1) * window.getBase()[d] + 1 : 0;
}

/// Number of positions of dim `d` on which taps may fall.
static int64_t paddedSize(WindowAttr window, int64_t d, int64_t inputSize) {
  return window.getLow()[d] + spreadSize(window, d, inputSize) + window.getHigh()[d];
}

int64_t WindowAttr::getOutputSize(int64_t d, int64_t inputSize) const {
  int64_t room = paddedSize(*this, d, inputSize) - ((getSize()[d] - 1) * getDilation()[d] + 1);
  return room < 0 ? 0 : room / getStride()[d] + 1;
}

std::optional<int64_t> WindowAttr::getElement(int64_t d, int64_t inputSize, int64_t window,
                                              int64_t tap) const {
  int64_t step = getReversed() ? getSize()[d] - 1 - tap : tap;
  int64_t place = window * getStride()[d] + step * getDilation()[d] - getLow()[d];
  if (place < 0 || place % getBase()[d] != 0 || place / getBase()[d] >= inputSize)
    return std::nullopt;
  return place / getBase()[d];
}

// Tap k of window o is on element i if o s + k r = low + i b. Solved for o, with taps counted from
// the other end: i b + (K-1-k) r = o s + (K-1) r - low. So i is now the window and o the element,
// and `high` makes the number of windows equal to the number of elements.
WindowAttr WindowAttr::getAdjoint(ArrayRef<int64_t> inputShape,
                                  ArrayRef<int64_t> outputShape) const {
  SmallVector<int64_t> low, high;
  for (int64_t d = 0; d < getRank(); ++d) {
    int64_t reach = (getSize()[d] - 1) * getDilation()[d];
    low.push_back(reach - getLow()[d]);
    high.push_back((inputShape[d] - 1) * getBase()[d] + reach - low[d] -
                   (outputShape[d] - 1) * getStride()[d]);
  }
  return get(getContext(), getSize(), getBase(), low, high, getStride(), getDilation(),
             !getReversed());
}

// The same equation, with k as the window and o as its tap.
WindowAttr WindowAttr::getExchanged(ArrayRef<int64_t> inputShape,
                                    ArrayRef<int64_t> outputShape) const {
  assert(!getReversed() && "a reversed window has no exchanged one");
  SmallVector<int64_t> high;
  for (int64_t d = 0; d < getRank(); ++d)
    high.push_back((getSize()[d] - 1) * getDilation()[d] + (outputShape[d] - 1) * getStride()[d] -
                   getLow()[d] - (inputShape[d] - 1) * getBase()[d]);
  return get(getContext(), outputShape.take_front(getRank()), getDilation(), getLow(), high,
             getBase(), getStride(), /*reversed=*/false);
}

bool grad::overlaps(WindowAttr window, ArrayRef<int64_t> shape) {
  for (int64_t d = 0; d < window.getRank(); ++d) {
    std::vector<bool> seen(shape[d]);
    for (int64_t o = 0, n = window.getOutputSize(d, shape[d]); o < n; ++o)
      for (int64_t k = 0; k < window.getSize()[d]; ++k)
        if (std::optional<int64_t> element = window.getElement(d, shape[d], o, k)) {
          if (seen[*element])
            return true;
          seen[*element] = true;
        }
  }
  return false;
}

LogicalResult grad::inferWindows(std::optional<Location> location, RankedTensorType operand,
                                 WindowAttr window, SmallVectorImpl<int64_t> &shape) {
  if (operand.getRank() < window.getRank())
    return emitOptionalError(location, "expected rank ", window.getRank(),
                             " or more for the window's dims, found ", operand);
  for (int64_t d = 0; d < window.getRank(); ++d) {
    int64_t windows = window.getOutputSize(d, operand.getDimSize(d));
    if (windows < 1)
      return emitOptionalError(location, "expected a window in dim ", d, ", found ",
                               (window.getSize()[d] - 1) * window.getDilation()[d] + 1,
                               " positions of taps over ",
                               paddedSize(window, d, operand.getDimSize(d)));
    shape.push_back(windows);
  }
  return success();
}

void grad::forEachTap(WindowAttr window, ArrayRef<int64_t> shape, ArrayRef<int64_t> position,
                      llvm::function_ref<void(int64_t, ArrayRef<int64_t>)> body) {
  SmallVector<int64_t> element(window.getRank());
  int64_t number = -1;
  forEachIndex(window.getSize(), [&](ArrayRef<int64_t> tap) {
    ++number;
    for (int64_t d = 0; d < window.getRank(); ++d) {
      auto at = window.getElement(d, shape[d], position[d], tap[d]);
      if (!at)
        return;
      element[d] = *at;
    }
    body(number, element);
  });
}

IntegerType grad::tapNumberType(WindowAttr window) {
  return IntegerType::get(window.getContext(), window.getTaps() <= 127 ? 8 : 32);
}

int64_t grad::countTaps(WindowAttr window, ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t d = 0; d < window.getRank(); ++d) {
    int64_t inDim = 0;
    for (int64_t o = 0, n = window.getOutputSize(d, shape[d]); o < n; ++o)
      for (int64_t k = 0; k < window.getSize()[d]; ++k)
        inDim += window.getElement(d, shape[d], o, k).has_value();
    count *= inDim;
  }
  return count;
}

// Loops -------------------------------------------------------------------------------------------

// Cropped elements stay in memory: an offset skips those before the first window, and those after
// the last window are never read.

Value grad::spreadOut(OpBuilder &b, Location location, Value operand, WindowAttr window,
                      const HostTensor &nothing) {
  auto type = cast<RankedTensorType>(operand.getType());
  int64_t rank = type.getRank();
  SmallVector<int64_t> shape(type.getShape());
  SmallVector<AffineExpr> output;
  for (int64_t d = 0; d < rank; ++d) {
    int64_t low = 0, base = 1;
    if (d < window.getRank()) {
      low = std::max<int64_t>(window.getLow()[d], 0);
      base = window.getBase()[d];
      shape[d] = low + spreadSize(window, d, shape[d]) + std::max<int64_t>(window.getHigh()[d], 0);
    }
    output.push_back(placePart(b.getAffineDimExpr(d), type.getDimSize(d), shape[d], low, base));
  }
  if (type.getShape() == ArrayRef(shape))
    return operand;
  Value spread =
      copyLoops(b, location, operand, fillLoops(b, location, type.clone(shape), nothing),
                b.getMultiDimIdentityMap(rank), AffineMap::get(rank, 0, output, b.getContext()));
  // Code generation may skip the steps of a reduction that read it outside the operand.
  if (auto copy = spread.getDefiningOp<linalg::GenericOp>())
    copy->setAttr("grad.nothing", b.getUnitAttr());
  return spread;
}

SmallVector<AffineExpr> grad::tapPositions(Builder &b, WindowAttr window, int64_t windows,
                                           int64_t taps) {
  SmallVector<AffineExpr> positions;
  for (int64_t d = 0; d < window.getRank(); ++d)
    positions.push_back(b.getAffineDimExpr(windows + d) * window.getStride()[d] +
                        b.getAffineDimExpr(taps + d) * window.getDilation()[d] +
                        std::max<int64_t>(-window.getLow()[d], 0));
  return positions;
}
