// Writes .npy in version 1.0, little-endian, row-major.
#include "tools/gradc/TensorFile.h"

#include "compiler/Session.h"
#include "compiler/artifact/Artifact.h"
#include "compiler/import/onnx/Text.h"
#include "compiler/import/onnx/model/Narrow.h"
#include "runtime/data/source/NpyHeader.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/MemoryBuffer.h"
#include <fmt/core.h>
#include <fmt/ranges.h>

using namespace mlir;
using mlir::grad::HostTensor;

namespace gradc {

/// NumPy's code for an element type. Floats without a code are stored as bits (V), in ml_dtypes's
/// form; integers of less than 8 bits are stored in 8.
static std::string descr(Type t) {
  unsigned bytes = grad::elementBytes(t);
  if (t.isInteger(1))
    return "|b1";
  if (isa<FloatType>(t) && (t.isBF16() || bytes == 1))
    return fmt::format("<V{}", bytes);
  char kind = isa<FloatType>(t) ? 'f' : t.isUnsignedInteger() ? 'u' : 'i';
  return fmt::format("{}{}{}", bytes == 1 ? '|' : '<', kind, bytes);
}

static runtime::Result<HostTensor> readTensorProto(MLIRContext &context, StringRef bytes,
                                                   const std::string &path) {
  onnx::TensorProto proto;
  if (!proto.ParseFromArray(bytes.data(), int(bytes.size())))
    return runtime::Status::error(path + " is not an ONNX tensor (TensorProto)");
  const NarrowType *narrow = findNarrow(proto.data_type());
  Type element = fileElementType(context, proto.data_type());
  if (!element && !isString(proto.data_type()))
    return runtime::Status::invalid(path + ": element type " + dataTypeName(proto.data_type()) +
                                    " is not supported");
  std::string problem;
  ScopedDiagnosticHandler collect(&context, [&](Diagnostic &diagnostic) {
    problem += (problem.empty() ? "" : "; ") + diagnostic.str();
    return success();
  });
  Location where = FileLineColLoc::get(&context, path, 0, 0);
  if (!element) {
    FailureOr<HostTensor> text = textOf(proto, context, where);
    return succeeded(text)
               ? runtime::Result<HostTensor>(*text)
               : runtime::Result<HostTensor>(runtime::Status::invalid(path + ": " + problem));
  }
  if (failed(inlineExternalData(proto, path, where)) || failed(makeRaw(proto, context, where)))
    return runtime::Status::invalid(path + ": " + problem);
  SmallVector<int64_t> shape(proto.dims().begin(), proto.dims().end());
  auto type = RankedTensorType::get(shape, element);
  ArrayRef<char> raw(proto.raw_data().data(), proto.raw_data().size());
  return narrow ? HostTensor(type, unpacked(raw, *narrow, type.getNumElements()))
                : HostTensor(type, raw);
}

static runtime::Result<runtime::NpyHeader> parse(StringRef bytes, const std::string &path) {
  return runtime::parseNpy(std::as_bytes(std::span(bytes.data(), bytes.size())), path, bytes.size(),
                           /*takesAll=*/true);
}

bool isOpaque(Type element) { return element.isSignedInteger(); }

std::string describeFile(RankedTensorType type) {
  std::string text = describe(type);
  if (!isOpaque(type.getElementType()))
    return text;
  return "V" + std::to_string(grad::elementBytes(type.getElementType())) +
         text.substr(text.find(' '));
}

static RankedTensorType typeOf(MLIRContext &context, const runtime::NpyHeader &header) {
  RankedTensorType type = tensorType(context, header.dtype, header.shape);
  if (!header.isOpaque)
    return type;
  unsigned bits = type.getElementTypeBitWidth();
  return type.clone(IntegerType::get(&context, bits, IntegerType::Signed));
}

/// Converts numpy's strings of type U, which have 32-bit characters, to UTF-8.
static runtime::Result<HostTensor> fromUtf32(MLIRContext &context, const runtime::NpyHeader &header,
                                             const char *data, const std::string &path) {
  ArrayRef<int64_t> shape = ArrayRef(header.shape).drop_back();
  std::vector<std::string> strings;
  for (size_t at = 0; at < header.dataBytes; at += size_t(header.characters) * 4) {
    std::vector<llvm::UTF32> codes;
    for (int64_t i = 0; i < header.characters; ++i) {
      unsigned char c[4];
      std::memcpy(c, data + at + size_t(i) * 4, 4);
      if (header.bigEndian)
        std::reverse(c, c + 4);
      codes.push_back(c[0] | c[1] << 8 | c[2] << 16 | uint32_t(c[3]) << 24);
    }
    while (!codes.empty() && codes.back() == 0)
      codes.pop_back();
    std::string text(codes.size() * 4, 0);
    const llvm::UTF32 *from = codes.data();
    auto *begin = reinterpret_cast<llvm::UTF8 *>(text.data()), *to = begin;
    if (ConvertUTF32toUTF8(&from, from + codes.size(), &to, begin + text.size(),
                           llvm::strictConversion) != llvm::conversionOK ||
        llvm::is_contained(codes, 0u))
      return runtime::Status::invalid(path + ": string " + std::to_string(strings.size()) +
                                      " is not one of Unicode's characters without zeros");
    text.resize(size_t(to - begin));
    strings.push_back(std::move(text));
  }
  return textOf(strings, shape, context);
}

runtime::Result<HostTensor> readTensor(MLIRContext &context, const std::string &path) {
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!file)
    return runtime::Status::error(path + ": " + file.getError().message());
  StringRef bytes = (*file)->getBuffer();
  if (StringRef(path).ends_with(".pb"))
    return readTensorProto(context, bytes, path);
  auto header = parse(bytes, path);
  if (!header)
    return header.status();
  auto type = typeOf(context, *header);
  const char *data = bytes.data() + header->dataOffset;
  if (header->characters && header->dtype == GRADC_U32)
    return fromUtf32(context, *header, data, path);
  if (header->isPlain())
    return HostTensor(type, ArrayRef(data, header->dataBytes));
  auto plain = runtime::plainNpy(*header, reinterpret_cast<const std::byte *>(data));
  return HostTensor(type, ArrayRef(reinterpret_cast<const char *>(plain.get()), header->dataBytes));
}

