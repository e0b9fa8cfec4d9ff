// Fields from the columns of a CSV file.
#include "runtime/base/Text.h"
#include "runtime/data/ClassNames.h"
#include "runtime/data/source/CsvReader.h"
#include "runtime/data/source/Inflate.h"
#include "runtime/data/source/ParquetText.h"
#include "runtime/data/source/SourceMemory.h"
#include "runtime/data/transform/Convert.h"

#include <algorithm>
#include <cctype>
#include <cmath>

namespace gradc::runtime {

namespace {

/// The delimiter must not be part of numbers, quotes, or line ends.
bool canDelimit(std::string_view delimiter) {
  constexpr std::string_view taken = "+-.\"\r\n";
  return delimiter.size() == 1 && taken.find(delimiter[0]) == taken.npos &&
         !std::isalnum(static_cast<unsigned char>(delimiter[0]));
}

/// The text of a file: inflated if it is compressed with gzip, converted if it is Parquet.
struct CsvFile {
  std::string path;
  std::shared_ptr<const MappedFile> file;
  Inflated inflated;

  std::span<const std::byte> text() const {
    return inflated.bytes ? std::span<const std::byte>(inflated.bytes.get(), inflated.size)
                          : file->bytes();
  }
};

Result<CsvFile> openCsv(std::string_view path, const DataContext &context,
                        const CsvOptions &options, std::span<const CsvField> fields) {
  auto opened = openFile(path, context);
  if (!opened)
    return opened.status();
  CsvFile csv = {std::move(opened->path), std::move(opened->file), {}};
  if (Status status = expectParquetByName(csv.path, csv.file->bytes()); !status.ok())
    return status;
  if (isParquet(csv.file->bytes())) {
    Status status = readParquet(csv.path, options, fields, csv.inflated);
    return status.ok() ? Result<CsvFile>(std::move(csv)) : status;
  }
  if (!isGzip(csv.file->bytes()))
    return csv;
  auto inflated = inflateGzip(csv.file->bytes(), csv.path, options.maxBytes);
  if (!inflated)
    return inflated.status();
  csv.inflated = std::move(*inflated);
  return csv;
}

struct CsvSpec {
  CsvOptions options;
  std::vector<CsvField> fields;
};

/// Reads the category values, and what all other values become.
void readCategories(Config config, std::string_view name, const DataContext &context,
                    CsvField &field, Status &first) {
  field.categories = std::make_shared<Categories>();
  for (Config value : config.children("value")) {
    std::string text(value.string());
    if (field.categories->numbers.contains(text))
      keepFirst(first, context.wrong(config, runtime::text("csv field '", name,
                                                           "' lists category '", text, "' twice")));
    else
      field.categories->add(std::move(text));
  }
  if (!config.child("unknown"))
    return;
  int64_t unknown = config.integer("unknown", 0), most = int64_t(1) << 31;
  if (unknown < 0 || unknown >= most)
    keepFirst(first,
              context.wrong(config, text("csv field '", name, "' has categories { unknown } ",
                                         unknown, ", expected 0 to ", most - 1)));
  field.categories->unknown = unknown;
}

/// While columns are fitted (chain/Fit.cpp), cells without a value are marked, and texts are
/// collected.
void prepareToFit(Config config, const DataContext &context, CsvField &field) {
  FittedColumns &fit = *context.fit;
  if (config.child("fill"))
    field.missing = {FittedColumns::markOf(field.dtype)};
  if (!field.categories || !field.categories->values.empty())
    return;
  auto &shared = fit.categories[field.name]; // shared by several files
  if (!shared) {
    shared = field.categories;
    shared->grows = true;
    shared->unknown.reset();
  }
  field.categories = shared;
}

/// Checkpoints store the categories as the field's classes: other categories would give the same
/// texts other numbers.
Status rememberCategories(const CsvField &field, const DataContext &context) {
  if (!field.categories || !context.state)
    return {};
  const std::vector<std::string> &values = field.categories->values;
  std::vector<std::string> known = classNames(*context.state, field.name);
  for (size_t i = 0; known.empty() && i < values.size(); ++i)
    context.state->emplace(keyOfClass(field.name, values[i]), std::vector{double(i)});
  if (known.empty() || known == values)
    return {};
  return Status::error(text("field '", field.name,
                            "' has other categories than the run that the "
                            "states are from, or than the data to train on: list them with "
                            "categories { value }, as gradc inspect shows them for the artifact "
                            "of that run"));
}

/// Reads a field's block. Reports all its problems; returns the first one.
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
  Config categories = config.child("categories");
  if (categories)
    readCategories(categories, field.name, context, field, first);
  if (auto dtype = castType(config.string("dtype", categories ? "I64" : "F32")))
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
  bool isInteger = field.dtype == GRADC_I32 || field.dtype == GRADC_I64;
  for (Config child : config.children("missing")) {
    double value = child.real(0);
    field.missing.push_back(value);
    if ((isInteger || categories) && (std::trunc(value) != value || std::abs(value) >= 0x1p31))
      wrong("has missing ", value, ", expected a 32-bit integer");
  }
  std::string_view fill = config.string("fill");
  if (!fill.empty() && !field.missing.empty())
    wrong("has missing and fill, expected one of them");
  if (fill == "CATEGORY" && !categories)
    wrong("has fill: CATEGORY, but no categories");
  if (categories && (fill == "MEAN" || fill == "MEDIAN"))
    wrong("has fill: ", fill, ", which is of numbers; categories have MOST_FREQUENT or CATEGORY");
  if (context.fit && first.ok())
    prepareToFit(config, context, field);
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

/// Makes the arrays of the file at `path` the table of the pipeline.
static Status setTable(Result<std::vector<SourceArray>> arrays, const std::string &path,
                       Pipeline &pipeline, BadRows bad = {}) {
  if (!arrays)
    return arrays.status();
  auto table = makeArraySource(std::move(*arrays), text('\'', path, '\''), std::move(bad));
  if (!table)
    return table.status();
  pipeline.table = std::move(*table);
  return {};
}

Status describeCsv(Config config, const DataContext &context, Pipeline &pipeline) {
  CsvSpec spec;
  if (Status status = readSpec(config, context, spec); !status.ok() || !context.hasFiles)
    return status;
  BadRows bad; // not kept: the rows of text are not read
  spec.options.bad = context.skips ? &bad : nullptr;
  auto opened = openCsv({}, context, spec.options, spec.fields);
  if (!opened)
    return opened.status();
  std::vector<Config> blocks = config.children("field");
  auto arrays = describeCsv(opened->text(), opened->path, spec.fields, spec.options,
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
    // A bad cell in any field makes its row bad, also for a reader that does not use the field: a
    // split then divides the same rows for training and evaluation.
    if (context.skips || isDemanded(field.name, context))
      fields.push_back(std::move(field));
  }
  for (const FieldUse &use : context.uses)
    if (std::find(names.begin(), names.end(), use.field) == names.end())
      return missingField(use, "the csv source", names);

  for (const CsvField &field : fields)
    if (Status status = rememberCategories(field, context); !status.ok())
      return status;
  BadRows bad;
  spec.options.bad = context.skips ? &bad : nullptr;
  auto opened = openCsv(config.string("path"), context, spec.options, fields);
  if (!opened)
    return opened.status();
  auto arrays = readCsv(opened->text(), opened->path, fields, spec.options);
  // Of a file that was truncated, the reader has met zeros.
  if (Status whole = MappedFile::expectWhole(); !whole.ok())
    return whole;
  return setTable(std::move(arrays), opened->path, pipeline, std::move(bad));
}

} // namespace gradc::runtime
