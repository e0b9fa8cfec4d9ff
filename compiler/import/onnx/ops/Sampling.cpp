// A sum over the pixels around a position: one gather and weight per pixel.
#include "compiler/import/onnx/ops/Sampling.h"

#include "dialects/Pch.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

Type gradc::wideFloat(Type element) {
  return element.getIntOrFloatBitWidth() < 32 ? Type(Float32Type::get(element.getContext()))
                                              : element;
}

Expr gradc::floorOf(Expr x) { return x.apply<FloorOp>(); }

PixelTaps gradc::linearTaps(Expr position) {
  Type index = position.getBuilder().getI64Type();
  Expr low = floorOf(position), rest = position - low;
  return {{low.cast(index), (low + 1.0).cast(index)}, {1.0 - rest, rest}};
}

Expr Sampler::pixel(ArrayRef<Expr> indices, std::optional<Expr> weight) const {
  OpBuilder &b = data.getBuilder();
  std::optional<Expr> inside;
  SmallVector<Value> values;
  unsigned next = 0;
  for (auto [d, size] : llvm::enumerate(data.shape())) {
    if (dims[d] >= 0)
      continue;
    Expr i = indices[next++];
    values.push_back(i);
    for (Expr holds : {i.compare(ComparePredicate::ge, i.splat(0)),
                       i.compare(ComparePredicate::lt, i.splat(double(size)))})
      inside = inside ? inside->apply<AndOp>(holds) : holds;
  }
  Expr picked = data.with(b.createOrFold<GatherOp>(data.getLoc(), data, values, dims, indexDims));
  if (weight)
    picked = picked * weight->cast(data.element()).broadcast(picked.type(), indexDims);
  if (!mayBeOutside)
    return picked;
  return inside->broadcast(picked.type().clone(b.getI1Type()), indexDims)
      .select(picked, picked.splat(0));
}

Expr Sampler::sum(ArrayRef<PixelTaps> taps) const {
  std::optional<Expr> total;
  SmallVector<int64_t> counts;
  for (const PixelTaps &along : taps)
    counts.push_back(along.pixels.size());
  forEachIndex(counts, [&](ArrayRef<int64_t> at) {
    SmallVector<Expr> indices;
    std::optional<Expr> weight;
    for (auto [along, i] : llvm::zip_equal(taps, at)) {
      indices.push_back(along.pixels[i]);
      if (!along.weights.empty())
        weight = weight ? *weight * along.weights[i] : along.weights[i];
    }
    Expr term = pixel(indices, weight);
    total = total ? *total + term : term;
  });
  return *total;
}
