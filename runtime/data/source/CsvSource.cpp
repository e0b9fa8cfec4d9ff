// Fields from the columns of a CSV file.
#include "runtime/base/Text.h"
#include "runtime/data/source/CsvReader.h"
#include "runtime/data/transform/Convert.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <unistd.h>

namespace gradc::runtime {

namespace {

/// The delimiter must not be a part of numbers, quotes or line ends.
bool canDelimit(std::string_view delimiter) {
  constexpr std::string_view taken = "+-.\"\r\n";
  return delimiter.size() == 1 && taken.find(delimiter[0]) == taken.npos &&
         !std::isalnum(static_cast<unsigned char>(delimiter[0]));
}

/// The rest of the machine's memory is for the training itself.
uint64_t threeQuartersOfMemory() {
  return uint64_t(sysconf(_SC_PHYS_PAGES)) * uint64_t(sysconf(_SC_PAGESIZE)) / 4 * 3;
}

Result<CsvField> readField(Config config) {
  CsvField field;
  for (Config column : config.children("column"))
    field.columns.emplace_back(column.string());
  field.name = config.string("name", field.columns.empty() ? "" : field.columns.front());
  if (field.columns.empty())
    return Status::invalid(text("csv field '", field.name, "' names no column"));
  auto dtype = castType(config.string("dtype", "F32"));
  if (!dtype)
    return Status::invalid(text("csv field '", field.name, "' has dtype '", config.string("dtype"),
                                "', expected F32, F64, I32 or I64"));
  field.dtype = *dtype;
  if (auto dims = config.children("shape"); !dims.empty()) {
    field.shape.emplace();
    for (Config dim : dims) {
      field.shape->push_back(dim.integer(0));
      if (field.shape->back() < 1 || field.shape->back() > int64_t(1) << 20)
        return Status::invalid(text("csv field '", field.name, "' has shape ",
                                    shapeText(*field.shape), ", expected dims of 1 or more"));
    }
  }
  if (config.child("missing")) {
    field.missing = config.real("missing", 0);
    bool isInteger = field.dtype == GRADC_I32 || field.dtype == GRADC_I64;
    if (isInteger &&
        (std::trunc(*field.missing) != *field.missing || std::abs(*field.missing) >= 0x1p31))
      return Status::invalid(text("csv field '", field.name, "' has missing ", *field.missing,
                                  ", expected a 32-bit integer"));
  }
  return field;
}

} // namespace

Status applyCsv(Config config, const DataContext &context, Pipeline &pipeline) {
  CsvOptions options;
  options.maxBytes = threeQuartersOfMemory();
  std::string_view delimiter = config.string("delimiter", ",");
  if (!canDelimit(delimiter))
    return Status::invalid(text("csv { delimiter } is '", delimiter,
                                "', expected one character that is no part of a number"));
  options.delimiter = delimiter[0];
  std::vector<CsvField> fields;
  std::vector<std::string> names;
  for (Config child : config.children("field")) {
    auto field = readField(child);
    if (!field)
      return field.status();
    names.push_back(field->name);
    if (isDemanded(field->name, context))
      fields.push_back(std::move(*field));
  }
  for (const FieldUse &use : context.uses)
    if (std::find(names.begin(), names.end(), use.field) == names.end())
      return missingField(use, "the csv source", names);

  auto opened = openFile(config.string("path"), context);
  if (!opened)
    return opened.status();
  auto arrays = readCsv(opened->file->bytes(), opened->path, fields, options);
  if (!arrays)
    return arrays.status();
  auto table = makeArraySource(std::move(*arrays), text('\'', opened->path, '\''));
  if (!table)
    return table.status();
  pipeline.table = std::move(*table);
  return {};
}

} // namespace gradc::runtime
