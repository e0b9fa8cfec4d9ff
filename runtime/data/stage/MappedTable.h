// The table of a `map` stage: a transform for a field of every row, or one for each of several.
#ifndef RUNTIME_DATA_STAGE_MAPPEDTABLE_H
#define RUNTIME_DATA_STAGE_MAPPEDTABLE_H

#include "runtime/data/transform/Transform.h"

#include <optional>

namespace gradc::runtime {

/// A field that a map changes.
struct MappedField {
  size_t index;
  std::shared_ptr<const Transform> transform;
  size_t slot = 0;    ///< of the transform's own memory; the next one has its result
  uint32_t stage = 0; ///< whose random numbers it draws
};

class MappedTable final : public TableStage {
public:
  /// `sizes`: a slot for the size of a row's first picture, if all pictures of a row must have the
  /// same; else none.
  MappedTable(std::shared_ptr<const Table> input, std::vector<MappedField> mapped, uint64_t seed,
              std::optional<size_t> sizes);

  std::span<const Field> fields() const override { return fieldList; }
  const std::byte *column(size_t field) const override {
    return find(field) ? nullptr : input->column(field);
  }
  Result<Value> view(size_t field, RowRef row, Scratch &scratch) const override;
  Status read(size_t field, RowList rows, Scratch &scratch, std::byte *out) const override;

  /// This stage and the following transforms as one stage; null if they stay separate.
  std::shared_ptr<const Table> followedBy(std::span<const MappedField> next) const;

private:
  const MappedField *find(size_t field) const;
  Status apply(const MappedField &one, RowRef row, Scratch &scratch, Output &out) const;
  Status checkSize(const MappedField &one, const Value &in, RowRef row, Scratch &scratch) const;
  Status located(const MappedField &one, RowRef row, const Status &status) const;

  std::vector<MappedField> mapped;
  uint64_t seed;
  std::optional<size_t> sizes;
  std::vector<Field> fieldList;
};

} // namespace gradc::runtime

#endif
