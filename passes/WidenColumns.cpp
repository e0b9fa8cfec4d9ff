// Gives convolutions with few columns more of them, since vectors run along columns.
#include "dialects/grad/Build.h"
#include "dialects/grad/Grad.h"
#include "passes/Passes.h"
#include "passes/entry/Functions.h"

using namespace mlir;
using namespace mlir::grad;

namespace gradc {
#define GEN_PASS_DEF_WIDENCOLUMNS
#include "passes/Passes.h.inc"

namespace {

/// A module may be for several levels: the lanes of the widest and of the narrowest vectors. Few
/// columns leave at least half of the narrowest ones empty.
constexpr int64_t lanes = 16, fewestLanes = 8, fewColumns = 4;
/// Adding up a column of a window takes about as long as this many vectors of products: it is
/// written and read, in a tensor that leaves the cache if pictures are large.
constexpr double vectorsPerColumn = 2;
/// A vector of a depthwise convolution takes as long as this many vectors of a product: it reads
/// both of its factors, whereas a tile of a product reads each factor once for several vectors.
constexpr double vectorsOfDepthwise = 2;
/// Another form may need more memory, so its estimate has to be this many times as fast.
constexpr double leastGain = 1.4;
/// The same for exchanged factors, whose sums are long and whose results are few.
constexpr double leastGainOfExchange = 4;
/// The least saving, in vectors of products: about 25 us, which a few more launches and rearranging
/// the filter may cost.
constexpr double leastSaved = 1 << 17;
/// Sums of blocks up to this many elements (16 MiB) are accepted, however small operands and result
/// are.
constexpr double smallSums = 1 << 22;
/// The most blocks of taps: slices that one kernel adds up.
constexpr int64_t maxBlocks = 32;

double vectorsOf(int64_t columns, int64_t width = lanes) {
  return double(llvm::divideCeil(columns, width));
}
bool areAll(ArrayRef<int64_t> numbers, int64_t n) {
  return llvm::all_of(numbers, [&](int64_t number) { return number == n; });
}

/// A contraction, whose columns are counted if it is a convolution with few of them, or whose
/// channels if it is a depthwise one with few of those.
class NarrowConvolution {
public:
  NarrowConvolution(OpBuilder &builder, ContractionOpInterface op)
      : builder(builder), op(op), letters(op.getLetters()), window(letters.window),
        lhs(builder, op->getLoc(), op->getOperand(0)),
        rhs(builder, op->getLoc(), op->getOperand(1)),
        result(cast<RankedTensorType>(op->getResult(0).getType())) {}

  /// A better form, or null. `narrower`: convolutions in it that may still have few columns.
  Value widen(SmallVectorImpl<ContractionOpInterface> &narrower) {
    if (!window || !lhs.element().isF32() || !rhs.element().isF32() ||
        result.getNumElements() == 0 || lhs.type().getNumElements() == 0)
      return Value();
    count();
    if (isOfFewChannels())
      return gainsByChannel() ? separateChannels(narrower) : Value();
    if (!hasFewColumns())
      return Value();
    for (int64_t d = 0; d < window.getRank(); ++d)
      if (picksTaps(d))
        return columnsOfTaps(d, narrower);
    if (gainsByExchange())
      return exchange();
    if (std::optional<SmallVector<int64_t>> counts = bestBlocks())
      return addBlocks(*counts);
    return Value();
  }

private:
  /// Counts rows, columns and terms of one tap's product; of a depthwise convolution, of one
  /// channel.
  void count() {
    for (char c : letters.result) {
      rows *= letters.isRow(c) ? sizeOf(c) : 1;
      rowLetters += letters.isRow(c) ? std::string(1, c) : "";
      columnLetters += letters.isColumn(c) ? std::string(1, c) : "";
    }
    for (char c : letters.lhs)
      summed *= letters.isSummed(c) ? double(sizeOf(c)) : 1;
    if (isOfFewChannels())
      columns = 1;
    else if (columnLetters.size() == 1)
      columns = sizeOf(columnLetters[0]);
  }

