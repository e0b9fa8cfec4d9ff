// Writes values of Arrow's arrays as cells of text.
#include "runtime/data/source/ParquetColumn.h"

#include "runtime/base/ShortFloats.h"
#include "runtime/base/Text.h"
#include "runtime/data/source/CsvText.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace gradc::runtime {

namespace {

template <typename T>
void addNumber(std::string &out, const ArrowArray &array, int64_t row, CellStyle) {
  appendText(out, static_cast<const T *>(array.buffers[1])[row]);
}

template <typename T>
void addSmall(std::string &out, const ArrowArray &array, int64_t row, CellStyle) {
  appendText(out, int64_t(static_cast<const T *>(array.buffers[1])[row]));
}

void addHalf(std::string &out, const ArrowArray &array, int64_t row, CellStyle) {
  appendText(out, fromF16(static_cast<const uint16_t *>(array.buffers[1])[row]));
}

/// A decimal is an integer, in units of the last digit: -5 of scale 2 is -0.05.
template <typename T>
void addDecimal(std::string &out, const ArrowArray &array, int64_t row, CellStyle style) {
  T value;
  std::memcpy(&value,
              static_cast<const std::byte *>(array.buffers[1]) + row * int64_t(sizeof value),
              sizeof value);
  auto rest = static_cast<unsigned __int128>(value);
  if (value < 0)
    rest = -rest;
  char digits[40]; // 39 digits and the point
  char *end = digits + sizeof digits, *begin = end;
  for (int place = 0; rest != 0 || place <= style.scale; ++place, rest /= 10) {
    if (place == style.scale && place > 0)
      *--begin = '.';
    *--begin = char('0' + int(rest % 10));
  }
  if (value < 0)
    out += '-';
  out.append(begin, end);
}

bool bitOf(const void *bits, int64_t row) {
  return static_cast<const uint8_t *>(bits)[row / 8] >> (row % 8) & 1;
}

void addBool(std::string &out, const ArrowArray &array, int64_t row, CellStyle) {
  out += bitOf(array.buffers[1], row) ? '1' : '0';
}

template <typename Offset>
void addString(std::string &out, const ArrowArray &array, int64_t row, CellStyle style) {
  const auto *ends = static_cast<const Offset *>(array.buffers[1]) + row;
  appendCell(out,
             {static_cast<const char *>(array.buffers[2]) + ends[0], size_t(ends[1] - ends[0])},
             style.delimiter);
}

void addNothing(std::string &, const ArrowArray &, int64_t, CellStyle) {}

/// The scale of a decimal's format: 2 of "d:10,2", and of "d:10,2,64" with the number of bits; -1
/// if it has more digits than 128 bits hold.
int scaleOf(const char *format) {
  const char *comma = std::strchr(format, ',');
  long scale = comma ? std::strtol(comma + 1, nullptr, 10) : -1;
  return scale >= 0 && scale <= 38 ? int(scale) : -1;
}

AddCell findDecimal(std::string_view format) {
  if (std::ranges::count(format, ',') == 1) // no number of bits
    return addDecimal<__int128>;
  return format.ends_with(",32")    ? addDecimal<int32_t>
         : format.ends_with(",64")  ? addDecimal<int64_t>
         : format.ends_with(",128") ? addDecimal<__int128>
                                    : nullptr;
}

/// Null if the format is neither numbers nor text. Dates and times are written as the integers in
/// the file.
AddCell findCell(std::string_view format) {
  if (format.starts_with("d:"))
    return scaleOf(format.data()) < 0 ? nullptr : findDecimal(format);
  if (format.size() > 1)
    return format == "tdD" || format == "tts" || format == "ttm" ? addNumber<int32_t>
           : format.front() == 't'                               ? addNumber<int64_t>
                                                                 : nullptr;
  switch (format.empty() ? ' ' : format.front()) {
  case 'n':
    return addNothing;
  case 'b':
    return addBool;
  case 'c':
    return addSmall<int8_t>;
  case 'C':
    return addSmall<uint8_t>;
  case 's':
    return addSmall<int16_t>;
  case 'S':
    return addSmall<uint16_t>;
  case 'i':
    return addNumber<int32_t>;
  case 'I':
    return addNumber<uint32_t>;
  case 'l':
    return addNumber<int64_t>;
  case 'L':
    return addNumber<uint64_t>;
  case 'e':
    return addHalf;
  case 'f':
    return addNumber<float>;
  case 'g':
    return addNumber<double>;
  case 'u':
  case 'z':
    return addString<int32_t>;
  case 'U':
  case 'Z':
    return addString<int64_t>;
  default:
    return nullptr;
  }
}

bool isNull(const ArrowArray &array, int64_t row) {
  return array.null_count != 0 && array.n_buffers > 0 && array.buffers[0] &&
         !bitOf(array.buffers[0], row);
}

bool isIndex(std::string_view format) {
  return format.size() == 1 && std::string_view("cCsSiIlL").find(format.front()) != format.npos;
}

int64_t indexOf(char format, const ArrowArray &array, int64_t row) {
  const void *values = array.buffers[1];
  switch (format) {
  case 'c':
    return static_cast<const int8_t *>(values)[row];
  case 'C':
    return static_cast<const uint8_t *>(values)[row];
  case 's':
    return static_cast<const int16_t *>(values)[row];
  case 'S':
    return static_cast<const uint16_t *>(values)[row];
  case 'i':
    return static_cast<const int32_t *>(values)[row];
  case 'I':
    return static_cast<const uint32_t *>(values)[row];
  default:
    return static_cast<const int64_t *>(values)[row];
  }
}

} // namespace

