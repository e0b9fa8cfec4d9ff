// One row on its way through the stages: the place of values and of results.
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

/// Rows by number, and the epoch in which they are read: the only things that a stage's result may
/// depend on.
struct RowList {
  uint64_t epoch = 0;
  std::span<const int64_t> rows;
};
struct RowRef {
  uint64_t epoch = 0;
  int64_t row = 0;
};

/// A field of one row, row-major. It lies in the source, or in a scratch slot until the next row.
struct Value {
  const std::byte *data = nullptr;
  std::span<const int64_t> shape;
  size_t bytes = 0;
};

/// Memory that a stage keeps from row to row, for one thread.
class ScratchSlot {
public:
  /// Room for this many bytes, 64-byte aligned; the previous content is lost.
  std::byte *reserve(size_t bytes);
  size_t reserved() const { return capacity; }

  std::vector<int64_t> shape;
  /// Other state that a stage keeps: a decoder, the last parsed row.
  std::shared_ptr<void> object;

private:
  struct Free {
    void operator()(std::byte *bytes) const;
  };
  std::unique_ptr<std::byte[], Free> memory;
  size_t capacity = 0;
};

/// The slots of all stages of a pipeline, for one thread. Stages take their slots' numbers from
/// Pipeline::newSlot.
class Scratch {
public:
  ScratchSlot &slot(size_t number) {
    if (number >= slots.size())
      slots.resize(number + 1);
    if (!slots[number])
      slots[number] = std::make_unique<ScratchSlot>();
    return *slots[number];
  }
  /// Bytes in all slots.
  size_t bytes() const;
  Meter &meter() { return theMeter; }

private:
  std::vector<std::unique_ptr<ScratchSlot>> slots; // the address of a slot never changes
  Meter theMeter;
};

/// The place where a transform writes a row's result: the batch that the step reads, or a slot if
/// another stage follows or the result's size varies.
class Output {
public:
  Output(const Field &field, std::byte *place) : field(field), place(place) {}
  Output(const Field &field, ScratchSlot &slot) : field(field), slot(&slot) {}

  /// Room for a result of this shape; an error if the field has another one.
  Result<std::byte *> room(std::span<const int64_t> shape);
  Result<std::byte *> room(std::initializer_list<int64_t> shape) {
    return room(std::span<const int64_t>(shape.begin(), shape.size()));
  }
  /// The result written to a slot.
  Value value() const { return result; }

private:
  const Field &field;
  std::byte *place = nullptr;
  ScratchSlot *slot = nullptr;
  Value result;
};

} // namespace gradc::runtime

#endif
