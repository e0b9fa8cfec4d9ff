// Threads run until they meet: all of a block at a barrier, the lanes of a warp in a shuffle. If no
// thread can continue, the kernel is wrong.
#include "test/simulated/Execution.h"

#include "test/simulated/Fiber.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <unordered_map>
#include <vector>
#include <xmmintrin.h>

namespace gradc::simulated {
namespace {

constexpr int warpSize = 32;

enum class State { runs, atBarrier, inShuffle, done };

struct Thread {
  int number = 0;
  State state = State::runs;
  int value = 0;        ///< that it brings to a shuffle
  uint32_t meeting = 0; ///< shuffles and warp barriers passed
};

/// The threads that accessed a word of shared memory since the last barrier.
struct Touch {
  uint32_t written = 0, read = 0; ///< epochs
  int writer = -1, reader = -1;   ///< -2: several
};

/// One launch while it runs. Kernels call back through `current`.
class Machine {
public:
  Machine(const Kernel &kernel, Dims grid, Dims block, const void *parameters, Order order)
      : kernel(kernel), grid(grid), parameters(parameters), order(order), threads(block.x) {}

  std::string run();

  // Called by the kernel's threads.
  int thread() const { return running->number; }
  int block() const { return blockNumber; }
  void barrier() { wait(State::atBarrier); }
  void warpBarrier(int mask);
  int shuffle(int mask, int value, int distance, int clamp);
  void shared(const void *at, int bytes, bool writes);
  void fail(const std::string &why);

  bool failed() const { return !failure.empty(); }

private:
  void runBlock();
  void runTogether();
  void resume(size_t i);
  bool release();
  void wait(State state);

