// A data file that a user names besides the job, read and prepared like the job's own data.
#ifndef RUNTIME_TRAIN_PREDICT_GIVENDATA_H
#define RUNTIME_TRAIN_PREDICT_GIVENDATA_H

#include "runtime/core/Session.h"
#include "runtime/core/artifact/ConfigTree.h"
#include "runtime/data/Field.h"

namespace gradc::runtime {

struct GivenData {
  ConfigTree block{"data"};
  std::string kind; ///< the source's name: "csv"
};

/// The data block for all rows of `file`, in order, in batches of `batch` rows. It uses the
/// source's settings in the job's block `like` if that has the same kind, and those of its stages
/// that make the demanded fields and draw no random numbers. Of the stages that select rows, only
/// filters are kept, and only if `filters`. Without a job's block (absent), fields are cast.
Result<GivenData> dataOfFile(Config like, const std::string &file, std::span<const Demand> demands,
                             const Session *models, int64_t batch, bool filters);

} // namespace gradc::runtime

#endif
