// Walks a table once, cell by cell, and writes directly into the fields' memory.
#include "runtime/data/source/CsvReader.h"

#include "runtime/base/Text.h"
#include "runtime/data/source/CsvNumber.h"
#include "runtime/data/source/CsvText.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <utility>

namespace gradc::runtime {

namespace {

/// The destination of a column.
struct Column {
  std::string name;
  const CsvField *field = nullptr; ///< null: it is skipped
  std::byte *target = nullptr;     ///< of the first row's element
  size_t place = 0;                ///< among the field's columns

  /// Replaces a cell without a value; null if such a cell is an error.
  const double *missing() const {
    const std::vector<double> &given = field->missing;
    return given.empty() ? nullptr : &given[given.size() == 1 ? 0 : place];
  }
};

/// Adjacent columns that are also adjacent in memory, or that are all skipped.
struct Run {
  size_t begin, end;               ///< columns
  const CsvField *field = nullptr; ///< null: they are skipped
  std::byte *target = nullptr;     ///< of the next row's first element
  size_t stride = 0;               ///< from row to row
};

class CsvReader : private CsvText {
public:
  CsvReader(std::span<const std::byte> bytes, std::string_view path, const CsvOptions &options)
      : CsvText(bytes, path, options.delimiter), maxBytes(options.maxBytes) {}

  Result<std::vector<SourceArray>> read(std::span<const CsvField> fields);
  Result<CsvOutline> outline();
  Result<std::vector<SourceArray>>
  describe(std::span<const CsvField> fields,
           const std::function<void(size_t, const std::string &)> &wrong);

private:
  bool readHeader();
  bool claimColumns(const CsvField &field, std::vector<size_t> &indices);
  bool shapeArray(const CsvField &field, size_t columnCount);
  bool makeArray(const CsvField &field, const std::vector<size_t> &indices, uint64_t maxRows);
  int64_t countRows();
  void makeRuns();
  bool readRow();
  bool skipRun(const Run &run);
  template <typename T> bool readRun(const Run &run);
  template <typename T> bool readTexts(const Run &run);
  template <typename T> bool readCells(const Run &run);
  template <typename T> bool readWithCare(const Column &column, T &value);
  /// Skips the delimiter or the line end after a column.
  bool leaveCell(size_t column) {
    bool isLast = column + 1 == columns.size();
    if (!isLast && at != end && *at == delimiter) {
      ++at;
      return true;
    }
    if (!isLast || !endsLine(at))
      return failCount(column);
    skipLineEnd();
    return true;
  }
  bool failCount(size_t column);

