// The report: one page of HTML that needs no network.
#ifndef TOOLS_GRADC_REPORT_PAGE_H
#define TOOLS_GRADC_REPORT_PAGE_H

#include "tools/gradc/report/TrainingLog.h"

namespace gradc {

/// `benches`: what `gradc bench --json` printed, with the names of the files.
/// Fails where one of them is something else.
runtime::Result<std::string>
reportPage(const std::vector<TrainingLog> &logs,
           const std::vector<std::pair<std::string, nlohmann::json>> &benches);

/// Kernels held against what the machine can do, and where the memory goes.
runtime::Result<std::string> benchSection(const std::string &name, const nlohmann::json &bench);

} // namespace gradc

#endif
