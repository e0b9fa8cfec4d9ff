// The numbers that stages of the data find in the training rows, where the model computes with
// them: the `fitted` of the job, each with its states.
#ifndef RUNTIME_CORE_FITTED_H
#define RUNTIME_CORE_FITTED_H

#include "runtime/core/Session.h"

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace gradc::runtime {

/// The state of that name, if the artifact has it and its elements are f64.
std::optional<uint32_t> findNumbers(const Artifact &artifact, std::string_view name);

/// The stages whose numbers the session does not have yet, separated by commas; only those whose
/// state of scales is needed.
std::string missingFitted(Session &session,
                          const std::function<bool(uint32_t state)> &isNeeded = {});

} // namespace gradc::runtime

#endif
