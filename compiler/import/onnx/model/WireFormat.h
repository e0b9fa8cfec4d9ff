// Protobuf's wire format, as far as positions in a file require it: the parser does not keep them.
#ifndef COMPILER_IMPORT_ONNX_MODEL_WIREFORMAT_H
#define COMPILER_IMPORT_ONNX_MODEL_WIREFORMAT_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>

namespace gradc {

/// One field of a serialized message. `payload` is the content of a length-delimited field, a view
/// into the message's bytes; empty for numbers.
struct WireField {
  uint32_t number;
  uint32_t wireType;
  llvm::StringRef payload;
};

/// Calls `visit` for the fields of `message` in order. Returns a description if the bytes are
/// invalid: "byte 17: field 7 has 900 bytes, 120 are left".
std::optional<std::string> walkFields(llvm::StringRef message,
                                      llvm::function_ref<void(const WireField &)> visit);

} // namespace gradc

#endif
