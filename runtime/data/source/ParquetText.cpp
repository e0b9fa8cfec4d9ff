// Opens the plug-in, and writes Arrow's columns as text, row by row.
#include "runtime/data/source/ParquetText.h"

#include "runtime/base/ShortFloats.h"
#include "runtime/base/Text.h"
#include "runtime/data/source/CsvText.h"
#include "runtime/include/gradc/parquet.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <memory>
#include <unistd.h>
#include <vector>

namespace gradc::runtime {

namespace {

struct Plugin {
  decltype(&gradc_parquet_open) open = nullptr;
  decltype(&gradc_parquet_read) read = nullptr;
  decltype(&gradc_parquet_close) close = nullptr;

  static Result<Plugin> find();
};

/// Next to the program, and where an installed program has its libraries.
std::vector<std::string> places() {
  constexpr const char *name = "libgradc-parquet.so";
  if (const char *named = std::getenv("GRADC_LIBPARQUET"); named && *named)
    return {named};
  char program[4096];
  ssize_t length = readlink("/proc/self/exe", program, sizeof program);
  std::string folder(program, size_t(std::max<ssize_t>(length, 0)));
  folder.resize(folder.rfind('/') == folder.npos ? 0 : folder.rfind('/'));
  return {text(folder, '/', name), text(folder, "/../lib/gradc/", name), name};
}

Result<Plugin> Plugin::find() {
  std::string reasons;
  for (const std::string &place : places()) {
    void *library = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) {
      reasons += text(reasons.empty() ? "" : "; ", dlerror());
      continue;
    }
    Plugin plugin;
    plugin.open = reinterpret_cast<decltype(open)>(dlsym(library, "gradc_parquet_open"));
    plugin.read = reinterpret_cast<decltype(read)>(dlsym(library, "gradc_parquet_read"));
    plugin.close = reinterpret_cast<decltype(close)>(dlsym(library, "gradc_parquet_close"));
    if (plugin.open && plugin.read && plugin.close)
      return plugin;
    reasons = text(place, " is not gradc's plug-in");
  }
  return Status::error(
      text("reading Parquet needs gradc's plug-in libgradc-parquet.so, which is built "
           "where Arrow is installed (pip install pyarrow, or libparquet-dev): ",
           reasons, "; GRADC_LIBPARQUET names it"));
}

/// An Arrow structure, released by its destructor.
template <typename T> struct Owned {
  T value = {};
  Owned() = default;
  Owned(const Owned &) = delete;
  ~Owned() {
    if (value.release)
      value.release(&value);
  }
};

/// How the cells of a column are written.
struct Style {
  char delimiter = ',';
  int scale = 0; ///< of decimals: the number of digits behind the point
};

/// Writes the cells of one column.
using AddCell = void (*)(std::string &out, const ArrowArray &array, int64_t row, Style style);

template <typename T>
void addNumber(std::string &out, const ArrowArray &array, int64_t row, Style) {
  appendText(out, static_cast<const T *>(array.buffers[1])[row]);
}

template <typename T> void addSmall(std::string &out, const ArrowArray &array, int64_t row, Style) {
  appendText(out, int64_t(static_cast<const T *>(array.buffers[1])[row]));
}

void addHalf(std::string &out, const ArrowArray &array, int64_t row, Style) {
  appendText(out, fromF16(static_cast<const uint16_t *>(array.buffers[1])[row]));
}

/// A decimal is an integer, in units of the last digit: -5 of scale 2 is -0.05.
template <typename T>
void addDecimal(std::string &out, const ArrowArray &array, int64_t row, Style style) {
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

void addBool(std::string &out, const ArrowArray &array, int64_t row, Style) {
  out += bitOf(array.buffers[1], row) ? '1' : '0';
}

template <typename Offset>
void addString(std::string &out, const ArrowArray &array, int64_t row, Style style) {
  const auto *ends = static_cast<const Offset *>(array.buffers[1]) + row;
  appendCell(out,
             {static_cast<const char *>(array.buffers[2]) + ends[0], size_t(ends[1] - ends[0])},
             style.delimiter);
}

void addNothing(std::string &, const ArrowArray &, int64_t, Style) {}

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

/// A column described by its schema: values, or indices of values in a dictionary.
struct Column {
  AddCell add = nullptr;
  char index = 0; ///< the format of a dictionary's numbers; 0: none
  Style style = {};

  /// Returns false if an index is not in the dictionary, as in a damaged file.
  bool addTo(std::string &out, const ArrowArray &array, int64_t row) const {
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
};

class Reader {
public:
  Reader(const std::string &path, char delimiter, uint64_t maxBytes)
      : path(path), delimiter(delimiter), maxBytes(maxBytes) {}
  ~Reader() {
    if (file)
      plugin.close(file);
  }

  Result<std::string> read(std::span<const CsvField> fields);

private:
  Status fail(std::string_view why) const {
    return Status::error(runtime::text("cannot read '", path, "': ", why));
  }
  Status choose(const ArrowSchema &schema, std::span<const CsvField> fields);
  Status addRows(ArrowArrayStream &stream);

  const std::string &path;
  char delimiter;
  uint64_t maxBytes;
  Plugin plugin;
  gradc_parquet_file *file = nullptr;
  std::vector<int> chosen;     ///< columns of the file
  std::vector<Column> columns; ///< one each
  int64_t width = 0;           ///< columns of the file
  std::string out;
};

bool isNamed(std::string_view column, std::span<const CsvField> fields) {
  return std::ranges::any_of(fields, [&](const CsvField &field) {
    return std::ranges::any_of(
        field.columns, [&](const std::string &pattern) { return matches(pattern, column); });
  });
}

/// Selects the header and the columns to read.
Status Reader::choose(const ArrowSchema &schema, std::span<const CsvField> fields) {
  width = schema.n_children;
  if (width == 0)
    return fail("its table has no columns");
  for (int64_t i = 0; i < width; ++i) {
    const ArrowSchema &column = *schema.children[i];
    std::string_view name = column.name ? trimmed(column.name) : std::string_view();
    if (i)
      out += delimiter;
    if (width == 1 && name.empty()) // an empty line would not be a row
      out += "\"\"";
    appendCell(out, name, delimiter);
    if (!fields.empty() && !isNamed(name, fields))
      continue;
    const ArrowSchema *values = column.dictionary ? column.dictionary : &column;
    bool isKnown = !column.dictionary || isIndex(column.format);
    AddCell add = isKnown ? findCell(values->format) : nullptr;
    if (!add && fields.empty())
      continue;
    if (!add)
      return fail(runtime::text("column '", name, "' has Arrow's type '", values->format,
                                "', expected numbers, booleans, texts or times"));
    chosen.push_back(int(i));
    int scale = std::strncmp(values->format, "d:", 2) == 0 ? scaleOf(values->format) : 0;
    columns.push_back({add, column.dictionary ? *column.format : '\0', {delimiter, scale}});
  }
  out += '\n';
  return {};
}

Status Reader::addRows(ArrowArrayStream &stream) {
  for (;;) {
    Owned<ArrowArray> batch;
    if (stream.get_next(&stream, &batch.value)) {
      const char *why = stream.get_last_error(&stream);
      return fail(why ? why : "it is damaged");
    }
    if (!batch.value.release) // end of the stream
      return {};
    for (int64_t row = 0; row < batch.value.length; ++row) {
      int64_t at = 0;
      for (size_t i = 0; i < chosen.size(); ++i) {
        for (; at < chosen[i]; ++at)
          out += delimiter;
        if (!columns[i].addTo(out, *batch.value.children[i], row + batch.value.offset))
          return fail("it is damaged: a value is not in its dictionary");
      }
      if (width == 1 && out.back() == '\n') // an empty line would not be a row
        out += "\"\"";
      out.append(size_t(width - 1 - at), delimiter);
      out += '\n';
    }
    if (out.size() > maxBytes)
      return Status(Code::doesNotFit, runtime::text("the table of '", path, "' takes more than ",
                                                    maxBytes, " bytes"));
  }
}

Result<std::string> Reader::read(std::span<const CsvField> fields) {
  auto found = Plugin::find();
  if (!found)
    return found.status();
  plugin = *found;
  char message[1024] = {};
  Owned<ArrowSchema> schema;
  file = plugin.open(path.c_str(), &schema.value, message, sizeof message);
  if (!file)
    return fail(message);
  if (Status status = choose(schema.value, fields); !status.ok())
    return status;
  Owned<ArrowArrayStream> stream;
  if (plugin.read(file, chosen.data(), int(chosen.size()), &stream.value, message, sizeof message))
    return fail(message);
  if (Status status = addRows(stream.value); !status.ok())
    return status;
  return std::move(out);
}

} // namespace

Status parquetText(const std::string &path, char delimiter, std::span<const CsvField> fields,
                   uint64_t maxBytes, Inflated &text) {
  auto written = Reader(path, delimiter, maxBytes).read(fields);
  if (!written)
    return written.status();
  text.bytes.reset(static_cast<std::byte *>(std::malloc(written->size())));
  if (!text.bytes)
    return Status(Code::doesNotFit, runtime::text("the table of '", path, "' takes ",
                                                  written->size(), " bytes, which there are not"));
  std::memcpy(text.bytes.get(), written->data(), text.size = written->size());
  return {};
}

} // namespace gradc::runtime
