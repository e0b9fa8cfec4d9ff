// Builds messages from strings and numbers, without iostreams.
#ifndef RUNTIME_CORE_TEXT_H
#define RUNTIME_CORE_TEXT_H

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace gradc::runtime {

/// One string or number of a message. Numbers get the shortest form that reads back to the same
/// value. A part has only a few words, so composing a message costs its caller little code.
class TextPart {
public:
  TextPart(std::string_view text) : kind(Kind::text), string(text) {}
  TextPart(const std::string &text) : TextPart(std::string_view(text)) {}
  TextPart(const char *text) : TextPart(std::string_view(text)) {}
  TextPart(char character) : kind(Kind::character), integer(character) {}
  TextPart(std::signed_integral auto number) : kind(Kind::integer), integer(number) {}
  TextPart(std::unsigned_integral auto number)
      : kind(Kind::natural), integer(int64_t(uint64_t(number))) {}
  TextPart(float number) : kind(Kind::single), real(double(number)) {}
  TextPart(double number) : kind(Kind::real), real(number) {}

  void appendTo(std::string &out) const;

private:
  enum class Kind { text, character, integer, natural, single, real } kind;
  union {
    std::string_view string;
    int64_t integer;
    double real;
  };
};

std::string joinText(std::initializer_list<TextPart> parts);

inline void appendText(std::string &out, const TextPart &part) { part.appendTo(out); }
template <typename... Parts> std::string text(const Parts &...parts) {
  return joinText({TextPart(parts)...});
}

/// For example "'a', 'b' and 'c'".
std::string quotedList(std::span<const std::string> names);
/// For example "[8, 8]"; a variable dim (below 0) is "?".
std::string shapeText(std::span<const int64_t> shape);
/// The candidate that was most likely meant; "" if none is close.
std::string nearest(std::string_view word, std::span<const std::string> candidates);

} // namespace gradc::runtime

#endif
