// Signs that an exporter has left out of a model what training needs.
#ifndef COMPILER_IMPORT_EXPORTSIGNS_H
#define COMPILER_IMPORT_EXPORTSIGNS_H

#include "compiler/import/onnx/onnx.pb.h"

#include <string>
#include <vector>

namespace gradc {

/// One note for each sign: what was seen, and the exporter's call that keeps it. None of them is an
/// error: a network that never had BatchNormalization may look like one that had.
std::vector<std::string> exportSigns(const onnx::GraphProto &graph);

} // namespace gradc

#endif
