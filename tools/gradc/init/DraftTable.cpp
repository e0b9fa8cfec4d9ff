// Matches a table's columns to graph inputs: by name, and all other numeric columns together.
#include "runtime/base/DataType.h"
#include "runtime/base/Text.h"
#include "runtime/data/source/CsvText.h"
#include "runtime/data/transform/Convert.h"
#include "tools/gradc/init/DraftFields.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace gradc {
using namespace runtime;

namespace {

using Columns = std::vector<const LookedField *>;

int64_t elements(const DraftPort &port) {
  return std::accumulate(port.shape.begin(), port.shape.end(), int64_t(1), std::multiplies());
}

bool isRowNumber(const LookedField &column) {
  std::string_view name = column.name;
  return name.empty() || name == "id" || name == "Id" || name == "ID" || name == "index" ||
         name.starts_with("Unnamed");
}

class TableMatch {
public:
  TableMatch(const DraftModel &model, const LookedData &data) : model(model), data(data) {}

  Result<DraftParts> run(const std::string &path);

private:
  void noteMissingHeader();
  void noteUnused();
  const LookedField *findTarget();
  bool isUsed(const LookedField &column) const {
    return std::ranges::find(used, &column) != used.end();
  }
  Columns valuesOf(std::string_view list) const;
  Status feedList(const DraftPort &port, const Columns &values);
  Status feedByName(const DraftPort &port, const LookedField &column);
  Status feedRest(const DraftPort &port);
  void addField(const std::string &name, const Columns &columns, const std::string &more);
  void addNumbers(const DraftPort &port, const Columns &columns);
  bool hasAllValues(const Columns &columns, std::string_view list) const;
  std::string columnsText(const Columns &columns) const;

