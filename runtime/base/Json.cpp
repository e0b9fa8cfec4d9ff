// Escapes the characters of JSON strings, and replaces bytes that are not UTF-8.
#include "runtime/base/Json.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace gradc::runtime {

/// The number of bytes of the UTF-8 character that the text begins with; 0 if it is none.
static size_t characterBytes(std::string_view text) {
  auto byte = [&](size_t i) { return i < text.size() ? uint8_t(text[i]) : uint8_t(0); };
  uint8_t first = byte(0), second = byte(1);
  size_t count = first < 0x80   ? 1
                 : first < 0xc2 ? 0 // 0xc0 and 0xc1 would write an ASCII character in two bytes
                 : first < 0xe0 ? 2
                 : first < 0xf0 ? 3
                 : first < 0xf5 ? 4
                                : 0;
  for (size_t i = 1; i < count; ++i)
    if ((byte(i) & 0xc0) != 0x80)
      return 0;
  bool isTooLong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  bool isNoCharacter = (first == 0xed && second >= 0xa0) || (first == 0xf4 && second >= 0x90);
  return isTooLong || isNoCharacter ? 0 : count;
}

void appendJson(std::string &out, std::string_view value) {
  constexpr char digits[] = "0123456789abcdef";
  for (size_t bytes = 0; !value.empty(); value.remove_prefix(std::max<size_t>(bytes, 1))) {
    bytes = characterBytes(value);
    char first = value.front();
    if (bytes == 0) {
      out += "\xef\xbf\xbd";
      continue;
    }
    if (bytes == 1 && uint8_t(first) < 0x20) {
      out += "\\u00";
      out += digits[first >> 4];
      out += digits[first & 15];
      continue;
    }
    if (first == '"' || first == '\\')
      out += '\\';
    out += value.substr(0, bytes);
  }
}

} // namespace gradc::runtime
