// Measures generated attentions and their gradients against this machine's own FMA peak,
// alternately, on one thread, with the pass's schedules. Prints one JSON object per kernel.
#include "test/bench/Kernel.h"

#include "dialects/grad/Grad.h"

using namespace gradc::bench;

int main() {
  const mlir::exec::Level *level = mlir::exec::nativeLevel();
  if (!level) {
    std::fprintf(stderr, "this machine executes no level that gradc compiles for\n");
    return 1;
  }
  bool good = true;
  for (int64_t positions : {128, 512, 1024, 2048})
    for (bool causal : {false, true}) {
      int64_t heads = std::max<int64_t>(1, 2048 / positions);
      auto tensor = [&](int64_t size) {
        return llvm::formatv("tensor<1x{0}x{1}x{2}xf32>", heads, positions, size).str();
      };
      std::string x = tensor(64), s = tensor(2), name = std::to_string(positions);
      name += causal ? " causal" : "";
      const char *attribute = causal ? "causal = 0 : i64, " : "";
      good &= measure(*level, name + " forward",
                      llvm::formatv(R"(exec.kernel @k(%q: {0}, %k: {0}, %v: {0}) {{
        %y, %s = grad.attention %q, %k, %v {{{2}scale = 0.125 : f64} : {0}, {0}, {0}
        exec.yield %y, %s : {0}, {1} })",
                                    x, s, attribute));
      good &= measure(
          *level, name + " gradient",
          llvm::formatv(R"(exec.kernel @k(%q: {0}, %k: {0}, %v: {0}, %y: {0}, %s: {1}, %g: {0}) {{
        %a:3 = grad.attention_grad %q, %k, %v, %y, %s, %g {{{2}scale = 0.125 : f64}
          : {0}, {0}, {0}, {0}, {1}, {0}
        exec.yield %a#0, %a#1, %a#2 : {0}, {0}, {0} })",
                        x, s, attribute));
    }
  return good ? 0 : 1;
}
