// The work of a `map` stage on one field of a row; one small class per transform.
#ifndef RUNTIME_DATA_TRANSFORM_TRANSFORM_H
#define RUNTIME_DATA_TRANSFORM_TRANSFORM_H

#include "runtime/data/Pipeline.h"
#include "runtime/data/Random.h"
#include "runtime/data/transform/TensorSteps.h"

namespace gradc::runtime {

/// Immutable: any thread may apply it.
class Transform {
public:
  explicit Transform(Field result) : result(std::move(result)) {}
  virtual ~Transform() = default;

  /// Reads a row's value, and writes the result to `out.room(shape)`. `random` depends only on row,
  /// epoch, and stage; `own` is the stage's memory on this thread. An error describes the value;
  /// the caller prefixes the file, row, and field.
  virtual Status apply(const Value &in, Random &random, ScratchSlot &own, Output &out) const = 0;

  /// Applies the transform to a block of contiguous rows, without random numbers, if that is faster
  /// than row by row. Returns the number of rows done; if it is smaller than the number given, the
  /// caller applies the next row by itself to get its error.
  virtual size_t applyAll(const std::byte *column, std::span<const int64_t> rows,
                          std::byte *out) const {
    return 0;
  }

  /// This transform and the following `next` as one transform, if that is faster with equal
  /// results; otherwise null.
  virtual std::unique_ptr<const Transform> followedBy(const Transform &next) const {
    return nullptr;
  }

  /// This transform with the random numbers of the stage `stage`, also where it is joined with
  /// others: so several fields of a row draw alike. Null if it is never joined.
  virtual std::unique_ptr<const Transform> drawingFrom(uint32_t stage) const { return nullptr; }
  /// Whether random numbers decide where a picture's pixels lie.
  virtual bool movesAtRandom() const { return false; }
  /// Whether the same random numbers decide otherwise for a picture of another size.
  virtual bool drawsBySize() const { return false; }

  /// Reports the steps on rows of the type and shape `before`.
  virtual void tell(const Field &before, TensorSteps &steps) const { steps.other(); }

  const Field result;
};

/// Makes a transform from its block, for a field of the type and shape `before`. If `before` is
/// null because the field is not known yet, only the block is checked, and no transform is made.
/// Problems of rows that only the run can find are errors of `apply`; Status::invalid reports what
/// can never work.
using MakeTransform = Result<std::unique_ptr<const Transform>> (*)(Config config,
                                                                   const Field *before);

/// Uses the fields `cast`, `scale`, and `offset` of the map block itself.
Result<std::unique_ptr<const Transform>> makeCast(Config config, const Field *before);

/// The numbers of standardize: (value - mean) * scale, one pair per place.
struct Standardization {
  std::vector<double> means, scales;
};
/// Made from fitted values: mean and deviation of each place in turn.
Standardization standardization(std::span<const double> fitted, double epsilon);

/// Considers the whole data set: takes its statistics from `context.state` under `key`, or computes
/// them in a pass over the rows and stores them there. At `noField`, only the block is checked.
Result<std::unique_ptr<const Transform>> makeStandardize(Config config, const Table &table,
                                                         size_t field, const DataContext &context,
                                                         std::string key);

// One function per other kind of map block.
Result<std::unique_ptr<const Transform>> makeOneHot(Config config, const Field *before);
Result<std::unique_ptr<const Transform>> makePad(Config config, const Field *before);
Result<std::unique_ptr<const Transform>> makeTranspose(Config config, const Field *before);

/// A kind of map block: its name in specs, and its function.
struct MapKind {
  std::string_view name;
  MakeTransform make;
};
/// The kinds for pictures, in data/image. Null in a program whose spec uses none of them.
__attribute__((weak)) std::span<const MapKind> pictureMaps();

} // namespace gradc::runtime

#endif
