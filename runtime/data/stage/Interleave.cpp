// Several tables as one, with rows taken from each in turn.
#include "runtime/base/Text.h"
#include "runtime/data/stage/Stages.h"

#include <algorithm>

namespace gradc::runtime {

namespace {

/// Row numbers count all rows of the first table, then all of the second, and so on. The order
/// takes `block` rows from each table in turn until all are used up.
class Interleave final : public Table {
public:
  Interleave(std::vector<std::shared_ptr<const Table>> tables, int64_t block)
      : tables(std::move(tables)), block(block) {
    for (const auto &table : this->tables) {
      begins.push_back(all);
      all += table->numbers();
      visited += table->rows();
    }
  }

  std::span<const Field> fields() const override { return tables.front()->fields(); }
  int64_t rows() const override { return visited; }
  int64_t numbers() const override { return all; }

  void order(uint64_t epoch, std::vector<int64_t> &rows) const override {
    std::vector<std::vector<int64_t>> orders(tables.size());
    for (size_t i = 0; i < tables.size(); ++i)
      tables[i]->order(epoch, orders[i]);
    rows.clear();
    for (size_t at = 0; rows.size() < size_t(visited); at += size_t(block))
      for (size_t i = 0; i < tables.size(); ++i)
        for (size_t k = at; k < std::min(at + size_t(block), orders[i].size()); ++k)
          rows.push_back(begins[i] + orders[i][k]);
  }

  Result<Value> view(size_t field, RowRef row, Scratch &scratch) const override {
    size_t table = tableOf(row.row);
    return tables[table]->view(field, {row.epoch, row.row - begins[table]}, scratch);
  }

  Status read(size_t field, RowList rows, Scratch &scratch, std::byte *out) const override {
    size_t bytes = fields()[field].bytes();
    for (size_t i = 0; i < rows.rows.size(); ++i) {
      size_t table = tableOf(rows.rows[i]);
      int64_t row = rows.rows[i] - begins[table];
      if (Status status =
              tables[table]->read(field, {rows.epoch, {&row, 1}}, scratch, out + i * bytes);
          !status.ok())
        return status;
    }
    return {};
  }

  void letGo() const override {
    for (const auto &table : tables)
      table->letGo();
  }
  std::string describeRow(int64_t row, size_t field) const override {
    size_t table = tableOf(row);
    return tables[table]->describeRow(row - begins[table], field);
  }
  std::string origin() const override {
    return text(tables.size(), " files from ", tables.front()->origin(), " on");
  }

private:
  size_t tableOf(int64_t row) const {
    return size_t(std::upper_bound(begins.begin(), begins.end(), row) - begins.begin()) - 1;
  }

  std::vector<std::shared_ptr<const Table>> tables;
  int64_t block, all = 0, visited = 0;
  std::vector<int64_t> begins; ///< first row number of each table
};

std::string fieldText(std::span<const Field> fields) {
  std::string out;
  for (const Field &field : fields)
    out += text(out.empty() ? "" : ", ", field.name, ' ', findDataType(field.dtype)->name, ' ',
                shapeText(field.shape));
  return out;
}

} // namespace

Status applyInterleave(Config source, std::vector<std::shared_ptr<const Table>> tables,
                       Pipeline &pipeline) {
  int64_t block = source.integer("interleave", 1);
  if (block < 1)
    return Status::invalid(text("interleave is ", block, ", expected 1 or more"));
  int64_t numbers = 0;
  std::string first = fieldText(tables.front()->fields());
  for (const auto &table : tables) {
    if (std::string found = fieldText(table->fields()); found != first)
      return Status::error(text(table->origin(), " has ", found, ", expected the fields of ",
                                tables.front()->origin(), ": ", first));
    pipeline.fileBegins.push_back(numbers);
    numbers += table->numbers();
  }
  if (tables.size() == 1) {
    pipeline.table = std::move(tables.front());
    pipeline.fileBegins.clear();
  } else {
    pipeline.table = std::make_shared<Interleave>(std::move(tables), block);
  }
  if (pipeline.table->rows() == 0)
    return Status::error(
        text("the data set is empty: there is no row in ", pipeline.table->origin()));
  return {};
}

} // namespace gradc::runtime