ParquetColumn::ParquetColumn(const ArrowSchema &schema, char delimiter) : style{delimiter} {
  const ArrowSchema *values = &schema;
  std::string_view format = schema.format;
  if (format == "+l" || format == "+L") {
    list = format == "+l" ? Lists::ends32 : Lists::ends64;
  } else if (format.starts_with("+w:")) {
    list = Lists::fixed;
    fixedCount = std::strtoll(schema.format + 3, nullptr, 10);
  }
  if (isList()) {
    values = schema.children[0];
    type = text(format, " of ");
  }
  bool isIndexed = values->dictionary != nullptr;
  if (isIndexed && !isIndex(values->format)) {
    type += values->format;
    return;
  }
  if (isIndexed) {
    index = *values->format;
    values = values->dictionary;
  }
  type += values->format;
  add = findCell(values->format);
  if (std::strncmp(values->format, "d:", 2) == 0)
    style.scale = scaleOf(values->format);
}

/// The place of a row's list among the values of the array's child. `row` includes the offset.
ParquetColumn::Range ParquetColumn::valuesOf(const ArrowArray &array, int64_t row) const {
  if (list == Lists::fixed)
    return {row * fixedCount, fixedCount};
  if (list == Lists::ends32) {
    const auto *ends = static_cast<const int32_t *>(array.buffers[1]) + row;
    return {ends[0], int64_t(ends[1]) - ends[0]};
  }
  const auto *ends = static_cast<const int64_t *>(array.buffers[1]) + row;
  return {ends[0], ends[1] - ends[0]};
}

int64_t ParquetColumn::countValues(const ArrowArray &array, int64_t row) const {
  row += array.offset;
  return isNull(array, row) ? -1 : valuesOf(array, row).count;
}

bool ParquetColumn::addTo(std::string &out, const ArrowArray &array, int64_t row) const {
  if (!isList())
    return addValue(out, array, row);
  row += array.offset;
  bool isMissing = isNull(array, row);
  Range values = isMissing ? Range{0, width} : valuesOf(array, row);
  if (values.count != width)
    return false;
  for (int64_t i = 0; i < width; ++i) {
    if (i)
      out += style.delimiter;
    if (!isMissing && !addValue(out, *array.children[0], values.begin + i))
      return false;
  }
  return true;
}

bool ParquetColumn::addValue(std::string &out, const ArrowArray &array, int64_t row) const {
  row += array.offset;
  if (isNull(array, row))
    return true;
  if (!index) {
    add(out, array, row, style);
    return true;
  }
  const ArrowArray &values = *array.dictionary;
  int64_t number = indexOf(index, array, row);
  if (number < 0 || number >= values.length)
    return false;
  if (!isNull(values, number + values.offset))
    add(out, values, number + values.offset, style);
  return true;
}

} // namespace gradc::runtime
