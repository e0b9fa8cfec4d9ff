// Spreads tasks over processes, so that a task that crashes is one task that fails.
#ifndef TEST_UNIT_COMPILER_WORKERS_H
#define TEST_UNIT_COMPILER_WORKERS_H

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace gradc::test {

/// The result of `task(i)` for each i below `count`; nullopt if its process crashed. Tasks run in
/// `processes` copies of this process; each copy takes the next task when it is done with one.
std::vector<std::optional<std::string>> runInProcesses(size_t count, unsigned processes,
                                                       std::function<std::string(size_t)> task);

} // namespace gradc::test

#endif
