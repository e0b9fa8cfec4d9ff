// Options of a training spec by the names that they have elsewhere.
#ifndef COMPILER_IMPORT_SPEC_USUALNAMES_H
#define COMPILER_IMPORT_SPEC_USUALNAMES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace gradc {

/// The field that means what PyTorch, Keras or Hugging Face call `name`; "" if none of `fields`
/// does.
std::string fieldOfUsualName(llvm::StringRef name, llvm::ArrayRef<std::string> fields);

} // namespace gradc

#endif
