// The trained model as ONNX.
#ifndef RUNTIME_TRAIN_EXPORT_H
#define RUNTIME_TRAIN_EXPORT_H

#include "runtime/core/Config.h"
#include "runtime/core/Session.h"
#include "runtime/data/Pipeline.h"

namespace gradc::runtime {

/// Writes the ONNX model that was compiled, with its initializers replaced by the session's states.
/// Atomic. An error where the model computes with what the data's stages find, and none has been
/// written.
Status exportOnnx(Session &session, const std::string &path);

/// The composition of the exported model's inputs: "x takes field 'images' after cast: F32 scale:
/// 0.0625". Empty: fields as they are.
std::string_view exportedInputs(const Artifact &artifact);

/// Writes what the data's stages have found into the states that the exported model computes with.
Status writeFitted(Session &session, const DataState &found);

} // namespace gradc::runtime

#endif
