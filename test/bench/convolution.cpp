// Measures generated convolutions, forward and both gradients, against this machine's own FMA peak,
// alternately, on one thread, with the pass's schedules; with filters stored as they are, and
// transformed where that suits. Prints one JSON object per kernel, whose share of the peak counts
// direct arithmetic.
//
//     convolution-bench [WORD]    only kernels with this word in their name
#include "test/bench/Kernel.h"

#include "dialects/grad/Grad.h"

using namespace gradc::bench;

int main(int argc, char **argv) {
  const mlir::exec::Level *level = mlir::exec::nativeLevel();
  if (!level) {
    std::fprintf(stderr, "this machine executes no level that gradc compiles for\n");
    return 1;
  }
  struct Shape {
    const char *name;
    int64_t size, batch, channels, filters, taps, stride;
  };
  const Shape shapes[] = {
      {"first", 32, 64, 3, 32, 3, 1},          {"32ch", 32, 64, 32, 32, 3, 1},
      {"64ch", 16, 64, 64, 64, 3, 1},          {"64ch b32", 16, 32, 64, 64, 3, 1},
      {"128ch", 8, 32, 128, 128, 3, 1},        {"256ch", 4, 32, 256, 256, 3, 1},
      {"512ch", 2, 32, 512, 512, 3, 1},        {"stride", 16, 32, 64, 128, 3, 2},
      {"1x1", 16, 32, 64, 128, 1, 1},          {"64ch 56x56 b1", 56, 1, 64, 64, 3, 1},
      {"128ch 28x28", 28, 8, 128, 128, 3, 1},  {"256ch 14x14", 14, 8, 256, 256, 3, 1},
      {"256ch 16x16", 16, 16, 256, 256, 3, 1}, {"512ch 8x8", 8, 32, 512, 512, 3, 1}};
  int64_t width = level->vectorBytes / 4 * level->tileVectors;
  llvm::StringRef word = argc > 1 ? argv[1] : "";
  bool good = true;
  for (const Shape &s : shapes) {
    int64_t pad = s.taps / 2, out = (s.size + 2 * pad - s.taps) / s.stride + 1;
    int64_t left = s.taps - 1 - pad, right = s.size - 1 - left - (out - 1) * s.stride + s.taps - 1,
            high = (s.taps - 1) + (out - 1) * s.stride - pad - (s.size - 1);
    std::string x = llvm::formatv("tensor<{0}x{0}x{1}x{2}xf32>", s.size, s.batch, s.channels),
                y = llvm::formatv("tensor<{0}x{0}x{1}x{2}xf32>", out, s.batch, s.filters),
                w = llvm::formatv("tensor<{0}x{0}x{1}x{2}xf32>", s.taps, s.channels, s.filters);
    auto text = [&](std::string a, std::string b, const char *dims, std::string window,
                    std::string c, int panel, const char *kind) {
      std::string layouts =
          panel < 0
              ? ""
              : llvm::formatv("layouts = [unit, #exec.panel<dim = {0}, width = {1}{2}>, unit]",
                              panel, width, kind)
                    .str();
      return llvm::formatv(R"(exec.kernel @k(%a: {0}, %b: {1}) attributes {{{5}} {{
        %c = grad.convolution %a, %b dims "{2}" window <{3}> : {0}, {1}
        exec.yield %c : {4} })",
                           a, b, dims, window, c, layouts)
          .str();
    };
    auto measure = [&](const std::string &name, const std::string &kernel) {
      if (llvm::StringRef(name).contains(word))
        good &= gradc::bench::measure(*level, name, kernel);
    };
    auto measureBoth = [&](const std::string &algorithm, const char *kind) {
      auto forward = llvm::formatv("[{0}, {0}] stride [{1}, {1}] low [{2}, {2}] high [{2}, {2}]",
                                   s.taps, s.stride, pad);
      measure(s.name + (" forward" + algorithm), text(x, w, "nc,co->no", forward, y, 3, kind));
      auto input =
          llvm::formatv("[{0}, {0}] low [{2}, {2}] high [{3}, {3}] base [{1}, {1}] reversed",
                        s.taps, s.stride, left, right);
      measure(s.name + (" input" + algorithm), text(y, w, "no,co->nc", input, x, 2, kind));
    };
    measureBoth("", "");
    if (s.taps == 3 && s.stride == 1 && s.size >= level->winogradPicture &&
        s.channels >= level->winogradChannels) {
      measureBoth(" winograd2x2", ", winograd2x2");
      measureBoth(" winograd4x4", ", winograd4x4");
    }
    auto filter = llvm::formatv("[{0}, {0}] low [{2}, {2}] high [{3}, {3}] dilation [{1}, {1}]",
                                out, s.stride, pad, high);
    measure(s.name + std::string(" filter"), text(x, y, "nc,no->co", filter, w, -1, ""));
  }
  return good ? 0 : 1;
}
