// Parses numbers: short ones directly, all others by the standard library, with the same bits.
#ifndef RUNTIME_DATA_SOURCE_CSVNUMBER_H
#define RUNTIME_DATA_SOURCE_CSVNUMBER_H

#include <bit>
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace gradc::runtime {

/// Powers of ten that a double holds exactly.
inline constexpr double powersOfTen[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                         1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                         1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/// Whether rounding the double nearest to a number again gives the float nearest to the number:
/// true unless the first rounding ended halfway between two floats.
inline bool roundsAgain(double number) {
  constexpr uint64_t below = (uint64_t(1) << 29) - 1, half = uint64_t(1) << 28;
  return (std::bit_cast<uint64_t>(number) & below) != half;
}

/// Reads the number at `at` if it is short. Returns its end, or null if it needs more care. The
/// result is the nearest number of the type: a double represents up to 15 digits and the power of
/// ten exactly, so their product or quotient is rounded only once.
template <typename T>
inline const char *parseShortNumber(const char *at, const char *end, T &value) {
  bool negative = at != end && *at == '-';
  at += negative;
  uint64_t digits = 0; // wraps if there are too many
  const char *begin = at;
  auto takeDigits = [&] {
    for (; at != end && unsigned(*at - '0') <= 9; ++at)
      digits = digits * 10 + unsigned(*at - '0');
  };
  takeDigits();
  int64_t count = at - begin;
  if constexpr (std::integral<T>) {
    if (count == 0 || count > std::numeric_limits<T>::digits10)
      return nullptr;
    value = negative ? -T(digits) : T(digits);
  } else {
    // Pixels, labels and flags are mostly integers.
    if (count > 0 && count <= std::numeric_limits<T>::digits10 &&
        (at == end || (*at != '.' && (*at | 0x20) != 'e'))) {
      auto integer = T(int64_t(digits));
      value = negative ? -integer : integer;
      return at;
    }
    int64_t exponent = 0;
    if (at != end && *at == '.') {
      begin = ++at;
      takeDigits();
      exponent = begin - at;
      count -= exponent;
    }
    if (count == 0 || count > 15)
      return nullptr;
    if (at != end && (*at | 0x20) == 'e') {
      bool down = ++at != end && *at == '-';
      at += down || (at != end && *at == '+');
      int64_t written = 0;
      begin = at;
      for (; at != end && unsigned(*at - '0') <= 9 && at - begin < 3; ++at)
        written = written * 10 + (*at - '0');
      if (at == begin)
        return nullptr;
      exponent += down ? -written : written;
      if (exponent < -22 || exponent > 22)
        return nullptr;
    }
    auto number = double(digits);
    if (exponent < 0)
      number /= powersOfTen[-exponent];
    else if (exponent > 0)
      number *= powersOfTen[exponent];
    if (sizeof(T) == 4 && !roundsAgain(number))
      return nullptr;
    value = T(negative ? -number : number);
  }
  return at;
}

enum class NumberError { none, noNumber, noInteger, outOfRange };

/// Whether a number parsed in a wider type equals the text's number in type T.
template <typename T, typename Parsed> bool isExact(Parsed number) {
  if constexpr (std::same_as<T, Parsed>)
    return true;
  else // floats near 0 have fewer digits, and those near the maximum may become infinite
    return number != number || number == 0 || std::isinf(number) ||
           (std::abs(number) >= std::numeric_limits<T>::min() &&
            std::abs(number) <= std::numeric_limits<T>::max() && roundsAgain(number));
}

/// Reads the whole text. An integer may be written as 3.0 or 3e2.
template <typename T> NumberError parseNumber(std::string_view text, T &value) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-')
    text.remove_prefix(1);
  const char *end = text.data() + text.size();
  // Floats are parsed as doubles, so that programs contain a single parser.
  std::conditional_t<std::same_as<T, float>, double, T> number = 0;
  auto [last, error] = std::from_chars(text.data(), end, number);
  if (last == end && error == std::errc() && isExact<T>(number)) {
    value = T(number);
    return value == value ? NumberError::none : NumberError::noNumber;
  }
  // A wider type distinguishes numbers that are too small, which become 0, from numbers that are
  // too large.
  using Wider = std::conditional_t<std::integral<T>, double, long double>;
  Wider wider = 0;
  // For long double, libstdc++ 12 searches for the end of a C string after `end`.
  std::string terminated(text);
  const char *terminatedEnd = terminated.data() + terminated.size();
  auto [widerLast, widerError] = std::from_chars(terminated.data(), terminatedEnd, wider);
  if (widerLast != terminatedEnd || wider != wider)
    return NumberError::noNumber;
  if (widerError != std::errc())
    return NumberError::outOfRange;
  if constexpr (std::integral<T>) {
    if (std::trunc(wider) != wider)
      return NumberError::noInteger;
    // Minus the lowest integer is a power of two, so it is exact.
    constexpr auto lowest = double(std::numeric_limits<T>::min());
    if (wider < lowest || wider >= -lowest)
      return NumberError::outOfRange;
  } else if (std::abs(wider) > Wider(std::numeric_limits<T>::max())) {
    return NumberError::outOfRange;
  }
  value = T(wider);
  return NumberError::none;
}

} // namespace gradc::runtime

#endif
