// Spreads tasks over processes, so that a task that crashes is one task that fails.
#ifndef TEST_UNIT_COMPILER_WORKERS_H
#define TEST_UNIT_COMPILER_WORKERS_H

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace gradc::test {

/// The result of `task(i)` for each i below `count`; nothing if its process ended. Every task runs
/// in one of `processes` copies of this process, which takes the next one when it is done.
std::vector<std::optional<std::string>> runInProcesses(size_t count, unsigned processes,
                                                       std::function<std::string(size_t)> task);

} // namespace gradc::test

#endif
