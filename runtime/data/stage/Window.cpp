// Windows over successive rows, and fields of the rows behind them, which a forecast learns.
#include "runtime/base/Text.h"
#include "runtime/data/stage/Stages.h"

#include <algorithm>
#include <numeric>

namespace gradc::runtime {

namespace {

/// A field that the stage makes: `count` rows of field `field` of the input, from the window's row
/// `begin` on. A window with dilation d counts every d-th row.
struct Part {
  size_t field;
  int64_t begin, count;
};

/// Where windows begin in the input's rows. Both are empty in a description.
struct Sequence {
  std::vector<int64_t> rows; ///< of one file after those of another
  std::vector<int64_t> begins;
};

/// The epochs of the input are all alike.
class Windows final : public TableStage {
public:
  Windows(std::shared_ptr<const Table> input, std::vector<Field> fields, std::vector<Part> parts,
          int64_t dilation, int64_t count, Sequence sequence, size_t slot)
      : TableStage(std::move(input)), fieldList(std::move(fields)), parts(std::move(parts)),
        dilation(dilation), count(count), inner(std::move(sequence)), slot(slot) {}

  std::span<const Field> fields() const override { return fieldList; }
  int64_t rows() const override { return count; }
  int64_t numbers() const override { return count; }
  void order(uint64_t, std::vector<int64_t> &rows) const override {
    rows.resize(size_t(count));
    std::iota(rows.begin(), rows.end(), 0);
  }

  Result<Value> view(size_t field, RowRef row, Scratch &scratch) const override {
    const Field &made = fieldList[field];
    std::byte *out = scratch.slot(slot + field).reserve(made.bytes());
    if (Status status = readOne(field, row, scratch, out); !status.ok())
      return status;
    return Value{out, made.shape, made.bytes()};
  }

  Status read(size_t field, RowList rows, Scratch &scratch, std::byte *out) const override {
    for (int64_t row : rows.rows) {
      if (Status status = readOne(field, {rows.epoch, row}, scratch, out); !status.ok())
        return status;
      out += fieldList[field].bytes();
    }
    return {};
  }

  const std::byte *column(size_t) const override { return nullptr; }
  std::string describe(size_t field) const override { return input->describe(parts[field].field); }
  std::string describeRow(int64_t row, size_t field) const override {
    size_t before = field == noField ? noField : parts[field].field;
    return text("the window that begins at ", input->describeRow(*rowsFrom(row), before));
  }
  size_t held() const override {
    return input->held() + (inner.rows.size() + inner.begins.size()) * sizeof(int64_t);
  }

private:
  /// The input's rows from the window's first one on.
  const int64_t *rowsFrom(int64_t window) const {
    return inner.rows.data() + inner.begins[size_t(window)];
  }
  Status readOne(size_t field, RowRef row, Scratch &scratch, std::byte *out) const {
    const Part &part = parts[field];
    const int64_t *rows = rowsFrom(row.row) + part.begin * dilation;
    // Rows that follow each other are read at once.
    auto pieces = size_t(dilation == 1 ? 1 : part.count), rowsEach = size_t(part.count) / pieces;
    size_t bytes = fieldList[field].bytes() / pieces;
    for (size_t piece = 0; piece < pieces; ++piece) {
      std::span<const int64_t> next(rows + int64_t(piece) * dilation, rowsEach);
      Status status = input->read(part.field, {row.epoch, next}, scratch, out + piece * bytes);
      if (!status.ok())
        return status;
    }
    return {};
  }

