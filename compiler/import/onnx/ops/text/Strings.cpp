// StringNormalizer: removes stopwords from a list of strings, and changes the case of letters.
#include "dialects/Pch.h"

#include "compiler/import/onnx/Text.h"
#include "compiler/import/onnx/ops/Indices.h"
#include "compiler/import/onnx/ops/Pick.h"
#include "compiler/import/onnx/ops/text/LetterCase.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

static Expr between(Expr x, int64_t low, int64_t high) {
  return x.compare(ComparePredicate::ge, x.splat(double(low)))
      .apply<AndOp>(x.compare(ComparePredicate::le, x.splat(double(high))));
}

static Expr is(Expr x, int64_t number) {
  return x.compare(ComparePredicate::eq, x.splat(double(number)));
}

/// x [strings, bytes] with each element moved `by` places toward the front; 0 in vacated places.
static Expr moved(Expr x, int64_t by) {
  int64_t bytes = x.shape()[1], left = bytes - std::abs(by);
  if (left <= 0)
    return x.splat(0);
  int64_t front = std::max<int64_t>(by, 0), back = std::max<int64_t>(-by, 0);
  return padAround(x.slice(1, front, left), {0, back}, {0, front});
}

static Expr lowBits(Expr x) { return x.apply<RemOp>(x.splat(64)) + 0x80; }

namespace {

/// UTF-8 letters, each at the position of its first byte: numbers (i32) [strings, bytes].
struct Letters {
  Expr bytes, length; ///< of letters of 2 to 4 bytes; 0 elsewhere
  Expr code;          ///< of letters of 1 to 3 bytes; 0 elsewhere
  Expr isWrong;
};

} // namespace

static Letters decode(Expr x) {
  Expr next = moved(x, 1), third = moved(x, 2), fourth = moved(x, 3);
  Expr isTail = between(x, 0x80, 0xbf), isTail1 = between(next, 0x80, 0xbf),
       isTail2 = between(third, 0x80, 0xbf), isTail3 = between(fourth, 0x80, 0xbf);
  Expr two = (x - 0xc0) * 64 + (next - 0x80);
  Expr three = ((x - 0xe0) * 64 + (next - 0x80)) * 64 + (third - 0x80);
  Expr isTwo = between(x, 0xc2, 0xdf).apply<AndOp>(isTail1);
  Expr isThree = between(x, 0xe0, 0xef).apply<AndOp>(isTail1).apply<AndOp>(isTail2);
  isThree = isThree.apply<AndOp>(between(three, 0x800, 0xffff));
  // Letters above U+FFFF never change case, which is wrong for a few scripts.
  Expr hasCase = is(next, 0x90).apply<OrOp>(is(next, 0x91)).apply<OrOp>(is(next, 0x96));
  hasCase = is(x, 0xf0).apply<AndOp>(hasCase.apply<OrOp>(is(next, 0x9e)));
  Expr isFour = between(x, 0xf0, 0xf4).apply<AndOp>(isTail1).apply<AndOp>(isTail2);
  isFour = isFour.apply<AndOp>(isTail3).apply<AndOp>(hasCase.apply<NotOp>());

  Expr none = x.splat(0), isAscii = between(x, 0, 0x7f);
  Expr length =
      isTwo.select(x.splat(2), isThree.select(x.splat(3), isFour.select(x.splat(4), none)));
  Expr belongs = between(moved(length, -1), 2, 4);
  belongs = belongs.apply<OrOp>(between(moved(length, -2), 3, 4));
  belongs = isTail.apply<AndOp>(belongs.apply<OrOp>(is(moved(length, -3), 4)));
  Expr isRight = isAscii.apply<OrOp>(between(length, 2, 4)).apply<OrOp>(belongs);
  Expr code = isAscii.select(x, isTwo.select(two, isThree.select(three, none)));
  return {x, length, code, isRight.apply<NotOp>()};
}

/// The codes in the wanted case; `isWrong` marks letters whose other case has another number of
/// bytes.
static Expr lookUp(Letters &letters, LetterCase wanted) {
  Expr code = letters.code;
  OpBuilder &b = code.getBuilder();
  std::vector<uint16_t> table = otherCase(wanted);
  auto type =
      RankedTensorType::get({int64_t(table.size())}, b.getIntegerType(16, /*isSigned=*/false));
  HostTensor held(type, ArrayRef(reinterpret_cast<const char *>(table.data()), 2 * table.size()));
  Value found = b.createOrFold<GatherOp>(code.getLoc(), constant(b, code.getLoc(), held),
                                         ValueRange{code.get()}, elementDims(1, 0), allDims(2));
  Expr other = code.with(found).cast(b.getI32Type());
  Expr isLost = is(other, 0).apply<AndOp>(is(code, 0).apply<NotOp>());
  letters.isWrong = letters.isWrong.apply<OrOp>(isLost);
  return other;
}

