// ONNX tensors as MLIR types and attributes.
#include "dialects/Pch.h"

#include "compiler/import/onnx/model/DataType.h"
#include "compiler/import/onnx/model/Narrow.h"
#include "compiler/import/onnx/model/OnnxModel.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace gradc;
using namespace gradc::data_type;
using mlir::grad::HostTensor;

namespace {
/// Larger tensors fit no machine; larger sizes are mistakes or attacks.
constexpr int64_t absurdBytes = int64_t(1) << 40;
} // namespace

Type gradc::elementType(MLIRContext &context, int32_t number) {
  Builder b(&context);
  auto unsignedInteger = [&](unsigned width) {
    return b.getIntegerType(width, /*isSigned=*/false);
  };
  switch (number) {
  case FLOAT:
    return b.getF32Type();
  case UINT8:
    return unsignedInteger(8);
  case INT8:
    return b.getI8Type();
  case UINT16:
    return unsignedInteger(16);
  case INT16:
    return b.getI16Type();
  case INT32:
    return b.getI32Type();
  case INT64:
    return b.getI64Type();
  case BOOL:
    return b.getI1Type();
  case FLOAT16:
    return b.getF16Type();
  case DOUBLE:
    return b.getF64Type();
  case UINT32:
    return unsignedInteger(32);
  case UINT64:
    return unsignedInteger(64);
  case BFLOAT16:
    return b.getBF16Type();
  default:
    return nullptr;
  }
}

bool gradc::isString(int32_t number) { return number == STRING; }

std::string gradc::dataTypeName(int32_t number) {
  static constexpr const char *names[] = {
      "undefined",      "float",    "uint8",        "int8",           "uint16",
      "int16",          "int32",    "int64",        "string",         "bool",
      "float16",        "double",   "uint32",       "uint64",         "complex64",
      "complex128",     "bfloat16", "float8e4m3fn", "float8e4m3fnuz", "float8e5m2",
      "float8e5m2fnuz", "uint4",    "int4",         "float4e2m1",     "float8e8m0",
      "uint2",          "int2"};
  if (number >= 0 && number < int32_t(std::size(names)))
    return names[number];
  return "number " + std::to_string(number);
}

std::string gradc::describe(Type type) {
  std::string text;
  llvm::raw_string_ostream out(text);
  auto tensor = dyn_cast<RankedTensorType>(type);
  Type element = tensor ? tensor.getElementType() : type;
  if (element.isInteger(1))
    out << "bool";
  else
    out << element;
  if (tensor) {
    out << " [";
    llvm::interleaveComma(tensor.getShape(), out, [&](int64_t size) {
      ShapedType::isDynamic(size) ? out << "?" : out << size;
    });
    out << "]";
  }
  return text;
}

/// The number of elements of a shape; nullopt if it is negative or absurd, also without its dims of
/// 0, along which it may be reduced.
static std::optional<int64_t> countElements(ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t n : shape)
    if (n < 0 || llvm::MulOverflow(count, std::max<int64_t>(n, 1), count) || count > absurdBytes)
      return std::nullopt;
  return llvm::is_contained(shape, 0) ? 0 : count;
}

bool gradc::fits(ArrayRef<int64_t> shape) { return countElements(shape).has_value(); }

FailureOr<RankedTensorType> OnnxModel::type(const onnx::TensorProto &tensor, Location where) const {
  Type element = elementType(context, tensor.data_type());
  if (findNarrow(tensor.data_type()))
    element = IntegerType::get(&context, 8, IntegerType::Unsigned);
  if (!element)
    return emitError(where) << "element type " << dataTypeName(tensor.data_type())
                            << " is not supported";
  return RankedTensorType::get(SmallVector<int64_t>(tensor.dims().begin(), tensor.dims().end()),
                               element);
}

/// Moves int32_data, which holds bytes, into raw_data.
static LogicalResult makeRawBytes(onnx::TensorProto &tensor, int64_t expected, StringRef type,
                                  Location where) {
  int64_t found = tensor.int32_data_size();
  if (found != expected)
    return emitError(where) << "expected " << expected << " bytes of data for " << type
                            << ", found " << found;
  tensor.set_raw_data(std::string(tensor.int32_data().begin(), tensor.int32_data().end()));
  tensor.clear_int32_data();
  return success();
}

