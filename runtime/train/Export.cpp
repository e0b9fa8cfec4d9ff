// Patches the trained values into the model's own bytes, so that everything else in it stays the
// same.
#include "runtime/train/Export.h"

#include "runtime/base/AtomicFile.h"
#include "runtime/base/DataType.h"
#include "runtime/base/Text.h"

#include <algorithm>
#include <cmath>
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

/// A field of a map as the spec has it: "scale: 0.0625", "resize { height: 32 width: 32 }". Empty
/// for defaults.
static std::string fieldText(Config block, Config field) {
  std::string name(field.name());
  if (!field.string().empty())
    return text(name, ": ", field.string());
  if (double value = field.real(NAN); !std::isnan(value)) {
    bool isDefault = (name == "scale" && value == 1) || (name == "offset" && value == 0);
    return isDefault ? "" : text(name, ": ", value);
  }
  if (!block.boolean(name, true))
    return {};
  std::string inside;
  for (Config child : field.children())
    inside += text(inside.empty() ? "" : " ", fieldText(field, child));
  return inside.empty() ? name : text(name, " { ", inside, " }");
}

std::string exportedInputs(const Session &session, Config data) {
  constexpr std::string_view left[] = {"field", "random_crop", "flip", "color_jitter"};
  const Artifact &artifact = session.artifact();
  const gradc_artifact_entry *entry = session.findEntry("forward");
  std::string all;
  for (const auto &port :
       artifact.elements<gradc_artifact_port>(entry ? entry->inputs : gradc_range{})) {
    std::string_view field = artifact.string(port.field);
    std::string maps;
    for (Config map : data.children("map"))
      for (Config part : map.string("field") == field ? map.children() : std::vector<Config>())
        if (std::find(std::begin(left), std::end(left), part.name()) == std::end(left))
          if (std::string one = fieldText(map, part); !one.empty())
            maps += text(maps.empty() ? "" : ", ", one);
    if (!maps.empty())
      all += text(all.empty() ? "" : "; ", artifact.string(port.tensor.name), " takes field '",
                  field, "' after ", maps);
  }
  return all;
}

} // namespace gradc::runtime
