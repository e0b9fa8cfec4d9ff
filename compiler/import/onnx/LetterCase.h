// The case of letters beyond ASCII.
#ifndef COMPILER_IMPORT_LETTERCASE_H
#define COMPILER_IMPORT_LETTERCASE_H

#include <cstdint>
#include <vector>

namespace gradc {

enum class LetterCase { lower, upper };

/// For each code point up to U+FFFF what it is in the wanted case: itself where it is no letter of
/// the other one, 0 where that is no single letter of as many bytes in UTF-8. Of the code points
/// above, those with a case have 0x90, 0x91, 0x96 or 0x9e as their second byte.
std::vector<uint16_t> otherCase(LetterCase wanted);

} // namespace gradc

#endif
