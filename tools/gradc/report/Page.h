// The report: a single HTML page that needs no network.
#ifndef TOOLS_GRADC_REPORT_PAGE_H
#define TOOLS_GRADC_REPORT_PAGE_H

#include "tools/gradc/report/TrainingLog.h"

namespace gradc {

/// The output of a command with --json, and the name of its file.
using NamedJson = std::pair<std::string, nlohmann::json>;

/// `benches`: outputs of `gradc bench`. `plans`: outputs of `gradc plan`. Fails if any of them is
/// something else.
runtime::Result<std::string> reportPage(const std::vector<TrainingLog> &logs,
                                        const std::vector<NamedJson> &benches,
                                        const std::vector<NamedJson> &plans);

/// Kernels compared with the machine's limits, and the use of memory.
runtime::Result<std::string> benchSection(const std::string &name, const nlohmann::json &bench);

/// The arena of each entry, tensor by tensor.
runtime::Result<std::string> memorySection(const std::string &name, const nlohmann::json &plan);

} // namespace gradc

#endif
