// Multiplies quantized tensors as bytes, with sums of 32 bits.
#include "passes/Passes.h"

#include "dialects/grad/Control.h"
#include "passes/entry/Functions.h"
#include "passes/raise/Dequantized.h"

#include "mlir/IR/SymbolTable.h"

namespace gradc {
#define GEN_PASS_DEF_INTEGERPRODUCTS
#include "passes/Passes.h.inc"
} // namespace gradc

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

namespace {

/// Factors of a sum of floats whose sum of codes is exact: 65536 products of 255 * 128 stay below
/// 2^31.
constexpr int64_t maxFactors = 1 << 16;
/// The steps of a sum that an instruction takes together.
constexpr int64_t wordSteps = 4;
/// Unsigned codes are those of signed ones plus this.
constexpr int64_t byteOffset = 128;

RankedTensorType typeOf(Value v) { return cast<RankedTensorType>(v.getType()); }
bool isUnsigned(Value codes) { return getElementTypeOrSelf(codes).isUnsignedInteger(); }

/// The number that fills a constant tensor of integers.
std::optional<int64_t> integerOf(Value value) {
  DenseElementsAttr splat = value ? splatOf(value) : DenseElementsAttr();
  return splat ? std::optional(splat.getSplatValue<APInt>().getSExtValue()) : std::nullopt;
}

/// One contraction whose factors are dequantized.
///
/// 1. The lhs becomes unsigned and the rhs signed, as instructions multiply bytes. What is added to
///    codes is added to their zero point.
/// 2. A lhs with a zero point is padded outside of the convolution, because padding is its zero
///    point. Channels are padded to whole words.
/// 3. With zero points p of the lhs and q of the rhs, and n factors, the sum of (a - p) (b - q) is
///    sum a b - p sum b - q (sum a - n p). Sums of constant weights are constants.
/// 4. The sum is multiplied by both scales.
class Product {
public:
  Product(OpBuilder &builder, SymbolTable &symbols, ContractionOpInterface op, Dequantized lhs,
          Dequantized rhs)
      : builder(builder), symbols(symbols), op(op), letters(op.getLetters()), lhs(lhs), rhs(rhs) {}

  bool isPossible() {
    int64_t summed = 0, rows = 0, columns = 0;
    for (char letter : letters.lhs)
      summed += letters.isSummed(letter);
    for (char letter : letters.result) {
      rows += letters.isRow(letter);
      columns += letters.isColumn(letter);
    }
    bool isFloat = getElementTypeOrSelf(op->getResult(0)).isF32();
    // Instructions sum along one dim of each factor.
    return summed == 1 && rows <= 1 && columns == 1 && (!isFloat || factors() <= maxFactors) &&
           isFloat == bool(lhs.scale) && isFloat == bool(rhs.scale) && !lhs.zero.dim &&
           !lhs.scale.dim && isAlongColumns(rhs.zero) && isAlongColumns(rhs.scale) &&
           (!letters.window || isPossibleWindow());
  }

  void replace() {
    makeUnsigned(lhs);
    makeSigned(rhs);
    if (letters.window) {
      padOutside();
      padChannels();
    }
    Operation *product = builder.clone(*op);
    product->setOperands({lhs.codes, rhs.codes});
    product->setAttr("wide", builder.getUnitAttr());
    if (auto convolution = dyn_cast<ConvolutionOp>(product))
      convolution.setWindowAttr(window);
    RankedTensorType result = typeOf(op->getResult(0));
    product->getResult(0).setType(result.clone(builder.getI32Type()));
    Expr sum = expr(product->getResult(0));
    if (lhs.zero)
      sum = sum - inResult(lhs.zero.value, {}) * inResult(columnSums(), keptLetters(1));
    if (rhs.zero)
      sum = sum - ofColumns(rhs.zero) * inResult(rowSums(), keptLetters(0));
    if (lhs.scale)
      sum = sum.cast(builder.getF32Type()) * (inResult(lhs.scale.value, {}) * ofColumns(rhs.scale));
    op->getResult(0).replaceAllUsesWith(sum);
    op->erase();
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

  char columnLetter() {
    return *llvm::find_if(letters.rhs, [&](char c) { return letters.isColumn(c); });
  }
  bool isAlongColumns(const Spread &spread) {
    return !spread.dim || *spread.dim == letters.dimOf(letters.rhs, columnLetter());
  }

  /// Whether the zero point of a padded lhs is known, and the rhs has none: sums of windows are not
  /// computed.
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
    bool isKnown = !lhs.zero || integerOf(lhs.zero.value);
    return !rhs.zero && !isUnsigned(rhs.codes) && (!hasZero || isWhole || (mayPad && isKnown));
  }

