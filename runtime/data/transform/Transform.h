// What a `map` stage does to one field of a row; one small class each.
#ifndef RUNTIME_DATA_TRANSFORM_H
#define RUNTIME_DATA_TRANSFORM_H

#include "runtime/core/Config.h"
#include "runtime/data/Random.h"
#include "runtime/data/Row.h"

namespace gradc::runtime {

/// Immutable: any thread may apply it.
class Transform {
public:
  explicit Transform(Field result) : result(std::move(result)) {}
  virtual ~Transform() = default;

  /// Reads a row's value and writes the result to `out.room(shape)`. `random` gives numbers of this
  /// row, epoch and stage alone; `own` is the stage's memory on this thread. An error says what is
  /// wrong with the value; the file, the row and the field are put before it.
  virtual Status apply(const Value &in, Random &random, ScratchSlot &own, Output &out) const = 0;

  /// For a block of rows that lie one after the other, where that is faster than row by row:
  /// `apply` on each, without random numbers. Returns how many rows it made; fewer: the caller
  /// applies the next one by itself and so gets its error.
  virtual size_t applyAll(const std::byte *column, std::span<const int64_t> rows,
                          std::byte *out) const {
    return 0;
  }

  /// This transform and `next` behind it as one, where that is faster and gives the same; else
  /// null.
  virtual std::unique_ptr<const Transform> followedBy(const Transform &next) const {
    return nullptr;
  }

  const Field result;
};

/// Makes a transform from its block, for a field of the type and shape `before`. What only the run
/// can know about rows is an error of `apply`; Status::invalid says what can never work.
using MakeTransform = Result<std::unique_ptr<const Transform>> (*)(Config config,
                                                                   const Field &before);

/// From the fields `cast`, `scale` and `offset` of the map block itself.
Result<std::unique_ptr<const Transform>> makeCast(Config config, const Field &before);

// One a kind of map block.
Result<std::unique_ptr<const Transform>> makeOneHot(Config config, const Field &before);
Result<std::unique_ptr<const Transform>> makePad(Config config, const Field &before);
Result<std::unique_ptr<const Transform>> makeTranspose(Config config, const Field &before);
// Over pictures, in data/image.
Result<std::unique_ptr<const Transform>> makeColorJitter(Config config, const Field &before);
Result<std::unique_ptr<const Transform>> makeCrop(Config config, const Field &before);
Result<std::unique_ptr<const Transform>> makeDecode(Config config, const Field &before);
Result<std::unique_ptr<const Transform>> makeFlip(Config config, const Field &before);
Result<std::unique_ptr<const Transform>> makeNormalize(Config config, const Field &before);
Result<std::unique_ptr<const Transform>> makeRandomCrop(Config config, const Field &before);
Result<std::unique_ptr<const Transform>> makeResize(Config config, const Field &before);

} // namespace gradc::runtime

#endif
