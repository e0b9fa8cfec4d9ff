// A table of whole arrays in memory, as most sources make it.
#ifndef RUNTIME_DATA_ARRAYSOURCE_H
#define RUNTIME_DATA_ARRAYSOURCE_H

#include "runtime/data/source/Sources.h"

namespace gradc::runtime {

/// Reads the .npy array in `bytes`; one that is big-endian or in Fortran order is copied. `what`
/// names it in messages.
Result<SourceArray> makeSourceArray(std::string name, std::span<const std::byte> bytes,
                                    std::shared_ptr<const void> owner, std::string_view what);
/// The same of the `size` bytes that `bytes` begin, without data.
Result<SourceArray> describeSourceArray(std::string name, std::span<const std::byte> bytes,
                                        std::string_view what, uint64_t size);

/// Cuts an array into rows that differ in their length: row r is its entries offsets[r] to
/// offsets[r + 1] - 1. `isRead`: the numbers are there; else only the field's shape changes.
Status cutRows(SourceArray &array, const SourceArray &offsets, std::string_view origin,
               bool isRead);

/// Reads a file as one array: the field's name, the file, and its name for messages.
using ArrayReader = Result<SourceArray> (*)(std::string name,
                                            std::shared_ptr<const MappedFile> file,
                                            std::string_view what);
/// The source of a block with one file per field: `field { name path }`. Files of fields that the
/// model does not take are not read.
Status applyFiles(Config config, const DataContext &context, Pipeline &pipeline,
                  std::string_view source, ArrayReader read);

/// Describes such a source, whose block is called `kind`, with a reader that need read no element.
Status describeFiles(Config config, const DataContext &context, Pipeline &pipeline,
                     std::string_view kind, ArrayReader read);

/// Whether the model or a stage takes the field. Who describes data takes all.
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
