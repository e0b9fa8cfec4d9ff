// What the compiler can know of each source: its fields, and how many rows it has.
#include "dialects/Pch.h"

#include "compiler/import/ArrayFile.h"
#include "compiler/import/DataStages.h"
#include "compiler/import/OnnxModel.h"
#include "compiler/import/RecordFile.h"
#include "compiler/import/States.h"
#include "compiler/import/TableFile.h"
#include "llvm/Support/FileSystem.h"

using namespace mlir;
using namespace gradc;

/// numpy's name of a little-endian dtype as an element type, or null.
static Type elementOf(MLIRContext &context, StringRef dtype) {
  Builder b(&context);
  if (!dtype.consume_front("<") && !dtype.consume_front("|") && !dtype.consume_front("="))
    return nullptr;
  char kind = dtype.empty() ? 0 : dtype.front();
  unsigned bytes = 0;
  if (dtype.drop_front(!dtype.empty()).getAsInteger(10, bytes))
    return nullptr;
  bool power = bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
  if (kind == 'b' && bytes == 1)
    return b.getI1Type();
  if (kind == 'i' && power)
    return b.getIntegerType(8 * bytes);
  if (kind == 'u' && power)
    return b.getIntegerType(8 * bytes, /*isSigned=*/false);
  if (kind == 'f' && bytes == 2)
    return b.getF16Type();
  if (kind == 'f' && bytes == 4)
    return b.getF32Type();
  if (kind == 'f' && bytes == 8)
    return b.getF64Type();
  return nullptr;
}

int64_t gradc::countRows(const spec::Rows &rows, int64_t all) {
  int64_t begin = rows.begin(), end = rows.has_end() ? std::min(rows.end(), all) : all, count = 0;
  if (!rows.has_every())
    return std::max<int64_t>(end - begin, 0);
  for (int64_t r = begin; r < end; ++r) {
    int64_t phase = r % rows.every();
    count += rows.has_only() ? phase == rows.only() : !rows.has_except() || phase != rows.except();
  }
  return count;
}

using Arrays = std::map<std::string, ArrayInfo>;

/// Reads what a file's header tells. Nothing: the file is not there yet.
template <typename Reader, typename T = std::decay_t<decltype(*std::declval<Reader>()(""))>>
static FailureOr<std::optional<T>> look(SourceLook &look, const std::string &name, Reader reader) {
  std::string path = look.spec.resolve(name);
  look.set.file = name;
  if (!llvm::sys::fs::exists(path))
    return std::optional<T>();
  auto result = reader(path);
  if (!result)
    return look.error() << "cannot read the data file \"" << path
                        << "\": " << llvm::toString(result.takeError());
  return std::optional<T>(std::move(*result));
}

/// Arrays with their first dim, the rows, split off.
static LogicalResult setFields(SourceLook &look, const Arrays &arrays) {
  DataSet &set = look.set;
  if (arrays.empty())
    return look.error() << "the data file \"" << set.file << "\" holds no arrays";
  bool ok = true;
  std::string first;
  for (const auto &[name, info] : arrays) {
    auto problem = [&] {
      ok = false;
      return look.error() << "array \"" << name << "\" of \"" << set.file << "\" ";
    };
    Type element = elementOf(look.context, info.dtype);
    if (!element)
      problem() << "has dtype " << info.dtype << ", which is not supported";
    if (info.fortranOrder && info.shape.size() > 1)
      problem() << "is in Fortran order; save it with numpy.ascontiguousarray";
    if (info.shape.empty()) {
      problem() << "has no rows: expected a first dim";
      continue;
    }
    if (first.empty()) {
      first = name;
      set.rows = info.shape[0];
    } else if (set.rows != info.shape[0]) {
      problem() << "has " << info.shape[0] << " rows, \"" << first << "\" has " << set.rows;
    }
    set.fields[name] = {element, SmallVector<int64_t>(ArrayRef(info.shape).drop_front())};
  }
  set.known = true;
  return success(ok);
}