  uint64_t maxBytes;
  std::vector<Column> columns;
  std::vector<Run> runs;
  std::vector<SourceArray> arrays;
};

bool CsvReader::readHeader() {
  if (!skipByteOrderMark())
    return false;
  skipEmptyLines();
  if (at == end)
    return fail(at, "the file is empty, expected a line that names the columns");
  for (;; ++at) {
    CsvCell cell = nextCell();
    if (!cell.end)
      return false;
    columns.push_back({unquoted(trimmed(cell.text), isQuoted())});
    at = cell.end;
    if (endsLine(at))
      break;
  }
  skipLineEnd();
  return true;
}

bool CsvReader::claimColumns(const CsvField &field, std::vector<size_t> &indices) {
  std::vector<std::string> names;
  for (const Column &column : columns)
    names.push_back(column.name);
  for (const std::string &pattern : field.columns) {
    std::vector<size_t> same, like;
    for (size_t i = 0; i < columns.size(); ++i)
      if (names[i] == pattern)
        same.push_back(i);
      else if (matches(pattern, names[i]))
        like.push_back(i);
    if (same.size() > 1)
      return fail(start, "two columns have the name '", pattern, '\'');
    if (same.empty() && like.empty()) {
      std::string near = nearest(pattern, names);
      // Every other letter is close to a single letter.
      if (pattern.size() == 1 && std::tolower(near[0]) != std::tolower(pattern[0]))
        near.clear();
      return fail(start, "no column '", pattern, "' for field '", field.name, '\'',
                  near.empty()
                      ? text(" among ", names.size(),
                             names.size() == 1 ? text(": is '", delimiter, "' the delimiter?") : "")
                      : text(", did you mean '", near, "'?"));
    }
    for (size_t index : same.empty() ? like : same) {
      if (const CsvField *other = columns[index].field)
        return fail(start, "column '", columns[index].name, "' is in field '", other->name,
                    "' and again in '", field.name, "', expected one");
      columns[index].field = &field;
      columns[index].place = indices.size();
      indices.push_back(index);
    }
  }
  return true;
}

/// Appends the field's array, without memory so far.
bool CsvReader::shapeArray(const CsvField &field, size_t columnCount) {
  SourceArray array;
  array.field = {field.name, field.dtype, {}};
  if (field.categories)
    array.field.categories = field.categories->count();
  if (field.missing.size() > 1 && field.missing.size() != columnCount)
    return fail(start, "field '", field.name, "' has ", columnCount, " columns, but ",
                field.missing.size(), " values of missing, expected one, or one for each");
  if (field.shape)
    array.field.shape = *field.shape;
  else if (columnCount > 1)
    array.field.shape = {int64_t(columnCount)};
  if (array.field.elements() != columnCount)
    return fail(start, "field '", field.name, "' has ", columnCount, " columns, but shape ",
                shapeText(array.field.shape), " asks for ", array.field.elements());
  arrays.push_back(std::move(array));
  return true;
}

bool CsvReader::makeArray(const CsvField &field, const std::vector<size_t> &indices,
                          uint64_t maxRows) {
  if (!shapeArray(field, indices.size()))
    return false;
  SourceArray &array = arrays.back();
  size_t rowBytes = array.field.bytes();
  std::shared_ptr<std::byte[]> memory(static_cast<std::byte *>(std::malloc(rowBytes * maxRows)),
                                      std::free);
  if (!memory)
    return fail(start, "cannot allocate ", rowBytes * maxRows, " bytes for field '", field.name,
                '\'');
  for (size_t i = 0; i < indices.size(); ++i)
    columns[indices[i]].target = memory.get() + i * array.field.elementBytes();
  array.data = memory.get();
  array.owner = std::move(memory);
  return true;
}

void CsvReader::makeRuns() {
  for (size_t i = 0; i < columns.size(); ++i) {
    const Column &column = columns[i];
    size_t rowBytes = 0, width = 0;
    for (const SourceArray &array : arrays)
      if (column.field && array.field.name == column.field->name) {
        rowBytes = array.field.bytes();
        width = array.field.elementBytes();
      }
    if (!runs.empty() && runs.back().field == column.field &&
        (!column.field || column.target == columns[i - 1].target + width))
      ++runs.back().end;
    else
      runs.push_back({i, i + 1, column.field, column.target, rowBytes});
  }
}

bool CsvReader::skipRun(const Run &run) {
  for (size_t i = run.begin; i < run.end; ++i) {
    CsvCell cell = nextCell();
    if (!cell.end)
      return false;
    at = cell.end;
    if (!leaveCell(i))
      return false;
  }
  return true;
}

template <typename T> bool CsvReader::readRun(const Run &run) {
  std::byte *out = run.target;
  const char *p = at, *const stop = end;
  const char separator = delimiter;
  for (size_t i = run.begin; i < run.end; ++i, out += sizeof(T)) {
    T value;
    const char *last = parseShortNumber(p, stop, value);
    if (!last) {
      auto [parsed, code] = std::from_chars(p, stop, value);
      last = code == std::errc() && value == value ? parsed : nullptr;
    }
    if (last && last != stop && *last == separator && i + 1 != columns.size()) {
      p = last + 1;
    } else {
      at = p;
      if (last && endsCell(last))
        at = last;
      else if (!readWithCare(columns[i], value))
        return false;
      if (!leaveCell(i))
        return false;
      p = at;
    }
    std::memcpy(out, &value, sizeof value);
  }
  at = p;
  return true;
}

template <typename T> bool CsvReader::readWithCare(const Column &column, T &value) {
  CsvCell cell = nextCell();
  if (!cell.end)
    return false;
  std::string_view content = trimmed(cell.text);
  const char *type = findDataType(column.field->dtype)->name;
  if (isMissing(content)) {
    if (!column.missing())
      return fail(at, "no value in column '", column.name,
                  "'; to read it as 0, write missing: 0 in field '", column.field->name, "'");
    value = T(*column.missing());
  } else {
    auto expected = [&](const char *what) {
      return fail(at, "expected ", what, type, " in column '", column.name, "', found '",
                  content.substr(0, 40), '\'');
    };
    switch (parseNumber(content, value)) {
    case NumberError::none:
      break;
    case NumberError::noNumber:
      return expected("a number of type ");
    case NumberError::noInteger:
      return expected("an integer of type ");
    case NumberError::outOfRange:
      return expected("a number that fits ");
    }
  }
  at = cell.end;
  return true;
}

template <typename T> bool CsvReader::readTexts(const Run &run) {
  std::byte *out = run.target;
  for (size_t i = run.begin; i < run.end; ++i, out += sizeof(T)) {
    const Column &column = columns[i];
    CsvCell cell = nextCell();
    if (!cell.end)
      return false;
    std::string content = unquoted(trimmed(cell.text), isQuoted());
    Categories &categories = *run.field->categories;
    bool hasNone = isMissing(content);
    std::optional<int64_t> number;
    if (!hasNone)
      number = categories.find(content);
    else if (column.missing())
      number = int64_t(*column.missing());
    else
      number = categories.findMissing();
    if (!number && hasNone)
      return fail(at, "no value in column '", column.name, "'; write fill: CATEGORY in field '",
                  run.field->name, "' to make such cells a category of their own");
    if (!number)
      return fail(at, "'", content.substr(0, 40), "' in column '", column.name,
                  "' is not one of the ", categories.values.size(), " categories of field '",
                  run.field->name, "'; to read it as one more, write categories { unknown: ",
                  categories.values.size(), " }");
    auto value = T(*number);
    std::memcpy(out, &value, sizeof value);
    at = cell.end;
    if (!leaveCell(i))
      return false;
  }
  return true;
}

template <typename T> bool CsvReader::readCells(const Run &run) {
  return run.field->categories ? readTexts<T>(run) : readRun<T>(run);
}

bool CsvReader::failCount(size_t column) {
  const char *position = at;
  for (++column; !endsLine(at); ++column) {
    ++at;
    CsvCell cell = nextCell();
    if (!cell.end)
      return false;
    at = cell.end;
  }
  return fail(position, "expected ", columns.size(), " cells as in the header, found ", column);
}

bool CsvReader::readRow() {
  for (Run &run : runs) {
    bool good = false;
    if (!run.field)
      good = skipRun(run);
    else if (run.field->dtype == GRADC_F32)
      good = readCells<float>(run);
    else if (run.field->dtype == GRADC_F64)
      good = readCells<double>(run);
    else if (run.field->dtype == GRADC_I32)
      good = readCells<int32_t>(run);
    else
      good = readCells<int64_t>(run);
    if (!good)
      return false;
    run.target += run.stride;
  }
  return true;
}

Result<std::vector<SourceArray>> CsvReader::read(std::span<const CsvField> fields) {
  if (!readHeader())
    return error;
  // 1. Compute the maximum number of rows: each has a line end and all delimiters.
  auto rest = uint64_t(end - at);
  uint64_t maxRows = std::min(uint64_t(std::count(at, end, '\n')), rest / columns.size()) + 1;

  // 2. Determine where columns are stored.
  std::vector<std::vector<size_t>> indices(fields.size());
  uint64_t rowBytes = 0;
  for (size_t i = 0; i < fields.size(); ++i) {
    if (!claimColumns(fields[i], indices[i]))
      return error;
    rowBytes += indices[i].size() * findDataType(fields[i].dtype)->bytes;
  }
  if (rowBytes * maxRows > maxBytes) {
    fail(start, "its fields take ", rowBytes * maxRows, " bytes of memory, expected at most ",
         maxBytes, "; npy files are mapped and may be larger");
    return error;
  }
  for (size_t i = 0; i < fields.size(); ++i)
    if (!makeArray(fields[i], indices[i], maxRows))
      return error;

  makeRuns();

  // 3. Read the rows.
  int64_t rows = 0;
  for (skipEmptyLines(); at != end; skipEmptyLines(), ++rows)
    if (!readRow())
      return error;
  for (SourceArray &array : arrays)
    array.rows = rows;
  return std::move(arrays);
}

/// Counts the rows in the rest of the file. Only quotes require looking at each cell.
int64_t CsvReader::countRows() {
  int64_t rows = 0;
  bool isQuoted = std::memchr(at, '"', size_t(end - at)) != nullptr;
  for (skipEmptyLines(); at != end; skipEmptyLines(), ++rows) {
    while (isQuoted) {
      CsvCell cell = nextCell();
      if (!cell.end)
        return rows;
      at = cell.end;
      if (endsLine(at))
        break;
      ++at;
    }
    auto line = static_cast<const char *>(std::memchr(at, '\n', size_t(end - at)));
    at = line ? line + 1 : end;
  }
  return rows;
}

Result<CsvOutline> CsvReader::outline() {
  if (!readHeader())
    return error;
  CsvOutline outline;
  for (const Column &column : columns)
    outline.columns.push_back(column.name);
  outline.rows = countRows();
  return error.ok() ? Result(std::move(outline)) : error;
}

Result<std::vector<SourceArray>>
CsvReader::describe(std::span<const CsvField> fields,
                    const std::function<void(size_t, const std::string &)> &wrong) {
  if (!readHeader())
    return error;
  Status first;
  for (size_t i = 0; i < fields.size(); ++i) {
    std::vector<size_t> indices;
    if (claimColumns(fields[i], indices) && shapeArray(fields[i], indices.size()))
      continue;
    wrong(i, error.message());
    keepFirst(first, std::exchange(error, Status()));
  }
  if (!first.ok())
    return first;
  int64_t rows = countRows();
  if (!error.ok())
    return error;
  for (SourceArray &array : arrays)
    array.rows = rows;
  return std::move(arrays);
}

} // namespace

Result<CsvOutline> outlineCsv(std::span<const std::byte> bytes, std::string_view path,
                              const CsvOptions &options) {
  return CsvReader(bytes, path, options).outline();
}

Result<std::vector<SourceArray>>
describeCsv(std::span<const std::byte> bytes, std::string_view path,
            std::span<const CsvField> fields, const CsvOptions &options,
            const std::function<void(size_t, const std::string &)> &wrong) {
  return CsvReader(bytes, path, options).describe(fields, wrong);
}

Result<std::vector<SourceArray>> readCsv(std::span<const std::byte> bytes, std::string_view path,
                                         std::span<const CsvField> fields,
                                         const CsvOptions &options) {
  return CsvReader(bytes, path, options).read(fields);
}

} // namespace gradc::runtime
