// Stored pictures, and other libraries' results for them.
#ifndef TEST_UNIT_RUNTIME_DATA_IMAGE_REFERENCES_H
#define TEST_UNIT_RUNTIME_DATA_IMAGE_REFERENCES_H

#include "runtime/data/image/Pixels.h"
#include "runtime/data/source/NpyHeader.h"

#include <span>
#include <string>
#include <vector>

namespace gradc::runtime::test {

/// The arrays of references.npz.
class References {
public:
  static const References &get();

  /// The names with this prefix, without it.
  std::vector<std::string> names(const std::string &prefix) const;
  std::span<const std::byte> bytes(const std::string &name) const;
  /// An array [H, W, C] or [H, W].
  PixelView view(const std::string &name) const;

private:
  References();
  struct Array {
    std::string name;
    NpyHeader header;
    std::span<const std::byte> data;
    std::shared_ptr<const void> owner;
  };
  const Array &find(const std::string &name) const;
  std::vector<Array> arrays;
};

/// The element at a position of a u8 or f32 view.
double valueAt(const PixelView &view, int64_t y, int64_t x, int64_t channel);

} // namespace gradc::runtime::test

#endif
