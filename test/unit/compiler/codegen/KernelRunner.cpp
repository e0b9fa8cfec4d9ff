// Buffers surrounded by guards, with layouts packed by plain loops.
#include "test/unit/compiler/codegen/KernelRunner.h"

#include "dialects/grad/Evaluate.h"
#include "mlir/Parser/Parser.h"
#include "passes/kernel/InPlace.h"
#include "passes/schedule/KernelScratch.h"
#include "test/unit/compiler/codegen/KernelTesting.h"
#include "gtest/gtest.h"

#include <cstring>
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace mlir;
using namespace gradc::test;

Image::Image(llvm::StringRef bytes) {
  file = memfd_create("kernels", MFD_CLOEXEC);
  if (file >= 0 && write(file, bytes.data(), bytes.size()) == ssize_t(bytes.size()))
    handle = dlopen(("/proc/self/fd/" + std::to_string(file)).c_str(), RTLD_NOW | RTLD_LOCAL);
}
Image::~Image() {
  if (handle)
    dlclose(handle);
  close(file);
}
Kernel Image::find(const std::string &symbol) const {
  return handle ? reinterpret_cast<Kernel>(dlsym(handle, symbol.c_str())) : nullptr;
}

KernelRunner::KernelRunner(const std::string &text, const exec::Level *native)
    : context(kernelDialects()) {
  context.loadAllAvailableDialects();
  module = parseSourceString<ModuleOp>(text, &context);
  if (!module)
    return;
  op = *module->getOps<exec::KernelOp>().begin();
  if (!op.getInplace())
    op.setInplace(findInplace(op));
  CodegenOptions options;
  options.verify = true;
  const exec::Level *level = native;
  if (!native) {
    options.cpu = "x86-64-v3";
    level = exec::findLevel(op.getScheduleAttr().getLanes() == 16 ? "x86-64-v4" : "x86-64-v3");
  }
  FailureOr<std::string> bytes = generateImage(*module, *level, options);
  if (failed(bytes))
    return;
  image = std::make_unique<Image>(*bytes);
  kernel = image->find(kernelSymbol(op));
  scratchBytes = size_t(kernelScratch(op, *level));
}
KernelRunner::~KernelRunner() = default;

int64_t KernelRunner::units(int64_t rows) {
  if (!op.getRows() || op.getScheduleAttr().getOrder().empty())
    return exec::kernelUnits(op);
  int64_t dim = op.getScheduleAttr().getOrder().front(), each = op.getRowsOf(dim);
  if (each && op.getScheduleAttr().isOfOneOp())
    return exec::kernelUnits(op) / exec::tilesAlong(op, dim) *
           llvm::divideCeil(each * rows, op.getScheduleAttr().getTile()[dim]);
  return each ? std::max<int64_t>(
                    llvm::divideCeil(each * rows, op.getScheduleAttr().getTile()[dim]), 1)
              : exec::kernelUnits(op);
}

std::vector<HostTensor> KernelRunner::randomOperands(unsigned seed) {
  return test::randomOperands(op, seed);
}

HostTensor KernelRunner::operand(const void *bytes, size_t size) {
  return HostTensor(cast<RankedTensorType>(op.getBlock().getArgument(0).getType()),
                    ArrayRef(static_cast<const char *>(bytes), size));
}

