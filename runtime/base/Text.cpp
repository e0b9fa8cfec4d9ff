// Composes messages: parts, lists, shapes, and nearest names.
#include "runtime/base/Text.h"

#include "runtime/include/gradc/names.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <optional>
#include <type_traits>
#include <vector>

namespace gradc::runtime {

template <std::integral T> static void appendNumber(std::string &out, T number) {
  char digits[24];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

/// A decimal number: `digits`, below 10^17 and not a multiple of 10, times 10^`exponent`.
struct Decimal {
  uint64_t digits;
  int exponent;
};

/// The value that "digits e exponent" reads back to, in type T.
template <typename T> static T readBack(const char *text) {
  return sizeof(T) == sizeof(float) ? T(std::strtof(text, nullptr)) : T(std::strtod(text, nullptr));
}

/// 1, 10, 100, ..., all exact.
static constexpr auto powersOfTen = [] {
  std::array<long double, 28> powers = {1};
  for (size_t i = 1; i < powers.size(); ++i)
    powers[i] = powers[i - 1] * 10;
  return powers;
}();

/// The decimal with `digits` digits that is nearest to a positive number, if it reads back as that
/// number.
template <typename T> static std::optional<Decimal> inDigits(T number, int digits, int magnitude) {
  int shift = digits - 1 - magnitude;
  char text[48];
  // In arithmetic wider than the number, rounding does no harm; the last digits of a double are
  // checked again.
  using Wide = std::conditional_t<sizeof(T) == sizeof(float), double, long double>;
  if (std::abs(shift) <= (sizeof(T) == sizeof(float) ? 22 : 27)) {
    // Most candidates are far off, which this cheap test shows.
    auto power = Wide(powersOfTen[size_t(std::abs(shift))]);
    auto roughly = double(power), value = double(number);
    double rough = double(int64_t((shift < 0 ? value / roughly : value * roughly) + 0.5));
    rough = shift < 0 ? rough * roughly : rough / roughly;
    if (std::abs(rough - value) > 8 * double(std::numeric_limits<T>::epsilon()) * value)
      return std::nullopt;
    Wide rounded = Wide(int64_t((shift < 0 ? number / power : number * power) + Wide(0.5)));
    if (T(shift < 0 ? rounded * power : rounded / power) != number)
      return std::nullopt;
    Decimal found = {uint64_t(rounded), -shift};
    if (sizeof(T) > sizeof(float)) {
      char *end = std::to_chars(text, text + 24, found.digits).ptr;
      *end++ = 'e';
      *std::to_chars(end, text + sizeof text, found.exponent).ptr = 0;
      if (readBack<T>(text) != number)
        return std::nullopt;
    }
    return found;
  }
  std::snprintf(text, sizeof text, "%.*e", digits - 1, double(number));
  if (readBack<T>(text) != number)
    return std::nullopt;
  Decimal found = {0, 1 - digits};
  const char *at = text;
  for (; *at != 'e'; ++at)
    if (*at >= '0' && *at <= '9') // other characters depend on the locale
      found.digits = 10 * found.digits + uint64_t(*at - '0');
  found.exponent += std::atoi(at + 1);
  return found;
}

/// The shortest decimal that reads back to a positive number. std::to_chars finds it with 130 KB of
/// tables, which each trainer would contain.
template <typename T> static Decimal shortest(T number) {
  int magnitude = int(std::floor(std::log10(double(number)))); // of its first digit
  std::optional<Decimal> found;
  for (int digits = 1; !found && digits <= std::numeric_limits<T>::max_digits10; ++digits)
    found = inDigits(number, digits, magnitude);
  Decimal result = found.value_or(Decimal{});
  for (; result.digits && result.digits % 10 == 0; result.digits /= 10)
    ++result.exponent;
  return result;
}

/// Like std::to_chars: a plain number or one with an exponent, whichever is shorter.
template <std::floating_point T> static void appendNumber(std::string &out, T number) {
  if (std::isnan(number))
    out += std::signbit(number) ? "-nan" : "nan";
  else if (std::signbit(number))
    out += '-';
  if (std::isinf(number))
    out += "inf";
  if (number == 0)
    out += '0';
  number = std::abs(number);
  if (!(number > 0) || std::isinf(number))
    return;
  Decimal decimal = shortest(number);
  std::string digits = text(decimal.digits);
  int count = int(digits.size()),
      first = decimal.exponent + count - 1; // the first digit's power of ten
  int plain = decimal.exponent >= 0 ? first + 1 : first >= 0 ? count + 1 : count + 1 - first;
  int exponent = std::abs(first) < 100 ? 4 : 5;
  if (count + (count > 1) + exponent < plain) {
    if (count > 1)
      digits.insert(1, ".");
    out += digits;
    out += first < 0 ? "e-" : "e+";
    if (std::abs(first) < 10)
      out += '0';
    return appendNumber(out, std::abs(first));
  }
  if (decimal.exponent >= 0) {
    // An integer is printed with all its digits.
    char whole[400];
    out.append(whole, size_t(std::snprintf(whole, sizeof whole, "%.0f", double(number))));
  } else if (first >= 0) {
    out += digits.insert(size_t(first + 1), ".");
  } else {
    out += "0.";
    out.append(size_t(-first - 1), '0');
    out += digits;
  }
}

static void appendAll(std::string &out, const char *letters, va_list parts) {
  for (; *letters; ++letters)
    switch (*letters) {
    case 't':
      out += va_arg(parts, const char *);
      break;
    case 's':
      out += *va_arg(parts, const std::string *);
      break;
    case 'v':
      out += *va_arg(parts, const std::string_view *);
      break;
    case 'c':
      out += char(va_arg(parts, int));
      break;
    case 'i':
      appendNumber(out, va_arg(parts, int64_t));
      break;
    case 'u':
      appendNumber(out, va_arg(parts, uint64_t));
      break;
    case 'f':
      appendNumber(out, float(va_arg(parts, double)));
      break;
    case 'd':
      appendNumber(out, va_arg(parts, double));
      break;
    case 'r':
      int64_t rows = va_arg(parts, int64_t);
      appendNumber(out, rows);
      out += rows == 1 ? " row" : " rows";
    }
}

std::string joinParts(const char *letters, ...) {
  std::string out;
  va_list parts;
  va_start(parts, letters);
  appendAll(out, letters, parts);
  va_end(parts);
  return out;
}

void appendParts(std::string &out, const char *letters, ...) {
  va_list parts;
  va_start(parts, letters);
  appendAll(out, letters, parts);
  va_end(parts);
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

/// The letters to insert, remove or replace, and the pairs of neighbours to swap.
static size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> twoAbove, above, row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j)
    row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    twoAbove = std::move(above);
    above = row;
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t substituted = above[j - 1] + (a[i - 1] != b[j - 1]);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, substituted});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], twoAbove[j - 2] + 1);
    }
  }
  return row.back();
}

std::string nearest(std::string_view word, std::span<const std::string> candidates) {
  std::string best;
  // About a third of the letters may differ, of which an option's dashes are none.
  size_t letters = word.size() - std::min(word.find_first_not_of('-'), word.size());
  size_t bestDistance = std::max<size_t>(1, (letters + 1) / 3) + 1;
  for (const std::string &candidate : candidates) {
    size_t distance = editDistance(word, candidate);
    if (distance < bestDistance) {
      bestDistance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string printable(std::string text) {
  for (char &c : text)
    if (auto byte = static_cast<unsigned char>(c); (byte < 0x20 && c != '\n') || byte == 0x7f)
      c = '?';
  return text;
}

} // namespace gradc::runtime

const char *gradc_nearest(const char *word, const char *const *candidates, uint32_t count) {
  std::vector<std::string> names(candidates, candidates + count);
  std::string best = gradc::runtime::nearest(word, names);
  return best.empty() ? nullptr : candidates[std::ranges::find(names, best) - names.begin()];
}
