// A data file that a user names beside the job, read and prepared as the job reads and prepares its
// own.
#ifndef RUNTIME_TRAIN_GIVENDATA_H
#define RUNTIME_TRAIN_GIVENDATA_H

#include "runtime/core/ConfigTree.h"
#include "runtime/core/Session.h"
#include "runtime/data/Field.h"

namespace gradc::runtime {

struct GivenData {
  ConfigTree block{"data"};
  std::string kind; ///< the source's name: "csv"
};

/// The data block for all rows of `file`, in their order, in batches of `batch` rows. It has the
/// source's settings of the job's block `like` where that is of the same kind, and those of its
/// stages that make the demanded fields and draw no random numbers. Of those that choose rows only
/// filters stay, where `filters` says so. Without a block of a job (absent) fields are cast.
Result<GivenData> dataOfFile(Config like, const std::string &file, std::span<const Demand> demands,
                             const Session *models, int64_t batch, bool filters);

} // namespace gradc::runtime

#endif
