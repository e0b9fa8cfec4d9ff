// Host tensors: element access by type, and conversion from and to attributes.
#include "dialects/grad/HostTensor.h"

#include "dialects/Pch.h"
#include <cstring>

using namespace mlir;
using namespace mlir::grad;

int64_t grad::elementBytes(Type element) {
  return llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
}

int64_t grad::bytesOf(RankedTensorType type) {
  return type.getNumElements() * elementBytes(type.getElementType());
}

int64_t grad::bytesOf(Value value) { return bytesOf(cast<RankedTensorType>(value.getType())); }

void grad::forEachIndex(ArrayRef<int64_t> shape, llvm::function_ref<void(ArrayRef<int64_t>)> body) {
  if (llvm::is_contained(shape, 0))
    return;
  SmallVector<int64_t> index(shape.size(), 0);
  while (true) {
    body(index);
    int64_t d = int64_t(shape.size()) - 1;
    for (; d >= 0 && ++index[d] == shape[d]; --d)
      index[d] = 0;
    if (d < 0)
      return;
  }
}

int64_t grad::linearize(ArrayRef<int64_t> index, ArrayRef<int64_t> shape) {
  int64_t position = 0;
  for (auto [i, n] : llvm::zip_equal(index, shape))
    position = position * n + i;
  return position;
}

HostTensor::HostTensor(RankedTensorType type)
    : type(type), data(std::make_shared<std::vector<char>>(bytesOf(type))) {}

HostTensor::HostTensor(RankedTensorType type, ArrayRef<char> bytes) : HostTensor(type) {
  assert(bytes.size() == data->size() && "expected as many bytes as the type has");
  std::copy(bytes.begin(), bytes.end(), data->begin());
}

HostTensor::HostTensor(ElementsAttr attribute)
    : HostTensor(cast<RankedTensorType>(attribute.getShapedType())) {
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(attribute)) {
    ArrayRef<char> raw = resource.getData();
    assert(raw.size() >= data->size() && "resource is shorter than its type");
    std::copy_n(raw.begin(), data->size(), data->begin());
    return;
  }
  auto dense = cast<DenseElementsAttr>(attribute);
  if (type.getElementType().isInteger(1)) {
    llvm::copy(dense.getValues<bool>(), data->begin());
    return;
  }
  ArrayRef<char> raw = dense.getRawData();
  for (size_t i = 0; i < data->size(); i += raw.size())
    std::copy_n(raw.begin(), std::min(raw.size(), data->size() - i), data->begin() + i);
}

MutableArrayRef<char> HostTensor::mutableBytes() {
  if (data.use_count() > 1)
    data = std::make_shared<std::vector<char>>(*data);
  return *data;
}

static const llvm::fltSemantics &semantics(Type t) {
  return cast<FloatType>(t).getFloatSemantics();
}

double HostTensor::getFloat(int64_t i) const {
  Type e = getElementType();
  int64_t width = elementBytes(e);
  const char *p = data->data() + i * width;
  if (e.isF32()) {
    float v;
    std::memcpy(&v, p, 4);
    return v;
  }
  if (e.isF64()) {
    double v;
    std::memcpy(&v, p, 8);
    return v;
  }
  if (!isa<FloatType>(e)) {
    if (e.isUnsignedInteger(64))
      return double(uint64_t(getInt(i)));
    return double(getInt(i));
  }
  uint64_t raw = 0;
  std::memcpy(&raw, p, width);
  APFloat v(semantics(e), APInt(width * 8, raw));
  bool lost;
  v.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &lost);
  return v.convertToDouble();
}

int64_t HostTensor::getInt(int64_t i) const {
  Type e = getElementType();
  if (isa<FloatType>(e))
    return int64_t(getFloat(i));
  int64_t width = elementBytes(e);
  uint64_t raw = 0;
  std::memcpy(&raw, data->data() + i * width, width);
  if (e.isInteger(1))
    return raw != 0;
  return e.isUnsignedInteger() ? int64_t(raw) : llvm::SignExtend64(raw, width * 8);
}

void HostTensor::setFloat(int64_t i, double value) {
  Type e = getElementType();
  if (!isa<FloatType>(e)) {
    if (e.isInteger(1))
      return setInt(i, value != 0);
    APSInt integer(e.getIntOrFloatBitWidth(), e.isUnsignedInteger());
    bool exact;
    APFloat(value).convertToInteger(integer, APFloat::rmTowardZero, &exact);
    return setInt(i, integer.getZExtValue());
  }
  if (e.isF32()) {
    float v = float(value);
    std::memcpy(mutableBytes().data() + i * 4, &v, 4);
    return;
  }
  if (e.isF64()) {
    std::memcpy(mutableBytes().data() + i * 8, &value, 8);
    return;
  }
  setFloat(i, APFloat(value));
}

void HostTensor::setFloat(int64_t i, APFloat value) {
  bool lost;
  value.convert(semantics(getElementType()), APFloat::rmNearestTiesToEven, &lost);
  uint64_t raw = value.bitcastToAPInt().getZExtValue();
  int64_t width = elementBytes(getElementType());
  std::memcpy(mutableBytes().data() + i * width, &raw, width);
}

void HostTensor::setInt(int64_t i, int64_t value) {
  Type e = getElementType();
  if (isa<FloatType>(e)) {
    // Converts directly to the element type: through f64, a large integer would be rounded twice.
    APFloat number(semantics(e));
    number.convertFromAPInt(APInt(64, value, /*isSigned=*/true), /*IsSigned=*/true,
                            APFloat::rmNearestTiesToEven);
    return setFloat(i, number);
  }
  if (e.isInteger(1))
    value = value != 0;
  int64_t width = elementBytes(e);
  std::memcpy(mutableBytes().data() + i * width, &value, width);
}

HostTensor HostTensor::reshaped(ArrayRef<int64_t> shape) const {
  HostTensor result = *this;
  result.type = RankedTensorType::get(shape, getElementType());
  return result;
}

static bool isSplat(ArrayRef<char> bytes, size_t width) {
  return bytes.size() >= width &&
         std::memcmp(bytes.data(), bytes.data() + width, bytes.size() - width) == 0;
}

ElementsAttr HostTensor::toAttribute(StringRef hint) const {
  ArrayRef<char> raw = *data;
  int64_t width = elementBytes(getElementType());
  if (isSplat(raw, width))
    raw = raw.take_front(width);
  if (raw.size() <= 1024 && getElementType().isInteger(1)) {
    SmallVector<bool> bools;
    bools.append(raw.begin(), raw.end());
    return DenseElementsAttr::get(type, bools);
  }
  if (raw.size() <= 1024)
    return DenseElementsAttr::getFromRawBuffer(type, raw);
  auto keep = data;
  auto blob = UnmanagedAsmResourceBlob::allocateWithAlign(
      *keep, 16, [keep](void *, size_t, size_t) {}, /*dataIsMutable=*/false);
  return DenseResourceElementsAttr::get(type, hint, std::move(blob));
}
