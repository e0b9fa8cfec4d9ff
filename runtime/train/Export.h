// The trained model as ONNX.
#ifndef RUNTIME_TRAIN_EXPORT_H
#define RUNTIME_TRAIN_EXPORT_H

#include "runtime/core/Config.h"
#include "runtime/core/Session.h"

namespace gradc::runtime {

/// Writes the ONNX model that was compiled, with its initializers replaced by the session's states.
/// Atomic.
Status exportOnnx(Session &session, const std::string &path);

/// What the exported model takes, where the data's maps change a field before it does: "x takes
/// field 'images' after cast: F32, scale: 0.0625". Random maps are left out. Empty: fields as they
/// are.
std::string exportedInputs(const Session &session, Config data);

} // namespace gradc::runtime

#endif
