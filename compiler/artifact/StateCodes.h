// 8-bit integers of states as codes: with fewer bits, or where the model has them in another form.
#ifndef COMPILER_ARTIFACT_STATECODES_H
#define COMPILER_ARTIFACT_STATECODES_H

#include "compiler/artifact/Blob.h"

#include <optional>

namespace gradc {

/// The fields of gradc_artifact_codes.
struct CodeForm {
  uint32_t bits, flip = 0;
  uint64_t block = 0;
  std::string zeros = {};
};

/// The form in which `packed` holds codes of the elements; none if other bytes do.
std::optional<CodeForm> findCodes(llvm::ArrayRef<char> packed, llvm::ArrayRef<char> elements);

/// Codes that hold the elements, and their bytes; none if codes of 4 bits do not.
std::optional<std::pair<CodeForm, std::string>> packCodes(llvm::ArrayRef<char> elements);

/// Sets `initial` and `codes` of a state of 8-bit integers that need not be stored as they are:
/// either one of the `tensors`, which are places in the blob, has them as codes, or they have few
/// bits. Returns whether that is so.
bool placeCodes(Blob &blob, llvm::ArrayRef<gradc_range> tensors, llvm::ArrayRef<char> elements,
                gradc_artifact_state &state);

} // namespace gradc

#endif
