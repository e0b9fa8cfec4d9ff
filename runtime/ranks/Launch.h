// The process that starts mpirun, and what ranks tell it.
#ifndef RUNTIME_RANKS_LAUNCH_H
#define RUNTIME_RANKS_LAUNCH_H

#include <string>

namespace gradc::runtime {

/// Tells this rank's exit code to the process that has started the ranks, if that was gradc's own:
/// mpirun's code does not say it. `lost`: how many ranks are, if that is why. False: another rank
/// has told its code before.
bool reportExit(int code, int lost = 0);
/// Tells it that all ranks have met: from now on they notice themselves that one is lost.
void reportMeeting();
/// Tells it the last checkpoint, from which --elastic goes on.
void reportCheckpoint(const std::string &file);

} // namespace gradc::runtime

#endif