/// Whether a column's name fits a pattern whose stars stand for any characters.
static bool matches(StringRef pattern, StringRef name) {
  size_t star = pattern.find('*');
  if (star == StringRef::npos)
    return pattern == name;
  if (!name.consume_front(pattern.take_front(star)))
    return false;
  for (size_t at = 0; at <= name.size(); ++at)
    if (matches(pattern.drop_front(star + 1), name.drop_front(at)))
      return true;
  return false;
}

/// The table's columns as the arrays that the run will make of them.
static FailureOr<Arrays> csvFields(const SourceLook &look, const spec::Csv &csv,
                                   const TableInfo &table) {
  Arrays arrays;
  std::map<std::string, std::string> owner;
  bool ok = true;
  for (auto [f, field] : llvm::enumerate(csv.field())) {
    const std::string &name = field.has_name() ? field.name() : field.column(0);
    SmallVector<SpecFile::Step> place(look.place);
    place.append({"csv", {"field", int(f)}});
    auto problem = [&] {
      ok = false;
      return emitError(look.spec.at(place));
    };
    int64_t columns = 0;
    for (const std::string &pattern : field.column()) {
      std::vector<std::string> same, like;
      for (const std::string &column : table.columns)
        if (column == pattern)
          same.push_back(column);
        else if (matches(pattern, column))
          like.push_back(column);
      if (same.size() > 1) {
        problem() << "\"" << csv.path() << "\" has two columns \"" << pattern << "\"";
        same.resize(1);
      }
      if (same.empty() && like.empty()) {
        auto error = problem() << "no column \"" << pattern << "\" in \"" << csv.path() << "\"";
        if (std::string near = nearest(pattern, table.columns); !near.empty())
          error << "; did you mean \"" << near << "\"?";
        else if (table.columns.size() <= 20)
          error << "; it has " << llvm::join(table.columns, ", ");
      }
      for (const std::string &column : same.empty() ? like : same) {
        ++columns;
        if (auto [before, isNew] = owner.try_emplace(column, name); !isNew)
          problem() << "column \"" << column << "\" is in field \"" << before->second
                    << "\" and again in \"" << name << "\", expected one";
      }
    }
    ArrayInfo info;
    info.dtype = field.dtype() == spec::F32   ? "<f4"
                 : field.dtype() == spec::F64 ? "<f8"
                 : field.dtype() == spec::I32 ? "<i4"
                                              : "<i8";
    info.shape.push_back(table.rows);
    if (!field.shape().empty())
      llvm::append_range(info.shape, field.shape());
    else if (columns > 1)
      info.shape.push_back(columns);
    int64_t elements = 1;
    for (int64_t dim : ArrayRef(info.shape).drop_front())
      elements *= dim;
    if (ok && elements != columns)
      problem() << "field \"" << name << "\" has " << columns << " columns, but its shape asks for "
                << elements;
    if (!arrays.try_emplace(name, info).second)
      problem() << "field \"" << name << "\" is declared twice";
  }
  if (!ok)
    return failure();
  return arrays;
}

static LogicalResult describeNpz(SourceLook &source, const spec::Npz &npz) {
  auto arrays = look(source, npz.path(), readNpz);
  if (failed(arrays) || !*arrays)
    return arrays;
  return setFields(source, **arrays);
}

static LogicalResult describeFiles(SourceLook &source,
                                   const google::protobuf::RepeatedPtrField<spec::FileField> &files,
                                   llvm::Expected<ArrayInfo> (*reader)(StringRef)) {
  Arrays arrays;
  for (const spec::FileField &file : files) {
    auto array = look(source, file.path(), reader);
    if (failed(array) || !*array)
      return array;
    arrays[file.name()] = **array;
  }
  return setFields(source, arrays);
}

