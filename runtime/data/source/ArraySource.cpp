// Gathers rows from arrays in memory.
#include "runtime/data/source/ArraySource.h"

#include "runtime/base/Text.h"
#include "runtime/data/Provenance.h"
#include "runtime/data/source/NpyHeader.h"
#include "runtime/data/transform/Convert.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace gradc::runtime {

namespace {

class ArraySource final : public Table {
public:
  ArraySource(std::vector<SourceArray> arrays, std::string origin, BadRows bad)
      : arrays(std::move(arrays)), from(std::move(origin)), bad(std::move(bad)) {
    for (const SourceArray &array : this->arrays)
      fieldList.push_back(array.field);
  }

  std::span<const Field> fields() const override { return fieldList; }
  int64_t rows() const override { return arrays.front().rows; }
  const std::byte *column(size_t field) const override {
    return arrays[field].ragged || !bad.empty() ? nullptr : arrays[field].data;
  }
  std::string origin() const override { return from; }

  void order(uint64_t, std::vector<int64_t> &rows) const override {
    rows.resize(size_t(this->rows()));
    std::iota(rows.begin(), rows.end(), 0);
  }

  Result<Value> view(size_t field, RowRef row, Scratch &) const override {
    if (auto found = bad.find(row.row); found != bad.end())
      return Status::error(found->second);
    if (const RaggedRows *ragged = arrays[field].ragged.get()) {
      size_t begin = ragged->begins[size_t(row.row)], rank = fieldList[field].shape.size();
      return Value{arrays[field].data + begin,
                   {ragged->shapes.data() + size_t(row.row) * rank, rank},
                   ragged->begins[size_t(row.row) + 1] - begin};
    }
    size_t bytes = fieldList[field].bytes();
    return Value{arrays[field].data + size_t(row.row) * bytes, fieldList[field].shape, bytes};
  }

  Status read(size_t field, RowList rows, Scratch &scratch, std::byte *out) const override {
    if (arrays[field].ragged || !bad.empty())
      return Table::read(field, rows, scratch, out);
    size_t bytes = fieldList[field].bytes();
    const std::byte *data = arrays[field].data;
    const MappedFile *file = arrays[field].file.get();
    for (size_t i = 0, next; i < rows.rows.size(); i = next) {
      next = i + 1; // behind the rows that follow each other
      while (next < rows.rows.size() && rows.rows[next] == rows.rows[next - 1] + 1)
        ++next;
      const std::byte *from = data + size_t(rows.rows[i]) * bytes;
      size_t count = (next - i) * bytes;
      if (file)
        file->copy(from, count, out);
      else
        std::memcpy(out, from, count);
      out += count;
    }
    return {};
  }

  void letGo() const override {
    for (const SourceArray &array : arrays)
      if (array.file)
        array.file->letGo();
  }

private:
  std::vector<SourceArray> arrays;
  std::vector<Field> fieldList;
  std::string from;
  BadRows bad;
};

} // namespace

static Result<SourceArray> shapeArray(std::string name, const Result<NpyHeader> &header,
                                      std::string_view what) {
  if (!header)
    return header.status();
  if (header->shape.empty())
    return Status::error(text(what, " is a single number, expected an array of rows"));
  SourceArray array;
  array.rows = header->shape.front();
  array.field = {std::move(name), header->dtype, {header->shape.begin() + 1, header->shape.end()}};
  return array;
}

Result<SourceArray> describeSourceArray(std::string name, std::span<const std::byte> bytes,
                                        std::string_view what, uint64_t size) {
  return shapeArray(std::move(name), parseNpy(bytes, what, size), what);
}

Result<SourceArray> makeSourceArray(std::string name, std::span<const std::byte> bytes,
                                    std::shared_ptr<const void> owner, std::string_view what) {
  auto header = parseNpy(bytes, what);
  auto array = shapeArray(std::move(name), header, what);
  if (!array)
    return array;
  array->data = bytes.data() + header->dataOffset;
  array->owner = std::move(owner);
  if (!header->isPlain()) {
    auto plain = plainNpy(*header, array->data);
    if (!plain)
      return Status::error(text("cannot allocate ", header->dataBytes, " bytes for ", what,
                                ", which is not in C order of this machine's bytes"));
    array->data = plain.get();
    array->owner = std::move(plain);
  }
  return array;
}

Status cutRows(SourceArray &array, const SourceArray &offsets, std::string_view origin,
               bool isRead) {
  const Field &by = offsets.field;
  if (!by.shape.empty() || (by.dtype != GRADC_I64 && by.dtype != GRADC_I32))
    return Status::error(text("field '", by.name, "' of ", origin, " has type ",
                              findDataType(by.dtype)->name, " and rows of shape ",
                              shapeText(by.shape), ", expected offsets of rows of '",
                              array.field.name, "': one i64 or i32 each"));
  int64_t entries = array.rows, rows = offsets.rows - 1;
  size_t bytes = array.field.bytes();
  array.field.shape.insert(array.field.shape.begin(), Field::varying);
  array.rows = std::max<int64_t>(rows, 0);
  if (!isRead)
    return {};
  auto ragged = std::make_shared<RaggedRows>();
  Converter toInteger = findConverter(by.dtype, GRADC_I64);
  int64_t begin = 0;
  for (int64_t row = 0; row <= rows; ++row) {
    int64_t end = 0;
    toInteger(offsets.data + size_t(row) * by.bytes(), reinterpret_cast<std::byte *>(&end), 1, 1,
              -0.0);
    if (end < begin || end > entries || (row == 0 && end != 0))
      return Status::error(text("entry ", row, " of field '", by.name, "' of ", origin, " is ", end,
                                ", expected ",
                                row ? text("an offset from ", begin, " to ", entries) : "0"));
    ragged->begins.push_back(size_t(end) * bytes);
    if (row) {
      ragged->shapes.push_back(end - begin);
      ragged->shapes.insert(ragged->shapes.end(), array.field.shape.begin() + 1,
                            array.field.shape.end());
    }
    begin = end;
  }
  array.ragged = std::move(ragged);
  return {};
}

