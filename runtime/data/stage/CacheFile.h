// What stages have made of all rows, in a file.
#ifndef RUNTIME_DATA_CACHEFILE_H
#define RUNTIME_DATA_CACHEFILE_H

#include "runtime/data/Stages.h"

namespace gradc::runtime {

/// The input's rows as the file has them. Where there is no such file it is made, which reads every
/// row; a file of other rows or fields is refused.
Result<std::shared_ptr<const Table>> openCacheFile(std::shared_ptr<const Table> input,
                                                   std::string_view path,
                                                   const DataContext &context);

} // namespace gradc::runtime

#endif
