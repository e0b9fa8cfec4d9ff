// How soon the scheduler runs a thread that wakes while all CPUs are taken.
#ifndef RUNTIME_CORE_THREADSLICE_H
#define RUNTIME_CORE_THREADSLICE_H

namespace gradc::runtime {

/// For a thread that works a little and often, beside others that never sleep: the calling one's
/// time slices become as short as the kernel has them, and in return it does not wait for others'
/// slices to end (2.8 ms on two CPUs). Its share of the time, its policy and its niceness stay. No
/// effect where the kernel has one length for all (Linux before 6.12) or does not let us.
void preferShortSlices();

} // namespace gradc::runtime

#endif
