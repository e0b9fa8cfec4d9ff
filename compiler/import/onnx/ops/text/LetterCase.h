// The case of letters outside ASCII.
#ifndef COMPILER_IMPORT_ONNX_OPS_TEXT_LETTERCASE_H
#define COMPILER_IMPORT_ONNX_OPS_TEXT_LETTERCASE_H

#include <cstdint>
#include <vector>

namespace gradc {

enum class LetterCase { lower, upper };

/// The form of each code point up to U+FFFF in the wanted case: the code point itself if it is not
/// a letter of the other case, or 0 if its form is not a single letter with the same number of
/// bytes in UTF-8. Code points above U+FFFF with a case have 0x90, 0x91, 0x96 or 0x9e as their
/// second byte.
std::vector<uint16_t> otherCase(LetterCase wanted);

} // namespace gradc

#endif
