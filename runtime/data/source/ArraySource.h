// A table of whole arrays in memory, as most sources make it.
#ifndef RUNTIME_DATA_ARRAYSOURCE_H
#define RUNTIME_DATA_ARRAYSOURCE_H

#include "runtime/data/Stages.h"
#include "runtime/data/source/MappedFile.h"

namespace gradc::runtime {

/// Reads the .npy array in `bytes`. `what` names it in messages.
Result<SourceArray> makeSourceArray(std::string name, std::span<const std::byte> bytes,
                                    std::shared_ptr<const void> owner, std::string_view what);

/// Reads a file as one array: the field's name, the file, and its name for messages.
using ArrayReader = Result<SourceArray> (*)(std::string name,
                                            std::shared_ptr<const MappedFile> file,
                                            std::string_view what);
/// The source of a block with one file per field: `field { name path }`. Files of fields that the
/// model does not take are not read.
Status applyFiles(Config config, const DataContext &context, Pipeline &pipeline,
                  std::string_view source, ArrayReader read);

/// Whether the model or a stage takes the field.
bool isDemanded(std::string_view field, const DataContext &context);

/// The arrays of the context, which lie in the caller's memory.
Status applyMemory(const DataContext &context, Pipeline &pipeline);

/// `origin` names the file or files in messages.
Result<std::shared_ptr<const Table>> makeArraySource(std::vector<SourceArray> arrays,
                                                     std::string origin);

/// The error for a requested field that the source lacks.
Status missingField(const FieldUse &use, std::string_view origin,
                    std::span<const std::string> available);

} // namespace gradc::runtime

#endif
