// One row on its way through the stages: where its values and results are stored.
#ifndef RUNTIME_DATA_ROW_H
#define RUNTIME_DATA_ROW_H

#include "runtime/base/Status.h"
#include "runtime/data/Field.h"
#include "runtime/data/Meter.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace gradc::runtime {

/// Rows by number, and the epoch in which they are read. A stage's result may depend on nothing
/// else.
struct RowList {
  uint64_t epoch = 0;
  std::span<const int64_t> rows;
};
struct RowRef {
  uint64_t epoch = 0;
  int64_t row = 0;
};

/// A field of one row, row-major. It is stored in the source, or in a scratch slot until the next
/// row.
struct Value {
  const std::byte *data = nullptr;
  std::span<const int64_t> shape;
  size_t bytes = 0;
};

/// Memory that a stage keeps between rows, for one thread.
class ScratchSlot {
public:
  /// Reserves this number of bytes, 64-byte aligned. The previous content is lost.
  std::byte *reserve(size_t bytes);
  /// The same for sizes that a file decides: too many bytes are an error.
  Result<std::byte *> tryReserve(size_t bytes);
  size_t reserved() const { return capacity; }

  std::vector<int64_t> shape;
  /// Other state that a stage keeps, such as a decoder or the last parsed row.
  std::shared_ptr<void> object;

private:
  struct Free {
    void operator()(std::byte *bytes) const;
  };
  std::unique_ptr<std::byte[], Free> memory;
  size_t capacity = 0;
};

/// The slots of all stages of a pipeline, for one thread. Pipeline::newSlot numbers the slots.
class Scratch {
public:
  ScratchSlot &slot(size_t number) {
    if (number >= slots.size())
      slots.resize(number + 1);
    if (!slots[number])
      slots[number] = std::make_unique<ScratchSlot>();
    return *slots[number];
  }
  /// The number of bytes in all slots.
  size_t bytes() const;
  Meter &meter() { return theMeter; }

private:
  std::vector<std::unique_ptr<ScratchSlot>> slots; // the address of a slot never changes
  Meter theMeter;
};

/// Where a transform writes the result for a row: the batch that the step reads, or a slot if
/// another stage follows or the size of results varies.
class Output {
public:
  Output(const Field &field, std::byte *place) : field(field), place(place) {}
  Output(const Field &field, ScratchSlot &slot) : field(field), slot(&slot) {}

  /// Returns memory for a result of this shape; an error if the field has another shape.
  Result<std::byte *> room(std::span<const int64_t> shape);
  Result<std::byte *> room(std::initializer_list<int64_t> shape) {
    return room(std::span<const int64_t>(shape.begin(), shape.size()));
  }
  /// The result that was written to a slot.
  Value value() const { return result; }

private:
  const Field &field;
  std::byte *place = nullptr;
  ScratchSlot *slot = nullptr;
  Value result;
};

} // namespace gradc::runtime

#endif
