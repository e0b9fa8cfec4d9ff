// The trained model as ONNX.
#ifndef RUNTIME_TRAIN_EXPORT_H
#define RUNTIME_TRAIN_EXPORT_H

#include "runtime/core/Config.h"
#include "runtime/core/Session.h"
#include "runtime/data/Pipeline.h"

#include <map>

namespace gradc::runtime {

/// Row-major values of states, by name.
using StateValues = std::map<std::string, std::vector<std::byte>, std::less<>>;

/// The whole values of the exported states that ranks have in shards. All ranks call it together,
/// and those that do not export call `joinExport`.
Result<StateValues> gatherExport(Session &session);
Status joinExport(Session &session);

/// The values of a session that exports hold: its states, except that the artifact may compute a
/// value to export in place of one, such as a weight merged with its adapters.
class ExportedValues {
public:
  /// `gathered`: values to take in place of the session's.
  static Result<ExportedValues> compute(Session &session, StateValues gathered = {});
  /// As Session::readState.
  Status read(uint32_t state, void *out) const;

private:
  ExportedValues(Session &session, StateValues values)
      : session(&session), merged(std::move(values)) {}

  Session *session;
  StateValues merged;
};

/// Writes the ONNX model that was compiled, with its initializers replaced by the session's states.
/// Atomic. An error where the model computes with what the data's stages find, and none has been
/// written.
Status exportOnnx(Session &session, const std::string &path, StateValues gathered = {});

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
