// The file that this code was loaded from; an artifact may be appended to it.
#ifndef RUNTIME_BASE_OWNFILE_H
#define RUNTIME_BASE_OWNFILE_H

#include "runtime/base/Status.h"

#include <string>

namespace gradc::runtime {

/// The absolute path of the executable or shared library that contains this function.
Result<std::string> findOwnFile();

} // namespace gradc::runtime

#endif
