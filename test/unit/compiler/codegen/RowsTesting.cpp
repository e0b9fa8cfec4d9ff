// Sets sizes by text substitution, and maps positions through the shapes of both tensors.
#include "test/unit/compiler/codegen/RowsTesting.h"

#include <regex>

using namespace mlir;
using namespace gradc::test;

std::string gradc::test::sized(std::string text, int64_t rows, const std::string &attributes) {
  text = std::regex_replace(text, std::regex("@rows@"), attributes);
  for (int64_t each = 1; each <= 8; ++each)
    text = std::regex_replace(text, std::regex("@" + std::to_string(each) + "@"),
                              std::to_string(each * rows));
  return text;
}

void gradc::test::forEachShared(const HostTensor &few, const HostTensor &many,
                                llvm::function_ref<void(int64_t, int64_t)> body) {
  int64_t position = 0;
  grad::forEachIndex(few.getShape(), [&](ArrayRef<int64_t> index) {
    body(position++, grad::linearize(index, many.getShape()));
  });
}

HostTensor gradc::test::spread(const HostTensor &few, RankedTensorType type, char filler) {
  HostTensor many(type);
  llvm::fill(many.mutableBytes(), filler);
  int64_t width = grad::elementBytes(type.getElementType());
  forEachShared(few, many, [&](int64_t from, int64_t to) {
    std::copy_n(few.bytes().data() + from * width, width, many.mutableBytes().data() + to * width);
  });
  return many;
}
