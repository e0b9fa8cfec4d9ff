// Makes batches: on the caller's thread, or ahead of it on threads that fill the rows of several
// batches at once.
#ifndef RUNTIME_DATA_LOADER_H
#define RUNTIME_DATA_LOADER_H

#include "runtime/data/load/Autotune.h"
#include "runtime/data/load/BatchPlan.h"

namespace gradc::runtime {

struct LoaderOptions {
  Autotune::Limits limits;         ///< no depth: batches are made when they are asked for
  size_t budget = SIZE_MAX;        ///< for batches and scratch
  size_t memory = SIZE_MAX;        ///< with what the table keeps
  int heldBatches = 1;             ///< that the caller has at a time
  std::vector<std::string> stages; ///< names, by the numbers that they are metered by
  bool rowByRow = false;           ///< rather than field by field
  std::shared_ptr<const BatchStage> batchStage;                                ///< null: none
  std::shared_ptr<HostMemory> hostMemory = std::make_shared<PageableMemory>(); ///< of batches
};

/// Gives out what `rule` makes of the table's rows. The table outlives it. What batches hold does
/// not depend on the options.
std::unique_ptr<Iterator> makeLoader(const Table &table, const BatchRule &rule, int64_t rows,
                                     const LoaderOptions &options);

} // namespace gradc::runtime

#endif