  /// Whether it has few columns, of one letter, and no dims of a batch.
  bool hasFewColumns() const {
    return columns > 0 && columns <= fewColumns &&
           llvm::none_of(letters.result, [&](char c) { return letters.isBatch(c); });
  }

  // Geometry -------------------------------------------------------------------------------------

  int64_t sizeOf(char letter) const {
    bool isOfLhs = letters.lhs.find(letter) != std::string::npos;
    return isOfLhs ? lhs.shape()[letters.dimOf(letters.lhs, letter)]
                   : rhs.shape()[letters.dimOf(letters.rhs, letter)];
  }
  int64_t taps(int64_t d) const { return window.getSize()[d]; }
  int64_t windows(int64_t d) const { return result.getDimSize(d); }
  double allWindows() const {
    return double(llvm::product_of(result.getShape().take_front(window.getRank())));
  }
  /// The dim of columns in the rhs, and in the result.
  int64_t columnOfRhs() const { return letters.dimOf(letters.rhs, columnLetters[0]); }
  int64_t columnOfResult() const { return letters.dimOf(letters.result, columnLetters[0]); }

  Expr slice(Expr x, ArrayRef<int64_t> starts, ArrayRef<int64_t> sizes, ArrayRef<int64_t> strides) {
    return x.with(builder.createOrFold<SliceOp>(op->getLoc(), x, starts, sizes, strides));
  }
  Expr convolve(Expr x, Expr w, const Twine &dims, WindowAttr window) {
    return x.with(ConvolutionOp::create(builder, op->getLoc(), x, w, dims.str(), window,
                                        /*wide=*/false));
  }
  std::string dims() const { return letters.lhs + "," + letters.rhs + "->" + letters.result; }

  // Channels of a depthwise convolution -----------------------------------------------------------

  /// Whether the op is a depthwise convolution of few channels.
  bool isOfFewChannels() const {
    return letters.rhs.size() == 1 && letters.isBatch(letters.rhs[0]) && window.getRank() > 0 &&
           sizeOf(letters.rhs[0]) <= fewColumns && letters.lhs.size() == letters.result.size() &&
           llvm::all_of(letters.result,
                        [&](char c) { return c == letters.rhs[0] || letters.isRow(c); });
  }

  /// Whether it has so many taps that it is better to convolve one channel after the other, with
  /// blocks of taps as columns.
  bool gainsByChannel() const {
    SmallVector<int64_t> whole(window.getRank(), 1);
    std::optional<SmallVector<int64_t>> counts = bestBlocks();
    return counts && vectorsOfDepthwise * timeOf(whole) >=
                         leastGain * double(sizeOf(letters.rhs[0])) * timeOf(*counts);
  }

  /// One convolution for each channel, which is the only one of its picture, of one filter.
  Value separateChannels(SmallVectorImpl<ContractionOpInterface> &narrower) {
    char channel = letters.rhs[0], filter = 'a';
    while (letters.lhs.find(filter) != std::string::npos)
      ++filter;
    std::string ofResult = letters.result;
    llvm::replace(ofResult, channel, filter);
    auto one = [&](Expr x, int64_t dim, int64_t at) {
      SmallVector<int64_t> starts(x.shape().size(), 0), sizes(x.shape()), ones(sizes.size(), 1);
      starts[dim] = at;
      sizes[dim] = 1;
      return slice(x, starts, sizes, ones);
    };
    SmallVector<Value> results;
    for (int64_t i = 0, n = sizeOf(channel); i < n; ++i) {
      Expr taps = one(rhs, letters.dimOf(letters.rhs, channel), i);
      SmallVector<int64_t> shape(taps.shape());
      shape.push_back(1);
      Expr picture = one(lhs, letters.dimOf(letters.lhs, channel), i);
      std::string dims = letters.lhs + "," + channel + filter + "->" + ofResult;
      Expr convolved = convolve(picture, taps.reshape(shape), dims, window);
      narrower.push_back(convolved.get().getDefiningOp<ContractionOpInterface>());
      results.push_back(convolved);
    }
    return builder.createOrFold<ConcatenateOp>(op->getLoc(), results,
                                               letters.dimOf(letters.result, channel));
  }

