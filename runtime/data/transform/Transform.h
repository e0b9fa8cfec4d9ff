// The work of a `map` stage on one field of a row; one small class each.
#ifndef RUNTIME_DATA_TRANSFORM_H
#define RUNTIME_DATA_TRANSFORM_H

#include "runtime/data/Pipeline.h"
#include "runtime/data/Random.h"
#include "runtime/data/transform/TensorSteps.h"

namespace gradc::runtime {

/// Immutable: any thread may apply it.
class Transform {
public:
  explicit Transform(Field result) : result(std::move(result)) {}
  virtual ~Transform() = default;

  /// Reads a row's value and writes the result to `out.room(shape)`. `random` depends on this row,
  /// epoch and stage alone; `own` is the stage's memory on this thread. An error describes the
  /// value; the caller adds the file, the row and the field before it.
  virtual Status apply(const Value &in, Random &random, ScratchSlot &own, Output &out) const = 0;

  /// For a block of contiguous rows, if that is faster than row by row: `apply` on each, without
  /// random numbers. Returns how many rows it made; if fewer than given, the caller applies the
  /// next one by itself to get its error.
  virtual size_t applyAll(const std::byte *column, std::span<const int64_t> rows,
                          std::byte *out) const {
    return 0;
  }

  /// This transform and the following `next` as one transform, if that is faster with equal
  /// results; else null.
  virtual std::unique_ptr<const Transform> followedBy(const Transform &next) const {
    return nullptr;
  }

  /// Tells what it does to rows of the type and shape `before`.
  virtual void tell(const Field &before, TensorSteps &steps) const { steps.other(); }

  const Field result;
};

/// Makes a transform from its block, for a field of the type and shape `before`; null where the
/// field is not known yet: then the block alone is checked, and no transform made. What only the
/// run can know about rows is an error of `apply`; Status::invalid says what can never work.
using MakeTransform = Result<std::unique_ptr<const Transform>> (*)(Config config,
                                                                   const Field *before);

/// From the fields `cast`, `scale` and `offset` of the map block itself.
Result<std::unique_ptr<const Transform>> makeCast(Config config, const Field *before);

/// The numbers of standardize: (value - mean) * scale, one of each per place.
struct Standardization {
  std::vector<double> means, scales;
};
/// From what it has found: mean and deviation of each place in turn.
Standardization standardization(std::span<const double> fitted, double epsilon);

/// Knows the whole data set: finds its statistics in a pass over the rows, unless `context.state`
/// has them under `key`, and puts them there. At `noField` the block alone is checked.
constexpr size_t noField = SIZE_MAX;
Result<std::unique_ptr<const Transform>> makeStandardize(Config config, const Table &table,
                                                         size_t field, const DataContext &context,
                                                         std::string key);

// One per other kind of map block.
Result<std::unique_ptr<const Transform>> makeOneHot(Config config, const Field *before);
Result<std::unique_ptr<const Transform>> makePad(Config config, const Field *before);
Result<std::unique_ptr<const Transform>> makeTranspose(Config config, const Field *before);

/// A kind of map block: its name in specs, and its function.
struct MapKind {
  std::string_view name;
  MakeTransform make;
};
/// Those for pictures, in data/image. Null in a program whose spec has none of them.
__attribute__((weak)) std::span<const MapKind> pictureMaps();

} // namespace gradc::runtime

#endif
