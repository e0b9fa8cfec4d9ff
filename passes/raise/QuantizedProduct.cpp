// Products and convolutions of quantized tensors as those of their codes.
#include "passes/raise/QuantizedProduct.h"

#include "dialects/grad/Grad.h"
#include "dialects/grad/TensorTypes.h"
#include "dialects/grad/control/Control.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

namespace {

/// Factors of a sum of floats whose sum of codes is exact: 32768 products of 255 * 255 stay below
/// 2^31.
constexpr int64_t maxFactors = 1 << 15;
/// The steps of a sum that an instruction takes together.
constexpr int64_t wordSteps = 4;
/// Unsigned codes are those of signed ones plus this.
constexpr int64_t byteOffset = 128;

bool isUnsigned(Value codes) { return getElementTypeOrSelf(codes).isUnsignedInteger(); }

/// The number that fills a constant tensor of integers.
std::optional<int64_t> integerOf(Value value) {
  DenseElementsAttr splat = value ? splatOf(value) : DenseElementsAttr();
  return splat ? std::optional(splat.getSplatValue<APInt>().getSExtValue()) : std::nullopt;
}

/// Whether the zero points are codes of that type, or were before they were widened.
bool areCodes(const Spread &zero, Type code) {
  if (!zero)
    return true;
  if (auto widened = zero.value.getDefiningOp<CastOp>())
    return getElementTypeOrSelf(widened.getOperand()) == code;
  DenseIntElementsAttr numbers;
  if (!matchPattern(zero.value, m_Constant(&numbers)))
    return false;
  int64_t least = code.isUnsignedInteger() ? 0 : -byteOffset;
  return llvm::all_of(numbers.getValues<APInt>(), [&](const APInt &number) {
    return number.getSExtValue() >= least && number.getSExtValue() < least + 2 * byteOffset;
  });
}

/// One contraction whose rhs is dequantized, and maybe its lhs.
///
/// If both are:
/// 1. The lhs becomes unsigned and the rhs signed, as instructions multiply bytes. What is added to
///    codes is added to their zero point.
/// 2. A lhs with a zero point is padded outside of the convolution, because padding is its zero
///    point. Channels are padded to whole words.
/// 3. With zero points p of the lhs and q of the rhs, and n factors, the sum of (a - p) (b - q) is
///    sum a b - p sum b - q (sum a - n p). Sums of constant weights are constants.
/// 4. The sum is multiplied by both scales.
///
/// If only the rhs is, and constant, its scales leave the sum. Matrices of codes, relative to their
/// zero points, are converted in registers. Filters become floats at compile time, which Winograd's
/// algorithm takes.
class Product {
public:
  Product(OpBuilder &builder, ComputedStates &computed, ContractionOpInterface op, Dequantized lhs,
          Dequantized rhs)
      : builder(builder), symbols(computed.table()), computed(computed), op(op),
        letters(op.getLetters()), lhs(lhs), rhs(rhs) {
    this->lhs.zero = together(lhs.zero);
    this->rhs.zero = together(rhs.zero);
  }

  bool isOfIntegers() {
    bool isFloat = getElementTypeOrSelf(op->getResult(0)).isF32();
    int64_t rows = llvm::count_if(letters.result, [&](char c) { return letters.isRow(c); });
    return lhs.codes && hasMatrix() && rows <= 1 && (!isFloat || fitsSum()) && !maySumRows() &&
           isFloat == bool(lhs.scale) && isFloat == bool(rhs.scale) && !lhs.zero.dim &&
           !lhs.scale.dim && isInResult(rhs.zero) && isInResult(rhs.scale) &&
           (!letters.window || isPossibleWindow());
  }

  /// Whether the scales can leave the sum.
  bool isOfWeights() {
    SmallVector<Operation *> moves;
    return getElementTypeOrSelf(op->getOperand(0)).isF32() && rhs.scale && isInResult(rhs.scale) &&
           isInResult(rhs.zero) && constantBehind(symbols, rhs.codes, moves);
  }