static LogicalResult describeCsv(SourceLook &source, const spec::Csv &csv) {
  auto table =
      look(source, csv.path(), [&](StringRef path) { return readCsv(path, csv.delimiter()[0]); });
  if (failed(table) || !*table)
    return table;
  FailureOr<Arrays> fields = csvFields(source, csv, **table);
  return failed(fields) ? failure() : setFields(source, *fields);
}

static LogicalResult describeFolder(SourceLook &source, const spec::Folder &folder) {
  Builder b(&source.context);
  source.set.file = folder.has_list() ? folder.list() : folder.path();
  source.set.fields[folder.image()] = {b.getIntegerType(8, /*isSigned=*/false),
                                       {ShapedType::kDynamic}};
  source.set.fields[folder.label()] = {b.getI64Type(), {}};
  source.set.known = true;
  std::string path = source.spec.resolve(source.set.file);
  if (!llvm::sys::fs::exists(path)) {
    source.set.whyUnknown = "\"" + source.set.file + "\" is not there yet";
    return success();
  }
  auto count = folder.has_list() ? countListed(path) : countPictures(path);
  if (!count)
    return source.error() << "cannot read \"" << path
                          << "\": " << llvm::toString(count.takeError());
  source.set.rows = *count;
  return success();
}

static LogicalResult describeTfRecord(SourceLook &source, const spec::TfRecord &records) {
  Builder b(&source.context);
  DataSet &set = source.set;
  set.file = records.path(0);
  for (const spec::RecordFeature &feature : records.feature()) {
    FieldType field = {feature.type() == spec::BYTES   ? b.getIntegerType(8, /*isSigned=*/false)
                       : feature.type() == spec::FLOAT ? Type(b.getF32Type())
                                                       : Type(b.getI64Type()),
                       SmallVector<int64_t>(feature.shape().begin(), feature.shape().end())};
    if (feature.type() == spec::BYTES && field.shape.empty())
      field.shape = {ShapedType::kDynamic};
    set.fields[feature.has_field() ? feature.field() : feature.name()] = field;
  }
  set.known = true;
  int64_t rows = 0;
  for (const std::string &name : records.path()) {
    std::string path = source.spec.resolve(name);
    if (!llvm::sys::fs::exists(path)) {
      set.whyUnknown = "\"" + name + "\" is not there yet";
      return success();
    }
    auto count = countRecords(path);
    if (!count)
      return source.error() << "cannot read the data file \"" << path
                            << "\": " << llvm::toString(count.takeError());
    rows += *count;
  }
  set.rows = rows;
  return success();
}

LogicalResult gradc::describeSource(SourceLook &look, const spec::Source &source) {
  switch (source.kind_case()) {
  case spec::Source::kNpz:
    return describeNpz(look, source.npz());
  case spec::Source::kNpy:
    return describeFiles(look, source.npy().field(), readNpy);
  case spec::Source::kCsv:
    return describeCsv(look, source.csv());
  case spec::Source::kIdx:
    return describeFiles(look, source.idx().field(), readIdx);
  case spec::Source::kFolder:
    return describeFolder(look, source.folder());
  case spec::Source::kTfrecord:
    return describeTfRecord(look, source.tfrecord());
  case spec::Source::KIND_NOT_SET:
    break;
  }
  llvm_unreachable("checked when the spec was read");
}

const spec::Rows &gradc::rowsOf(const spec::Source &source) {
  switch (source.kind_case()) {
  case spec::Source::kNpz:
    return source.npz().rows();
  case spec::Source::kNpy:
    return source.npy().rows();
  case spec::Source::kCsv:
    return source.csv().rows();
  case spec::Source::kIdx:
    return source.idx().rows();
  case spec::Source::kFolder:
    return source.folder().rows();
  case spec::Source::kTfrecord:
    return source.tfrecord().rows();
  case spec::Source::KIND_NOT_SET:
    break;
  }
  llvm_unreachable("checked when the spec was read");
}
