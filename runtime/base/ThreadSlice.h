// How soon the scheduler runs a thread that wakes up while all CPUs are busy.
#ifndef RUNTIME_BASE_THREADSLICE_H
#define RUNTIME_BASE_THREADSLICE_H

namespace gradc::runtime {

/// For a thread that works briefly and often, next to threads that never sleep. Makes the calling
/// thread's time slices as short as the kernel allows; in return, the thread does not wait for the
/// end of other threads' slices (2.8 ms on two CPUs). Its share of CPU time, policy, and niceness
/// stay. No effect if the kernel has one slice length for all threads (Linux before 6.12) or
/// forbids the call.
void preferShortSlices();

} // namespace gradc::runtime

#endif
