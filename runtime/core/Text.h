// Messages out of strings and numbers, without iostreams.
#ifndef RUNTIME_CORE_TEXT_H
#define RUNTIME_CORE_TEXT_H

#include <charconv>
#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace gradc {

inline void appendText(std::string &out, std::string_view text) { out += text; }
inline void appendText(std::string &out, const char *text) { out += text; }
inline void appendText(std::string &out, char character) { out += character; }

/// Numbers in their shortest form that reads back to the same value.
template <typename T>
  requires std::integral<T> || std::floating_point<T>
void appendText(std::string &out, T number) {
  char digits[40];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

template <typename... Parts> std::string text(const Parts &...parts) {
  std::string out;
  (appendText(out, parts), ...);
  return out;
}

/// "'a', 'b' and 'c'"
std::string quotedList(std::span<const std::string> names);
/// "[8, 8]"
std::string shapeText(std::span<const int64_t> shape);
/// The candidate that was most likely meant, or "" when none is near.
std::string nearest(std::string_view word, std::span<const std::string> candidates);

} // namespace gradc

#endif
