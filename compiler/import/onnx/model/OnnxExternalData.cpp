// Reads tensors that a model stores in other files of its folder.
#include "dialects/Pch.h"

#include "compiler/import/onnx/model/OnnxModel.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace gradc;

static StringRef entry(const onnx::TensorProto &tensor, StringRef key) {
  for (const onnx::StringStringEntryProto &e : tensor.external_data())
    if (e.key() == key)
      return e.value();
  return {};
}

/// The file at a location. A model must not read files outside its own folder: an absolute name, a
/// name that climbs, or a link that leads outside is refused.
static FailureOr<std::string> resolve(StringRef name, StringRef modelPath, Location where) {
  namespace path = llvm::sys::path;
  auto outside = [&](const Twine &why) {
    return emitError(where) << "external data \"" << name << "\" lies outside the model's folder ("
                            << why << "); move the file beside the model";
  };
  if (name.empty())
    return emitError(where) << "external data names no file (key \"location\")";
  if (path::is_absolute(name))
    return outside("the path is absolute");
  for (auto part = path::begin(name), end = path::end(name); part != end; ++part)
    if (*part == "..")
      return outside("the path contains \"..\"");
  SmallString<256> file(path::parent_path(modelPath)), folder(path::parent_path(modelPath));
  if (folder.empty())
    folder = ".";
  path::append(file, name);
  SmallString<256> realFile, realFolder;
  if (std::error_code error = llvm::sys::fs::real_path(file, realFile))
    return emitError(where) << "cannot read external data \"" << file.str()
                            << "\": " << error.message();
  if (std::error_code error = llvm::sys::fs::real_path(folder, realFolder))
    return emitError(where) << "cannot read the model's folder \"" << folder.str()
                            << "\": " << error.message();
  if (!realFolder.ends_with("/"))
    realFolder += "/";
  if (!realFile.str().starts_with(realFolder))
    return outside("it is a link to \"" + realFile.str() + "\"");
  return realFile.str().str();
}

LogicalResult gradc::inlineExternalData(onnx::TensorProto &tensor, StringRef modelPath,
                                        Location where, std::set<std::string> *files) {
  if (tensor.data_location() == 0)
    return success();
  if (tensor.data_location() != 1)
    return emitError(where) << "expected data location 0 (inside) or 1 (external), found "
                            << tensor.data_location();
  StringRef name = entry(tensor, "location");
  uint64_t offset = 0, length = 0;
  StringRef offsetText = entry(tensor, "offset"), lengthText = entry(tensor, "length");
  if ((!offsetText.empty() && offsetText.getAsInteger(10, offset)) ||
      (!lengthText.empty() && lengthText.getAsInteger(10, length)))
    return emitError(where) << "expected numbers as offset and length of external data \"" << name
                            << "\", found \"" << offsetText << "\" and \"" << lengthText << "\"";
  FailureOr<std::string> file = resolve(name, modelPath, where);
  if (failed(file))
    return failure();
  uint64_t size = 0;
  if (std::error_code error = llvm::sys::fs::file_size(*file, size))
    return emitError(where) << "cannot read external data \"" << name << "\": " << error.message();
  if (lengthText.empty() && offset <= size)
    length = size - offset;
  if (offset > size || length > size - offset)
    return emitError(where) << "external data \"" << name << "\" is too short: expected " << length
                            << " bytes at offset " << offset << ", the file has " << size;
  auto buffer = llvm::MemoryBuffer::getFileSlice(*file, length, offset);
  if (!buffer)
    return emitError(where) << "cannot read external data \"" << name
                            << "\": " << buffer.getError().message();
  if (files)
    files->insert(*file);
  tensor.set_raw_data((*buffer)->getBuffer().data(), (*buffer)->getBufferSize());
  tensor.clear_data_location();
  tensor.clear_external_data();
  return success();
}
