// What a `map` block makes of a field's type and shape.
#include "dialects/Pch.h"

#include "compiler/import/DataStages.h"

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

FailureOr<FieldType> gradc::mapped(Location place, const spec::Map &map, const FieldType &before) {
  switch (map.kind_case()) {
  case spec::Map::kOneHot:
    return oneHot(place, map.one_hot(), before);
  case spec::Map::kTranspose:
    return transpose(place, map.transpose(), before);
  case spec::Map::kPad:
    return pad(place, map.pad(), before);
  case spec::Map::kStandardize: {
    int64_t rank = int64_t(before.shape.size()), axis = map.standardize().axis();
    if (axis < -1 || axis >= std::max<int64_t>(rank, 1))
      return emitError(place) << "expected axis from -1 to " << rank - 1 << ", found " << axis;
    return FieldType{Float32Type::get(before.element.getContext()), before.shape};
  }
  case spec::Map::KIND_NOT_SET:
    break;
  }
  FieldType field = before;
  if (map.has_cast())
    field.element = castType(*before.element.getContext(), map.cast());
  return field;
}
