// Reports from ranks to the process that started mpirun.
#ifndef RUNTIME_RANKS_LAUNCH_H
#define RUNTIME_RANKS_LAUNCH_H

#include <string>

namespace gradc::runtime {

/// Reports this rank's exit code to the launcher, if gradc started the ranks: mpirun's own exit
/// code does not carry it. `lost`: the number of lost ranks, if that is the reason. False: another
/// rank has already reported its code.
bool reportExit(int code, int lost = 0);
/// Reports that all ranks have met: from now on they detect lost ranks themselves.
void reportMeeting();
/// Reports the last checkpoint, from which --elastic continues.
void reportCheckpoint(const std::string &file);

} // namespace gradc::runtime

#endif
