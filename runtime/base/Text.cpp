// Composes messages: parts, lists, shapes and nearest names.
#include "runtime/base/Text.h"

#include <algorithm>
#include <charconv>
#include <vector>

namespace gradc::runtime {

template <typename T> static void appendNumber(std::string &out, T number) {
  char digits[40];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

void TextPart::appendTo(std::string &out) const {
  switch (kind) {
  case Kind::text:
    out += string;
    break;
  case Kind::character:
    out += char(integer);
    break;
  case Kind::integer:
    appendNumber(out, integer);
    break;
  case Kind::natural:
    appendNumber(out, uint64_t(integer));
    break;
  case Kind::single:
    appendNumber(out, float(real));
    break;
  case Kind::real:
    appendNumber(out, real);
    break;
  }
}

std::string joinText(std::initializer_list<TextPart> parts) {
  std::string out;
  for (const TextPart &part : parts)
    part.appendTo(out);
  return out;
}

std::string quotedList(std::span<const std::string> names) {
  std::string out;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i)
      out += i + 1 == names.size() ? " and " : ", ";
    out += text('\'', names[i], '\'');
  }
  return out;
}

std::string shapeText(std::span<const int64_t> shape) {
  std::string out = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    out += shape[i] < 0 ? text(i ? ", ?" : "?") : text(i ? ", " : "", shape[i]);
  return out + "]";
}

static size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j)
    row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t substituted = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row.back();
}

std::string nearest(std::string_view word, std::span<const std::string> candidates) {
  std::string best;
  size_t bestDistance = std::max<size_t>(2, word.size() / 3) + 1;
  for (const std::string &candidate : candidates) {
    size_t distance = editDistance(word, candidate);
    if (distance < bestDistance) {
      bestDistance = distance;
      best = candidate;
    }
  }
  return best;
}

} // namespace gradc::runtime
