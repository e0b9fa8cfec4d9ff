// The process that starts mpirun, and what ranks tell it.
#ifndef RUNTIME_RANKS_LAUNCH_H
#define RUNTIME_RANKS_LAUNCH_H

namespace gradc::runtime {

/// Tells a failure's exit code to the process that has started the ranks, if that was gradc's own:
/// mpirun's code does not say it.
void reportExit(int code);

} // namespace gradc::runtime

#endif