runtime::Result<TensorView> openTensor(MLIRContext &context, const std::string &path) {
  if (StringRef(path).ends_with(".pb")) {
    auto value = readTensor(context, path);
    if (!value)
      return value.status();
    return viewOf(*value);
  }
  auto file = runtime::MappedFile::open(path);
  if (!file)
    return file.status();
  auto bytes = (*file)->bytes();
  auto header = parse(StringRef(reinterpret_cast<const char *>(bytes.data()), bytes.size()), path);
  if (!header)
    return header.status();
  if (!header->isPlain() || (header->characters && header->dtype == GRADC_U32)) {
    auto value = readTensor(context, path);
    return value ? runtime::Result<TensorView>(viewOf(*value))
                 : runtime::Result<TensorView>(value.status());
  }
  auto data = reinterpret_cast<const char *>((*file)->bytes().data()) + header->dataOffset;
  return TensorView{typeOf(context, *header), ArrayRef(data, header->dataBytes), HostTensor(),
                    *file};
}

TensorView viewOf(const HostTensor &tensor) {
  return {tensor.getType(), tensor.bytes(), tensor, nullptr};
}

std::string npyHeader(RankedTensorType type, bool isText) {
  std::string shape;
  for (int64_t size : type.getShape().drop_back(isText))
    shape += std::to_string(size) + ", ";
  std::string header = fmt::format(
      "{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}",
      isText ? fmt::format("|S{}", type.getShape().back()) : descr(type.getElementType()), shape);
  // The data starts at a multiple of 64 bytes.
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  char prefix[10] = {
      '\x93', 'N', 'U', 'M', 'P', 'Y', 1, 0, char(header.size() & 0xff), char(header.size() >> 8)};
  return std::string(prefix, sizeof prefix) + header;
}

runtime::Status writeTensor(const HostTensor &tensor, bool isText, const std::string &path) {
  ArrayRef<char> data = tensor.bytes();
  if (auto error = writeFile(
          path, {npyHeader(tensor.getType(), isText), StringRef(data.data(), data.size())},
          /*executable=*/false))
    return runtime::Status::error("cannot write " + path + ": " + llvm::toString(std::move(error)));
  return {};
}

} // namespace gradc
