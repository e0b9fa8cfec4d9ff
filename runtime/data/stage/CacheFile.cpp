// The file contains the values in sequence, each preceded by its shape, then a table of their
// offsets, and a footer.
#include "runtime/data/stage/CacheFile.h"

#include "runtime/base/AtomicFile.h"
#include "runtime/base/Text.h"
#include "runtime/data/Provenance.h"
#include "runtime/data/source/MappedFile.h"
#include "runtime/data/stage/OpenCache.h"
#include "runtime/include/gradc/hash.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <limits>
#include <optional>
#include <unistd.h>
#include <utility>

namespace gradc::runtime {

namespace {

constexpr char magic[8] = {'G', 'R', 'A', 'D', 'C', 'D', 'A', 'T'};
/// Marks a row that could not be read and has no values.
constexpr uint64_t badRow = UINT64_MAX;

struct Footer {
  char magic[8];
  uint64_t version, totalBytes;
  uint64_t numbers, fields, identity; ///< rows and fields, and their types
  uint64_t index;                     ///< offset of the table of [row][field] offsets
  uint64_t indexHash;
  uint64_t stages, data; ///< what the rows were made from (Provenance.h)
};
constexpr uint64_t version = 2;

struct ValueHeader {
  uint64_t bytes, rank;
};

uint64_t identityOf(const Table &table) {
  std::string all;
  for (const Field &field : table.fields())
    all += text(field.name, ' ', int(field.dtype), ' ', shapeText(field.shape), '\n');
  return gradc_hash(all.data(), all.size());
}

/// Whether the field has values of this shape and size. Later stages go by both.
bool hasValuesOf(const Field &field, std::span<const int64_t> shape, uint64_t bytes) {
  auto isDim = [](int64_t dim, int64_t ofField) {
    return dim == ofField || ofField == Field::varying;
  };
  return std::ranges::equal(shape, field.shape, isDim) && hasBytes(field.dtype, shape, bytes);
}

/// The footer of a complete file; none if the file is another one, or the beginning of one.
std::optional<Footer> footerOf(std::span<const std::byte> bytes) {
  Footer footer;
  if (bytes.size() < sizeof footer)
    return std::nullopt;
  std::memcpy(&footer, bytes.data() + bytes.size() - sizeof footer, sizeof footer);
  bool isWhole = !std::memcmp(footer.magic, magic, sizeof magic) && footer.version == version &&
                 footer.totalBytes == bytes.size();
  return isWhole ? std::optional(footer) : std::nullopt;
}

/// Fills in what a file for the context is made from.
void describeOrigin(const DataContext &context, Footer &footer) {
  footer.stages = context.provenance ? context.provenance->stages() : 0;
  footer.data = context.provenance ? context.provenance->data() : 0;
}

/// Whether the same stages have made the file from data that have changed since.
bool isOutdated(const std::string &path, const DataContext &context) {
  auto file = MappedFile::open(path);
  auto footer = file ? footerOf((*file)->bytes()) : std::nullopt;
  Footer now;
  describeOrigin(context, now);
  return footer && footer->stages == now.stages && footer->data != now.data;
}

class CacheFile final : public TableStage {
public:
  CacheFile(std::shared_ptr<const Table> input, std::shared_ptr<const MappedFile> file,
            std::string path)
      : TableStage(std::move(input)), file(std::move(file)), path(std::move(path)) {
    auto bytes = this->file->bytes();
    Footer footer;
    std::memcpy(&footer, bytes.data() + bytes.size() - sizeof footer, sizeof footer);
    index = reinterpret_cast<const uint64_t *>(bytes.data() + footer.index);
    end = footer.index;
  }

