// map { transpose { order } }: reorders the dims of a row.
#include "runtime/base/Text.h"
#include "runtime/data/transform/Transform.h"

#include <algorithm>
#include <cstring>

namespace gradc::runtime {

namespace {

/// Copies `count` elements that are `stride` elements apart.
template <typename T>
void gather(const std::byte *in, std::byte *out, size_t count, size_t stride) {
  for (size_t i = 0; i < count; ++i)
    std::memcpy(out + i * sizeof(T), in + i * stride * sizeof(T), sizeof(T));
}

class Transpose final : public Transform {
public:
  Transpose(Field result, std::vector<size_t> order)
      : Transform(std::move(result)), order(std::move(order)),
        width(findDataType(this->result.dtype)->bytes) {}

  Status apply(const Value &in, Random &, ScratchSlot &own, Output &out) const override {
    own.shape.resize(order.size());
    for (size_t i = 0; i < order.size(); ++i)
      own.shape[i] = in.shape[order[i]];
    auto room = out.room(own.shape);
    if (!room)
      return room.status();
    if (in.bytes)
      copy(in.data, *room, 0, in.shape);
    return {};
  }

  void tell(const Field &, TensorSteps &steps) const override {
    std::vector<int64_t> dims(order.begin(), order.end());
    steps.transpose(dims);
  }

private:
  /// Writes the block at `in` for which the first `depth` result dims are fixed; returns its end.
  std::byte *copy(const std::byte *in, std::byte *out, size_t depth,
                  std::span<const int64_t> shape) const {
    auto count = size_t(shape[order[depth]]);
    size_t stride = 1;
    for (size_t i = order[depth] + 1; i < shape.size(); ++i)
      stride *= size_t(shape[i]);
    if (depth + 1 < order.size()) {
      for (size_t i = 0; i < count; ++i)
        out = copy(in + i * stride * width, out, depth + 1, shape);
      return out;
    }
    (width == 1   ? gather<uint8_t>
     : width == 2 ? gather<uint16_t>
     : width == 4 ? gather<uint32_t>
                  : gather<uint64_t>)(in, out, count, stride);
    return out + count * width;
  }

  std::vector<size_t> order;
  size_t width;
};

} // namespace

Result<std::unique_ptr<const Transform>> makeTranspose(Config config, const Field *before) {
  std::vector<int64_t> wanted;
  for (Config dim : config.children("order"))
    wanted.push_back(dim.integer(-1));
  if (wanted.empty())
    return Status::invalid("transpose has no order: add order: [2, 0, 1]");
  if (!before)
    return std::unique_ptr<const Transform>();
  std::vector<int64_t> sorted = wanted;
  std::sort(sorted.begin(), sorted.end());
  bool isOrder = sorted.size() == before->shape.size();
  for (size_t i = 0; isOrder && i < sorted.size(); ++i)
    isOrder = sorted[i] == int64_t(i);
  if (!isOrder)
    return Status::invalid(text("transpose { order } is ", shapeText(wanted),
                                ", expected each of the ", before->shape.size(), " dims of field '",
                                before->name, "' once, from 0"));
  Field result = {before->name, before->dtype, {}};
  for (int64_t dim : wanted)
    result.shape.push_back(before->shape[size_t(dim)]);
  return std::unique_ptr<const Transform>(std::make_unique<Transpose>(
      std::move(result), std::vector<size_t>(wanted.begin(), wanted.end())));
}

} // namespace gradc::runtime
