// Detects parameters that an exporter has changed so that they would not train as intended.
#ifndef COMPILER_IMPORT_PARAMETERS_PARAMETERCHECKS_H
#define COMPILER_IMPORT_PARAMETERS_PARAMETERCHECKS_H

#include "compiler/import/Import.h"
#include "compiler/import/onnx/States.h"
#include "compiler/import/transfer/Adapters.h"

namespace gradc {

/// Refuses the following, and names the exporter's option that helps:
/// - parameters in f64: training computes in f32. Of adapters, the weight is named;
/// - a parameter with one value everywhere that several nodes use: exporters merge the ones and
///   zeros of a fresh model, which would then train as one. Such a parameter passes if the same
///   nodes also share another parameter, as in a layer that is applied repeatedly, or if the spec's
///   `trainable` names it.
/// Notes parameters of zeros and ones that are factors of elements (a model may hold a mask as an
/// initializer of floats), scalars that may be parameters, and parameters of which one is the
/// transpose of another: the halves of a tied parameter would train apart.
mlir::LogicalResult checkParameters(const Imported &imported, const States &states,
                                    const OnnxModel &model, llvm::ArrayRef<Adapter> adapters);

/// Fails, with the reasons, if no initializer trains.
mlir::LogicalResult expectTraining(llvm::ArrayRef<Verdict> verdicts, const OnnxModel &model);

} // namespace gradc

#endif
