// The trained model as ONNX.
#ifndef RUNTIME_TRAIN_EXPORT_EXPORT_H
#define RUNTIME_TRAIN_EXPORT_EXPORT_H

#include "runtime/core/Session.h"
#include "runtime/core/artifact/Config.h"
#include "runtime/data/Pipeline.h"

#include <map>

namespace gradc::runtime {

/// Row-major values of states, by name.
using StateValues = std::map<std::string, std::vector<std::byte>, std::less<>>;

/// The type and size of the model's initializer that a state is exported as; of no initializer: its
/// own.
gradc_dtype exportedType(const Artifact &artifact, const gradc_artifact_state &state);
uint64_t exportedBytes(const Artifact &artifact, const gradc_artifact_state &state);

/// Gathers the exported states that are sharded among ranks. Collective: ranks that do not export
/// call `joinExport`.
Result<StateValues> gatherExport(Session &session);
Status joinExport(Session &session);

/// The values to export: the states of a session, some of which the artifact may replace by
/// computed values, such as a weight merged with its adapters.
class ExportedValues {
public:
  /// `gathered`: values that replace the session's.
  static Result<ExportedValues> compute(Session &session, StateValues gathered = {});
  /// The value in the type of the model's initializer, row-major. `out` has room for it.
  Status read(uint32_t state, void *out) const;
  /// Copies the computed values that are no states into the model.
  void copyTo(std::span<std::byte> model) const;
  /// Whether there are such values: the model's weights are codes, the states floats.
  bool hasCodes() const;

private:
  ExportedValues(Session &session, StateValues values)
      : session(&session), merged(std::move(values)) {}

  Session *session;
  StateValues merged;
};

/// Writes the ONNX model that was compiled, with its initializers replaced by the session's states,
/// which `steps` steps have trained. Atomic. Fails if the model computes with values found in the
/// training data, or with ranges of activations, and the session has none yet.
Status exportOnnx(Session &session, const std::string &path, int64_t steps,
                  StateValues gathered = {});

/// Writes a model and a file of its weights, laid out as in the job's `exported_files`. Fails if
/// one of them would replace a file that the job reads. Only in programs with gradc_full.
__attribute__((weak)) Status writeExternal(Config job, std::span<std::byte> model,
                                           const std::string &path);

/// Fails if the weights of a model at `path` would replace an input. Only in programs with
/// gradc_full.
__attribute__((weak)) Status expectNoWeights(const std::string &path,
                                             std::span<const std::string> inputs);

/// The composition of the exported model's inputs: "x takes field 'images' after cast: F32 scale:
/// 0.0625". Empty: fields as they are.
std::string_view exportedInputs(const Artifact &artifact);

/// Writes the values that the data's stages have found to the states of the exported model.
Status writeFitted(Session &session, const DataState &found);

} // namespace gradc::runtime

#endif
