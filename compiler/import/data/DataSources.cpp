// What the compiler can know of each source: its fields, and how many rows it has.
#include "dialects/Pch.h"

#include "compiler/import/States.h"
#include "compiler/import/data/ArrayFile.h"
#include "compiler/import/data/DataStages.h"
#include "compiler/import/data/RecordFile.h"
#include "compiler/import/data/TableFile.h"
#include "compiler/import/onnx/OnnxModel.h"
#include "llvm/Support/FileSystem.h"
#include <glob.h>
#include <numeric>

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

/// The files that a path of the spec stands for: itself, or all that match it, in their names'
/// order.
static std::vector<std::string> filesOf(const SourceLook &look, const std::string &name) {
  std::string path = look.spec.resolve(name);
  if (!StringRef(name).contains('*'))
    return {path};
  std::vector<std::string> files;
  glob_t found;
  if (glob(path.c_str(), 0, nullptr, &found) == 0)
    files.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  llvm::sort(files);
  return files;
}

/// Reads what the headers of files tell. Nothing: one of them is not there yet.
template <typename Reader, typename T = std::decay_t<decltype(*std::declval<Reader>()(""))>>
static FailureOr<std::vector<T>> look(SourceLook &look,
                                      const google::protobuf::RepeatedPtrField<std::string> &names,
                                      Reader reader) {
  std::vector<T> infos;
  for (const std::string &name : names) {
    look.set.file = name;
    std::vector<std::string> files = filesOf(look, name);
    if (files.empty())
      return std::vector<T>();
    for (const std::string &path : files) {
      if (!llvm::sys::fs::exists(path))
        return std::vector<T>();
      auto result = reader(path);
      if (!result)
        return look.error() << "cannot read the data file \"" << path
                            << "\": " << llvm::toString(result.takeError());
      infos.push_back(std::move(*result));
    }
  }
  return infos;
}

/// Arrays with their first dim, the rows, split off.
static LogicalResult addFields(SourceLook &look, const Arrays &arrays) {
  DataSet &set = look.set;
  bool isFirst = !set.known;
  int64_t rows = 0;
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
      rows = info.shape[0];
    } else if (rows != info.shape[0]) {
      problem() << "has " << info.shape[0] << " rows, \"" << first << "\" has " << rows;
    }
    FieldType field = {element, SmallVector<int64_t>(ArrayRef(info.shape).drop_front())};
    auto [before, isNew] = set.fields.try_emplace(name, field);
    if (!isFirst &&
        (isNew || before->second.element != field.element || before->second.shape != field.shape))
      problem() << "differs from the first file's: expected the same fields in all files";
  }
  set.rows = isFirst ? rows : set.rows + rows;
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
        problem() << "\"" << look.set.file << "\" has two columns \"" << pattern << "\"";
        same.resize(1);
      }
      if (same.empty() && like.empty()) {
        auto error = problem() << "no column \"" << pattern << "\" in \"" << look.set.file << "\"";
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
  auto files = look(source, npz.path(), readNpz);
  if (failed(files))
    return failure();
  for (const Arrays &arrays : *files)
    if (failed(addFields(source, arrays)))
      return failure();
  return success();
}

static LogicalResult describeFiles(SourceLook &source,
                                   const google::protobuf::RepeatedPtrField<spec::FileField> &files,
                                   llvm::Expected<ArrayInfo> (*reader)(StringRef)) {
  Arrays arrays;
  for (const spec::FileField &file : files) {
    google::protobuf::RepeatedPtrField<std::string> path;
    *path.Add() = file.path();
    auto array = look(source, path, reader);
    if (failed(array) || array->empty())
      return LogicalResult(array);
    arrays[file.name()] = array->front();
  }
  return addFields(source, arrays);
}

static LogicalResult describeCsv(SourceLook &source, const spec::Csv &csv) {
  auto tables =
      look(source, csv.path(), [&](StringRef path) { return readCsv(path, csv.delimiter()[0]); });
  if (failed(tables))
    return failure();
  for (const TableInfo &table : *tables) {
    FailureOr<Arrays> fields = csvFields(source, csv, table);
    if (failed(fields) || failed(addFields(source, *fields)))
      return failure();
  }
  return success();
}

static LogicalResult describeTokens(SourceLook &source, const spec::Tokens &tokens) {
  auto sizes = look(source, tokens.path(), [](StringRef path) -> llvm::Expected<uint64_t> {
    uint64_t size = 0;
    if (std::error_code code = llvm::sys::fs::file_size(path, size))
      return llvm::errorCodeToError(code);
    return size;
  });
  if (failed(sizes))
    return failure();
  Builder b(&source.context);
  Type type = tokens.dtype() == spec::Tokens::U8    ? b.getIntegerType(8, /*isSigned=*/false)
              : tokens.dtype() == spec::Tokens::U16 ? b.getIntegerType(16, /*isSigned=*/false)
                                                    : b.getI32Type();
  int64_t window = tokens.window(), stride = tokens.has_stride() ? tokens.stride() : window;
  source.set.fields[tokens.input()] = {type, {window}};
  source.set.fields[tokens.target()] = {type, {}};
  if (tokens.target_each())
    source.set.fields[tokens.target()].shape.push_back(window);
  // What a row looks like is known without the files.
  source.set.known = true;
  for (uint64_t size : *sizes) {
    int64_t count = int64_t(size) / (type.getIntOrFloatBitWidth() / 8);
    if (count < window + 1)
      return source.error() << "\"" << source.set.file << "\" has " << count
                            << " tokens, expected at least " << window + 1
                            << ": a window and the token behind it";
    source.set.rows = std::max<int64_t>(source.set.rows, 0) + (count - window - 1) / stride + 1;
  }
  return success();
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
  auto counts = look(source, records.path(),
                     [&](StringRef path) { return countRecords(path, source.skipsBadRows); });
  if (failed(counts))
    return failure();
  if (!counts->empty())
    set.rows = std::accumulate(counts->begin(), counts->end(), int64_t(0));
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
  case spec::Source::kTokens:
    return describeTokens(look, source.tokens());
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
  case spec::Source::kTokens:
    return source.tokens().rows();
  case spec::Source::KIND_NOT_SET:
    break;
  }
  llvm_unreachable("checked when the spec was read");
}
