// map { pad { shape value } }: pads rows of varying size to one size.
#include "runtime/base/Text.h"
#include "runtime/data/transform/Convert.h"
#include "runtime/data/transform/Transform.h"

#include <algorithm>
#include <cstring>

namespace gradc::runtime {

namespace {

class Pad final : public Transform {
public:
  Pad(Field result, std::vector<std::byte> value, bool truncate)
      : Transform(std::move(result)), value(std::move(value)), truncate(truncate) {}

  Status apply(const Value &in, Random &, ScratchSlot &, Output &out) const override {
    for (size_t i = 0; i < in.shape.size(); ++i)
      if (in.shape[i] > result.shape[i] && !truncate)
        return Status::error(text("has shape ", shapeText(in.shape), ", expected at most ",
                                  shapeText(result.shape),
                                  " (pad { truncate: true } cuts it off)"));
    auto room = out.room(result.shape);
    if (!room)
      return room.status();
    std::memcpy(*room, value.data(), value.size());
    for (size_t filled = value.size(), end = result.bytes(); filled < end; filled *= 2)
      std::memcpy(*room + filled, *room, std::min(filled, end - filled));
    if (in.bytes)
      copy(in.data, *room, 0, in.shape);
    return {};
  }

private:
  void copy(const std::byte *in, std::byte *out, size_t dim, std::span<const int64_t> shape) const {
    size_t inStride = value.size(), outStride = value.size();
    for (size_t i = dim + 1; i < shape.size(); ++i) {
      inStride *= size_t(shape[i]);
      outStride *= size_t(result.shape[i]);
    }
    auto count = size_t(std::min(shape[dim], result.shape[dim]));
    if (dim + 1 == shape.size()) {
      std::memcpy(out, in, count * value.size());
      return;
    }
    for (size_t i = 0; i < count; ++i)
      copy(in + i * inStride, out + i * outStride, dim + 1, shape);
  }

  std::vector<std::byte> value; ///< one element
  bool truncate;
};

/// The numbers as written in the spec; shapeText would show a negative dim as varying.
std::string listText(const std::vector<int64_t> &dims) {
  std::string out;
  for (int64_t dim : dims)
    out += text(out.empty() ? "" : ", ", dim);
  return text('[', out, ']');
}

} // namespace

Result<std::unique_ptr<const Transform>> makePad(Config config, const Field *before) {
  std::vector<int64_t> shape;
  for (Config dim : config.children("shape"))
    shape.push_back(dim.integer(0));
  bool fits = !shape.empty();
  for (int64_t dim : shape)
    fits &= dim > 0 && dim <= int64_t(1) << 30;
  if (!before && !fits)
    return Status::invalid(
        text("pad { shape } is ", listText(shape), ", expected dims above 0: shape: [128]"));
  if (!before)
    return std::unique_ptr<const Transform>();
  if (!fits || shape.size() != before->shape.size())
    return Status::invalid(text("pad { shape } is ", listText(shape), ", expected ",
                                before->shape.size(), before->shape.size() == 1 ? " dim" : " dims",
                                " above 0 for field '", before->name, "' of shape ",
                                shapeText(before->shape)));
  Field result = {before->name, before->dtype, std::move(shape)};
  double wanted = config.real("value", 0);
  std::vector<std::byte> value(before->elementBytes());
  Converter converter = findConverter(GRADC_F64, before->dtype);
  bool isZero = wanted == 0;
  if (!isZero && (!converter || converter(reinterpret_cast<const std::byte *>(&wanted),
                                          value.data(), 1, 1, -0.0) != 1))
    return Status::invalid(text("pad { value } is ", wanted, ", expected 0 for a field of type ",
                                findDataType(before->dtype)->name));
  return std::unique_ptr<const Transform>(std::make_unique<Pad>(std::move(result), std::move(value),
                                                                config.boolean("truncate", false)));
}

} // namespace gradc::runtime
