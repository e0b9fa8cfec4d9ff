// Keeps the rows made by earlier stages in memory.
#include "runtime/base/Text.h"
#include "runtime/data/stage/CacheFile.h"
#include "runtime/data/stage/Stages.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>

namespace gradc::runtime {

namespace {

/// A value and its shape in one block of memory.
struct Entry {
  size_t bytes, rank;
  int64_t *shape() { return reinterpret_cast<int64_t *>(this + 1); }
  std::byte *data() { return reinterpret_cast<std::byte *>(shape() + rank); }
  size_t allocated() const { return sizeof *this + rank * sizeof(int64_t) + bytes; }
};

/// Each row is requested as in epoch 0, so the time of the request does not matter.
class Cache final : public TableStage {
public:
  Cache(std::shared_ptr<const Table> input, size_t most)
      : TableStage(std::move(input)), most(most),
        entries(size_t(this->input->numbers()) * fields().size()) {}
  ~Cache() override {
    for (auto &entry : entries)
      std::free(entry.load());
  }

  Result<Value> view(size_t field, RowRef row, Scratch &scratch) const override {
    std::atomic<Entry *> &place = entries[size_t(row.row) * fields().size() + field];
    if (Entry *entry = place.load(std::memory_order_acquire))
      return Value{entry->data(), {entry->shape(), entry->rank}, entry->bytes};
    auto value = input->view(field, {0, row.row}, scratch);
    if (value)
      keep(place, *value);
    return value;
  }

  Status read(size_t field, RowList rows, Scratch &scratch, std::byte *out) const override {
    return Table::read(field, rows, scratch, out);
  }
  const std::byte *column(size_t) const override { return nullptr; }
  size_t held() const override {
    return used.load() + entries.size() * sizeof(Entry *) + input->held();
  }

private:
  void keep(std::atomic<Entry *> &place, const Value &value) const {
    size_t size = Entry{value.bytes, value.shape.size()}.allocated();
    // Not allocated by `new`, which ends a program without unwinding tables.
    void *memory = used.fetch_add(size) + size > most ? nullptr : std::malloc(size);
    if (!memory) {
      used.fetch_sub(size);
      return; // the value will be made again
    }
    Entry *entry = new (memory) Entry{value.bytes, value.shape.size()};
    std::copy(value.shape.begin(), value.shape.end(), entry->shape());
    std::copy_n(value.data, value.bytes, entry->data());
    Entry *none = nullptr;
    if (!place.compare_exchange_strong(none, entry, std::memory_order_release)) {
      std::free(entry); // another thread was faster
      used.fetch_sub(size);
    }
  }

  size_t most;
  mutable std::vector<std::atomic<Entry *>> entries; ///< [row][field]
  mutable std::atomic<size_t> used{0};
};

} // namespace

Status applyCache(Config config, const DataContext &context, Pipeline &pipeline) {
  if (context.problems)
    return {}; // the fields and the number of rows stay
  if (std::string_view path = config.string("path"); !path.empty()) {
    if (!openCacheFile)
      return Status::invalid("cache { path } is unknown to this runtime");
    auto table = openCacheFile(pipeline.table, path, context);
    if (!table)
      return table.status();
    pipeline.table = std::move(*table);
    return {};
  }
  pipeline.table = std::make_shared<Cache>(pipeline.table, context.memory / 4 * 3);
  pipeline.cached = true;
  return {};
}

} // namespace gradc::runtime
