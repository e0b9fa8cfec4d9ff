// Compares slices as bytes.
#include "dialects/grad/RepeatedDims.h"

using namespace mlir;
using namespace mlir::grad;

SmallVector<bool> grad::repeatedDims(const HostTensor &tensor) {
  SmallVector<bool> repeated;
  int64_t bytes = int64_t(tensor.bytes().size()), block = bytes;
  for (int64_t size : tensor.getShape()) {
    int64_t slice = size > 0 ? block / size : 0; // of one place along the dim
    auto isRepeated = [&](int64_t begin) {
      const char *first = tensor.bytes().data() + begin;
      // Each slice equals the one before.
      return std::memcmp(first, first + slice, size_t(block - slice)) == 0;
    };
    bool areAll = size > 1;
    for (int64_t begin = 0; areAll && begin < bytes; begin += block)
      areAll = isRepeated(begin);
    repeated.push_back(areAll);
    block = slice;
  }
  return repeated;
}

ElementsAttr grad::keepDims(const HostTensor &tensor, ArrayRef<int64_t> kept) {
  ArrayRef<int64_t> shape = tensor.getShape();
  int64_t width = elementBytes(tensor.getElementType());
  std::vector<char> bytes;
  auto left = llvm::map_to_vector(kept, [&](int64_t d) { return shape[d]; });
  forEachIndex(left, [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> at(shape.size(), 0);
    for (auto [d, i] : llvm::zip_equal(kept, index))
      at[d] = i;
    const char *from = tensor.bytes().data() + linearize(at, shape) * width;
    bytes.insert(bytes.end(), from, from + width);
  });
  return HostTensor(tensor.getType().clone(left), bytes).toAttribute();
}

ElementsAttr grad::dropRepeatedDims(ElementsAttr value, SmallVectorImpl<int64_t> &dims) {
  HostTensor tensor(value);
  SmallVector<bool> repeated = repeatedDims(tensor);
  llvm::erase_if(dims, [&](int64_t d) { return repeated[d]; });
  return dims.size() == repeated.size() ? value : keepDims(tensor, dims);
}
