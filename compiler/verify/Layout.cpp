// An independent oracle: shares nothing with the code that packs.
#include "compiler/verify/Layout.h"

using namespace mlir;
using namespace mlir::grad;

namespace gradc {

/// The filters g whose transforms u = G g G^T are stored in panels: g = P u P^T. G g begins with
/// g(0) / a, g(p) / b and g(-p) / b for the first point p, and ends with g's last coefficient; so P
/// takes a, and b / 2p times the difference.
static HostTensor transformBack(ArrayRef<char> bytes, RankedTensorType type,
                                exec::PanelAttr layout) {
  bool isLarge = layout.getWinogradOutputs() == 4;
  int64_t patch = isLarge ? 6 : 4, slots = patch * patch;
  double a = isLarge ? 81.0 / 64 : 1, halfSlope = isLarge ? -81.0 / 64 : 1; // b / 2p
  const SmallVector<std::pair<int64_t, double>> parts[] = {
      {{0, a}}, {{1, halfSlope}, {2, -halfSlope}}, {{patch - 1, 1}}};
  int64_t d = layout.getDim(), w = layout.getWidth(), others = type.getDimSize(5 - d);
  HostTensor transformed(RankedTensorType::get({type.getDimSize(d) / w, slots, others, w},
                                               Float32Type::get(type.getContext())),
                         bytes);
  HostTensor tensor(type);
  int64_t position = 0;
  forEachIndex(type.getShape(), [&](ArrayRef<int64_t> index) {
    double sum = 0;
    for (auto [i, a] : parts[index[0]])
      for (auto [j, b] : parts[index[1]]) {
        int64_t slot = (index[d] / w * slots + i * patch + j) * others + index[5 - d];
        sum += a * b * transformed.getFloat(slot * w + index[d] % w);
      }
    tensor.setFloat(position++, sum);
  });
  return tensor;
}

HostTensor unpack(ArrayRef<char> bytes, RankedTensorType type, exec::PanelAttr layout) {
  if (!layout)
    return HostTensor(type, bytes);
  if (layout.isWinograd())
    return transformBack(bytes, type, layout);
  HostTensor tensor(type);
  int64_t width = elementBytes(type.getElementType()), d = layout.getDim(), w = layout.getWidth(),
          interleaved = layout.getInterleaved(), together = layout.getTogether();
  MutableArrayRef<char> out = tensor.mutableBytes();
  int64_t position = 0;
  forEachIndex(type.getShape(), [&](ArrayRef<int64_t> index) {
    int64_t panel = index[d] / w;
    for (auto [i, n] : llvm::enumerate(type.getShape()))
      if (int64_t(i) == interleaved)
        panel = panel * llvm::divideCeil(n, together) + index[i] / together;
      else if (int64_t(i) != d)
        panel = panel * n + index[i];
    int64_t from = panel * w + index[d] % w;
    if (layout.isInterleaved())
      from = together * from + index[interleaved] % together;
    if (layout.isOfNibbles())
      out[position++] = char(llvm::SignExtend64<4>(uint8_t(bytes[from / 2]) >> from % 2 * 4));
    else
      std::copy_n(bytes.data() + from * width, width, out.data() + position++ * width);
  });
  return tensor;
}

} // namespace gradc