bool isDemanded(std::string_view field, const DataContext &context) {
  if (context.problems)
    return true;
  for (const FieldUse &use : context.uses)
    if (use.field == field)
      return true;
  return false;
}

Status applyFiles(Config config, const DataContext &context, Pipeline &pipeline,
                  std::string_view source, ArrayReader read) {
  std::vector<SourceArray> arrays;
  std::vector<std::string> names, paths;
  for (Config field : config.children("field")) {
    names.emplace_back(field.string("name"));
    if (!isDemanded(names.back(), context))
      continue;
    auto opened = openFile(field.string("path"), context);
    if (!opened)
      return opened.status();
    auto array = read(names.back(), opened->file,
                      text("field '", names.back(), "' of '", opened->path, '\''));
    if (!array)
      return array.status();
    array->file = std::move(opened->file);
    arrays.push_back(std::move(*array));
    paths.push_back(std::move(opened->path));
  }
  for (const FieldUse &use : context.uses) {
    bool found = false;
    for (const SourceArray &array : arrays)
      found |= array.field.name == use.field;
    if (!found)
      return missingField(use, source, names);
  }
  auto table = makeArraySource(std::move(arrays), quotedList(paths));
  if (!table)
    return table.status();
  pipeline.table = std::move(*table);
  return {};
}

Status describeFiles(Config config, const DataContext &context, Pipeline &pipeline,
                     std::string_view kind, ArrayReader read) {
  std::vector<SourceArray> arrays;
  std::vector<std::string> names, paths;
  Status first;
  auto wrong = [&](Config at, std::string message) {
    keepFirst(first, context.wrong(at, std::move(message)));
  };
  for (Config field : config.children("field")) {
    std::string name(field.string("name"));
    std::string_view path = field.string("path");
    if (name.empty() || path.empty())
      wrong(field, text("a field of ", kind, " has no ", name.empty() ? "name" : "path",
                        ": add field { name: \"images\" path: \"images.", kind, "\" }"));
    else if (std::find(names.begin(), names.end(), name) != names.end())
      wrong(field, text("field '", name, "' is declared twice"));
    else if (context.hasFiles) {
      auto opened = openFile(path, context);
      auto array =
          opened ? read(name, opened->file, text("field '", name, "' of '", opened->path, '\''))
                 : Result<SourceArray>(opened.status());
      if (array) {
        arrays.push_back(std::move(*array));
        paths.push_back(std::move(opened->path));
      } else {
        wrong(field, array.status().message());
      }
    }
    names.push_back(std::move(name));
  }
  if (names.empty())
    wrong(config,
          text(kind, " has no field: add field { name: \"images\" path: \"images.", kind, "\" }"));
  if (!first.ok() || !context.hasFiles)
    return first;
  auto table = makeArraySource(std::move(arrays), quotedList(paths));
  if (!table)
    return table.status();
  pipeline.table = std::move(*table);
  return {};
}

Status applyMemory(const DataContext &context, Pipeline &pipeline) {
  std::vector<SourceArray> arrays;
  std::vector<std::string> names;
  for (const SourceArray &array : context.arrays) {
    names.push_back(array.field.name);
    if (!isDemanded(array.field.name, context))
      continue;
    if (context.provenance)
      context.provenance->addContent({array.data, size_t(array.rows) * array.field.bytes()});
    arrays.push_back(array);
  }
  for (const FieldUse &use : context.uses)
    if (std::find(names.begin(), names.end(), use.field) == names.end())
      return missingField(use, "the memory that was given", names);
  auto table = makeArraySource(std::move(arrays), "the memory that was given");
  if (!table)
    return table.status();
  pipeline.table = std::move(*table);
  return {};
}

Result<std::shared_ptr<const Table>> makeArraySource(std::vector<SourceArray> arrays,
                                                     std::string origin, BadRows bad) {
  if (arrays.empty())
    return Status::invalid(text("the model takes no field of ", origin));
  const SourceArray &first = arrays.front();
  for (const SourceArray &array : arrays)
    if (array.rows != first.rows)
      return Status::error(text("fields of ", origin, " differ in their rows: '", first.field.name,
                                "' has ", first.rows, ", '", array.field.name, "' has ",
                                array.rows));
  if (first.rows == 0)
    return Status::error(text("the data set is empty: ", origin, " has no rows"));
  return std::shared_ptr<const Table>(
      std::make_shared<ArraySource>(std::move(arrays), std::move(origin), std::move(bad)));
}

Status missingField(const FieldUse &use, std::string_view origin,
                    std::span<const std::string> available) {
  return Status::error(text(use.user, " field '", use.field, "', but ", origin, " has ",
                            available.empty() ? "no arrays" : quotedList(available)));
}

} // namespace gradc::runtime
