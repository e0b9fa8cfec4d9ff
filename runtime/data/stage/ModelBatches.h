// Maps by models behind batch: run once a batch, over all its rows.
#ifndef RUNTIME_DATA_MODELBATCHES_H
#define RUNTIME_DATA_MODELBATCHES_H

#include "runtime/data/Stages.h"
#include "runtime/data/transform/MapModel.h"

namespace gradc::runtime {

struct ModelBatches {
  struct Step {
    std::shared_ptr<const MapModel> whole, tail; ///< for a smaller last batch; null: there is none
    std::vector<size_t> inputs, outputs;         ///< fields of the batch
    size_t slots;                                ///< the first of two: of whole, of tail
    uint32_t stage;                              ///< that it is metered as
  };
  std::vector<Step> steps; ///< in their order
  uint64_t seed = 0;

  Status apply(Batch &batch, RowList rows, Scratch &scratch) const;
};

/// What batches hold: the demands' fields, then those that only models behind batch read or hand
/// on.
struct BatchLayout {
  static constexpr size_t made = SIZE_MAX;
  std::vector<Field> fields;
  std::vector<size_t> origins; ///< fields of the table, or `made` by a model behind batch
  ModelBatches models;
};
Result<BatchLayout> planBatches(const DataContext &context, Pipeline &pipeline, int64_t batch);

/// Fails where a field is not what the model asks for.
Status checkDemand(const Demand &demand, const Field &field, const std::string &where);

} // namespace gradc::runtime

#endif