  void multiplyIntegers() {
    makeUnsigned(lhs);
    makeSigned(rhs);
    weights = rhs.codes;
    if (letters.window)
      padFactors();
    Expr sum = product(lhs.codes, rhs.codes, /*wide=*/true);
    if (lhs.zero) { // multiplied before the sums are repeated for each row
      Expr sums = expr(columnSums()), zeros = expr(lhs.zero.value).broadcastScalar(sums.type());
      sum = sum - inResult(sums * zeros, keptLetters(1));
    }
    if (rhs.zero)
      sum = sum - inResult(rhs.zero) * inResult(rowSums(), keptLetters(0), /*isOfWindows=*/true);
    if (lhs.scale)
      sum = sum.cast(builder.getF32Type()) * scales();
    replaceBy(sum);
  }

  void multiplyByWeights() {
    Value x = op->getOperand(0);
    auto isBatch = [&](char c) { return letters.isBatch(c); };
    if (!hasMatrix() || letters.window || llvm::any_of(letters.rhs, isBatch)) {
      if (Value filter = numbersOf(rhs))
        replaceBy(product(x, filter, /*wide=*/false) * inResult(rhs.scale));
      return;
    }
    if (Value codes = relativeCodes())
      replaceBy(product(x, codes, /*wide=*/true) * inResult(rhs.scale));
  }

private:
  Expr expr(Value v) { return Expr(builder, op->getLoc(), v); }
  StringRef lettersOf(unsigned factor) { return factor == 0 ? letters.lhs : letters.rhs; }

  int64_t factors() {
    int64_t count = letters.window ? letters.window.getTaps() : 1;
    for (char letter : letters.lhs)
      if (letters.isSummed(letter))
        count *= typeOf(op->getOperand(0)).getDimSize(letters.dimOf(letters.lhs, letter));
    return count;
  }

  /// Whether the factors are summed along one dim, and the rhs has one dim of columns: as
  /// instructions and panels of the rhs need it.
  bool hasMatrix() {
    return llvm::count_if(letters.rhs, [&](char c) { return letters.isSummed(c); }) == 1 &&
           llvm::count_if(letters.rhs, [&](char c) { return letters.isColumn(c); }) == 1;
  }

  /// Whether sums of codes may be over rows of a run, whose number varies: not beside weights.
  bool maySumRows() {
    SmallVector<Operation *> moves;
    bool hasZero = lhs.zero || rhs.zero || !isUnsigned(lhs.codes) || isUnsigned(rhs.codes);
    return hasZero && !constantBehind(symbols, rhs.codes, moves) &&
           mayHoldBatch(builder, typeOf(op->getOperand(0)), summedDims(0));
  }

  /// Whether the sum of floats is exact in 32 bits.
  bool fitsSum() {
    return factors() <= maxFactors && areCodes(lhs.zero, getElementTypeOrSelf(lhs.codes)) &&
           areCodes(rhs.zero, getElementTypeOrSelf(rhs.codes));
  }

  /// The letter of the rhs' dim that the numbers run along.
  char letterOf(const Spread &spread) { return letters.rhs[*spread.dim - letters.windowRank()]; }
  /// Whether they are the same for all that is summed.
  bool isInResult(const Spread &spread) {
    return !spread.dim || (*spread.dim >= letters.windowRank() &&
                           StringRef(letters.result).contains(letterOf(spread)));
  }

  Expr product(Value left, Value right, bool wide) {
    Operation *product = builder.clone(*op);
    product->setOperands({left, right});
    if (wide)
      product->setAttr("wide", builder.getUnitAttr());
    if (auto convolution = dyn_cast<ConvolutionOp>(product))
      if (letters.window)
        convolution.setWindowAttr(window);
    Type element = getElementTypeOrSelf(left);
    Type sum = isa<FloatType>(element) ? element : builder.getI32Type();
    product->getResult(0).setType(typeOf(op->getResult(0)).clone(sum));
    return expr(product->getResult(0));
  }