  std::vector<Field> fieldList;
  std::vector<Part> parts; ///< by field
  int64_t dilation, count;
  Sequence inner;
  size_t slot; ///< of the first field
};

constexpr int64_t mostRows = int64_t(1) << 30;

/// The end of a message about a number that is not from 1 to mostRows: "expected ...".
std::string oneToMost(int64_t found) {
  return found < 1 ? std::string("1 or more") : text("at most ", mostRows);
}

/// Checks the block alone. Reports all its problems; returns the first one.
Status checkBlock(Config config, const DataContext &context) {
  Status first;
  auto wrong = [&](Config at, const auto &...parts) {
    keepFirst(first, context.wrong(at, text("window ", parts...)));
  };
  int64_t length = config.integer("length", 0);
  if (length < 1 || length > mostRows)
    wrong(config, "{ length } is ", length, ", expected ", oneToMost(length),
          length < 1 ? ": add length: 48" : "");
  for (const char *name : {"stride", "dilation"})
    if (int64_t rows = config.integer(name, 1); rows < 1 || rows > mostRows)
      wrong(config, "{ ", name, " } is ", rows, ", expected ", oneToMost(rows));
  for (Config ahead : config.children("ahead")) {
    int64_t count = ahead.integer("length", 1), skip = ahead.integer("skip", 0);
    if (ahead.string("field").empty() || ahead.string("name").empty())
      wrong(ahead, "{ ahead } has no ", ahead.string("field").empty() ? "field" : "name",
            ": add field: \"values\" name: \"future\"");
    if (count < 1 || count > mostRows)
      wrong(ahead, "{ ahead { length } } is ", count, ", expected ", oneToMost(count));
    if (skip > mostRows)
      wrong(ahead, "{ ahead { skip } } is ", skip, ", expected ", oneToMost(skip));
    if (length >= 1 && skip < -length)
      wrong(ahead, "{ ahead { skip } } is ", skip, ", expected ", -length,
            " (the first row of the window) or more");
  }
  return first;
}

/// The field `before`, repeated for each row of a window.
Result<Field> widened(const Field &before, int64_t length, const DataContext &context) {
  Field field = before;
  if (field.isFixed()) {
    field.shape.insert(field.shape.begin(), length);
    return field;
  }
  if (context.problems && !context.problems->mayUse(field.name))
    return field;
  return Status::invalid(text("window reads field '", field.name, "' with shape ",
                              shapeText(field.shape),
                              ", expected rows of one size: put map { pad {} } before it"));
}

/// Finds where windows of `need` rows begin; none reaches from one file into the next. `fileBegins`
/// as in Pipeline; it becomes that of the windows.
Sequence findWindows(const Table &table, int64_t need, int64_t stride,
                     std::vector<int64_t> &fileBegins) {
  Sequence found;
  table.order(0, found.rows);
  if (!fileBegins.empty())
    std::ranges::sort(found.rows); // files are interleaved, and their rows counted file by file
  auto all = int64_t(found.rows.size());
  std::vector<int64_t> ofWindows;
  for (int64_t begin = 0, end; begin < all; begin = end) {
    auto next = std::ranges::upper_bound(fileBegins, found.rows[size_t(begin)]);
    end = next == fileBegins.end()
              ? all
              : std::ranges::lower_bound(found.rows, *next) - found.rows.begin();
    ofWindows.push_back(int64_t(found.begins.size()));
    for (int64_t at = begin; at + need <= end; at += stride)
      found.begins.push_back(at);
  }
  if (!fileBegins.empty())
    fileBegins = std::move(ofWindows);
  return found;
}

} // namespace

Status applyWindow(Config config, const DataContext &context, Pipeline &pipeline) {
  // 1. Check the block, and what precedes it.
  if (Status status = checkBlock(config, context); !status.ok())
    return status;
  if (!pipeline.scattered.empty())
    return Status::invalid(text("window takes successive rows, but comes after ",
                                pipeline.scattered,
                                ": put shuffle, repeat and sampler behind it, and divide one file "
                                "with rows { begin: 0 end: 8000 } of its source"));
  if (!pipeline.padded.empty())
    return Status::invalid(
        "window takes rows of one length, and does not go with batch { bucket }");

  // 2. Collect the fields, and the number of rows that one window needs.
  std::shared_ptr<const Table> table = pipeline.table;
  int64_t length = config.integer("length", 0), stride = config.integer("stride", 1);
  int64_t dilation = config.integer("dilation", 1), reach = length;
  std::vector<Field> fields;
  std::vector<Part> parts;
  for (const Field &before : table->fields()) {
    auto field = widened(before, length, context);
    if (!field)
      return field.status();
    parts.push_back({fields.size(), 0, length});
    fields.push_back(std::move(*field));
  }
  for (Config ahead : config.children("ahead")) {
    std::string name(ahead.string("name"));
    if (table->fields().empty())
      continue; // a description does not know them
    if (std::ranges::find(fields, name, &Field::name) != fields.end())
      return Status::invalid(
          text("window { ahead { name } } is '", name, "', expected a name that no field has"));
    auto found = findField(*table, ahead.string("field"), "window { ahead }");
    if (!found)
      return found.status();
    int64_t count = ahead.integer("length", 1), begin = length + ahead.integer("skip", 0);
    auto field = widened(table->fields()[*found], count, context);
    if (!field)
      return field.status();
    if (!ahead.child("length"))
      field->shape.erase(field->shape.begin());
    field->name = std::move(name);
    parts.push_back({*found, begin, count});
    fields.push_back(std::move(*field));
    reach = std::max(reach, begin + count);
  }
  int64_t need = (reach - 1) * dilation + 1;

  // 3. Count the windows. A description may not know the number of rows, and reads none.
  int64_t rows = table->rows();
  if (rows < need && pipeline.unknownRows.empty())
    return Status::error(text("the data set is empty: window needs ", RowCount{need}, ", but ",
                              table->origin(), " has ", RowCount{rows}));
  int64_t count = rows < need ? 1 : (rows - need) / stride + 1;
  Sequence found;
  if (!context.problems) {
    found = findWindows(*table, need, stride, pipeline.fileBegins);
    count = int64_t(found.begins.size());
  } else if (!pipeline.fileBegins.empty() && pipeline.unknownRows.empty()) {
    pipeline.unknownRows = "how many windows each file has is known when they are read";
  }
  if (count == 0)
    return Status::error(text("the data set is empty: window needs ", RowCount{need},
                              " of one file, but none of ", table->origin(), " has as many"));
  size_t slot = pipeline.newSlots(fields.size());
  pipeline.table = std::make_shared<Windows>(std::move(table), std::move(fields), std::move(parts),
                                             dilation, count, std::move(found), slot);
  return {};
}

} // namespace gradc::runtime
