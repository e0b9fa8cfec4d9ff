// Ranks as threads of one process, for tests without MPI.
#ifndef TEST_UNIT_RUNTIME_RANKS_RUNRANKS_H
#define TEST_UNIT_RUNTIME_RANKS_RUNRANKS_H

#include "runtime/ranks/Communicator.h"
#include "runtime/ranks/Messages.h"

#include <functional>

namespace gradc::runtime::test {

/// Runs the body on a separate thread for each rank, and returns when all have ended.
void runRanks(int count, const std::function<void(Messages &)> &body);
void runRanks(int count, const std::function<void(Communicator &)> &body);
/// Ranks that sum through memory, in rings of `ringBytes` bytes.
void runSharingRanks(int count, size_t ringBytes, const std::function<void(Communicator &)> &body);

} // namespace gradc::runtime::test

#endif