  void replaceBy(Value value) {
    op->getResult(0).replaceAllUsesWith(value);
    op->erase();
  }

  /// Whether the zero point of a padded lhs is a known code.
  bool isPossibleWindow() {
    WindowAttr own = letters.window;
    auto all = [](ArrayRef<int64_t> values, int64_t number) {
      return llvm::all_of(values, [&](int64_t v) { return v == number; });
    };
    bool isWhole = all(own.getBase(), 1) && all(own.getLow(), 0) && all(own.getHigh(), 0);
    bool mayPad = all(own.getBase(), 1) &&
                  llvm::all_of(own.getLow(), [](int64_t v) { return v >= 0; }) &&
                  llvm::all_of(own.getHigh(), [](int64_t v) { return v >= 0; });
    bool hasZero = lhs.zero || !isUnsigned(lhs.codes);
    bool isKnown = !lhs.zero || (integerOf(lhs.zero.value) &&
                                 areCodes(lhs.zero, getElementTypeOrSelf(lhs.codes)));
    return !hasZero || isWhole || (mayPad && isKnown);
  }

  // Codes ----------------------------------------------------------------------------------------

  Spread numberForAll(int64_t number) {
    auto scalar = RankedTensorType::get({}, builder.getI32Type());
    return {splat(builder, op->getLoc(), scalar, double(number)), std::nullopt};
  }

  /// Zero points that are a constant, one number for all, as that number; none if it is 0.
  /// Exporters write one per column of the weights, in a tensor of its own.
  Spread together(const Spread &zero) {
    auto widened = zero ? zero.value.getDefiningOp<CastOp>() : CastOp();
    SmallVector<Operation *> moves;
    ElementsAttr attribute =
        widened ? constantBehind(symbols, widened.getOperand(), moves) : ElementsAttr();
    if (!attribute || attribute.getNumElements() == 0)
      return zero;
    HostTensor numbers(attribute);
    int64_t first = numbers.getInt(0);
    for (int64_t i = 1; i < numbers.size(); ++i)
      if (numbers.getInt(i) != first)
        return zero;
    return first ? numberForAll(first) : Spread();
  }

  void addToZero(Dequantized &tensor, int64_t offset) {
    tensor.zero = tensor.zero ? Spread{expr(tensor.zero.value) + double(offset), tensor.zero.dim}
                              : numberForAll(offset);
    if (integerOf(tensor.zero.value) == 0)
      tensor.zero = {};
  }

  void makeUnsigned(Dequantized &tensor) {
    if (isUnsigned(tensor.codes))
      return;
    Expr wide = expr(tensor.codes).cast(builder.getI32Type()) + double(byteOffset);
    tensor.codes = wide.cast(builder.getIntegerType(8, /*isSigned=*/false));
    addToZero(tensor, byteOffset);
  }

  void makeSigned(Dequantized &tensor) {
    if (!isUnsigned(tensor.codes))
      return;
    addToZero(tensor, -byteOffset);
    if (Value shifted = shiftedConstant(tensor.codes)) {
      tensor.codes = shifted;
      return;
    }
    Expr wide = expr(tensor.codes).cast(builder.getI32Type()) - double(byteOffset);
    tensor.codes = wide.cast(builder.getI8Type());
  }

  /// The codes of a matrix less its zero points. Null: these are not known; the matrix is then
  /// dequantized in every run. A product of zero points and sums of the lhs would be NaN where that
  /// is infinite.
  Value relativeCodes() {
    if (!rhs.zero)
      return rhs.codes;
    int64_t summed = summedDims(1).front();
    SmallVector<int64_t> shape(typeOf(rhs.codes).getShape());
    DequantizedBlocks whole{rhs.codes, summed, shape[summed], /*scale=*/{}, rhs.zero.value};
    if (rhs.zero.dim) { // of one block per column
      shape[summed] = 1;
      whole.zero = expr(whole.zero).reshape(shape);
    }
    return computed.relativeCodes(builder, whole);
  }

