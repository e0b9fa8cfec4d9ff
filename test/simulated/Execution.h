// Executes a kernel's blocks on the CPU: one fiber a thread, with barriers, shuffles, and checks of
// what real hardware would do silently.
#ifndef TEST_SIMULATED_EXECUTION_H
#define TEST_SIMULATED_EXECUTION_H

#include <cstdint>
#include <string>

namespace gradc::simulated {

/// A kernel that the host can call: its entry takes the bytes of all parameters.
struct Kernel {
  std::string name;
  void (*entry)(const void *parameters) = nullptr;
  bool meets = false; ///< its threads meet at barriers or in shuffles
  size_t parameterBytes = 0;
};

/// In which order the threads of a block run between two meetings.
enum class Order { forward, reverse, shuffled };

struct Dims {
  unsigned x = 1, y = 1, z = 1;
};

/// Runs all blocks, one after the other. The failure, empty when there is none: what went wrong,
/// with kernel and thread.
std::string execute(const Kernel &kernel, Dims grid, Dims block, const void *parameters,
                    Order order);

/// Tells the checks where device memory is; `bytes` 0 takes it away again.
void noteMemory(const void *memory, uint64_t bytes);
/// Whether all of the bytes lie in one piece of device memory.
bool isDeviceMemory(const void *at, uint64_t bytes);

} // namespace gradc::simulated

// What kernels call in place of the GPU's own instructions.
extern "C" {
int simThread();
int simBlock();
void simBarrier();
void simWarpBarrier(int mask);
/// The value of the lane whose number differs in the bits of `distance`, as shfl.sync.bfly has it.
int simShuffle(int mask, int value, int distance, int clamp);
/// Fails where the bytes are not all in one piece of device memory. Where to go instead.
void *simGlobal(void *at, int bytes, bool writes);
/// Fails where a thread touches what another has written since the last barrier, or writes what one
/// has read.
void simShared(const void *at, int bytes, bool writes);
}

#endif