  const DraftModel &model;
  const LookedData &data;
  Columns used;
  DraftParts parts;
  std::string fields;
};

/// The first row of a table without a header becomes the columns' names.
void TableMatch::noteMissingHeader() {
  if (data.fields.size() > 1 && 2 * countNumbersAsNames(data) >= std::ssize(data.fields))
    parts.notes.push_back(text("The columns' names, ", inQuotes(data.fields.front().name), ", ",
                               inQuotes(data.fields[1].name),
                               " .., are numbers: a table needs a header row."));
}

const LookedField *TableMatch::findTarget() {
  const LookedField *last = nullptr;
  for (bool byName : {true, false})
    for (const LookedField &column : data.fields) {
      if (std::ranges::any_of(model.inputs, [&](const DraftPort &port) {
            return port.name == column.name || port.name == listOf(column.name);
          }))
        continue;
      if (column.name == model.output.name || (byName && isTargetName(column.name)))
        return &column;
      last = &column;
    }
  if (last)
    parts.notes.push_back(
        text("Column ", inQuotes(last->name), " is learned because it is the last one."));
  return last;
}

/// The columns "x[0]", "x[1]", and so on of list "x".
Columns TableMatch::valuesOf(std::string_view list) const {
  Columns values;
  for (const LookedField &column : data.fields)
    if (listOf(column.name) == list)
      values.push_back(&column);
  return values;
}

/// Whether "x" in a spec stands for columns "x[0]", "x[1]", and so on, which are all among these.
/// Of one value "x" would be a vector, "x[0]" is a number.
bool TableMatch::hasAllValues(const Columns &columns, std::string_view list) const {
  auto isOf = [&](std::string_view name) { return listOf(name) == list; };
  auto isNamed = [&](const LookedField &column) { return column.name == list; };
  auto count =
      std::ranges::count_if(columns, [&](const LookedField *column) { return isOf(column->name); });
  auto all = std::ssize(valuesOf(list)) + std::ranges::count_if(data.emptyColumns, isOf);
  return !list.empty() && count == all && all > 1 && std::ranges::none_of(data.fields, isNamed) &&
         std::ranges::find(data.emptyColumns, list) == data.emptyColumns.end();
}

/// Lists the columns by name, or as a pattern if exactly these columns have a common prefix.
std::string TableMatch::columnsText(const Columns &columns) const {
  std::vector<std::string_view> names;
  std::string_view list; // that the last column is a value of
  bool isWhole = false;
  for (const LookedField *column : columns) {
    std::string_view other = listOf(column->name);
    if (std::exchange(list, other) != other)
      isWhole = hasAllValues(columns, list);
    std::string_view name = !list.empty() && isWhole ? list : column->name;
    if (names.empty() || names.back() != name)
      names.push_back(name);
  }
  std::string prefix = columns.front()->name;
  for (const LookedField *column : columns)
    prefix.resize(size_t(std::ranges::mismatch(prefix, column->name).in1 - prefix.begin()));
  auto matching = std::ranges::count_if(
      data.fields, [&](const LookedField &column) { return column.name.starts_with(prefix); });
  matching += std::ranges::count_if(
      data.emptyColumns, [&](const std::string &column) { return column.starts_with(prefix); });
  if (names.size() > 6 && !prefix.empty() && size_t(matching) == columns.size())
    return text("column: ", inQuotes(prefix + "*"));
  std::string all;
  for (size_t i = 0; i < names.size(); ++i)
    all += text(i == 0 ? "" : i % 6 ? "  " : "\n        ", "column: ", inQuotes(names[i]));
  return all;
}

void TableMatch::addField(const std::string &name, const Columns &columns,
                          const std::string &more) {
  used.insert(used.end(), columns.begin(), columns.end());
  std::string named = columnsText(columns);
  std::string own =
      named == text("column: ", inQuotes(name)) ? "" : text("name: ", inQuotes(name), "  ");
  fields += text("\n      field { ", own, named, more, " }");
}

void TableMatch::addNumbers(const DraftPort &port, const Columns &columns) {
  std::string more;
  if (port.dtype != GRADC_F32)
    more += text("  dtype: ", castName(port.dtype));
  if (port.shape.size() > 1 || (port.shape.size() == 1 && columns.size() == 1))
    for (int64_t dim : port.shape)
      more += text("  shape: ", dim);
  if (std::ranges::any_of(columns, [](const LookedField *column) { return column->missing > 0; }))
    more += "  fill: MEDIAN";
  addField(port.name, columns, more);
  if (!findDataType(port.dtype)->floating)
    return;
  double least = columns.front()->least, most = columns.front()->most;
  bool isWhole = true;
  for (const LookedField *column : columns) {
    least = std::min(least, column->least);
    most = std::max(most, column->most);
    isWhole &= column->isWhole;
  }
  if (isWhole && least >= 0 && most <= 255 && columns.size() >= 16) { // these are pixels
    double scale = most > 127 ? 255 : std::max(most, 1.0);
    parts.maps.push_back(text("map { field: ", inQuotes(port.name), "  scale: ", 1 / scale,
                              " } }  # 0 to ", scale, " becomes 0 to 1"));
  } else if (std::max(-least, most) > 3) {
    parts.maps.push_back(text("map { field: ", inQuotes(port.name),
                              "  standardize {} } }  # values from ", least, " to ", most));
    parts.standardizes = true;
  }
}

Status TableMatch::feedList(const DraftPort &port, const Columns &values) {
  bool areTexts =
      std::ranges::any_of(values, [](const LookedField *value) { return value->isText; });
  if (areTexts || std::ssize(values) != elements(port))
    return doesNotFit(port, data,
                      text("column '", port.name, "' has lists of ", values.size(),
                           areTexts             ? " texts"
                           : values.size() == 1 ? " number"
                                                : " numbers"));
  addNumbers(port, values);
  return {};
}

Status TableMatch::feedByName(const DraftPort &port, const LookedField &column) {
  int64_t size = elements(port);
  bool wantsFloat = findDataType(port.dtype)->floating;
  bool areTexts = column.isText || (column.isBoolean && size != 1);
  if (!areTexts && size == 1) {
    addNumbers(port, {&column});
    return {};
  }
  // A text becomes the number of its category, or a one-hot vector. Empty cells are a category,
  // too.
  int64_t categories = std::ssize(column.texts) + (column.missing > 0);
  bool isOneHot = wantsFloat && size == categories;
  if (!areTexts || (size != 1 && !isOneHot))
    return doesNotFit(port, data,
                      text("column '", column.name, "' has ", areTexts ? "texts of " : "",
                           areTexts ? text(categories, " categories") : "one number a row"));
  std::string shape = !isOneHot && port.shape.size() == 1 ? "  shape: 1" : "";
  addField(port.name, {&column},
           text(shape, column.missing ? "  fill: CATEGORY" : "", "  categories {}"));
  if (isOneHot)
    parts.maps.push_back(text("map { field: ", inQuotes(port.name), "  one_hot {} } }"));
  else if (port.dtype != GRADC_I64)
    parts.maps.push_back(
        text("map { field: ", inQuotes(port.name), "  cast: ", castName(port.dtype), " } }"));
  return {};
}

Status TableMatch::feedRest(const DraftPort &port) {
  Columns numbers, texts;
  for (const LookedField &column : data.fields)
    if (!isUsed(column))
      (column.isText ? texts : numbers).push_back(&column);
  int64_t size = elements(port);
  if (int64_t(numbers.size()) > size)
    std::erase_if(numbers, [](const LookedField *column) { return isRowNumber(*column); });
  if (int64_t(numbers.size()) != size)
    return doesNotFit(port, data,
                      text("it takes ", size, size == 1 ? " number" : " numbers",
                           " a row, and there are ", numbers.size(), " columns of numbers beside ",
                           inQuotes(parts.target.name)));
  addNumbers(port, numbers);
  return {};
}

/// One note for each column, and for each list.
void TableMatch::noteUnused() {
  std::string_view last;
  for (const LookedField &column : data.fields) {
    std::string_view list = listOf(column.name);
    if (isUsed(column) || (std::exchange(last, list) == list && !list.empty()))
      continue;
    parts.notes.push_back(text("Column ", inQuotes(list.empty() ? column.name : list),
                               column.isText ? ", texts," : "",
                               " is not used: no graph input takes it."));
  }
}

Result<DraftParts> TableMatch::run(const std::string &path) {
  noteMissingHeader();
  parts.rows = data.rows;
  if (const LookedField *target = model.output.isLoss ? nullptr : findTarget()) {
    parts.target = *target;
    if (target->isBoolean) { // predictions then name the classes as the table does
      parts.target.isText = true;
      parts.target.dtype = GRADC_F32;
    }
    used.push_back(target);
  }
  const DraftPort *rest = nullptr;
  for (const DraftPort &port : model.inputs) {
    if (castName(port.dtype).empty())
      return doesNotFit(port, data,
                        text("columns of tables are not read as ", findDataType(port.dtype)->name));
    parts.feeds.emplace_back(port.name, port.name);
    auto column = std::ranges::find(data.fields, port.name, &LookedField::name);
    Columns values = column == data.fields.end() ? valuesOf(port.name) : Columns();
    if (!values.empty()) {
      if (Status status = feedList(port, values); !status.ok())
        return status;
      continue;
    }
    if (column == data.fields.end() && rest)
      return doesNotFit(
          port, data,
          text("no column has its name, and ", inQuotes(rest->name), " takes all other numbers"));
    if (column == data.fields.end())
      rest = &port;
    else if (Status status = feedByName(port, *column); !status.ok())
      return status;
  }
  if (rest)
    if (Status status = feedRest(*rest); !status.ok())
      return status;
  noteUnused();
  if (const LookedField &target = parts.target; !target.name.empty())
    fields += text("\n      field { column: ", inQuotes(target.name),
                   target.isText    ? "  categories {}"
                   : target.isWhole ? "  dtype: I64"
                                    : "",
                   " }");
  std::string delimiter =
      data.delimiter == ','
          ? ""
          : text("  delimiter: ",
                 data.delimiter == '\t' ? "\"\\t\"" : inQuotes(std::string(1, data.delimiter)));
  parts.source = text("csv {\n      path: ", inQuotes(path), delimiter, fields, "\n    }");
  return parts;
}

} // namespace

Result<DraftParts> findTableParts(const DraftModel &model, const LookedData &data,
                                  const std::string &path) {
  return TableMatch(model, data).run(path);
}

} // namespace gradc