namespace {
/// The position of a logical element in a layout.
int64_t physical(ArrayRef<int64_t> index, ArrayRef<int64_t> shape, exec::PanelAttr panel) {
  if (!panel)
    return grad::linearize(index, shape);
  int64_t position = index[panel.getDim()] / panel.getWidth(), together = panel.getTogether();
  for (size_t d = 0; d < shape.size(); ++d)
    if (int64_t(d) == panel.getInterleaved())
      position = position * llvm::divideCeil(shape[d], together) + index[d] / together;
    else if (int64_t(d) != panel.getDim())
      position = position * shape[d] + index[d];
  position = position * panel.getWidth() + index[panel.getDim()] % panel.getWidth();
  return panel.isInterleaved() ? together * position + index[panel.getInterleaved()] % together
                               : position;
}

/// Calls a function for each number of G g G^T with its offset, the filter's values g, and the
/// number.
void forEachTransformed(const HostTensor &filter, exec::PanelAttr panel,
                        llvm::function_ref<void(int64_t, double)> use) {
  constexpr double small[4][3] = {{1, 0, 0}, {.5, .5, .5}, {.5, -.5, .5}, {0, 0, 1}};
  constexpr double large[6][3] = {
      {64. / 81, 0, 0},
      {-128. / 243, -96. / 243, -72. / 243},
      {-128. / 243, 96. / 243, -72. / 243},
      {32. / 243, 48. / 243, 72. / 243},
      {32. / 243, -48. / 243, 72. / 243},
      {0, 0, 1},
  };
  bool isLarge = panel.getKind() == exec::PanelKind::winograd4x4;
  const auto *g = isLarge ? large : small;
  int64_t patch = isLarge ? 6 : 4, slots = patch * patch;
  auto shape = filter.getShape();
  int64_t d = panel.getDim(), other = 5 - d, w = panel.getWidth();
  for (int64_t n = 0; n < shape[d]; ++n)
    for (int64_t k = 0; k < shape[other]; ++k)
      for (int64_t slot = 0; slot < slots; ++slot) {
        double sum = 0;
        for (int64_t tap = 0; tap < 9; ++tap) {
          int64_t index[] = {tap / 3, tap % 3, d == 2 ? n : k, d == 2 ? k : n};
          sum += g[slot / patch][tap / 3] * g[slot % patch][tap % 3] *
                 filter.getFloat(grad::linearize(index, shape));
        }
        use(((n / w * slots + slot) * shape[other] + k) * w + n % w, sum);
      }
}

/// The bytes of a tensor in a layout, followed by a guard.
struct Buffer {
  static constexpr size_t guard = 64;
  Buffer(RankedTensorType type, exec::PanelAttr panel, int fill)
      : type(type), panel(panel), size(exec::layoutBytes(type, panel)) {
    size_t whole = llvm::alignTo(size + guard, 64);
    bytes.reset(static_cast<char *>(std::aligned_alloc(64, whole)));
    std::memset(bytes.get(), panel ? 0 : fill, size);
    std::memset(bytes.get() + size, 0x5a, guard);
  }
  int64_t width() const { return grad::elementBytes(type.getElementType()); }
  /// Calls a function with the first byte of each element in a row-major tensor, and its position.
  template <typename Visit> void forEachElement(Visit visit) {
    int64_t logical = 0;
    grad::forEachIndex(type.getShape(), [&](ArrayRef<int64_t> index) {
      visit(logical, physical(index, type.getShape(), panel));
      logical += width();
    });
  }
  void put(int64_t position, const char *element) {
    if (!panel || !panel.isOfNibbles()) {
      std::memcpy(bytes.get() + position * width(), element, width());
      return;
    }
    char &both = bytes.get()[position / 2];
    both = position % 2 == 0 ? (both & 0xf0) | (*element & 0x0f) : (both & 0x0f) | *element << 4;
  }
  void get(int64_t position, char *element) {
    if (panel && panel.isOfNibbles())
      *element =
          char(llvm::SignExtend64<4>(uint8_t(bytes.get()[position / 2]) >> position % 2 * 4));
    else
      std::memcpy(element, bytes.get() + position * width(), width());
  }
  void pack(const HostTensor &tensor) {
    if (panel && panel.isWinograd())
      return forEachTransformed(tensor, panel, [&](int64_t at, double value) {
        reinterpret_cast<float *>(bytes.get())[at] = float(value);
      });
    forEachElement(
        [&](int64_t logical, int64_t position) { put(position, tensor.bytes().data() + logical); });
  }
  /// For a transformed filter, all stored values.
  HostTensor unpack() {
    if (panel && panel.isWinograd())
      return HostTensor(
          RankedTensorType::get({int64_t(size / 4)}, Float32Type::get(type.getContext())),
          ArrayRef(bytes.get(), size));
    HostTensor tensor(type);
    MutableArrayRef<char> out = tensor.mutableBytes();
    forEachElement([&](int64_t logical, int64_t position) { get(position, &out[logical]); });
    return tensor;
  }
  void expectUntouchedAround() {
    for (size_t i = 0; i < guard; ++i)
      ASSERT_EQ(bytes.get()[size + i], 0x5a) << "written " << i << " bytes behind a tensor";
    if (!panel || panel.isWinograd()) // which has no padding
      return;
    const char zeros[sizeof(int64_t)] = {};
    forEachElement([&](int64_t, int64_t position) { put(position, zeros); });
    for (size_t i = 0; i < size; ++i)
      ASSERT_EQ(bytes.get()[i], 0) << "padding of a panel is no longer 0";
  }

  RankedTensorType type;
  exec::PanelAttr panel;
  size_t size;
  std::unique_ptr<char, decltype(&std::free)> bytes{nullptr, &std::free};
};
} // namespace