  // Codes ----------------------------------------------------------------------------------------

  void addToZero(Dequantized &tensor, int64_t offset) {
    if (!tensor.zero) {
      auto scalar = RankedTensorType::get({}, builder.getI32Type());
      tensor.zero = {splat(builder, op->getLoc(), scalar, double(offset)), std::nullopt};
      return;
    }
    tensor.zero.value = expr(tensor.zero.value) + double(offset);
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

  /// The tensor that a value holds the elements of, and the transposes between; null: it is no
  /// constant.
  ElementsAttr constantBehind(Value value, SmallVectorImpl<TransposeOp> &moves) {
    while (auto transpose = value.getDefiningOp<TransposeOp>()) {
      moves.push_back(transpose);
      value = transpose.getOperand();
    }
    if (auto constant = value.getDefiningOp<ConstantOp>())
      return constant.getValue();
    auto read = value.getDefiningOp<ReadOp>();
    auto state = read ? symbols.lookup<StateOp>(read.getState()) : StateOp();
    bool isFixed = state && state.getKind() == StateKind::constant && !state.getPermutation() &&
                   !state.getShape() && !state.getShard();
    return isFixed ? state.getInitial() : ElementsAttr();
  }

  /// Signed codes of constant unsigned ones, as a constant.
  Value shiftedConstant(Value codes) {
    SmallVector<TransposeOp> moves;
    ElementsAttr attribute = constantBehind(codes, moves);
    if (!attribute)
      return {};
    HostTensor from(attribute);
    HostTensor to(from.getType().clone(builder.getI8Type()));
    llvm::transform(from.bytes(), to.mutableBytes().begin(),
                    [](char byte) { return char(uint8_t(byte) ^ byteOffset); });
    ElementsAttr signedCodes = to.toAttribute();
    Expr result = expr(ConstantOp::create(builder, op->getLoc(), to.getType(), signedCodes));
    for (TransposeOp move : llvm::reverse(moves))
      result = result.transpose(move.getPermutation());
    return result;
  }

  // Padding --------------------------------------------------------------------------------------

  Value pad(Value codes, ArrayRef<int64_t> low, ArrayRef<int64_t> high, int64_t value) {
    SmallVector<int64_t> none(low.size(), 0);
    return PadOp::create(builder, op->getLoc(), codes, low, high, none, APFloat(double(value)));
  }

  void padOutside() {
    auto isPadded = [](int64_t v) { return v != 0; };
    if (!lhs.zero ||
        (llvm::none_of(window.getLow(), isPadded) && llvm::none_of(window.getHigh(), isPadded)))
      return;
    SmallVector<int64_t> low(window.getLow()), high(window.getHigh()), none(low.size(), 0);
    low.resize(typeOf(lhs.codes).getRank(), 0);
    high.resize(typeOf(lhs.codes).getRank(), 0);
    lhs.codes = pad(lhs.codes, low, high, *integerOf(lhs.zero.value));
    window = WindowAttr::get(builder.getContext(), window.getSize(), window.getStride(), none, none,
                             window.getBase(), window.getDilation(), window.getReversed());
  }

  /// Adds channels of weight 0.
  void padChannels() {
    for (unsigned factor : {0u, 1u}) {
      Value &codes = factor == 0 ? lhs.codes : rhs.codes;
      SmallVector<int64_t> none(typeOf(codes).getRank(), 0), high(none);
      for (char letter : lettersOf(factor))
        if (letters.isSummed(letter)) {
          int64_t dim = letters.dimOf(lettersOf(factor), letter),
                  size = typeOf(codes).getDimSize(dim);
          high[dim] = int64_t(llvm::alignTo(size, wordSteps)) - size;
        }
      if (llvm::any_of(high, [](int64_t v) { return v != 0; }))
        codes = pad(codes, none, high, 0);
    }
  }

  // Sums -----------------------------------------------------------------------------------------

  /// The letters of a factor that are not summed.
  std::string keptLetters(unsigned factor) {
    std::string kept;
    for (char letter : lettersOf(factor))
      if (!letters.isSummed(letter))
        kept += letter;
    return kept;
  }

  /// A tensor with these dims, repeated over the result.
  Expr inResult(Value value, StringRef kept) {
    SmallVector<int64_t> dims;
    for (char letter : kept)
      dims.push_back(letters.dimOf(letters.result, letter));
    auto type = typeOf(op->getResult(0)).clone(getElementTypeOrSelf(value));
    return expr(value).broadcast(type, dims);
  }
  Expr ofColumns(const Spread &spread) {
    return inResult(spread.value, spread.dim ? std::string(1, columnLetter()) : std::string());
  }

  Expr sumOf(Value codes, unsigned factor) {
    SmallVector<int64_t> summed = llvm::to_vector(llvm::seq<int64_t>(0, letters.windowRank()));
    for (char letter : lettersOf(factor))
      if (letters.isSummed(letter))
        summed.push_back(letters.dimOf(lettersOf(factor), letter));
    return expr(codes).cast(builder.getI32Type()).sum(summed);
  }

  Value columnSums() {
    if (keptLetters(1).size() == 1)
      if (Value known = constantSums(rhs.codes, letters.dimOf(letters.rhs, columnLetter())))
        return known;
    return sumOf(rhs.codes, 1);
  }

  /// The sums of constant codes over all dims but one.
  Value constantSums(Value codes, int64_t dim) {
    if (auto padded = codes.getDefiningOp<PadOp>()) // by zeros
      codes = padded.getOperand();
    SmallVector<TransposeOp> moves;
    ElementsAttr attribute = constantBehind(codes, moves);
    if (!attribute)
      return {};
    for (TransposeOp move : moves)
      dim = move.getPermutation()[dim];
    HostTensor tensor(attribute);
    int64_t size = tensor.getShape()[dim],
            inner = llvm::product_of(tensor.getShape().drop_front(dim + 1));
    SmallVector<int32_t> sums(size, 0);
    for (auto [i, byte] : llvm::enumerate(tensor.bytes()))
      sums[int64_t(i) / inner % size] += int8_t(byte);
    auto type = RankedTensorType::get({size}, builder.getI32Type());
    HostTensor result(type,
                      {reinterpret_cast<const char *>(sums.data()), sums.size() * sizeof(int32_t)});
    return ConstantOp::create(builder, op->getLoc(), type, result.toAttribute());
  }

  /// Of the lhs, relative to its zero point.
  Value rowSums() {
    Expr sums = sumOf(lhs.codes, 0);
    if (lhs.zero)
      sums = sums - expr(lhs.zero.value).broadcastScalar(sums.type()) * double(factors());
    return sums;
  }

  OpBuilder &builder;
  SymbolTable &symbols;
  ContractionOpInterface op;
  ContractionLetters letters;
  WindowAttr window = letters.window;
  Dequantized lhs, rhs;
};

struct IntegerProducts : gradc::impl::IntegerProductsBase<IntegerProducts> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    for (auto function : functionsOf(getOperation())) {
      bool asksForGradients = false;
      function.walk([&](GradientOp) { asksForGradients = true; });
      if (asksForGradients) // integers have none
        continue;
      SmallVector<ContractionOpInterface> products;
      function.walk([&](ContractionOpInterface op) { products.push_back(op); });
      for (ContractionOpInterface op : products) {
        OpBuilder builder(op);
        auto lhs = findDequantized(builder, op->getOperand(0));
        auto rhs = lhs ? findDequantized(builder, op->getOperand(1)) : std::nullopt;
        if (!rhs)
          continue;
        Product product(builder, symbols, op, *lhs, *rhs);
        if (product.isPossible())
          product.replace();
      }
    }
  }
};

} // namespace
