// Walks a table once, cell by cell, and writes directly into the fields' memory.
#include "runtime/data/source/CsvReader.h"

#include "runtime/base/Text.h"
#include "runtime/data/source/CsvColumns.h"
#include "runtime/data/source/CsvNumber.h"
#include "runtime/data/source/SourceMemory.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <numeric>
#include <utility>

namespace gradc::runtime {

namespace {

/// Adjacent columns that are also adjacent in memory, or that are all skipped.
struct Run {
  size_t begin, end;               ///< columns
  const CsvField *field = nullptr; ///< null: they are skipped
  std::byte *target = nullptr;     ///< of the next row's first element
  size_t stride = 0;               ///< from row to row
};

class CsvReader : private CsvColumns {
public:
  CsvReader(std::span<const std::byte> bytes, std::string_view path, const CsvOptions &options)
      : CsvColumns(bytes, path, options.delimiter), options(options) {}

  Result<std::vector<SourceArray>> read(std::span<const CsvField> fields);
  Result<CsvOutline> outline();
  Result<std::vector<SourceArray>>
  describe(std::span<const CsvField> fields,
           const std::function<void(size_t, const std::string &)> &wrong);

private:
  bool makeArray(const CsvField &field, const std::vector<size_t> &indices, uint64_t maxRows);
  int64_t countRows();
  void makeRuns();
  bool readRow();
  bool passOver(const char *line, int64_t row);
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
  size_t countCells(size_t column);
  bool failCells(const char *position, size_t count);

  const CsvOptions &options;
  std::vector<Run> runs;
  std::vector<Categories *> added; ///< for each text of the row that no row before has
};

bool CsvReader::makeArray(const CsvField &field, const std::vector<size_t> &indices,
                          uint64_t maxRows) {
  if (!shapeArray(field, indices))
    return false;
  SourceArray &array = arrays.back();
  size_t rowBytes = array.field.bytes();
  auto memory = allocateForSource(rowBytes * maxRows);
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
  } else if (auto boolean = booleanOf(content)) {
    value = T(*boolean);
  } else {
    auto expected = [&](const char *what) {
      // Where a row lacks a cell, those behind it are in wrong columns.
      const char *position = std::exchange(at, cell.end);
      size_t count = countCells(size_t(&column - columns.data()));
      at = position;
      if (count != columns.size())
        return failCells(at, count);
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
    size_t known = categories.values.size();
    std::optional<T> number;
    if (hasNone && column.missing()) // a mark, which may be NaN, or the number of a category
      number = T(*column.missing());
    else if (auto found = hasNone ? categories.findMissing() : categories.find(content))
      number = T(*found);
    if (categories.values.size() > known)
      added.push_back(&categories);
    if (!number && hasNone)
      return fail(at, "no value in column '", column.name, "'; write fill: CATEGORY in field '",
                  run.field->name, "' to make such cells a category of their own");
    if (!number)
      return fail(at, "'", content.substr(0, 40), "' in column '", column.name,
                  "' is not one of the ", categories.values.size(), " categories of field '",
                  run.field->name, "'; to read it as one more, write categories { unknown: ",
                  categories.values.size(), " }");
    std::memcpy(out, &*number, sizeof *number);
    at = cell.end;
    if (!leaveCell(i))
      return false;
  }
  return true;
}

template <typename T> bool CsvReader::readCells(const Run &run) {
  return run.field->categories ? readTexts<T>(run) : readRun<T>(run);
}

/// The number of cells in the row, read from the end of a column's cell on; 0 after an error.
size_t CsvReader::countCells(size_t column) {
  for (++column; !endsLine(at); ++column) {
    ++at;
    CsvCell cell = nextCell();
    if (!cell.end)
      return 0;
    at = cell.end;
  }
  return column;
}

bool CsvReader::failCells(const char *position, size_t count) {
  return count &&
         fail(position, "expected ", columns.size(), " cells as in the header, found ", count);
}

bool CsvReader::failCount(size_t column) {
  const char *position = at;
  return failCells(position, countCells(column));
}

bool CsvReader::readRow() {
  added.clear();
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

/// After a row that cannot be read: moves on to the next one if such rows are collected.
bool CsvReader::passOver(const char *line, int64_t row) {
  if (!options.bad || options.bad->size() >= mostBadRows)
    return false;
  options.bad->emplace(row, std::exchange(error, Status()).message());
  for (Categories *categories : added)
    categories->cut(categories->values.size() - 1);
  for (Run &run : runs)
    if (run.field)
      run.target = columns[run.begin].target + size_t(row + 1) * run.stride;
  at = line;
  return skipLine(/*mayBeQuoted=*/true, /*mayBeBad=*/true);
}

Result<std::vector<SourceArray>> CsvReader::read(std::span<const CsvField> fields) {
  if (!readHeader())
    return error;
  // 1. Compute the maximum number of rows: each has a line end and, if it is good, all delimiters.
  uint64_t maxRows = uint64_t(std::count(at, end, '\n')) + 1;
  if (!options.bad)
    maxRows = std::min(maxRows, uint64_t(end - at) / columns.size() + 1);

  // 2. Determine where columns are stored.
  std::vector<std::vector<size_t>> indices(fields.size());
  uint64_t rowBytes = 0;
  for (size_t i = 0; i < fields.size(); ++i) {
    if (!claimColumns(fields[i], indices[i]))
      return error;
    rowBytes += indices[i].size() * findDataType(fields[i].dtype)->bytes;
  }
  if (rowBytes * maxRows > options.maxBytes) {
    fail(start, "its fields take ", rowBytes * maxRows, " bytes of memory, expected at most ",
         options.maxBytes, "; npy files are mapped and may be larger");
    return error;
  }
  for (size_t i = 0; i < fields.size(); ++i)
    if (!makeArray(fields[i], indices[i], maxRows))
      return error;

  makeRuns();

  // 3. Read the rows.
  int64_t rows = 0;
  for (skipEmptyLines(); at != end; skipEmptyLines(), ++rows) {
    // Another program may write over a mapped file; its memory has no room for more rows.
    if (rows == int64_t(maxRows)) {
      fail(at, "the file has changed while it was read");
      return error;
    }
    if (const char *line = at; !readRow() && !passOver(line, rows))
      return error;
  }
  for (SourceArray &array : arrays)
    array.rows = rows;
  return std::move(arrays);
}

/// Counts the rows in the rest of the file.
int64_t CsvReader::countRows() {
  int64_t rows = 0;
  bool isQuoted = std::memchr(at, '"', size_t(end - at)) != nullptr;
  for (skipEmptyLines(); at != end; skipEmptyLines(), ++rows)
    if (!skipLine(isQuoted, /*mayBeBad=*/options.bad))
      return rows;
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
    if (claimColumns(fields[i], indices) && shapeArray(fields[i], indices))
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
