// Compares each element with the one at the start of each dim, as bytes.
#include "dialects/grad/RepeatedDims.h"

using namespace mlir;
using namespace mlir::grad;

SmallVector<bool> grad::repeatedDims(ElementsAttr value) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(value.getType()).getShape();
  SmallVector<bool> repeated = llvm::map_to_vector(shape, [](int64_t n) { return n > 1; });
  if (auto dense = dyn_cast<DenseElementsAttr>(value); dense && dense.isSplat())
    return repeated;
  HostTensor tensor(value);
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

HostTensor grad::withoutDims(ElementsAttr value, ArrayRef<bool> dropped) {
  HostTensor tensor(value);
  SmallVector<int64_t> shape;
  for (auto [size, drop] : llvm::zip_equal(tensor.getShape(), dropped))
    if (!drop)
      shape.push_back(size);
  int64_t width = elementBytes(tensor.getElementType());
  std::vector<char> kept;
  forEachIndex(shape, [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> whole(dropped.size(), 0);
    const int64_t *next = index.begin();
    for (auto [at, drop] : llvm::zip_equal(whole, dropped))
      if (!drop)
        at = *next++;
    const char *from = tensor.bytes().data() + linearize(whole, tensor.getShape()) * width;
    kept.insert(kept.end(), from, from + width);
  });
  return HostTensor(tensor.getType().clone(shape), kept);
}
