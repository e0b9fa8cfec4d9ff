// The rows made by earlier stages, in a file.
#ifndef RUNTIME_DATA_CACHEFILE_H
#define RUNTIME_DATA_CACHEFILE_H

#include "runtime/data/Pipeline.h"

namespace gradc::runtime {

/// The input's rows as stored in the file. If it does not exist it is made, which reads every row;
/// a file of other rows or fields is refused.
Result<std::shared_ptr<const Table>> openCacheFile(std::shared_ptr<const Table> input,
                                                   std::string_view path,
                                                   const DataContext &context);

} // namespace gradc::runtime

#endif
