// A `data` block becomes a data set: its source, and its stages in their order.
#ifndef RUNTIME_DATA_CHAIN_H
#define RUNTIME_DATA_CHAIN_H

#include "runtime/data/Pipeline.h"
#include "runtime/data/load/Loader.h"

namespace gradc::runtime {

/// Builds the data set of a `data` block. Its fields are the demands, in their order.
Result<std::shared_ptr<const Dataset>> makeDataset(Config data, DataContext context);

/// Whether stages of a `data` block are models, which a session has to run.
bool hasModels(Config data);

/// The block in a `data` block's source that says where rows come from; none if it has none.
Config sourceKind(Config data);
/// Makes the table of a `source` block, with its choice of rows.
Status applySource(Config source, const DataContext &context, Pipeline &pipeline);
/// Applies one stage of a `data` block; what it must not follow is an error.
Status applyStage(Config stage, const DataContext &context, Pipeline &pipeline);
/// The field by which a stage chooses rows; "": none.
std::string_view fieldRead(Config stage);
/// Messages about the chain as a whole.
Status readSettings(Config data, const DataContext &context, BatchRule &rule,
                    LoaderOptions &options);
/// Whether a child of a `data` block is a stage: neither the source nor a setting.
bool isStage(Config child);

} // namespace gradc::runtime

#endif
