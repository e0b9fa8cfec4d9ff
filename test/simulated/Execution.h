// Executes a kernel's blocks on the CPU: one fiber per thread, with barriers, shuffles, and checks
// for errors that real hardware would ignore.
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

/// The order in which the threads of a block run between two meetings.
enum class Order { forward, reverse, shuffled };

struct Dims {
  unsigned x = 1, y = 1, z = 1;
};

/// Runs all blocks in sequence. Returns the error with kernel and thread, or an empty
/// string.
std::string execute(const Kernel &kernel, Dims grid, Dims block, const void *parameters,
                    Order order);

/// Fails the kernel that is running.
void failKernel(const std::string &why);

/// Tells the checks where device memory is; `bytes` 0 removes it.
void noteMemory(const void *memory, uint64_t bytes);
/// Whether all of the bytes lie in one piece of device memory.
bool isDeviceMemory(const void *at, uint64_t bytes);

} // namespace gradc::simulated

// The functions that kernels call instead of the GPU's own instructions.
extern "C" {
int simThread();
int simBlock();
void simBarrier();
void simWarpBarrier(int mask);
/// The value of the lane whose number differs in the bits of `distance`, as in shfl.sync.bfly.
int simShuffle(int mask, int value, int distance, int clamp);
/// Fails if the bytes are not all in one piece of device memory. Returns the address to use
/// instead.
void *simGlobal(void *at, int bytes, bool writes);
/// Fails if a thread touches a word that another has written since the last barrier, or writes a
/// word that another has read.
void simShared(const void *at, int bytes, bool writes);
}

#endif
