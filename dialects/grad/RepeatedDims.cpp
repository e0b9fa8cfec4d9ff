// Compares each element with the first one along each dim, as bytes.
#include "dialects/grad/RepeatedDims.h"

using namespace mlir;
using namespace mlir::grad;

/// For each dim, whether it has several elements and all slices along it are equal.
static SmallVector<bool> repeatedDims(const HostTensor &tensor) {
  ArrayRef<int64_t> shape = tensor.getShape();
  SmallVector<bool> repeated = llvm::map_to_vector(shape, [](int64_t n) { return n > 1; });
  int64_t width = elementBytes(tensor.getElementType()), i = 0;
  const char *bytes = tensor.bytes().data();
  forEachIndex(shape, [&](ArrayRef<int64_t> index) {
    int64_t stride = 1;
    for (size_t d = shape.size(); d-- > 0; stride *= shape[d])
      repeated[d] = repeated[d] && std::memcmp(bytes + i * width,
                                               bytes + (i - index[d] * stride) * width, width) == 0;
    ++i;
  });
  return repeated;
}

ElementsAttr grad::dropRepeatedDims(ElementsAttr value, SmallVectorImpl<int64_t> &dims) {
  HostTensor tensor(value);
  ArrayRef<int64_t> shape = tensor.getShape();
  SmallVector<bool> repeated = repeatedDims(tensor);
  llvm::erase_if(dims, [&](int64_t d) { return repeated[d]; });
  if (dims.size() == shape.size())
    return value;
  int64_t width = elementBytes(tensor.getElementType());
  std::vector<char> kept;
  auto left = llvm::map_to_vector(dims, [&](int64_t d) { return shape[d]; });
  forEachIndex(left, [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> at(shape.size(), 0);
    for (auto [d, i] : llvm::zip_equal(dims, index))
      at[d] = i;
    const char *from = tensor.bytes().data() + linearize(at, shape) * width;
    kept.insert(kept.end(), from, from + width);
  });
  return HostTensor(tensor.getType().clone(left), kept).toAttribute();
}
