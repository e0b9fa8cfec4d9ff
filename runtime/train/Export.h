// The trained model as ONNX.
#ifndef RUNTIME_TRAIN_EXPORT_H
#define RUNTIME_TRAIN_EXPORT_H

#include "runtime/core/Session.h"

namespace gradc::runtime {

/// Writes the ONNX model that was compiled, with its initializers replaced by the session's states.
/// Atomic.
Status exportOnnx(Session &session, const std::string &path);

} // namespace gradc::runtime

#endif
