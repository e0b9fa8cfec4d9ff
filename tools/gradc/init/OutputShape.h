// The shape of a model's output, where the model itself does not say it.
#ifndef TOOLS_GRADC_INIT_OUTPUTSHAPE_H
#define TOOLS_GRADC_INIT_OUTPUTSHAPE_H

#include "tools/gradc/init/SpecDraft.h"

#include <map>
#include <optional>

namespace gradc {

/// The shape of one row of the output if inputs have these rows, as the importer finds it; none if
/// it cannot import the model. `rows`: [input] the shape of one row, where the model leaves it
/// open.
std::optional<std::vector<int64_t>>
inferOutput(mlir::MLIRContext &context, const DraftModel &model,
            const std::map<std::string, std::vector<int64_t>> &rows);

} // namespace gradc

#endif
