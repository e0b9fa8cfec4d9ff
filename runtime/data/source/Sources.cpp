// Opens a source's file, and makes the table of a source that is only described.
#include "runtime/data/source/Sources.h"

#include "runtime/data/Provenance.h"

#include <numeric>

namespace gradc::runtime {

Result<OpenFile> openFile(std::string_view name, const DataContext &context) {
  auto path = context.file.empty() ? findFile(name, context.folders) : Result(context.file);
  if (!path)
    return path.status();
  auto file = MappedFile::open(*path);
  if (!file)
    return file.status();
  if (context.provenance)
    context.provenance->addFile(*path);
  return OpenFile{std::move(*path), std::move(*file)};
}

namespace {

class Described final : public Table {
public:
  Described(std::vector<Field> fields, int64_t rows, std::string origin)
      : fieldList(std::move(fields)), count(rows), from(std::move(origin)) {}

  std::span<const Field> fields() const override { return fieldList; }
  int64_t rows() const override { return count; }
  std::string origin() const override { return from; }
  void order(uint64_t, std::vector<int64_t> &rows) const override {
    rows.resize(size_t(count));
    std::iota(rows.begin(), rows.end(), 0);
  }
  Result<Value> view(size_t, RowRef, Scratch &) const override {
    return Status::error("a described row cannot be read");
  }

private:
  std::vector<Field> fieldList;
  int64_t count;
  std::string from;
};

} // namespace

std::shared_ptr<const Table> makeDescribed(std::vector<Field> fields, int64_t rows,
                                           std::string origin) {
  return std::make_shared<Described>(std::move(fields), rows, std::move(origin));
}

} // namespace gradc::runtime
