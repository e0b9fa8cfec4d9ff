// Maps by models after batch: each model runs once per batch, on all its rows.
#ifndef RUNTIME_DATA_STAGE_MODELBATCHES_H
#define RUNTIME_DATA_STAGE_MODELBATCHES_H

#include "runtime/data/Pipeline.h"
#include "runtime/data/transform/MapModel.h"

namespace gradc::runtime {

struct ModelBatches {
  struct Step {
    std::shared_ptr<const MapModel> whole, tail; ///< of a smaller last batch, may be null
    std::vector<size_t> inputs, outputs;         ///< fields of the batch
    size_t slots;   ///< the first of two: of the whole batch, of the tail
    uint32_t stage; ///< that its time is counted for
  };
  std::vector<Step> steps; ///< in order
  uint64_t seed = 0;

  Status apply(Batch &batch, RowList rows, Scratch &scratch) const;
};

/// The fields of a batch: those of the demands, then those that only models after batch read or
/// pass on.
struct BatchLayout {
  static constexpr size_t made = SIZE_MAX;
  std::vector<Field> fields;
  std::vector<size_t> origins; ///< fields of the table, or `made` by a model after batch
  ModelBatches models;
};
Result<BatchLayout> planBatches(const DataContext &context, Pipeline &pipeline,
                                const BatchRule &rule);

/// Fails if a field does not have the type that the model expects.
Status checkDemand(const Demand &demand, const Field &field, const std::string &where);

} // namespace gradc::runtime

#endif
