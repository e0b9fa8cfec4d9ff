// Reads and checks a node's window, and computes the padding of auto_pad.
#include "dialects/Pch.h"

#include "compiler/import/onnx/ops/Window.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

/// The maximum reach of a window; products of these numbers and a dim do not overflow.
static constexpr int64_t maxReach = 1 << 20;

void Window::setPads(int64_t d, int64_t total) {
  int64_t less = total / 2, more = total - less;
  low[d] = autoPad == "SAME_LOWER" ? more : less;
  high[d] = autoPad == "SAME_LOWER" ? less : more;
}

LogicalResult gradc::expectNumbers(Node &n, StringRef name, ArrayRef<int64_t> values, size_t count,
                                   int64_t least) {
  if (values.size() != count)
    return n.error() << "expected " << count << " numbers as " << name << ", found "
                     << values.size();
  if (llvm::all_of(values, [&](int64_t v) { return v >= least && v < maxReach; }))
    return success();
  return n.error() << "expected " << name << " of at least " << least << " and below 2^20, found "
                   << formatDims(values);
}

static FailureOr<SmallVector<int64_t>> readKernel(Node &n) {
  auto kernel = n.integers("kernel_shape");
  if (n.rank(0) < 3)
    return n.error() << "expected rank 3 or more, found " << n.describeOperand(0);
  if (!kernel)
    return n.error() << "has no kernel_shape";
  if (failed(expectNumbers(n, "kernel_shape", *kernel, n.rank(0) - 2, 1)))
    return failure();
  return *kernel;
}

FailureOr<Window> gradc::readWindow(Node &n, ArrayRef<int64_t> kernel) {
  size_t rank = kernel.size();
  auto read = [&](StringRef name, size_t count, int64_t otherwise) {
    auto given = n.integers(name);
    return given ? *given : SmallVector<int64_t>(count, otherwise);
  };
  Window w;
  w.kernel = SmallVector<int64_t>(kernel);
  w.strides = read("strides", rank, 1);
  w.dilations = read("dilations", rank, 1);
  w.autoPad = n.string("auto_pad", "NOTSET");
  SmallVector<int64_t> pads = read("pads", 2 * rank, 0);
  bool ok = succeeded(expectNumbers(n, "strides", w.strides, rank, 1));
  ok &= succeeded(expectNumbers(n, "dilations", w.dilations, rank, 1));
  ok &= succeeded(expectNumbers(n, "pads", pads, 2 * rank, 0));
  if (!llvm::is_contained({"NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"}, w.autoPad)) {
    n.error() << "expected auto_pad NOTSET, VALID, SAME_UPPER or SAME_LOWER, found \"" << w.autoPad
              << "\"";
    ok = false;
  } else if (w.autoPad != "NOTSET" && llvm::any_of(pads, [](int64_t p) { return p != 0; })) {
    n.error() << "expected no pads beside auto_pad " << w.autoPad << ", found " << formatDims(pads);
    ok = false;
  }
  if (!ok)
    return failure();
  w.low.assign(pads.begin(), pads.begin() + rank);
  w.high.assign(pads.begin() + rank, pads.end());
  return w;
}

FailureOr<Window> gradc::readWindow(Node &n) {
  FailureOr<SmallVector<int64_t>> kernel = readKernel(n);
  if (failed(kernel))
    return failure();
  return readWindow(n, *kernel);
}

void gradc::padToSame(Window &w, ArrayRef<int64_t> sizes) {
  if (!w.isSame())
    return;
  for (int64_t d = 0; d < w.rank(); ++d) {
    int64_t windows = llvm::divideCeil(sizes[d], w.strides[d]);
    w.setPads(d, std::max<int64_t>((windows - 1) * w.strides[d] + w.extent(d) - sizes[d], 0));
  }
}

LogicalResult gradc::expectFits(Node &n, const Window &w) {
  bool ok = true;
  for (int64_t d = 0; d < w.rank(); ++d)
    if (w.positions(d, n.shape(0)[d + 2]) <= 0) {
      n.error() << "expected a window of " << w.extent(d) << " to fit dim " << d + 2 << " of "
                << n.describeOperand(0) << " with pads " << w.low[d] << " and " << w.high[d];
      ok = false;
    }
  return success(ok);
}

WindowAttr gradc::windowAttribute(Node &n, const Window &w) {
  SmallVector<int64_t> base(w.rank(), 1);
  return WindowAttr::get(n.builder().getContext(), w.kernel, w.strides, w.low, w.high, base,
                         w.dilations, /*reversed=*/false);
}

Expr gradc::spatialFirst(Expr x) {
  SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(2, x.type().getRank()));
  order.append({0, 1});
  return x.transpose(order);
}

Expr gradc::channelsSecond(Expr x) {
  int64_t rank = x.type().getRank();
  SmallVector<int64_t> order{rank - 2, rank - 1};
  llvm::append_range(order, llvm::seq<int64_t>(0, rank - 2));
  return x.transpose(order);
}

LogicalResult gradc::importChannelsLast(Node &n, ImportFunction import) {
  int64_t rank = n.rank(0);
  if (rank < 3)
    return n.error() << "expected rank 3 or more, found " << n.describeOperand(0);
  SmallVector<int64_t> second{0, rank - 1}, last{0};
  llvm::append_range(second, llvm::seq<int64_t>(1, rank - 1));
  llvm::append_range(last, llvm::seq<int64_t>(2, rank));
  last.push_back(1);
  n.replaceOperand(0, n.expr(0u).transpose(second));
  if (failed(import(n)))
    return failure();
  return n.set(n.expr(n.getResults()[0]).transpose(last));
}