  /// In place of a constant behind moves, which move this one alike.
  Value constant(Value codes, ArrayRef<Operation *> moves, const HostTensor &value,
                 StringRef suffix) {
    Value source = moves.empty() ? codes : moves.back()->getOperand(0);
    return moved(expr(computed.inPlaceOf(builder, source, value, suffix)), moves);
  }

  /// Signed codes of constant unsigned ones, as a constant.
  Value shiftedConstant(Value codes) {
    SmallVector<Operation *> moves;
    ElementsAttr attribute = constantBehind(symbols, codes, moves);
    if (!attribute)
      return {};
    HostTensor from(attribute);
    HostTensor to(from.getType().clone(builder.getI8Type()));
    llvm::transform(from.bytes(), to.mutableBytes().begin(),
                    [](char byte) { return char(uint8_t(byte) ^ byteOffset); });
    return constant(codes, moves, to, ".signed");
  }

  /// Constant codes relative to one zero point, as a constant of floats.
  Value numbersOf(const Dequantized &tensor) {
    SmallVector<Operation *> moves;
    ElementsAttr attribute = constantBehind(symbols, tensor.codes, moves);
    std::optional<int64_t> zero = tensor.zero ? integerOf(tensor.zero.value) : 0;
    if (!attribute || !zero)
      return {};
    HostTensor from(attribute), to(from.getType().clone(builder.getF32Type()));
    auto *numbers = reinterpret_cast<float *>(to.mutableBytes().data());
    for (auto [i, byte] : llvm::enumerate(from.bytes()))
      numbers[i] =
          float((isUnsigned(tensor.codes) ? int64_t(uint8_t(byte)) : int8_t(byte)) - *zero);
    return constant(tensor.codes, moves, to, ".numbers");
  }

  // Padding --------------------------------------------------------------------------------------

  /// The zero point of the unsigned lhs, if it is known, and a code.
  std::optional<int64_t> knownZero() {
    std::optional<int64_t> zero = lhs.zero ? integerOf(lhs.zero.value) : std::nullopt;
    return zero && *zero >= 0 && *zero < 2 * byteOffset ? zero : std::nullopt;
  }

  /// Channels that make whole words.
  Padding missingChannels(unsigned factor) {
    RankedTensorType type = typeOf(factor == 0 ? lhs.codes : rhs.codes);
    Padding missing(type.getRank());
    for (char letter : lettersOf(factor))
      if (letters.isSummed(letter)) {
        int64_t dim = letters.dimOf(lettersOf(factor), letter), size = type.getDimSize(dim);
        missing.high[dim] = int64_t(llvm::alignTo(size, wordSteps)) - size;
      }
    return missing;
  }

  /// Added channels have the weight 0, so their codes may be those of the padding.
  void padFactors() {
    Padding around = missingChannels(0);
    if (lhs.zero) {
      llvm::copy(window.getLow(), around.low.begin());
      llvm::copy(window.getHigh(), around.high.begin());
      SmallVector<int64_t> none(window.getRank(), 0);
      window = WindowAttr::get(builder.getContext(), window.getSize(), window.getStride(), none,
                               none, window.getBase(), window.getDilation(), window.getReversed());
    }
    lhs.codes = padded(expr(lhs.codes), around, knownZero().value_or(0));
    rhs.codes = padded(expr(rhs.codes), missingChannels(1), 0);
  }

  // Sums -----------------------------------------------------------------------------------------

  /// The products of both scales, known or not.
  Expr scales() {
    if (Value known = computed.product(builder, op->getLoc(), lhs.scale.value, rhs.scale.value))
      return inResult(Spread{known, rhs.scale.dim});
    return inResult(lhs.scale) * inResult(rhs.scale);
  }

  /// The letters of a factor that are not summed.
  std::string keptLetters(unsigned factor) {
    std::string kept;
    for (char letter : lettersOf(factor))
      if (!letters.isSummed(letter))
        kept += letter;
    return kept;
  }

