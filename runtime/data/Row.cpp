// Scratch memory and results.
#include "runtime/data/Row.h"

#include "runtime/base/Text.h"

#include <algorithm>
#include <cstdlib>
#include <new>

namespace gradc::runtime {

void ScratchSlot::Free::operator()(std::byte *bytes) const { std::free(bytes); }

Result<std::byte *> ScratchSlot::tryReserve(size_t bytes) {
  if (bytes > capacity) {
    memory.reset(); // holding both would take twice the memory
    capacity = 0;
    // Rows differ in size: allocating a little more makes growth rare.
    size_t wanted = (bytes + bytes / 4 + 63) / 64 * 64;
    // Not allocated by `new`, which ends a program without unwinding tables.
    memory.reset(static_cast<std::byte *>(std::aligned_alloc(64, wanted)));
    if (!memory)
      return Status::error(text("takes ", bytes, " bytes of memory, which there are not"));
    capacity = wanted;
  }
  return memory.get();
}

std::byte *ScratchSlot::reserve(size_t bytes) {
  auto reserved = tryReserve(bytes);
  while (!reserved) { // as `new` does
    std::new_handler handler = std::get_new_handler();
    if (!handler)
      throw std::bad_alloc();
    handler();
    reserved = tryReserve(bytes);
  }
  return *reserved;
}

size_t Scratch::bytes() const {
  size_t sum = 0;
  for (const auto &slot : slots)
    sum += slot ? slot->reserved() : 0;
  return sum;
}

Result<std::byte *> Output::room(std::span<const int64_t> shape) {
  bool fits = shape.size() == field.shape.size();
  for (size_t i = 0; fits && i < shape.size(); ++i)
    fits = field.shape[i] == Field::varying || field.shape[i] == shape[i];
  if (!fits)
    return Status::error(
        text("has shape ", shapeText(shape), ", expected ", shapeText(field.shape)));
  if (place)
    return place;
  size_t bytes = field.elementBytes();
  for (int64_t dim : shape)
    bytes *= size_t(dim);
  slot->shape.assign(shape.begin(), shape.end());
  auto room = slot->tryReserve(std::max<size_t>(bytes, 1));
  if (room)
    result = {*room, slot->shape, bytes};
  return room;
}

} // namespace gradc::runtime
