// Strings have no element type of their own: ops on strings are ops on bytes.
#include "dialects/Pch.h"

#include "compiler/import/onnx/Text.h"
#include "dialects/grad/Build.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

std::string gradc::describeText(RankedTensorType type) {
  std::string text = describe(type.clone(type.getShape().drop_back()));
  return "string" + text.substr(text.find(' '));
}

HostTensor gradc::textOf(ArrayRef<std::string> strings, ArrayRef<int64_t> shape,
                         MLIRContext &context) {
  size_t bytes = 1;
  for (const std::string &string : strings)
    bytes = std::max(bytes, string.size());
  SmallVector<int64_t> wide(shape);
  wide.push_back(int64_t(bytes));
  HostTensor text(
      RankedTensorType::get(wide, IntegerType::get(&context, 8, IntegerType::Unsigned)));
  for (auto [i, string] : llvm::enumerate(strings))
    llvm::copy(string, text.mutableBytes().data() + i * bytes);
  return text;
}

FailureOr<HostTensor> gradc::textOf(const onnx::TensorProto &tensor, MLIRContext &context,
                                    Location where) {
  SmallVector<int64_t> shape(tensor.dims().begin(), tensor.dims().end());
  std::vector<std::string> strings(tensor.string_data().begin(), tensor.string_data().end());
  if (!fits(shape) || ShapedType::getNumElements(shape) != int64_t(strings.size()))
    return emitError(where) << "expected a string for each element of " << formatDims(shape)
                            << ", found " << strings.size();
  constexpr size_t most = 1 << 16; // the maximum of --string-bytes
  for (const std::string &string : strings)
    if (string.size() > most)
      return emitError(where) << "expected strings of at most " << most << " bytes, found one of "
                              << string.size();
  for (const std::string &string : strings)
    if (StringRef(string).contains('\0'))
      return emitError(where) << "expected strings without zero bytes, found one in \""
                              << string.c_str() << "\"";
  return textOf(strings, shape, context);
}

int64_t gradc::longestText(const HostTensor &text) {
  int64_t bytes = text.getShape().back(), longest = 0;
  for (int64_t i = 0; i < text.size(); ++i)
    if (text.bytes()[i])
      longest = std::max(longest, i % bytes + 1);
  return longest;
}

HostTensor gradc::withBytes(const HostTensor &text, int64_t bytes) {
  SmallVector<int64_t> shape(text.getShape());
  int64_t own = shape.back(), copied = std::min(own, bytes);
  shape.back() = bytes;
  HostTensor result(text.getType().clone(shape));
  MutableArrayRef<char> to = result.mutableBytes();
  for (int64_t i = 0, n = own ? text.size() / own : 0; i < n; ++i)
    std::copy_n(text.bytes().data() + i * own, copied, to.data() + i * bytes);
  return result;
}