  /// A tensor with these dims, repeated over the result. `isOfWindows`: it has those of positions
  /// before them.
  Expr inResult(Value value, StringRef kept, bool isOfWindows = false) {
    SmallVector<int64_t> dims;
    if (isOfWindows)
      dims = llvm::to_vector(llvm::seq<int64_t>(0, letters.windowRank()));
    for (char letter : kept)
      dims.push_back(letters.dimOf(letters.result, letter));
    auto type = typeOf(op->getResult(0)).clone(getElementTypeOrSelf(value));
    return stored(expr(value)).broadcast(type, dims);
  }

  /// A constant of several numbers becomes a state: repeated for each row, it would fold to a
  /// constant that has as many rows in every run.
  Expr stored(Expr value) {
    ElementsAttr numbers;
    if (!matchPattern(value.get(), m_Constant(&numbers)) || splatOf(value))
      return value;
    auto node = op->getLoc()->findInstanceOf<NameLoc>();
    std::string name = (node ? node.getName().str() : "product") + ".terms";
    StateOp state = computed.constant(name, HostTensor(numbers), op->getLoc());
    Value read = ReadOp::create(builder, op->getLoc(), value.type(), state.getSymName());
    return expr(read);
  }
  Expr inResult(const Spread &spread) {
    return inResult(spread.value, spread.dim ? std::string(1, letterOf(spread)) : std::string());
  }

  SmallVector<int64_t> summedDims(unsigned factor) {
    SmallVector<int64_t> summed = llvm::to_vector(llvm::seq<int64_t>(0, letters.windowRank()));
    for (char letter : lettersOf(factor))
      if (letters.isSummed(letter))
        summed.push_back(letters.dimOf(lettersOf(factor), letter));
    return summed;
  }
  Expr sumOf(Value codes, ArrayRef<int64_t> dims) {
    return expr(codes).cast(builder.getI32Type()).sum(dims);
  }

  Value columnSums() {
    std::string kept = keptLetters(1);
    if (kept.size() == 1)
      if (auto known = constantSums(symbols, weights, letters.dimOf(letters.rhs, kept[0])))
        return grad::constant(builder, op->getLoc(), *known);
    return sumOf(weights, summedDims(1));
  }

  /// Of the lhs, relative to its zero point: of the channels first, then of each window. Channels
  /// that were added have the zero point if it is known, else 0.
  Expr rowSums() {
    SmallVector<int64_t> channels = summedDims(0);
    channels.erase(channels.begin(), channels.begin() + letters.windowRank());
    Expr sums = sumOf(lhs.codes, channels);
    RankedTensorType counted = typeOf(knownZero() ? lhs.codes : op->getOperand(0));
    int64_t count = 1;
    for (int64_t channel : channels)
      count *= counted.getDimSize(channel);
    if (letters.window) {
      sums = sums.with(builder.createOrFold<WindowSumOp>(op->getLoc(), sums, window, UnitAttr()));
      count *= window.getTaps();
    }
    if (lhs.zero)
      sums = sums - expr(lhs.zero.value).broadcastScalar(sums.type()) * double(count);
    return sums;
  }

  OpBuilder &builder;
  const SymbolTable &symbols;
  ComputedStates &computed;
  ContractionOpInterface op;
  ContractionLetters letters;
  WindowAttr window = letters.window;
  Dequantized lhs, rhs;
  Value weights; ///< the codes of the rhs before channels are added
};

} // namespace

void gradc::multiplyQuantized(OpBuilder &builder, ComputedStates &computed,
                              ContractionOpInterface op, const std::optional<Dequantized> &lhs,
                              const Dequantized &rhs) {
  Product product(builder, computed, op, lhs.value_or(Dequantized()), rhs);
  if (lhs && product.isOfIntegers())
    product.multiplyIntegers();
  else if (product.isOfWeights())
    product.multiplyByWeights();
}
