// Stores the rows made by earlier stages in a file.
#ifndef RUNTIME_DATA_STAGE_CACHEFILE_H
#define RUNTIME_DATA_STAGE_CACHEFILE_H

#include "runtime/data/Pipeline.h"

namespace gradc::runtime {

/// The input's rows as stored in the file. If the file does not exist, it is made, which reads
/// every row, or, if another process is making it, it is waited for. A file of data that have
/// changed since is made again; one with other rows or fields, by other stages, or that this
/// process reads for other data, is refused. Null in the smaller runner.
__attribute__((weak)) Result<std::shared_ptr<const Table>>
openCacheFile(std::shared_ptr<const Table> input, std::string_view path,
              const DataContext &context);

} // namespace gradc::runtime

#endif
