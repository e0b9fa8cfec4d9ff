// How soon the scheduler runs a thread that wakes up while all CPUs are taken.
#ifndef RUNTIME_CORE_THREADSLICE_H
#define RUNTIME_CORE_THREADSLICE_H

namespace gradc::runtime {

/// For a thread that works a little and often beside threads that never sleep: the calling thread's
/// time slices become as short as the kernel allows, and in return it does not wait for the end of
/// others' slices (2.8 ms on two CPUs). Its share of the time, policy and niceness stay. No effect
/// if the kernel has one slice length for all (Linux before 6.12) or forbids the call.
void preferShortSlices();

} // namespace gradc::runtime

#endif