  Result<Value> view(size_t field, RowRef row, Scratch &scratch) const override {
    uint64_t offset = index[size_t(row.row) * fields().size() + field];
    // Reports the row's error, unless the row has been repaired since.
    if (offset == badRow)
      return input->view(field, {0, row.row}, scratch);
    auto bytes = file->bytes();
    auto damaged = [&] {
      return Status::error(text("cache '", path, "' is damaged at byte ", offset));
    };
    if (offset % 8 || offset > end || end - offset < sizeof(ValueHeader))
      return damaged();
    auto *header = reinterpret_cast<const ValueHeader *>(bytes.data() + offset);
    auto *shape = reinterpret_cast<const int64_t *>(header + 1);
    uint64_t left = end - offset - sizeof *header;
    if (header->rank > 16 || header->rank * 8 > left || header->bytes > left - header->rank * 8)
      return damaged();
    Value value = {reinterpret_cast<const std::byte *>(shape + header->rank),
                   {shape, header->rank},
                   header->bytes};
    return hasValuesOf(fields()[field], value.shape, value.bytes) ? Result<Value>(value)
                                                                  : damaged();
  }
  Status read(size_t field, RowList rows, Scratch &scratch, std::byte *out) const override {
    return Table::read(field, rows, scratch, out);
  }
  const std::byte *column(size_t) const override { return nullptr; }
  void letGo() const override {
    file->letGo();
    input->letGo();
  }

private:
  std::shared_ptr<const MappedFile> file;
  std::string path;
  const uint64_t *index;
  uint64_t end;
  OpenCache open{path};
};

/// Reads all rows in the order of their numbers, and writes the file unless another process does.
Status makeFile(const Table &table, const std::string &path, const DataContext &context) {
  // Ranks and trainings that want the file wait for the one that writes it, unless a signal ends
  // the run.
  auto waiting = [&](int64_t milliseconds) {
    if (context.saysWaits && milliseconds == 1000)
      std::fprintf(stderr, "waiting for another process to write cache '%s'\n", path.c_str());
    return context.expectNoSignal("waiting for another process to write cache", path);
  };
  AtomicFile out(path, std::numeric_limits<int64_t>::max(), waiting);
  if (!out.status().ok())
    return out.status();
  if (access(path.c_str(), F_OK) == 0) {
    if (!isOutdated(path, context))
      return {};
    if (context.saysWaits)
      std::fprintf(stderr, "the data of cache '%s' have changed: it is made again\n", path.c_str());
  }
  Footer footer = {};
  std::memcpy(footer.magic, magic, sizeof magic);
  footer.version = version;
  footer.numbers = uint64_t(table.numbers());
  footer.fields = table.fields().size();
  footer.identity = identityOf(table);
  describeOrigin(context, footer);
  // 1. Find the rows that are ever visited; others need not be made.
  std::vector<int64_t> order;
  table.order(0, order);
  std::vector<bool> isVisited(footer.numbers);
  for (int64_t row : order)
    isVisited[size_t(row)] = true;

  // 2. Write the values.
  std::vector<uint64_t> index(footer.numbers * footer.fields, badRow);
  uint64_t at = 0;
  auto put = [&](const void *data, size_t size) {
    constexpr std::byte zeros[8] = {};
    out.write({static_cast<const std::byte *>(data), size});
    out.write({zeros, (8 - size % 8) % 8});
    at += (size + 7) / 8 * 8;
  };
  Scratch scratch;
  for (uint64_t row = 0; row < footer.numbers; ++row) {
    if (Status status = context.expectNoSignal("writing cache", path); !status.ok())
      return status;
    if (!out.status().ok()) // making all other rows before saying so may take hours
      return out.status();
    for (size_t field = 0; field < footer.fields && isVisited[row]; ++field) {
      auto value = table.view(field, {0, int64_t(row)}, scratch);
      if (!value)
        break; // the reader of that row receives the error
      index[row * footer.fields + field] = at;
      ValueHeader valueHeader = {value->bytes, value->shape.size()};
      put(&valueHeader, sizeof valueHeader);
      put(value->shape.data(), value->shape.size_bytes());
      put(value->data, value->bytes);
    }
    // Later runs would read the zeros from the cache, even if the file is whole again.
    if (Status whole = MappedFile::expectWhole(); !whole.ok())
      return whole;
  }
  footer.index = at;
  footer.indexHash = gradc_hash(index.data(), index.size() * sizeof(uint64_t));
  put(index.data(), index.size() * sizeof(uint64_t));
  footer.totalBytes = at + sizeof footer;
  put(&footer, sizeof footer);
  return out.commit();
}

} // namespace

Result<std::shared_ptr<const Table>> openCacheFile(std::shared_ptr<const Table> input,
                                                   std::string_view name,
                                                   const DataContext &context) {
  std::string path(name);
  if (path.front() != '/' && !context.folders.empty())
    path = joinPath(context.folders.front(), name);
  bool isThere = access(path.c_str(), F_OK) == 0, isStale = isThere && isOutdated(path, context);
  // Training and evaluation would make it in turns, at every start.
  if (isStale && OpenCache::isRead(path))
    return Status::error(
        text("cache '", path, "' is read for other data by this process; name another file"));
  if (!isThere || isStale)
    if (Status status = makeFile(*input, path, context); !status.ok())
      return status;
  auto file = MappedFile::open(path);
  if (!file)
    return file.status();
  auto refused = [&](const auto &...why) {
    return Status::error(text("cache '", path, "' ", why..., "; delete it, and it is made again"));
  };
  auto bytes = (*file)->bytes();
  auto found = footerOf(bytes);
  if (!found)
    return refused("is not a complete cache file of this version");
  Footer footer = *found, now;
  describeOrigin(context, now);
  if (footer.numbers != uint64_t(input->numbers()) || footer.fields != input->fields().size() ||
      footer.identity != identityOf(*input))
    return refused("holds ", footer.numbers, " rows of ", footer.fields, " fields, expected ",
                   input->numbers(), " rows of the ", input->fields().size(),
                   " fields that the stages before it make");
  if (footer.stages != now.stages)
    return Status::error(text("cache '", path,
                              "' was made by another source or other stages than those before it "
                              "now; delete it, and it is made again, or name another file"));
  if (footer.data != now.data)
    return Status::error(
        text("cache '", path, "' has been made of other data by another run; name another file"));
  uint64_t entries = footer.numbers * footer.fields, size = entries * sizeof(uint64_t);
  if (footer.index % 8 || footer.index > bytes.size() || bytes.size() - footer.index < size ||
      gradc_hash(bytes.data() + footer.index, size) != footer.indexHash)
    return refused("is damaged");
  return std::shared_ptr<const Table>(
      std::make_shared<CacheFile>(std::move(input), std::move(*file), path));
}

} // namespace gradc::runtime
