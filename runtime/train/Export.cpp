// Patches the trained values into the model's own bytes, so that everything else in it stays the
// same.
#include "runtime/train/Export.h"

#include "runtime/base/AtomicFile.h"
#include "runtime/base/DataType.h"
#include "runtime/base/Text.h"

#include <cstring>

namespace gradc::runtime {

/// Writes the transpose of a row-major matrix.
static void transpose(const std::byte *in, std::byte *out, size_t rows, size_t columns,
                      size_t width) {
  for (size_t i = 0; i < rows; ++i)
    for (size_t j = 0; j < columns; ++j)
      std::memcpy(out + (j * rows + i) * width, in + (i * columns + j) * width, width);
}

Status exportOnnx(Session &session, const std::string &path) {
  const Artifact &artifact = session.artifact();
  std::span<const std::byte> original = artifact.bytes(artifact.header().model);
  if (original.empty())
    return Status::error(text("cannot export '", path, "': the artifact carries no ONNX model"));
  std::vector<std::byte> model(original.begin(), original.end());
  std::vector<std::byte> value;
  for (uint32_t i = 0; i < artifact.states().size(); ++i) {
    const gradc_artifact_state &state = artifact.states()[i];
    auto shape = artifact.elements<int64_t>(state.tensor.shape);
    for (const auto &place : artifact.elements<gradc_artifact_place>(state.places)) {
      std::byte *target = model.data() + place.offset;
      if (place.transposed)
        value.resize(state.tensor.bytes);
      if (Status status = session.readState(i, place.transposed ? value.data() : target);
          !status.ok())
        return status;
      if (place.transposed)
        transpose(value.data(), target, size_t(shape[0]), size_t(shape[1]),
                  findDataType(state.tensor.dtype)->bytes);
    }
  }
  AtomicFile file(path);
  file.write(model);
  return file.commit();
}

} // namespace gradc::runtime