  // Taps over a single element -------------------------------------------------------------------

  /// Whether each window has one tap on the single element of dim `d`, another one each.
  bool picksTaps(int64_t d) const {
    int64_t last = taps(d) - 1;
    if (lhs.shape()[d] != 1 || windows(d) == 1 || window.getStride()[d] != 1 ||
        window.getDilation()[d] != 1 || window.getLow()[d] > last || window.getHigh()[d] > last)
      return false;
    double before = vectorsOf(columns) * double(windows(d)),
           after = vectorsOf(columns * windows(d));
    double others = double(window.getTaps()) / double(taps(d)) * allWindows() / double(windows(d));
    return others * summed * rows * (before - after) >= leastSaved;
  }

  /// The taps of dim `d`, in the order of windows, are columns in front of the others.
  Value columnsOfTaps(int64_t d, SmallVectorImpl<ContractionOpInterface> &narrower) {
    int64_t first = window.getLow()[d], rank = window.getRank(), count = windows(d);
    SmallVector<int64_t> starts(rhs.shape().size(), 0), sizes(rhs.shape()),
        strides(sizes.size(), 1);
    starts[d] = window.getReversed() ? taps(d) - 1 - first : first;
    sizes[d] = count;
    strides[d] = window.getReversed() ? 1 : -1;
    SmallVector<int64_t> order, filter, picture(lhs.shape());
    for (int64_t i = 0, n = rhs.shape().size(); i < n; ++i) {
      if (i == d)
        continue;
      if (i == columnOfRhs())
        order.push_back(d);
      order.push_back(i);
      filter.push_back(i == columnOfRhs() ? count * columns : rhs.shape()[i]);
    }
    picture.erase(picture.begin() + d);
    auto without = [&](ArrayRef<int64_t> numbers) {
      SmallVector<int64_t> others(numbers);
      others.erase(others.begin() + d);
      return others;
    };
    auto others = WindowAttr::get(builder.getContext(), without(window.getSize()),
                                  without(window.getStride()), without(window.getLow()),
                                  without(window.getHigh()), without(window.getBase()),
                                  without(window.getDilation()), window.getReversed() && rank > 1);
    Expr chosen = slice(rhs, starts, sizes, strides).transpose(order).reshape(filter);
    Expr wide = convolve(lhs.reshape(picture), chosen, dims(), others);
    narrower.push_back(wide.get().getDefiningOp<ContractionOpInterface>());
    // [..., windows * columns, ...] to [..., windows, columns, ...], and windows to their place.
    SmallVector<int64_t> split(wide.shape()), back;
    int64_t column = columnOfResult() - 1; // without dim d
    split[column] = columns;
    split.insert(split.begin() + column, count);
    for (int64_t i = 0, n = split.size(); i < n; ++i)
      if (i != column)
        back.push_back(i);
    back.insert(back.begin() + d, column);
    return wide.reshape(split).transpose(back);
  }

  // Exchanged factors ----------------------------------------------------------------------------

  /// Whether the op is the gradient of a filter whose channels would be better columns.
  bool gainsByExchange() {
    if (op.getConvolutionPart() != ConvolutionPart::filter_gradient || rowLetters.size() != 1 ||
        !areAll(window.getStride(), 1) || !areAll(window.getDilation(), 1))
      return false;
    double before = rows * vectorsOf(columns), after = double(columns) * vectorsOf(int64_t(rows));
    double products = double(window.getTaps()) * allWindows() * summed;
    return before >= leastGainOfExchange * after && products * (before - after) >= leastSaved;
  }

