// Finds out types, shapes and the number of rows of a data set from its files' headers.
#include "dialects/Pch.h"

#include "compiler/import/ArrayFile.h"
#include "compiler/import/OnnxModel.h"
#include "compiler/import/States.h"
#include "compiler/import/TableFile.h"
#include "compiler/import/TrainingData.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

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

static Type castType(MLIRContext &context, spec::DataType type) {
  Builder b(&context);
  switch (type) {
  case spec::F32:
    return b.getF32Type();
  case spec::F64:
    return b.getF64Type();
  case spec::I32:
    return b.getI32Type();
  case spec::I64:
    return b.getI64Type();
  }
  llvm_unreachable("the parser knows all types");
}

/// How many of `rows` rows a selection keeps.
static int64_t countRows(const spec::Rows &rows, int64_t all) {
  int64_t begin = rows.begin(), end = rows.has_end() ? std::min(rows.end(), all) : all, count = 0;
  if (!rows.has_every())
    return std::max<int64_t>(end - begin, 0);
  for (int64_t r = begin; r < end; ++r) {
    int64_t phase = r % rows.every();
    count += rows.has_only() ? phase == rows.only() : !rows.has_except() || phase != rows.except();
  }
  return count;
}

FailureOr<const FieldType *> DataSet::find(StringRef field, Location where) const {
  if (!known)
    return static_cast<const FieldType *>(nullptr);
  auto found = fields.find(field.str());
  if (found != fields.end())
    return &found->second;
  std::vector<std::string> names;
  for (auto &entry : fields)
    names.push_back(entry.first);
  return emitError(where) << "no field \"" << field << "\" in \"" << file << "\"; it has "
                          << llvm::join(names, ", ");
}

static const spec::Rows &rowsOf(const spec::Source &source) {
  switch (source.kind_case()) {
  case spec::Source::kNpz:
    return source.npz().rows();
  case spec::Source::kNpy:
    return source.npy().rows();
  case spec::Source::kCsv:
    return source.csv().rows();
  case spec::Source::kIdx:
    return source.idx().rows();
  case spec::Source::KIND_NOT_SET:
    break;
  }
  llvm_unreachable("checked when the spec was read");
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
static FailureOr<std::map<std::string, ArrayInfo>> csvFields(const SpecFile &spec,
                                                             const spec::Csv &csv,
                                                             const TableInfo &table,
                                                             ArrayRef<SpecFile::Step> source) {
  std::map<std::string, ArrayInfo> arrays;
  std::map<std::string, std::string> owner;
  bool ok = true;
  for (auto [f, field] : llvm::enumerate(csv.field())) {
    const std::string &name = field.has_name() ? field.name() : field.column(0);
    SmallVector<SpecFile::Step> place(source);
    place.append({"csv", {"field", int(f)}});
    auto problem = [&] {
      ok = false;
      return emitError(spec.at(place));
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

FailureOr<DataSet> gradc::describeData(MLIRContext &context, const SpecFile &spec,
                                       const spec::Data &data, ArrayRef<SpecFile::Step> place) {
  DataSet set;
  set.place = SmallVector<SpecFile::Step>(place);
  SmallVector<SpecFile::Step> sourcePlace(place);
  sourcePlace.push_back("source");
  Location where = spec.at(sourcePlace);
  const spec::Rows &rows = rowsOf(data.source());
  std::map<std::string, ArrayInfo> arrays;
  auto read = [&](const std::string &name, auto reader, auto keep) -> LogicalResult {
    std::string path = spec.resolve(name);
    set.file = name;
    if (!llvm::sys::fs::exists(path))
      return failure();
    auto result = reader(path);
    if (!result)
      return emitError(where) << "cannot read the data file \"" << path
                              << "\": " << llvm::toString(result.takeError());
    keep(std::move(*result));
    set.known = true;
    return success();
  };
  if (data.source().has_npz()) {
    const std::string &path = data.source().npz().path();
    if (failed(read(path, readNpz, [&](auto all) { arrays = std::move(all); })))
      return llvm::sys::fs::exists(spec.resolve(path)) ? FailureOr<DataSet>(failure()) : set;
  }
  bool isIdx = data.source().has_idx();
  for (const spec::FileField &field :
       isIdx ? data.source().idx().field() : data.source().npy().field()) {
    if (failed(read(field.path(), isIdx ? readIdx : readNpy,
                    [&](ArrayInfo info) { arrays[field.name()] = info; })))
      if (set.known = false; llvm::sys::fs::exists(spec.resolve(field.path())))
        return failure();
    if (!set.known)
      return set;
  }

  if (data.source().has_csv()) {
    const spec::Csv &csv = data.source().csv();
    TableInfo table;
    auto reader = [&](StringRef path) { return readCsv(path, csv.delimiter()[0]); };
    if (failed(read(csv.path(), reader, [&](TableInfo found) { table = std::move(found); })))
      return llvm::sys::fs::exists(spec.resolve(csv.path())) ? FailureOr<DataSet>(failure()) : set;
    FailureOr<std::map<std::string, ArrayInfo>> fields = csvFields(spec, csv, table, sourcePlace);
    if (failed(fields))
      return failure();
    arrays = std::move(*fields);
  }

  bool ok = true;
  std::optional<std::pair<std::string, int64_t>> first;
  for (const auto &[name, info] : arrays) {
    auto problem = [&] {
      ok = false;
      return emitError(where) << "array \"" << name << "\" of \"" << set.file << "\" ";
    };
    Type element = elementOf(context, info.dtype);
    if (!element)
      problem() << "has dtype " << info.dtype << ", which is not supported";
    if (info.fortranOrder && info.shape.size() > 1)
      problem() << "is in Fortran order; save it with numpy.ascontiguousarray";
    if (info.shape.empty()) {
      problem() << "has no rows: expected a first dim";
      continue;
    }
    if (!first)
      first = {name, info.shape[0]};
    else if (first->second != info.shape[0])
      problem() << "has " << info.shape[0] << " rows, \"" << first->first << "\" has "
                << first->second;
    set.fields[name] = {element, SmallVector<int64_t>(ArrayRef(info.shape).drop_front())};
  }
  if (!first) {
    emitError(where) << "the data file \"" << set.file << "\" holds no arrays";
    return failure();
  }
  set.rows = countRows(rows, first->second);
  if (set.rows == 0) {
    emitError(where) << "the data set is empty: none of the " << first->second << " rows of \""
                     << set.file << "\" is selected";
    ok = false;
  }
  for (auto [i, map] : llvm::enumerate(data.map())) {
    SmallVector<SpecFile::Step> mapPlace(place);
    mapPlace.push_back({"map", int(i)});
    if (failed(set.find(map.field(), spec.at(mapPlace)))) {
      ok = false;
      continue;
    }
    if (map.has_cast())
      set.fields[map.field()].element = castType(context, map.cast());
  }
  if (!ok)
    return failure();
  return set;
}
