// value = cast(value) * scale + offset.
#include "runtime/base/Text.h"
#include "runtime/data/transform/Convert.h"
#include "runtime/data/transform/Transform.h"

#include <cmath>
#include <optional>

namespace gradc::runtime {

namespace {

class Cast final : public Transform {
public:
  Cast(const Field &before, gradc_dtype to, Converter converter, double scale, double offset)
      : Transform(resultOf(before, to, scale)), from(before.dtype), converter(converter),
        scale(scale), offset(offset), rowElements(before.isFixed() ? before.elements() : 0) {}

  Status apply(const Value &in, Random &, ScratchSlot &, Output &out) const override {
    auto to = out.room(in.shape);
    if (!to)
      return to.status();
    size_t width = findDataType(from)->bytes, elements = in.bytes / width;
    size_t converted = converter(in.data, *to, elements, scale, offset);
    if (converted == elements)
      return {};
    return Status::error(text("is ", elementAsDouble(from, in.data + converted * width),
                              ", which does not fit ", findDataType(result.dtype)->name));
  }

  size_t applyAll(const std::byte *column, std::span<const int64_t> rows,
                  std::byte *out) const override {
    size_t bytesBefore = rowElements * findDataType(from)->bytes, bytesAfter = result.bytes();
    for (size_t i = 0; i < rows.size(); ++i)
      if (converter(column + size_t(rows[i]) * bytesBefore, out + i * bytesAfter, rowElements,
                    scale, offset) != rowElements)
        return i;
    return rows.size();
  }

  void tell(const Field &, TensorSteps &steps) const override {
    steps.cast(result.dtype);
    steps.scale(0, {&scale, 1}, {&offset, 1});
  }

private:
  static Field resultOf(const Field &before, gradc_dtype to, double scale) {
    Field field = {before.name, to, before.shape};
    field.isIndices = before.isIndices && scale == 1;
    return field;
  }

  gradc_dtype from;
  Converter converter;
  double scale, offset;
  size_t rowElements;
};

} // namespace

Result<std::unique_ptr<const Transform>> makeCast(Config config, const Field *before) {
  std::string_view name = before ? before->name : config.string("field");
  std::optional<gradc_dtype> to;
  if (config.child("cast")) {
    to = castType(config.string("cast"));
    if (!to)
      return Status::invalid(text("map of field '", name, "' casts to '", config.string("cast"),
                                  "', expected F32, F64, I32 or I64"));
  }
  double scale = config.real("scale", 1.0), offset = config.real("offset", 0.0);
  for (auto [what, value] : {std::pair("scale", scale), std::pair("offset", offset)})
    if (!std::isfinite(value))
      return Status::invalid(
          text("map of field '", name, "' has ", what, ' ', value, ", expected a finite number"));
  if (!before)
    return std::unique_ptr<const Transform>();
  gradc_dtype result = to.value_or(before->dtype);
  Converter converter = findConverter(before->dtype, result);
  if (!converter)
    return Status::invalid(text("map of field '", name, "' cannot compute in ",
                                findDataType(result)->name,
                                ", expected a cast to F32, F64, I32 or I64"));
  if (offset == 0)
    offset = -0.0; // adding it changes no value, not even -0
  bool isInteger = result == GRADC_I32 || result == GRADC_I64;
  for (auto [what, value] : {std::pair("scale", scale), std::pair("offset", offset)})
    if (isInteger && (std::trunc(value) != value || std::abs(value) > 0x1p31))
      return Status::invalid(text("map of field '", name, "' has ", what, ' ', value,
                                  ", expected a 32-bit integer for a field of type ",
                                  findDataType(result)->name,
                                  "; add cast: F32 to compute in floats, and a map behind it that "
                                  "casts back"));
  return std::unique_ptr<const Transform>(
      std::make_unique<Cast>(*before, result, converter, scale, offset));
}

} // namespace gradc::runtime