  const Kernel &kernel;
  Dims grid;
  const void *parameters;
  Order order;
  std::vector<Thread> threads;
  int values[2][1024] = {}; ///< brought to the current and the last shuffle
  Thread *running = nullptr;
  int blockNumber = 0;
  uint32_t epoch = 1;
  std::unordered_map<uintptr_t, Touch> touched;
  std::mt19937 random{1};
  std::string failure;
};

Machine *current = nullptr;
std::map<uintptr_t, uint64_t> memory; // device memory: where, bytes
std::pair<uintptr_t, uint64_t> lastMemory;

Fiber &fiber(size_t i) {
  static std::vector<std::unique_ptr<Fiber>> fibers;
  while (fibers.size() <= i)
    fibers.push_back(std::make_unique<Fiber>());
  return *fibers[i];
}

void Machine::fail(const std::string &why) {
  if (failure.empty())
    failure = "kernel " + kernel.name + ", block " + std::to_string(blockNumber) + ", thread " +
              std::to_string(running ? running->number : 0) + ": " + why;
}

std::string Machine::run() {
  unsigned saved = _mm_getcsr();
  _mm_setcsr(0x1f80 | 0x8040); // denormals are 0, as on every target
  for (unsigned b = 0; b < grid.x && !failed(); ++b) {
    blockNumber = int(order == Order::reverse ? grid.x - 1 - b : b);
    if (kernel.meets)
      runTogether();
    else
      runBlock();
  }
  _mm_setcsr(saved);
  return failure;
}

void Machine::runBlock() {
  for (size_t i = 0; i < threads.size() && !failed(); ++i) {
    running = &threads[order == Order::reverse ? threads.size() - 1 - i : i];
    running->number = int(running - threads.data());
    kernel.entry(parameters);
  }
}

void Machine::runTogether() {
  touched.clear();
  ++epoch;
  for (size_t i = 0; i < threads.size(); ++i) {
    threads[i] = {int(i)};
    fiber(i).reset(
        [](void *machine) {
          auto *m = static_cast<Machine *>(machine);
          m->kernel.entry(m->parameters);
          m->wait(State::done);
        },
        this);
  }
  std::vector<size_t> turn(threads.size());
  for (size_t i = 0; i < turn.size(); ++i)
    turn[i] = order == Order::reverse ? turn.size() - 1 - i : i;
  auto isDone = [](const Thread &t) { return t.state == State::done; };
  while (!failed() && !std::all_of(threads.begin(), threads.end(), isDone)) {
    if (order == Order::shuffled)
      std::shuffle(turn.begin(), turn.end(), random);
    for (size_t i : turn)
      if (threads[i].state == State::runs && !failed())
        resume(i);
    if (!failed() && !release())
      fail("deadlock: some threads wait at a barrier or in a shuffle that others never reach");
  }
}

void Machine::resume(size_t i) {
  running = &threads[i];
  fiber(i).enter();
}

void Machine::wait(State state) {
  running->state = state;
  fiber(size_t(running->number)).leave();
}

/// Resumes threads that have all met. False: no thread can continue.
bool Machine::release() {
  auto all = [](auto begin, auto end, State state) {
    return std::all_of(begin, end, [=](const Thread &t) { return t.state == state; });
  };
  auto go = [](auto begin, auto end) {
    for (auto at = begin; at != end; ++at)
      at->state = State::runs;
  };
  if (all(threads.begin(), threads.end(), State::atBarrier)) {
    ++epoch;
    go(threads.begin(), threads.end());
    return true;
  }
  for (size_t w = 0; w < threads.size(); w += warpSize) {
    auto begin = threads.begin() + long(w);
    auto end = threads.begin() + long(std::min(w + warpSize, threads.size()));
    if (all(begin, end, State::inShuffle))
      go(begin, end);
  }
  bool waits = std::any_of(threads.begin(), threads.end(),
                           [](const Thread &t) { return t.state != State::done; });
  bool runs = std::any_of(threads.begin(), threads.end(),
                          [](const Thread &t) { return t.state == State::runs; });
  return runs || !waits;
}

void Machine::warpBarrier(int mask) {
  if (mask != -1)
    return fail("a warp barrier of some lanes only");
  ++running->meeting;
  wait(State::inShuffle);
}

int Machine::shuffle(int mask, int value, int distance, int clamp) {
  if (mask != -1) {
    fail("a shuffle of some lanes only");
    return value;
  }
  int self = running->number, lane = self % warpSize;
  // Two sets of values: a lane may bring its next value before another has read this one.
  int *brought = values[running->meeting++ % 2];
  brought[self] = value;
  wait(State::inShuffle);
  // The segment's mask is in bits 8 to 12, its highest lane in bits 0 to 4.
  int segment = (clamp >> 8) & 31, highest = (lane & segment) | (clamp & 31 & ~segment);
  int source = lane ^ distance;
  return source > highest ? value : brought[self - lane + source];
}

void Machine::shared(const void *at, int bytes, bool writes) {
  auto first = reinterpret_cast<uintptr_t>(at);
  for (uintptr_t word = first / 4; word <= (first + unsigned(bytes) - 1) / 4; ++word) {
    Touch &t = touched[word];
    int self = running->number;
    if (t.written == epoch && t.writer != self)
      return fail("race: it touches shared memory that thread " + std::to_string(t.writer) +
                  " has written since the last barrier");
    if (writes && t.read == epoch && t.reader != self)
      return fail("race: it writes shared memory that another thread has read since the last "
                  "barrier");
    if (writes) {
      t.written = epoch;
      t.writer = self;
    } else {
      t.reader = t.read == epoch && t.reader != self ? -2 : self;
      t.read = epoch;
    }
  }
}

} // namespace

std::string execute(const Kernel &kernel, Dims grid, Dims block, const void *parameters,
                    Order order) {
  if (grid.y * grid.z * block.y * block.z != 1 || block.x == 0 || block.x > 1024)
    return "kernel " + kernel.name +
           ": only grids and blocks of one dim are simulated, of at most "
           "1024 threads a block";
  auto machine = std::make_unique<Machine>(kernel, grid, block, parameters, order);
  current = machine.get();
  std::string failure = machine->run();
  current = nullptr;
  return failure;
}

void failKernel(const std::string &why) { current->fail(why); }

void noteMemory(const void *at, uint64_t bytes) {
  auto key = reinterpret_cast<uintptr_t>(at);
  lastMemory = {};
  if (bytes)
    memory[key] = bytes;
  else
    memory.erase(key);
}

bool isDeviceMemory(const void *at, uint64_t bytes) {
  auto first = reinterpret_cast<uintptr_t>(at);
  auto holds = [&](uintptr_t begin, uint64_t size) {
    return first >= begin && first - begin <= size && size - (first - begin) >= bytes;
  };
  if (holds(lastMemory.first, lastMemory.second))
    return true;
  auto next = memory.upper_bound(first);
  if (next == memory.begin() || !holds(std::prev(next)->first, std::prev(next)->second))
    return false;
  lastMemory = *std::prev(next);
  return true;
}

} // namespace gradc::simulated

using gradc::simulated::current;

int simThread() { return current->thread(); }
int simBlock() { return current->block(); }
void simBarrier() { current->barrier(); }
void simWarpBarrier(int mask) { current->warpBarrier(mask); }
int simShuffle(int mask, int value, int distance, int clamp) {
  return current->shuffle(mask, value, distance, clamp);
}
void simShared(const void *at, int bytes, bool writes) { current->shared(at, bytes, writes); }

void *simGlobal(void *at, int bytes, bool writes) {
  if (gradc::simulated::isDeviceMemory(at, unsigned(bytes)))
    return at;
  current->fail(std::string("out of bounds: it ") + (writes ? "writes " : "reads ") +
                std::to_string(bytes) + " bytes outside device memory");
  alignas(64) static char nowhere[256];
  return nowhere;
}
