// The part of `gradc plan` that concerns several processes.
#ifndef TOOLS_GRADC_PLAN_RANKPLANCOMMAND_H
#define TOOLS_GRADC_PLAN_RANKPLANCOMMAND_H

#include "tools/gradc/Compilation.h"

namespace gradc {

struct RankPlanArguments {
  std::vector<int64_t> ranks;
  std::string link;

  void add(CLI::App &command);
};

/// Compiles the spec, measures a step of one process, and predicts the steps of several.
int planRanks(const CompileArguments &compile, const RankPlanArguments &arguments, bool asJson);

} // namespace gradc

#endif
