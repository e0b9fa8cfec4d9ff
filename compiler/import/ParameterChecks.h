// Parameters that an exporter has changed so that they would not train as meant.
#ifndef COMPILER_IMPORT_PARAMETERCHECKS_H
#define COMPILER_IMPORT_PARAMETERCHECKS_H

#include "compiler/import/Import.h"
#include "compiler/import/onnx/States.h"

namespace gradc {

/// Refuses, with the exporter's option that helps:
/// - parameters in f64: training computes in f32;
/// - a parameter of one value everywhere that several nodes use: exporters merge the ones and zeros
///   of a fresh model, which would then train as one. It passes where the same nodes share another
///   parameter, too, as a layer that is applied again does, or where the spec's `trainable` names
///   it.
mlir::LogicalResult checkParameters(const Imported &imported, const States &states,
                                    const OnnxModel &model);

} // namespace gradc

#endif