LogicalResult gradc::makeRaw(onnx::TensorProto &tensor, MLIRContext &context, Location where) {
  Type element = fileElementType(context, tensor.data_type());
  if (!element) // reported where the tensor is used
    return success();
  const NarrowType *narrow = findNarrow(tensor.data_type());
  SmallVector<int64_t> shape(tensor.dims().begin(), tensor.dims().end());
  std::optional<int64_t> count = countElements(shape);
  if (!count) {
    auto error =
        emitError(where) << "expected sizes of 0 or more and fewer than 2^40 elements, found [";
    llvm::interleaveComma(shape, error);
    return error << "]";
  }
  int64_t expected = narrow ? llvm::divideCeil(*count * narrow->bits, 8)
                            : *count * mlir::grad::elementBytes(element);
  if (tensor.has_raw_data()) {
    if (int64_t(tensor.raw_data().size()) != expected)
      return emitError(where) << "expected " << expected << " bytes of data for "
                              << describe(RankedTensorType::get(shape, element)) << ", found "
                              << tensor.raw_data().size();
    return success();
  }

  if (narrow) // each number holds one byte of packed elements
    return makeRawBytes(tensor, expected, describe(RankedTensorType::get(shape, element)), where);

  int64_t found = 0;
  auto convert = [&](const auto &values, auto store) {
    found = values.size();
    if (found != *count)
      return;
    HostTensor host(RankedTensorType::get({*count}, element));
    for (int64_t i = 0; i < found; ++i)
      store(host, i, values.Get(i));
    tensor.set_raw_data(host.bytes().data(), host.bytes().size());
  };
  switch (tensor.data_type()) {
  case FLOAT:
    convert(tensor.float_data(), [](HostTensor &t, int64_t i, float v) { t.setFloat(i, v); });
    tensor.clear_float_data();
    break;
  case DOUBLE:
    convert(tensor.double_data(), [](HostTensor &t, int64_t i, double v) { t.setFloat(i, v); });
    tensor.clear_double_data();
    break;
  case INT64:
    convert(tensor.int64_data(), [](HostTensor &t, int64_t i, int64_t v) { t.setInt(i, v); });
    tensor.clear_int64_data();
    break;
  case UINT32:
  case UINT64:
    convert(tensor.uint64_data(), [](HostTensor &t, int64_t i, uint64_t v) { t.setInt(i, v); });
    tensor.clear_uint64_data();
    break;
  case FLOAT16:
  case BFLOAT16: // stored as bit patterns
    convert(tensor.int32_data(), [](HostTensor &t, int64_t i, int32_t v) {
      uint16_t bits = uint16_t(v);
      std::memcpy(t.mutableBytes().data() + 2 * i, &bits, 2);
    });
    tensor.clear_int32_data();
    break;
  default:
    convert(tensor.int32_data(), [](HostTensor &t, int64_t i, int32_t v) { t.setInt(i, v); });
    tensor.clear_int32_data();
  }
  if (found != *count)
    return emitError(where) << "expected data for " << *count << " elements of "
                            << describe(RankedTensorType::get(shape, element)) << ", found "
                            << found;
  if (*count == 0)
    tensor.set_raw_data("");
  return success();
}

FailureOr<ElementsAttr> OnnxModel::value(const onnx::TensorProto &tensor, Location where) const {
  FailureOr<RankedTensorType> type = this->type(tensor, where);
  if (failed(type))
    return failure();
  ArrayRef<char> raw(tensor.raw_data().data(), tensor.raw_data().size());
  if (const NarrowType *narrow = findNarrow(tensor.data_type()); narrow && narrow->bits < 8)
    return HostTensor(*type, unpacked(raw, *narrow, type->getNumElements()))
        .toAttribute(tensor.name());
  if (raw.size() <= 1024 || type->getElementType().isInteger(1)) {
    HostTensor host(*type, raw);
    if (type->getElementType().isInteger(1)) // any nonzero byte is true
      for (int64_t i = 0; i < host.size(); ++i)
        host.setInt(i, host.getInt(i));
    return host.toAttribute(tensor.name());
  }
  auto blob = UnmanagedAsmResourceBlob::allocateWithAlign(
      raw, 16, [keep = proto](void *, size_t, size_t) {}, /*dataIsMutable=*/false);
  return ElementsAttr(DenseResourceElementsAttr::get(*type, tensor.name(), std::move(blob)));
}
