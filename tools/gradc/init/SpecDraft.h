// The first draft of a training spec for a model and data.
#ifndef TOOLS_GRADC_INIT_SPECDRAFT_H
#define TOOLS_GRADC_INIT_SPECDRAFT_H

#include "compiler/import/onnx/model/OnnxModel.h"
#include "tools/gradc/init/DataLook.h"

namespace gradc {

/// A graph input or output.
struct DraftPort {
  std::string name;
  gradc_dtype dtype = GRADC_F32;
  std::vector<int64_t> shape = {};       ///< of one row; -1: any
  std::vector<std::string> symbols = {}; ///< [dim] the model's name of its extent; "": none
  int64_t batch = -1;                    ///< -1: any
  bool isLoss = false;                   ///< an output of rank 0

  std::string describe() const;
};

/// The model's path, its inputs and its first output.
struct DraftModel {
  std::string path;
  std::vector<DraftPort> inputs;
  DraftPort output;
};
runtime::Result<DraftModel> readDraftModel(const OnnxModel &model, std::string path);

/// The text of the spec at `path`, with comments that explain the choices and name alternatives.
/// Results are named after the spec, so that those of several specs in one folder stay apart. If
/// model and data do not match, an error describes both.
runtime::Result<std::string> draftSpec(mlir::MLIRContext &context, const DraftModel &model,
                                       const LookedData &data, const std::string &path);

} // namespace gradc

#endif
