// Looks for bad values in the data of a job before it runs.
#ifndef TOOLS_GRADC_CHECK_DATACHECK_H
#define TOOLS_GRADC_CHECK_DATACHECK_H

#include "compiler/import/Import.h"
#include "runtime/base/Status.h"

namespace gradc {

/// Reads rows of the job's data as its run would, for about a second per block. Fails at the first
/// label or cell that the run would refuse. Adds notes to `imported`: on numbers that are not
/// finite, and on rows for which the time was too short. Left to the run are files of more than a
/// GiB (32 MiB of text, or where a stage goes through all rows first), data whose stages write
/// files or compute with models, and stages that go through all pictures or records first.
/// `folder`: what paths are relative to.
runtime::Status checkValues(Imported &imported, const std::string &folder);

} // namespace gradc

#endif
