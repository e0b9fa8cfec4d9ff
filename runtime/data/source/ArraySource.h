// A table of whole arrays in memory, which most sources use.
#ifndef RUNTIME_DATA_SOURCE_ARRAYSOURCE_H
#define RUNTIME_DATA_SOURCE_ARRAYSOURCE_H

#include "runtime/data/source/Sources.h"

#include <map>

namespace gradc::runtime {

/// Rows that cannot be read, with the reason.
using BadRows = std::map<int64_t, std::string>;

/// Reads the .npy array in `bytes`. A big-endian or Fortran-ordered array is copied. `what` names
/// the array in messages.
Result<SourceArray> makeSourceArray(std::string name, std::span<const std::byte> bytes,
                                    std::shared_ptr<const void> owner, std::string_view what);
/// The same without data; `bytes` are the beginning of an array of `size` bytes.
Result<SourceArray> describeSourceArray(std::string name, std::span<const std::byte> bytes,
                                        std::string_view what, uint64_t size);

/// Divides an array into rows of different lengths: row r has entries offsets[r] to offsets[r + 1]
/// - 1. `isRead`: the numbers have been read; otherwise only the field's shape changes.
Status cutRows(SourceArray &array, const SourceArray &offsets, std::string_view origin,
               bool isRead);

/// Reads a file as one array: the field's name, the file, and its name for messages.
using ArrayReader = Result<SourceArray> (*)(std::string name,
                                            std::shared_ptr<const MappedFile> file,
                                            std::string_view what);
/// Applies a source with one file per field: `field { name path }`. Files of fields that the model
/// does not use are not read.
Status applyFiles(Config config, const DataContext &context, Pipeline &pipeline,
                  std::string_view source, ArrayReader read);

/// Describes such a source. Its block is named `kind`; the reader need not read elements.
Status describeFiles(Config config, const DataContext &context, Pipeline &pipeline,
                     std::string_view kind, ArrayReader read);

/// Whether the model or a stage uses the field. A description uses all fields.
bool isDemanded(std::string_view field, const DataContext &context);

/// Uses the arrays of the context, which stay in the caller's memory.
Status applyMemory(const DataContext &context, Pipeline &pipeline);

/// `origin` names the file or files in messages. Reading one of the bad rows fails.
Result<std::shared_ptr<const Table>> makeArraySource(std::vector<SourceArray> arrays,
                                                     std::string origin, BadRows bad = {});

/// The error for a requested field that the source lacks.
Status missingField(const FieldUse &use, std::string_view origin,
                    std::span<const std::string> available);

} // namespace gradc::runtime

#endif
