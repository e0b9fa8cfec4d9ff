// Opens a user's data by name, and inspects its values.
#include "tools/gradc/init/DataLook.h"

#include "runtime/base/DataType.h"
#include "runtime/base/Text.h"
#include "runtime/data/source/ArraySource.h"
#include "runtime/data/source/CsvNumber.h"
#include "runtime/data/source/CsvText.h"
#include "runtime/data/source/Inflate.h"
#include "runtime/data/source/ParquetText.h"
#include "runtime/data/source/ZipArchive.h"
#include "runtime/data/transform/Convert.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

namespace gradc {
using namespace runtime;
namespace fs = std::filesystem;
namespace {

/// Updates the minimum, the maximum, and the kind of the values.
void look(LookedField &field, double value, bool isFirst) {
  if (!isFirst && value < 0 && field.least < 0)
    field.hasOneNegative &= value == field.least;
  field.least = isFirst ? value : std::min(field.least, value);
  field.most = isFirst ? value : std::max(field.most, value);
  field.isWhole &= std::trunc(value) == value;
}

/// The cells of a table, as written in the file.
class TableLook : private CsvText {
public:
  TableLook(std::span<const std::byte> bytes, const std::string &path, char delimiter)
      : CsvText(bytes, path, delimiter) {}

  Status run(LookedData &data);

private:
  /// The cells of the line; empty at the end, or after an error.
  std::vector<std::string> line();
  static Status expectNames(const LookedData &data);
  static Status expectDistinctNames(const LookedData &data);
  static void lookAtCell(LookedField &field, const std::string &cell, bool isFirst);
};

std::vector<std::string> TableLook::line() {
  std::vector<std::string> cells;
  if (at == end)
    return cells;
  for (;; ++at) {
    CsvCell cell = nextCell();
    if (!cell.end)
      return {};
    cells.push_back(unquoted(trimmed(cell.text), isQuoted()));
    at = cell.end;
    if (endsLine(at))
      break;
  }
  skipLineEnd();
  return cells;
}

/// Fails if the first line is a row of numbers.
Status TableLook::expectNames(const LookedData &data) {
  if (countNumbersAsNames(data) < std::ssize(data.fields))
    return {};
  return Status::error(text('\'', data.path,
                            "' begins with a line of numbers, expected the names "
                            "of its columns: insert a line such as c1",
                            data.delimiter, "c2", data.delimiter, "..."));
}

Status TableLook::expectDistinctNames(const LookedData &data) {
  std::set<std::string_view> names;
  for (const LookedField &field : data.fields)
    if (!field.name.empty() && !names.insert(field.name).second)
      return Status::error(
          text('\'', data.path, "' has two columns with the name '", field.name, '\''));
  return {};
}

void TableLook::lookAtCell(LookedField &field, const std::string &cell, bool isFirst) {
  if (isMissing(cell)) {
    ++field.missing;
    return;
  }
  auto boolean = booleanOf(cell);
  field.isBoolean &= boolean.has_value();
  double value = boolean.value_or(false);
  if (!field.isText && (boolean || parseNumber(cell, value) == NumberError::none))
    look(field, value, isFirst);
  else
    field.isText = true;
  if (field.texts.size() < LookedField::maxDistinct)
    field.texts.emplace(cell);
}

Status TableLook::run(LookedData &data) {
  if (!skipByteOrderMark())
    return error;
  skipEmptyLines();
  for (std::string &name : line())
    data.fields.push_back({std::move(name)});
  if (data.fields.empty())
    return error.ok() ? Status::error(text('\'', data.path, "' is empty")) : error;
  if (Status named = expectNames(data); !named.ok())
    return named;
  std::vector<bool> isFirst(data.fields.size(), true);
  for (;; ++data.rows) {
    skipEmptyLines();
    const char *begin = at;
    std::vector<std::string> cells = line();
    if (cells.empty())
      break;
    if (cells.size() != data.fields.size()) {
      fail(begin, "expected ", data.fields.size(), " cells as in the header, found ", cells.size());
      return error;
    }
    for (size_t i = 0; i < cells.size(); ++i) {
      lookAtCell(data.fields[i], cells[i], isFirst[i]);
      isFirst[i] = isFirst[i] && isMissing(cells[i]);
    }
  }
  auto isEmpty = [&](const LookedField &field) { return data.rows && field.missing == data.rows; };
  for (const LookedField &field : data.fields)
    if (isEmpty(field))
      data.emptyColumns.push_back(field.name);
  std::erase_if(data.fields, isEmpty);
  for (LookedField &field : data.fields)
    field.dtype = !field.isText && field.isWhole ? GRADC_I64 : GRADC_F32;
  return error.ok() ? expectDistinctNames(data) : error;
}

/// The usual delimiter that occurs most often in the first line.
char findDelimiter(std::string_view text) {
  std::string_view first = text.substr(0, text.find('\n'));
  return *std::ranges::max_element(std::string_view(",;\t|"), {},
                                   [&](char c) { return std::ranges::count(first, c); });
}

Result<LookedData> lookAtTable(const std::string &path) {
  constexpr size_t mostText = size_t(1) << 36;
  auto file = MappedFile::open(path);
  if (!file)
    return file.status();
  std::span<const std::byte> bytes = (*file)->bytes();
  if (Status status = expectParquetByName(path, bytes); !status.ok())
    return status;
  Inflated inflated;
  if (isGzip(bytes)) {
    inflated = inflateAll(bytes, mostText, Deflated::gzip);
    if (!inflated.bytes)
      return Status::error(text('\'', path, "' is a damaged gzip file"));
    bytes = {inflated.bytes.get(), inflated.size};
  }
  LookedData data = {LookedData::Kind::csv, path};
  bool isTable = isParquet(bytes);
  if (isTable) {
    if (Status status = readParquet(path, {.maxBytes = mostText}, {}, inflated); !status.ok())
      return status;
    bytes = {inflated.bytes.get(), inflated.size};
  }
  data.delimiter =
      isTable ? ',' : findDelimiter({reinterpret_cast<const char *>(bytes.data()), bytes.size()});

  if (Status status = TableLook(bytes, path, data.delimiter).run(data); !status.ok())
    return status;
  return data;
}

void lookAtArray(const SourceArray &array, LookedData &data, std::string file) {
  LookedField field = {array.field.name, array.field.dtype, array.field.shape, std::move(file),
                       array.rows};
  constexpr size_t enough = size_t(1) << 20; // number of values that suffice to judge the rest
  size_t count = size_t(array.rows) * array.field.elements();
  if (!field.isScalar())
    count = std::min(count, enough);
  Converter toNumber = findConverter(field.dtype, GRADC_F64);
  field.isWhole = !findDataType(field.dtype)->floating;
  bool couldBe = !field.isWhole && field.isScalar(); // integers stored as floats
  field.isWhole |= couldBe;
  for (size_t i = 0; i < count && toNumber; ++i) {
    double value = 0;
    toNumber(array.data + i * array.field.elementBytes(), reinterpret_cast<std::byte *>(&value), 1,
             1, -0.0);
    look(field, value, i == 0);
    if (field.isScalar() && field.texts.size() < LookedField::maxDistinct)
      field.texts.insert(text(value));
  }
  data.fields.push_back(std::move(field));
}

Result<LookedData> lookAtArchive(const std::string &path) {
  auto file = MappedFile::open(path);
  if (!file)
    return file.status();
  LookedData data = {LookedData::Kind::npz, path};
  auto members = listZip((*file)->bytes(), text('\'', path, '\''));
  if (!members)
    return members.status();
  for (const ZipMember &member : *members) {
    auto content = readZip((*file)->bytes(), member, path);
    if (!content)
      return content.status();
    std::string name = member.name.substr(0, member.name.rfind(".npy"));
    auto array = makeSourceArray(name, content->bytes, content->inflated,
                                 text("field '", name, "' of '", path, '\''));
    if (!array)
      return array.status();
    lookAtArray(*array, data, "");
  }
  return data;
}

Result<LookedData> lookAtArrays(const std::string &path, const std::vector<fs::path> &files) {
  LookedData data = {LookedData::Kind::npy, path};
  for (const fs::path &name : files) {
    auto file = MappedFile::open(name.string());
    if (!file)
      return file.status();
    auto array = makeSourceArray(name.stem().string(), (*file)->bytes(), *file,
                                 text('\'', name.string(), '\''));
    if (!array)
      return array.status();
    lookAtArray(*array, data, name.string());
  }
  return data;
}

bool isPicture(const fs::path &path) {
  std::string extension = path.extension().string();
  std::ranges::transform(extension, extension.begin(),
                         [](char c) { return char(std::tolower(c)); });
  return extension == ".jpg" || extension == ".jpeg" || extension == ".png";
}

Result<LookedData> lookAtFolder(const std::string &path) {
  std::vector<fs::path> arrays;
  LookedData data = {LookedData::Kind::folder, path};
  std::error_code error;
  for (fs::directory_iterator entry(path, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().filename().string().starts_with('.'))
      continue;
    if (entry->path().extension() == ".npy")
      arrays.push_back(entry->path());
    if (!entry->is_directory(error))
      continue;
    ++data.classes;
    for (fs::recursive_directory_iterator file(entry->path(), error), last; !error && file != last;
         file.increment(error))
      data.rows += isPicture(file->path()) && file->is_regular_file(error);
  }
  if (error)
    return Status::error(text("cannot read '", path, "': ", error.message()));
  std::ranges::sort(arrays);
  if (!arrays.empty())
    return lookAtArrays(path, arrays);
  if (data.rows == 0)
    return Status::error(
        text("expected a folder of .npy files, or one folder of .jpg and .png files "
             "for each class, found neither in '",
             path, '\''));
  return data;
}

} // namespace

std::string LookedField::describe() const {
  if (isText)
    return name + " text";
  return text(name, ' ', findDataType(dtype)->name, ' ', shapeText(shape));
}

int64_t countNumbersAsNames(const LookedData &data) {
  std::vector<double> numbers;
  for (const LookedField &field : data.fields)
    if (double number; parseNumber(field.name, number) == NumberError::none)
      numbers.push_back(number);
  bool isNumbered = numbers.size() > 1 && numbers[1] != numbers[0];
  for (size_t i = 1; i < numbers.size(); ++i)
    isNumbered &= std::abs(numbers[0] + double(i) * (numbers[1] - numbers[0]) - numbers[i]) <
                  1e-6 * std::abs(numbers[1] - numbers[0]);
  return isNumbered ? 0 : std::ssize(numbers);
}

Result<LookedData> lookAtData(const std::string &path) {
  std::error_code error;
  if (!fs::exists(path, error))
    return Status::error(text("cannot read '", path, "': no such file or folder"));
  if (fs::is_directory(path, error))
    return lookAtFolder(path);
  std::string_view name = path;
  for (std::string_view ending : {".csv", ".csv.gz", ".tsv", ".tsv.gz", ".txt", ".parquet"})
    if (name.ends_with(ending))
      return lookAtTable(path);
  if (name.ends_with(".npz"))
    return lookAtArchive(path);
  if (name.ends_with(".npy"))
    return Status::error(text("'", path,
                              "' is one array, and a job needs inputs and labels: name the "
                              "folder that holds both as .npy files, or an .npz file"));
  return Status::error(text(
      "expected data as .csv, .csv.gz, .tsv, .parquet, .npz, or a folder, found '", path, '\''));
}

} // namespace gradc