/// Strings (u8) [strings, bytes] in the wanted case, letter by letter; their lengths stay.
static FailureOr<Expr> changeCase(Node &n, Expr text, LetterCase wanted) {
  Letters letters = decode(text.cast(n.builder().getI32Type()));
  Expr code = lookUp(letters, wanted), length = letters.length;
  Expr before = moved(length, -1), code1 = moved(code, -1), code2 = moved(code, -2);
  Expr result = is(before, 2).select(lowBits(code1),
                                     is(before, 3).select(lowBits(code1 / 64), letters.bytes));
  result = is(moved(length, -2), 3).select(lowBits(code2), result);
  result = is(length, 2).select(code / 64 + 0xc0, is(length, 3).select(code / 4096 + 0xe0, result));
  result = between(letters.bytes, 0, 0x7f).select(code, result);
  ElementsAttr known;
  if (!matchPattern(letters.isWrong.get(), m_Constant(&known)))
    n.getEntry().requireText(letters.isWrong, n.loc());
  else if (llvm::is_contained(HostTensor(known).bytes(), 1))
    return n.error() << "cannot change the case of a stopword: it is not UTF-8, or the other case "
                        "of a letter takes another number of bytes";
  return result.cast(text.element());
}

/// The stopwords that a string may equal, as strings of `bytes`.
static FailureOr<HostTensor> readStopwords(Node &n, int64_t bytes) {
  std::vector<std::string> words;
  if (n.has("stopwords"))
    if (const auto *given = n.attribute("stopwords", AttributeType::strings))
      for (const std::string &word : given->strings())
        if (int64_t(word.size()) <= bytes)
          words.push_back(word);
  int64_t count = int64_t(words.size());
  return withBytes(textOf(words, {count}, *n.builder().getContext()), bytes);
}

/// Whether each string of x [strings, bytes] is one of the words.
static Expr isOneOf(Expr x, Expr words) {
  auto type = x.type().clone({x.shape()[0], words.shape()[0], x.shape()[1]});
  Expr equal =
      x.broadcast(type, {0, 2}).compare(ComparePredicate::eq, words.broadcast(type, {1, 2}));
  return any(all(equal, 2), 1);
}

static FailureOr<std::optional<LetterCase>> readAction(Node &n) {
  StringRef action = n.string("case_change_action", "NONE"), locale = n.string("locale", "");
  if (action != "NONE" && action != "LOWER" && action != "UPPER")
    return n.error() << "expected case_change_action NONE, LOWER or UPPER, found \"" << action
                     << "\"";
  for (StringRef language : {"az", "lt", "tr"})
    if (locale.starts_with(language))
      return n.error() << "with the letters of locale \"" << locale << "\" is not supported";
  if (action == "NONE")
    return std::optional<LetterCase>();
  return std::optional(action == "LOWER" ? LetterCase::lower : LetterCase::upper);
}

/// The strings that are not stopwords, and their number. If there are none, a single empty string.
static std::pair<Expr, Value> leaveOut(Node &n, Expr x, Expr isStopword) {
  OpBuilder &b = n.builder();
  Kept kept = keepWhere(isStopword.apply<NotOp>(), x.shape()[0]);
  Expr count = n.expr(kept.count);
  Value found = b.createOrFold<GatherOp>(n.loc(), x, ValueRange{kept.positions.get()},
                                         elementDims(2, 0), ArrayRef<int64_t>{0});
  Expr isAny = count.compare(ComparePredicate::gt, count.splat(0))
                   .broadcastScalar(x.type().clone(b.getI1Type()));
  return {isAny.select(found, x.splat(0)), count.apply<MaxOp>(count.splat(1))};
}

static LogicalResult importStringNormalizer(Node &n) {
  if (!n.isText(0))
    return n.error() << "expected strings, found " << n.describeOperand(0);
  ArrayRef<int64_t> shape = n.shape(0);
  int64_t rank = n.rank(0) - 1, bytes = shape.back();
  if (rank < 1 || rank > 2 || (rank == 2 && shape[0] != 1) || shape[rank - 1] == 0)
    return n.error() << "expected strings of shape [C] or [1, C], found " << n.describeOperand(0);
  int64_t count = shape[rank - 1];
  auto action = readAction(n);
  bool isCaseSensitive = n.integer("is_case_sensitive", 0) != 0;
  FailureOr<HostTensor> words = readStopwords(n, bytes);
  if (failed(action) || failed(words))
    return failure();
  Expr x = n.expr(0u).reshape({count, bytes}), stop = n.expr(n.constant(*words));
  FailureOr<Expr> changed = x, compared = x;
  if (*action)
    changed = changeCase(n, x, **action);
  if (words->size() && !isCaseSensitive) {
    LetterCase common = action->value_or(LetterCase::lower);
    compared = *action ? changed : changeCase(n, x, common);
    FailureOr<Expr> other = changeCase(n, stop, common);
    if (failed(other))
      return failure();
    stop = *other;
  }
  if (failed(changed) || failed(compared))
    return failure();
  SmallVector<int64_t> given(shape);
  LogicalResult isSet = failure();
  if (words->size() == 0) {
    isSet = n.set(changed->reshape(given));
  } else {
    auto [left, extent] = leaveOut(n, *changed, isOneOf(*compared, stop));
    isSet = n.set(0, left.reshape(given), {rank - 1, extent});
  }
  if (succeeded(isSet))
    n.markText(0);
  return isSet;
}

void gradc::addStringsOps(OpTable &ops) {
  ops["StringNormalizer"] = {importStringNormalizer, 1, 1};
  ops["StringNormalizer"].strings = true;
}
