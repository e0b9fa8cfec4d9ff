// Writes types and schedules as in IR.
#include "test/unit/compiler/codegen/KernelText.h"

#include "llvm/Support/FormatVariadic.h"

std::string gradc::test::tensor(const std::vector<int64_t> &shape, const std::string &element) {
  std::string s = "tensor<";
  for (int64_t d : shape)
    s += std::to_string(d) + "x";
  return s + element + ">";
}

std::string gradc::test::schedule(int lanes, const std::string &tile, const std::string &order) {
  return llvm::formatv(
      "schedule = #exec.schedule<lanes = {0}, tile = [{1}], order = [{2}], grain = 1>", lanes, tile,
      order);
}
