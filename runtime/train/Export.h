// The trained model as ONNX.
#ifndef RUNTIME_TRAIN_EXPORT_H
#define RUNTIME_TRAIN_EXPORT_H

#include "runtime/core/Config.h"
#include "runtime/core/Session.h"
#include "runtime/data/Pipeline.h"

#include <map>

namespace gradc::runtime {

/// The values of a session that exports hold: its states, except that the artifact may compute a
/// value to export in place of one, such as a weight merged with its adapters.
class ExportedValues {
public:
  static Result<ExportedValues> compute(Session &session);
  /// As Session::readState.
  Status read(uint32_t state, void *out) const;

private:
  explicit ExportedValues(Session &session) : session(&session) {}

  Session *session;
  std::map<std::string, std::vector<std::byte>, std::less<>> merged; ///< by state
};

/// Writes the ONNX model that was compiled, with its initializers replaced by the session's states.
/// Atomic. An error where the model computes with what the data's stages find, and none has been
/// written.
Status exportOnnx(Session &session, const std::string &path);

/// Writes a model of two files, as the job's `exported_files` cut it, over none that the job reads.
/// Of programs that have gradc_full.
__attribute__((weak)) Status writeExternal(Config job, std::span<std::byte> model,
                                           const std::string &path);

/// The weights of a model at `path` would take no input's place. Of programs that have gradc_full.
__attribute__((weak)) Status expectNoWeights(const std::string &path,
                                             std::span<const std::string> inputs);

/// The composition of the exported model's inputs: "x takes field 'images' after cast: F32 scale:
/// 0.0625". Empty: fields as they are.
std::string_view exportedInputs(const Artifact &artifact);

/// Writes what the data's stages have found into the states that the exported model computes with.
Status writeFitted(Session &session, const DataState &found);

} // namespace gradc::runtime

#endif
