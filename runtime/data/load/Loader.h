// Makes batches: on the caller's thread, or in advance on threads that fill the rows of several
// batches at the same time.
#ifndef RUNTIME_DATA_LOAD_LOADER_H
#define RUNTIME_DATA_LOAD_LOADER_H

#include "runtime/data/load/Autotune.h"
#include "runtime/data/load/BatchPlan.h"

namespace gradc::runtime {

struct LoaderOptions {
  Autotune::Limits limits;         ///< no depth: batches are made when they are asked for
  size_t budget = SIZE_MAX;        ///< for batches and scratch
  size_t memory = SIZE_MAX;        ///< including the memory kept by the table
  int heldBatches = 1;             ///< that the caller has at a time
  std::vector<std::string> stages; ///< names, by stage number
  bool rowByRow = false;           ///< rather than field by field
  std::shared_ptr<const BatchStage> batchStage;                                ///< null: none
  std::shared_ptr<HostMemory> hostMemory = std::make_shared<PageableMemory>(); ///< of batches
};

/// Returns the batches that `rule` makes of the table's rows. Positions are before row `rows` of
/// their epoch. The table outlives the iterator. The options never change the batches.
std::unique_ptr<Iterator> makeLoader(const Table &table, const BatchRule &rule, int64_t rows,
                                     const LoaderOptions &options);

} // namespace gradc::runtime

#endif
