// Turns a `data` block into a data set: its source, then its stages in order.
#ifndef RUNTIME_DATA_CHAIN_CHAIN_H
#define RUNTIME_DATA_CHAIN_CHAIN_H

#include "runtime/data/Pipeline.h"
#include "runtime/data/load/Loader.h"

namespace gradc::runtime {

/// Builds the data set of a `data` block. Its fields are the demands, in order.
Result<std::shared_ptr<const Dataset>> makeDataset(Config data, DataContext context);

/// Whether any stage of a `data` block is a model, which needs a session to run.
bool hasModels(Config data);

/// The block in a `data` block's source that says where rows come from; an empty Config if there is
/// none.
Config sourceKind(Config data);
/// Makes the table of a `source` block, restricted to the rows that the block selects.
Status applySource(Config source, const DataContext &context, Pipeline &pipeline);
/// Applies one stage of a `data` block. A wrong order of stages is an error.
Status applyStage(Config stage, const DataContext &context, Pipeline &pipeline);
/// The field by which a stage selects rows; "" if there is none.
std::string_view fieldRead(Config stage);
/// Reads the settings of the chain as a whole, and reports problems with them.
Status readSettings(Config data, const DataContext &context, BatchRule &rule,
                    LoaderOptions &options);
/// Whether a child of a `data` block is a stage: neither the source nor a setting.
bool isStage(Config child);

} // namespace gradc::runtime

#endif