std::vector<size_t> KernelRunner::overwritten() {
  std::vector<size_t> operands;
  size_t count = op.getBlock().getNumArguments();
  for (size_t r = 0; r < op.getYielded().size(); ++r) {
    size_t i = 0;
    while (i < count && (!op.mayOverwrite(i, r) || llvm::is_contained(operands, i)))
      ++i;
    operands.push_back(i);
  }
  return operands;
}

std::vector<HostTensor> KernelRunner::run(const std::vector<HostTensor> &operands,
                                          const std::vector<std::pair<int64_t, int64_t>> &ranges,
                                          int64_t rows) {
  std::vector<Buffer> buffers;
  std::vector<void *> slices;
  for (auto [i, operand] : llvm::enumerate(operands)) {
    buffers.emplace_back(operand.getType(), op.getLayout(i), 0);
    buffers.back().pack(operand);
    slices.push_back(buffers.back().bytes.get());
  }
  std::vector<size_t> resultBuffers = overwritten();
  for (auto [r, result] : llvm::enumerate(op.getYielded())) {
    size_t &shared = resultBuffers[r];
    if (shared == operands.size()) {
      shared = buffers.size();
      buffers.emplace_back(cast<RankedTensorType>(result.getType()),
                           op.getLayout(operands.size() + r), 0xcd);
    }
    slices.push_back(buffers[shared].bytes.get());
  }
  std::unique_ptr<char[], decltype(&std::free)> scratch(
      static_cast<char *>(std::aligned_alloc(64, scratchBytes + Buffer::guard)), &std::free);
  std::memset(scratch.get() + scratchBytes, 0x5a, Buffer::guard);
  for (auto [begin, end] : ranges)
    kernel(slices.data(), begin, end, rows, scratch.get());
  for (size_t i = 0; i < Buffer::guard; ++i)
    EXPECT_EQ(scratch[scratchBytes + i], 0x5a) << "written " << i << " bytes behind the scratch";
  std::vector<HostTensor> results;
  for (size_t b : resultBuffers)
    results.push_back(buffers[b].unpack());
  for (Buffer &b : buffers)
    b.expectUntouchedAround();
  return results;
}

std::vector<HostTensor> KernelRunner::evaluate(const std::vector<HostTensor> &operands) {
  std::vector<HostTensor> results;
  for (auto [r, value] : llvm::enumerate(evaluateBlock(op.getBlock(), operands))) {
    results.push_back(value);
    exec::PanelAttr panel = op.getLayout(operands.size() + r);
    if (!panel || !panel.isWinograd())
      continue;
    auto elements = int64_t(exec::layoutBytes(value.getType(), panel) / 4);
    Type stored = Float32Type::get(value.getType().getContext());
    results.back() = HostTensor(RankedTensorType::get({elements}, stored));
    forEachTransformed(value, panel,
                       [&](int64_t at, double number) { results.back().setFloat(at, number); });
  }
  return results;
}

void gradc::test::expectRight(const std::string &text, double tolerance, const exec::Level *native,
                              const std::function<void(std::vector<HostTensor> &)> &prepare) {
  KernelRunner runner(text, native);
  ASSERT_TRUE(runner.isReady()) << text;
  int64_t units = runner.units();
  std::vector<HostTensor> operands = runner.randomOperands(1);
  if (prepare)
    prepare(operands);
  std::vector<HostTensor> whole = runner.run(operands, {{0, units}});

  std::vector<HostTensor> expected = runner.evaluate(operands);
  for (size_t r = 0; r < whole.size(); ++r)
    for (int64_t i = 0; i < whole[r].size(); ++i) {
      double e = expected[r].getFloat(i), found = whole[r].getFloat(i);
      if (found == e)
        continue; // both may be infinite
      ASSERT_NEAR(found, e, tolerance * std::max(1.0, std::abs(e)))
          << "result " << r << ", element " << i << " of\n"
          << text;
    }

  std::vector<std::vector<std::pair<int64_t, int64_t>>> splits;
  for (int64_t cut : {int64_t(1), units / 2, units - 1})
    splits.push_back({{0, cut}, {cut, units}});
  splits.emplace_back();
  for (int64_t u = units - 1; u >= 0; --u)
    splits.back().push_back({u, u + 1});
  for (const auto &ranges : splits) {
    std::vector<HostTensor> parts = runner.run(operands, ranges);
    for (size_t r = 0; r < whole.size(); ++r)
      ASSERT_EQ(whole[r].bytes(), parts[r].bytes()) << "result " << r << " differs when split, of\n"
                                                    << text;
  }
}
