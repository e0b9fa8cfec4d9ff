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

struct CsvSpec {
  CsvOptions options;
  std::vector<CsvField> fields;
};

/// Reads a field's block; all that is wrong with it is said, the first is the status.
Status readField(Config config, const DataContext &context, CsvField &field) {
  Status first;
  auto wrong = [&](const auto &...parts) {
    keepFirst(first, context.wrong(config, text("csv field '", field.name, "' ", parts...)));
  };
  for (Config column : config.children("column"))
    field.columns.emplace_back(column.string());
  field.name = config.string("name", field.columns.empty() ? "" : field.columns.front());
  if (field.columns.empty())
    wrong("names no column: add column: \"age\"");
  if (auto dtype = castType(config.string("dtype", "F32")))
    field.dtype = *dtype;
  else
    wrong("has dtype '", config.string("dtype"), "', expected F32, F64, I32 or I64");
  if (auto dims = config.children("shape"); !dims.empty()) {
    field.shape.emplace();
    bool fits = true;
    for (Config dim : dims) {
      field.shape->push_back(dim.integer(0));
      fits &= field.shape->back() >= 1 && field.shape->back() <= int64_t(1) << 20;
    }
    if (!fits)
      wrong("has shape ", shapeText(*field.shape), ", expected dims of 1 or more");
  }
  if (config.child("missing")) {
    field.missing = config.real("missing", 0);
    bool isInteger = field.dtype == GRADC_I32 || field.dtype == GRADC_I64;
    if (isInteger &&
        (std::trunc(*field.missing) != *field.missing || std::abs(*field.missing) >= 0x1p31))
      wrong("has missing ", *field.missing, ", expected a 32-bit integer");
  }
  return first;
}

Status readSpec(Config config, const DataContext &context, CsvSpec &spec) {
  Status first;
  spec.options.maxBytes = threeQuartersOfMemory();
  std::string_view delimiter = config.string("delimiter", ",");
  if (canDelimit(delimiter))
    spec.options.delimiter = delimiter[0];
  else
    keepFirst(first, context.wrong(config.child("delimiter"),
                                   text("csv { delimiter } is '", delimiter,
                                        "', expected one character that is no part of a number")));
  for (Config child : config.children("field")) {
    CsvField field;
    keepFirst(first, readField(child, context, field));
    for (const CsvField &other : spec.fields)
      if (other.name == field.name && !field.name.empty())
        keepFirst(first, context.wrong(child, text("field '", field.name, "' is declared twice")));
    spec.fields.push_back(std::move(field));
  }
  if (spec.fields.empty())
    keepFirst(first, context.wrong(config, "csv has no field: add field { name: \"x\" column: "
                                           "\"pixel*\" }"));
  return first;
}

} // namespace

/// Makes the arrays of the file at `path` the pipeline's table.
static Status setTable(Result<std::vector<SourceArray>> arrays, const std::string &path,
                       Pipeline &pipeline) {
  if (!arrays)
    return arrays.status();
  auto table = makeArraySource(std::move(*arrays), text('\'', path, '\''));
  if (!table)
    return table.status();
  pipeline.table = std::move(*table);
  return {};
}

Status describeCsv(Config config, const DataContext &context, Pipeline &pipeline) {
  CsvSpec spec;
  if (Status status = readSpec(config, context, spec); !status.ok() || !context.hasFiles)
    return status;
  auto opened = openFile({}, context);
  if (!opened)
    return opened.status();
  std::vector<Config> blocks = config.children("field");
  auto arrays = describeCsv(opened->file->bytes(), opened->path, spec.fields, spec.options,
                            [&](size_t field, const std::string &message) {
                              (void)context.wrong(blocks[field], message);
                            });
  return setTable(std::move(arrays), opened->path, pipeline);
}

Status applyCsv(Config config, const DataContext &context, Pipeline &pipeline) {
  CsvSpec spec;
  if (Status status = readSpec(config, context, spec); !status.ok())
    return status;
  std::vector<std::string> names;
  std::vector<CsvField> fields;
  for (CsvField &field : spec.fields) {
    names.push_back(field.name);
    if (isDemanded(field.name, context))
      fields.push_back(std::move(field));
  }
  for (const FieldUse &use : context.uses)
    if (std::find(names.begin(), names.end(), use.field) == names.end())
      return missingField(use, "the csv source", names);

  auto opened = openFile(config.string("path"), context);
  if (!opened)
    return opened.status();
  auto arrays = readCsv(opened->file->bytes(), opened->path, fields, spec.options);
  return setTable(std::move(arrays), opened->path, pipeline);
}

} // namespace gradc::runtime
