// .npy, version 1.0, little endian, row-major.
#include "tools/gradc/TensorFile.h"

#include "compiler/Session.h"
#include "compiler/artifact/Artifact.h"
#include "runtime/data/NpyHeader.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/MemoryBuffer.h"
#include <fmt/core.h>
#include <fmt/ranges.h>

using namespace mlir;
using mlir::grad::HostTensor;

namespace gradc {

/// NumPy's code for an element type; bf16 has none and is stored as its bits.
static std::string descr(Type t) {
  unsigned bytes = grad::elementBytes(t);
  if (t.isInteger(1))
    return "|b1";
  if (t.isBF16())
    return "<u2";
  char kind = isa<FloatType>(t) ? 'f' : t.isUnsignedInteger() ? 'u' : 'i';
  return fmt::format("{}{}{}", bytes == 1 ? '|' : '<', kind, bytes);
}

Result<HostTensor> readTensor(MLIRContext &context, const std::string &path) {
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!file)
    return Status::error(path + ": " + file.getError().message());
  StringRef bytes = (*file)->getBuffer();
  auto header = parseNpy(std::as_bytes(std::span(bytes.data(), bytes.size())), path);
  if (!header)
    return header.status();
  auto type = tensorType(context, header->dtype, header->shape);
  return HostTensor(type, ArrayRef(bytes.data() + header->dataOffset, header->dataBytes));
}

Status writeTensor(const HostTensor &tensor, const std::string &path) {
  std::string shape;
  for (int64_t size : tensor.getShape())
    shape += std::to_string(size) + ", ";
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}",
                                   descr(tensor.getElementType()), shape);
  // The data starts at a multiple of 64 bytes.
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  char prefix[10] = {
      '\x93', 'N', 'U', 'M', 'P', 'Y', 1, 0, char(header.size() & 0xff), char(header.size() >> 8)};
  ArrayRef<char> data = tensor.bytes();
  if (auto error =
          writeFile(path, {StringRef(prefix, 10), header, StringRef(data.data(), data.size())},
                    /*executable=*/false))
    return Status::error("cannot write " + path + ": " + llvm::toString(std::move(error)));
  return {};
}

} // namespace gradc
