// Matches the names in the header to the columns that fields ask for.
#include "runtime/data/source/CsvColumns.h"

#include "runtime/base/Text.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace gradc::runtime {

bool CsvColumns::readHeader() {
  if (!skipByteOrderMark())
    return false;
  skipEmptyLines();
  if (at == end)
    return fail(at, "the file is empty, expected a line that names the columns");
  for (;; ++at) {
    bool isPlain = !isQuoted();
    CsvCell cell = nextCell();
    if (!cell.end)
      return false;
    // All of such a file would be one line.
    if (size_t cr = cell.text.find('\r'); isPlain && cr != cell.text.npos)
      return fail(cell.text.data() + cr,
                  "a line ends with a carriage return alone, expected a line "
                  "feed, or both");
    columns.push_back({unquoted(trimmed(cell.text), isQuoted())});
    at = cell.end;
    if (endsLine(at))
      break;
  }
  skipLineEnd();
  return true;
}

bool CsvColumns::claimColumns(const CsvField &field, std::vector<size_t> &indices) {
  std::vector<std::string> names;
  for (const Column &column : columns)
    names.push_back(column.name);
  for (const std::string &pattern : field.columns) {
    std::vector<size_t> same, like, values; // of a list
    for (size_t i = 0; i < columns.size(); ++i)
      if (names[i] == pattern)
        same.push_back(i);
      else if (matches(pattern, names[i]))
        like.push_back(i);
      else if (std::string_view list = listOf(names[i]); !list.empty() && matches(pattern, list))
        values.push_back(i);
    if (like.empty())
      like = std::move(values);
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

bool CsvColumns::shapeArray(const CsvField &field, const std::vector<size_t> &indices) {
  size_t columnCount = indices.size();
  // "x" means column "x[0]": a list, which is a vector even if it has one value.
  bool isList = std::ranges::none_of(field.columns, [&](const std::string &pattern) {
    return matches(pattern, columns[indices.front()].name);
  });
  SourceArray array;
  array.field = {field.name, field.dtype, {}};
  if (field.categories)
    array.field.categories = field.categories->count();
  if (field.missing.size() > 1 && field.missing.size() != columnCount)
    return fail(start, "field '", field.name, "' has ", columnCount, " columns, but ",
                field.missing.size(), " values of missing, expected one, or one for each");
  if (field.shape)
    array.field.shape = *field.shape;
  else if (columnCount > 1 || isList)
    array.field.shape = {int64_t(columnCount)};
  if (array.field.elements() != columnCount)
    return fail(start, "field '", field.name, "' has ", columnCount, " columns, but shape ",
                shapeText(array.field.shape), " asks for ", array.field.elements());
  arrays.push_back(std::move(array));
  return true;
}

} // namespace gradc::runtime
