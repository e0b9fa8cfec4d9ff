// What the files of the simulated driver share: error codes, settings, and streams.
#ifndef TEST_SIMULATED_DRIVERSTATE_H
#define TEST_SIMULATED_DRIVERSTATE_H

#include "test/simulated/Graph.h"

#include <set>
#include <string>

namespace gradc::simulated {

enum Error {
  ok = 0,
  invalidValue = 1,
  outOfMemory = 2,
  invalidImage = 200,
  noContext = 201,
  notFound = 500,
  notReady = 600,
  launchFailed = 719,
  captureUnsupported = 900
};

struct Settings {
  Order order = Order::forward;
  uint64_t memory = uint64_t(8) << 30;
  int version = 13000, devices = 1, sm = 90;
  bool captures = true, loads = true, controls = true;
};

/// Read anew for each call: tests change it.
Settings settings();

/// Prints a rule that a call has broken, and keeps it for cuGetErrorString.
int refuse(Error error, const std::string &why);

struct Stream {
  std::vector<Work> queue;
  Graph *capture = nullptr;          ///< where work goes instead
  std::unique_ptr<Graph> ownCapture; ///< that `capture` is, unless it was given
  std::vector<const Node *> last;    ///< the nodes that the next one follows

  int add(Node::Kind kind, Work work, const Kernel *kernel = nullptr);
  int drain();
};
inline Stream *streamOf(void *handle) { return static_cast<Stream *>(handle); }

/// A graph that cuGraphInstantiate has accepted. It holds the graph, which may be destroyed before.
struct Executable {
  std::shared_ptr<const Graph> graph;
};

extern std::string lastFailure;
extern std::vector<Stream *> streams;
extern std::set<Executable *> executables;
/// Whether the calling thread has a current context.
bool hasContext();

} // namespace gradc::simulated

#endif
