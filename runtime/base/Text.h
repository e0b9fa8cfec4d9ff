// Builds messages from strings and numbers, without iostreams.
#ifndef RUNTIME_BASE_TEXT_H
#define RUNTIME_BASE_TEXT_H

#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace gradc::runtime {

/// A number of rows in a message: "1 row", "3 rows".
struct RowCount {
  int64_t rows;
};

/// A part of a message as it is passed on, and the letter that tells how to read it.
inline const char *passPart(const char *text) { return text; }
inline const std::string *passPart(const std::string &text) { return &text; }
inline const std::string_view *passPart(const std::string_view &text) { return &text; }
inline int passPart(char character) { return character; }
inline int64_t passPart(std::signed_integral auto number) { return number; }
inline uint64_t passPart(std::unsigned_integral auto number) { return number; }
inline double passPart(std::floating_point auto number) { return number; }
inline int64_t passPart(RowCount count) { return count.rows; }

template <typename Part>
constexpr char partLetter = std::is_pointer_v<Part>                ? 't'
                            : std::same_as<Part, std::string>      ? 's'
                            : std::same_as<Part, std::string_view> ? 'v'
                            : std::same_as<Part, char>             ? 'c'
                            : std::same_as<Part, float>            ? 'f'
                            : std::same_as<Part, double>           ? 'd'
                            : std::same_as<Part, RowCount>         ? 'r'
                            : std::unsigned_integral<Part>         ? 'u'
                                                                   : 'i';
template <typename... Parts> constexpr char partLetters[] = {partLetter<Parts>..., 0};

/// Variadic as in C, so that a message costs its caller little code: a template would be compiled
/// for each combination of types.
std::string joinParts(const char *letters, ...);
void appendParts(std::string &out, const char *letters, ...);

/// A message of strings and numbers. Numbers get the shortest form that reads back to the same
/// value.
template <typename... Parts> [[gnu::always_inline]] inline std::string text(const Parts &...parts) {
  return joinParts(partLetters<std::decay_t<Parts>...>, passPart(parts)...);
}
template <typename... Parts>
[[gnu::always_inline]] inline void appendText(std::string &out, const Parts &...parts) {
  appendParts(out, partLetters<std::decay_t<Parts>...>, passPart(parts)...);
}

/// For example "'a', 'b' and 'c'".
std::string quotedList(std::span<const std::string> names);
/// For example "[8, 8]"; a variable dim (below 0) is "?".
std::string shapeText(std::span<const int64_t> shape);
/// The candidate that was most likely meant; "" if none is close.
std::string nearest(std::string_view word, std::span<const std::string> candidates);
/// For terminals: replaces control characters, which names from files may contain, by '?'.
std::string printable(std::string text);

} // namespace gradc::runtime

#endif
