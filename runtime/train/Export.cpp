// Patches the trained values into the model's own bytes, so that everything else in it stays as it
// was.
#include "runtime/train/Export.h"

#include "runtime/core/Text.h"
#include "runtime/train/AtomicFile.h"

namespace gradc {

Status exportOnnx(Session &session, const std::string &path) {
  const Artifact &artifact = session.artifact();
  std::span<const std::byte> original = artifact.bytes(artifact.header().model);
  if (original.empty())
    return Status::error(text("cannot export '", path, "': the artifact carries no ONNX model"));
  std::vector<std::byte> model(original.begin(), original.end());
  for (uint32_t i = 0; i < artifact.states().size(); ++i) {
    const gradc_artifact_state &state = artifact.states()[i];
    if (state.model_bytes == 0)
      continue;
    if (state.model_bytes != state.tensor.bytes || state.model_bytes > model.size() ||
        state.model_offset > model.size() - state.model_bytes)
      return Status::invalid(text("state '", artifact.string(state.tensor.name), "' has ",
                                  state.tensor.bytes, " bytes, its initializer ",
                                  state.model_bytes));
    if (Status status = session.readState(i, model.data() + state.model_offset); !status.ok())
      return status;
  }
  AtomicFile file(path);
  file.write(model);
  return file.commit();
}

} // namespace gradc
