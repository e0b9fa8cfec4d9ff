// Numbers that have not been found yet are 0, as in the artifact.
#include "runtime/core/Fitted.h"

#include "runtime/base/Text.h"
#include "runtime/core/artifact/Config.h"

#include <algorithm>
#include <vector>

namespace gradc::runtime {

std::optional<uint32_t> findNumbers(const Artifact &artifact, std::string_view name) {
  std::optional<uint32_t> found = artifact.findState(name);
  return found && artifact.states()[*found].tensor.dtype == GRADC_F64 ? found : std::nullopt;
}

/// Whether the state's numbers have been found: all are 0 as compiled.
static bool isFound(Session &session, uint32_t state) {
  std::vector<double> numbers(session.artifact().states()[state].tensor.bytes / sizeof(double));
  return session.readState(state, numbers.data()).ok() &&
         std::any_of(numbers.begin(), numbers.end(), [](double number) { return number != 0; });
}

std::string missingFitted(Session &session, const std::function<bool(uint32_t)> &isNeeded) {
  const Artifact &artifact = session.artifact();
  std::string all;
  for (Config fitted : Config::job(artifact).children("fitted")) {
    auto means = findNumbers(artifact, fitted.string("means")),
         scales = findNumbers(artifact, fitted.string("scales"));
    if (isNeeded && !(scales && isNeeded(*scales)))
      continue;
    // The scales of columns that do not vary may be 0.
    if (!means || !scales || !(isFound(session, *scales) || isFound(session, *means)))
      all += text(all.empty() ? "" : ", ", fitted.string("key"));
  }
  return all;
}

} // namespace gradc::runtime