  /// The lhs as filter of the rhs. Window w has tap t on element w + t - low: the other way round,
  /// element t is under tap e of window e - t, so windows come out in reverse order.
  Value exchange() {
    int64_t rank = window.getRank();
    SmallVector<int64_t> low, high, ones(rank, 1), starts(result.getRank(), 0);
    SmallVector<int64_t> strides(result.getRank(), 1);
    for (int64_t d = 0; d < rank; ++d) {
      low.push_back(windows(d) - 1 - window.getLow()[d]);
      high.push_back(lhs.shape()[d] - taps(d) + window.getLow()[d]);
      starts[d] = windows(d) - 1;
      strides[d] = -1;
    }
    auto exchanged = WindowAttr::get(builder.getContext(), lhs.shape().take_front(rank), ones, low,
                                     high, ones, ones, /*reversed=*/false);
    // As rows in front of columns, as in other products.
    std::string order = columnLetters + rowLetters;
    Expr turned = convolve(rhs, lhs, letters.rhs + "," + letters.lhs + "->" + order, exchanged);
    SmallVector<int64_t> back = llvm::to_vector(llvm::seq<int64_t>(0, rank));
    for (char c : letters.result)
      back.push_back(rank + int64_t(order.find(c)));
    Expr forward = slice(turned, starts, turned.shape(), strides);
    return forward.transpose(back);
  }

  // Blocks of taps -------------------------------------------------------------------------------

  int64_t blockSize(int64_t d, int64_t count) const { return llvm::divideCeil(taps(d), count); }
  /// How far the windows of neighbouring blocks are apart.
  int64_t blockStep(int64_t d, int64_t count) const {
    return blockSize(d, count) * window.getDilation()[d];
  }
  /// The windows of a block, over all places where a window has one.
  int64_t blockWindows(int64_t d, int64_t count) const {
    return windows(d) + (count - 1) * blockStep(d, count);
  }

  /// The vectors of products that it takes if the taps of each dim are in `counts` blocks.
  double timeOf(ArrayRef<int64_t> counts, int64_t width = lanes) const {
    double products = summed, places = rows;
    for (auto [d, count] : llvm::enumerate(counts)) {
      // Taps on gaps between elements are skipped.
      products *= std::max(1.0, double(blockSize(d, count)) / double(window.getBase()[d]));
      places *= double(blockWindows(d, count));
    }
    int64_t blocks = llvm::product_of(counts), all = blocks * columns;
    double added = blocks == 1 ? 0 : vectorsPerColumn * double(all);
    return places * (products * vectorsOf(all, width) + added);
  }

  /// Whether the sums of blocks need little memory beside what is read and written anyway.
  bool isSmall(ArrayRef<int64_t> counts) const {
    double sums = double(columns) * rows;
    for (auto [d, count] : llvm::enumerate(counts))
      sums *= double(count) * double(blockWindows(d, count));
    double given = double(lhs.type().getNumElements()) + double(result.getNumElements());
    return sums <= std::max(smallSums, 2 * given);
  }

  std::optional<SmallVector<int64_t>> bestBlocks() const {
    if (!areAll(window.getStride(), 1))
      return std::nullopt;
    SmallVector<int64_t> counts(window.getRank(), 1), best = counts;
    double whole = timeOf(counts), least = whole, narrow = timeOf(counts, fewestLanes);
    auto visit = [&](auto &&self, int64_t d, int64_t left) -> void {
      if (d == window.getRank()) {
        if (double time = timeOf(counts); time < least && isSmall(counts)) {
          least = time;
          best = counts;
        }
        return;
      }
      for (int64_t count = 1; count <= std::min(left, taps(d)); ++count) {
        counts[d] = count;
        self(self, d + 1, left / count);
      }
      counts[d] = 1;
    };
    visit(visit, 0, maxBlocks);
    bool gains = whole >= leastGain * least && whole - least >= leastSaved &&
                 narrow >= leastGain * timeOf(best, fewestLanes);
    return gains ? std::optional(best) : std::nullopt;
  }

