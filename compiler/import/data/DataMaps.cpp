// What a `map` block makes of a field's type and shape.
#include "dialects/Pch.h"

#include "compiler/import/data/DataStages.h"

using namespace mlir;
using namespace gradc;

static Type castType(MLIRContext &context, spec::DataType type) {
  Builder b(&context);
  switch (type) {
  case spec::F32:
    return b.getF32Type();
  case spec::F64:
    return b.getF64Type();
  case spec::I32:
    return b.getI32Type();
  case spec::I64:
    return b.getI64Type();
  }
  llvm_unreachable("the parser knows all types");
}

static FailureOr<FieldType> oneHot(Location place, const spec::OneHot &map, FieldType field) {
  if (!field.element.isInteger() || field.element.isInteger(1))
    return emitError(place) << "expected integers for one_hot, found " << field.element;
  field.element = Float32Type::get(field.element.getContext());
  field.shape.push_back(map.classes());
  return field;
}

static FailureOr<FieldType> transpose(Location place, const spec::Transpose &map, FieldType field) {
  SmallVector<int64_t> sorted(map.order().begin(), map.order().end());
  llvm::sort(sorted);
  if (!llvm::equal(sorted, llvm::seq<int64_t>(0, int64_t(field.shape.size()))))
    return emitError(place)
           << "expected order to have each of the " << field.shape.size()
           << " dims of a row once, from 0, found "
           << llvm::join(llvm::map_range(map.order(), [](int64_t d) { return std::to_string(d); }),
                         ", ");
  SmallVector<int64_t> shape;
  for (int64_t dim : map.order())
    shape.push_back(field.shape[dim]);
  field.shape = shape;
  return field;
}

static FailureOr<FieldType> pad(Location place, const spec::Pad &map, FieldType field) {
  if (size_t(map.shape_size()) != field.shape.size())
    return emitError(place) << "expected pad to a shape of " << field.shape.size()
                            << " dims, found " << map.shape_size();
  field.shape.assign(map.shape().begin(), map.shape().end());
  return field;
}

/// What every step over pictures asks of a field.
static LogicalResult checkPicture(Location place, const FieldType &field) {
  bool isNumber = field.element.isUnsignedInteger(8) || field.element.isF32();
  if (isNumber && field.shape.size() == 3 && field.shape[2] >= 1 && field.shape[2] <= 4)
    return success();
  auto error =
      emitError(place) << "expected pictures [height, width, channels] of u8 or f32, found "
                       << field.element << " [";
  llvm::interleaveComma(field.shape, error, [&](int64_t dim) {
    if (ShapedType::isDynamic(dim))
      error << "?";
    else
      error << dim;
  });
  return error << "]";
}

static FailureOr<FieldType> decode(Location place, const spec::Decode &map, FieldType field) {
  if (!field.element.isUnsignedInteger(8) || field.shape.size() != 1)
    return emitError(place) << "expected files for decode, bytes of any number, found "
                            << field.element << " of " << field.shape.size() << " dims";
  field.shape = {ShapedType::kDynamic, ShapedType::kDynamic, map.channels()};
  return field;
}

static FieldType resize(const spec::Resize &map, FieldType field) {
  if (map.filter() != spec::NEAREST && !map.round())
    field.element = Float32Type::get(field.element.getContext());
  field.shape[0] = map.has_shorter() ? ShapedType::kDynamic : map.height();
  field.shape[1] = map.has_shorter() ? ShapedType::kDynamic : map.width();
  return field;
}

static FailureOr<FieldType> crop(Location place, int64_t height, int64_t width, int64_t padding,
                                 FieldType field) {
  for (auto [name, wanted, dim] :
       {std::tuple("height", height, field.shape[0]), {"width", width, field.shape[1]}})
    if (!ShapedType::isDynamic(dim) && wanted > dim + 2 * padding)
      return emitError(place) << "expected a " << name << " to crop of at most "
                              << dim + 2 * padding << ", found " << wanted;
  field.shape[0] = height;
  field.shape[1] = width;
  return field;
}

static FailureOr<FieldType> normalize(Location place, const spec::Normalize &map, FieldType field) {
  int64_t channels = field.shape[2];
  for (auto [name, count] :
       {std::pair("mean", map.mean_size()), {"deviation", map.deviation_size()}})
    if (count > 1 && count != channels)
      return emitError(place) << "expected 1 " << name << " or one for each of " << channels
                              << " channels, found " << count;
  field.element = Float32Type::get(field.element.getContext());
  if (map.channels_first())
    field.shape = {channels, field.shape[0], field.shape[1]};
  return field;
}

static FailureOr<FieldType> pictureMapped(Location place, const spec::Map &map,
                                          const FieldType &field) {
  if (failed(checkPicture(place, field)))
    return failure();
  if (map.has_resize())
    return resize(map.resize(), field);
  if (map.has_crop())
    return crop(place, map.crop().height(), map.crop().width(), 0, field);
  if (map.has_random_crop())
    return crop(place, map.random_crop().height(), map.random_crop().width(),
                map.random_crop().padding(), field);
  if (map.has_normalize())
    return normalize(place, map.normalize(), field);
  return field;
}

FailureOr<FieldType> gradc::mapped(Location place, const spec::Map &map, const FieldType &before) {
  switch (map.kind_case()) {
  case spec::Map::kOneHot:
    return oneHot(place, map.one_hot(), before);
  case spec::Map::kTranspose:
    return transpose(place, map.transpose(), before);
  case spec::Map::kPad:
    return pad(place, map.pad(), before);
  case spec::Map::kDecode:
    return decode(place, map.decode(), before);
  case spec::Map::kResize:
  case spec::Map::kCrop:
  case spec::Map::kRandomCrop:
  case spec::Map::kFlip:
  case spec::Map::kColorJitter:
  case spec::Map::kNormalize:
    return pictureMapped(place, map, before);
  case spec::Map::kStandardize: {
    int64_t rank = int64_t(before.shape.size()), axis = map.standardize().axis();
    if (axis < -1 || axis >= std::max<int64_t>(rank, 1))
      return emitError(place) << "expected axis from -1 to " << rank - 1 << ", found " << axis;
    return FieldType{Float32Type::get(before.element.getContext()), before.shape};
  }
  case spec::Map::kModel: // has fields of its own, see MapModels
  case spec::Map::KIND_NOT_SET:
    break;
  }
  FieldType field = before;
  if (map.has_cast())
    field.element = castType(*before.element.getContext(), map.cast());
  return field;
}