  /// The taps [taps..., letters] as [taps of a block..., letters] with blocks as columns in front
  /// of the others. What is left of the last block is 0: in reversed windows, that is at the front.
  Expr filterOfBlocks(ArrayRef<int64_t> counts) {
    int64_t rank = window.getRank(), all = rhs.shape().size();
    SmallVector<int64_t> low(all, 0), high(low), none(low), split, order, merged, columnDims;
    for (auto [d, count] : llvm::enumerate(counts)) {
      int64_t size = blockSize(d, count);
      (window.getReversed() ? low : high)[d] = count * size - taps(d);
      split.append({count, size});
      order.push_back(2 * d + 1);
      merged.push_back(size);
      columnDims.push_back(2 * d);
    }
    for (int64_t i = rank; i < all; ++i) {
      if (i == columnOfRhs())
        llvm::append_range(order, columnDims);
      order.push_back(rank + i);
      split.push_back(rhs.shape()[i]);
      merged.push_back(i == columnOfRhs() ? llvm::product_of(counts) * columns : rhs.shape()[i]);
    }
    Expr filter = rhs;
    if (low != none || high != none)
      filter = rhs.with(
          builder.createOrFold<PadOp>(op->getLoc(), rhs, low, high, none, llvm::APFloat(0.0)));
    return filter.reshape(split).transpose(order).reshape(merged);
  }

  Value addBlocks(ArrayRef<int64_t> counts) {
    int64_t rank = window.getRank(), block = 0;
    SmallVector<int64_t> size, high;
    for (auto [d, count] : llvm::enumerate(counts)) {
      size.push_back(blockSize(d, count));
      int64_t spread = (lhs.shape()[d] - 1) * window.getBase()[d] + 1;
      int64_t extent = (size[d] - 1) * window.getDilation()[d] + 1;
      high.push_back(blockWindows(d, count) - 1 + extent - window.getLow()[d] - spread);
    }
    auto ofBlock =
        WindowAttr::get(builder.getContext(), size, window.getStride(), window.getLow(), high,
                        window.getBase(), window.getDilation(), window.getReversed());
    Expr sums = convolve(lhs, filterOfBlocks(counts), dims(), ofBlock);
    SmallVector<int64_t> starts(result.getRank(), 0), ones(result.getRank(), 1);
    std::optional<Expr> sum;
    forEachIndex(counts, [&](ArrayRef<int64_t> index) {
      starts[columnOfResult()] = block++ * columns;
      for (int64_t d = 0; d < rank; ++d) {
        int64_t number = window.getReversed() ? counts[d] - 1 - index[d] : index[d];
        starts[d] = number * blockStep(d, counts[d]);
      }
      Expr one = slice(sums, starts, result.getShape(), ones);
      sum = sum ? *sum + one : one;
    });
    return *sum;
  }

  OpBuilder &builder;
  ContractionOpInterface op;
  ContractionLetters letters;
  WindowAttr window;
  Expr lhs, rhs;
  RankedTensorType result;
  std::string rowLetters, columnLetters;
  int64_t columns = 0;
  double rows = 1, summed = 1; ///< products of sizes, as numbers that do not overflow
};

struct WidenColumns : impl::WidenColumnsBase<WidenColumns> {
  void runOnOperation() override {
    for (auto function : functionsOf(getOperation())) {
      SmallVector<ContractionOpInterface> left;
      function.walk([&](ContractionOpInterface op) { left.push_back(op); });
      while (!left.empty()) {
        ContractionOpInterface op = left.pop_back_val();
        OpBuilder builder(op);
        Value other = NarrowConvolution(builder, op).widen(left);
        if (!other)
          continue;
        op->getResult(0).replaceAllUsesWith(other);
        op->erase();
      }
    }
  }
};

} // namespace
} // namespace gradc
