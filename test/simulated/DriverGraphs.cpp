// Streams of the simulated driver, capture, and graphs. The names and parameters are cuda.h's.
#include "test/simulated/DriverState.h"

#include <algorithm>
#include <cstring>

using namespace gradc::simulated;

std::set<Executable *> gradc::simulated::executables;

namespace {

int captures = 0, waits = 0;

/// As CUgraphNodeParams of a conditional node.
struct ConditionalParameters {
  int type, reserved[3];
  unsigned long long handle;
  int kind; // 0: IF, 1: WHILE
  unsigned size;
  void **bodies;
  void *context;
  long long padding[25], end;
};
static_assert(sizeof(ConditionalParameters) == 256);

std::map<const Node *, void *> bodies; // what `bodies` of a node's parameters points to
/// Graphs that the caller has not destroyed. Executables hold theirs, too.
std::map<void *, std::shared_ptr<const Graph>> graphs;

void *keep(std::unique_ptr<Graph> graph) {
  Graph *kept = graph.get();
  graphs[kept] = std::move(graph);
  return kept;
}

} // namespace

int Stream::add(Node::Kind kind, Work work, const Kernel *kernel) {
  if (!capture) {
    queue.push_back(std::move(work));
    return ok;
  }
  auto node = std::make_unique<Node>();
  node->kind = kind;
  node->work = std::move(work);
  node->kernel = kernel;
  node->after = std::move(last);
  last = {capture->add(std::move(node))};
  return ok;
}

int Stream::drain() {
  int result = ok;
  for (Work &work : queue)
    if (result == ok)
      result = work();
  queue.clear();
  return result;
}

/// The nodes as predecessors; false if one is not in the graph.
static bool follow(Graph &graph, void *const *nodes, size_t count,
                   std::vector<const Node *> &after) {
  for (size_t i = 0; i < count; ++i)
    after.push_back(static_cast<const Node *>(nodes[i]));
  return std::all_of(after.begin(), after.end(), [&](auto *node) { return graph.holds(node); });
}

extern "C" {
/// How often a stream has been captured, and how often the host has waited for unfinished work:
/// only tests ask.
int gradcSimulatedCaptures() { return captures; }
int gradcSimulatedWaits() { return waits; }

int cuStreamCreate(void **stream, unsigned) {
  if (!hasContext())
    return noContext;
  streams.push_back(new Stream);
  *stream = streams.back();
  return ok;
}
int cuStreamDestroy_v2(void *stream) {
  std::erase(streams, streamOf(stream));
  delete streamOf(stream);
  return ok;
}
int cuStreamSynchronize(void *stream) {
  waits += !streamOf(stream)->queue.empty();
  return streamOf(stream)->drain();
}
int cuStreamQuery(void *stream) { return streamOf(stream)->queue.empty() ? ok : notReady; }

int cuStreamBeginCapture_v2(void *stream, int) {
  Stream &captured = *streamOf(stream);
  captured.ownCapture = std::make_unique<Graph>();
  captured.capture = captured.ownCapture.get();
  captured.last.clear();
  return ok;
}
int cuStreamBeginCaptureToGraph(void *stream, void *graph, void *const *after, const void *,
                                size_t count, int) {
  Stream &captured = *streamOf(stream);
  captured.last.clear();
  if (captured.capture || !follow(*static_cast<Graph *>(graph), after, count, captured.last))
    return invalidValue;
  captured.capture = static_cast<Graph *>(graph);
  return ok;
}
int cuStreamGetCaptureInfo_v3(void *stream, int *status, unsigned long long *id, void **graph,
                              void *const **last, const void **edges, size_t *count) {
  Stream &captured = *streamOf(stream);
  *status = captured.capture != nullptr;
  *id = 1;
  if (graph)
    *graph = captured.capture;
  *last = const_cast<void *const *>(reinterpret_cast<const void *const *>(captured.last.data()));
  *edges = nullptr;
  *count = captured.last.size();
  return ok;
}
int cuStreamEndCapture(void *stream, void **graph) {
  Stream &captured = *streamOf(stream);
  Graph *made = captured.capture;
  captured.capture = nullptr;
  std::unique_ptr<Graph> own = std::move(captured.ownCapture);
  if (!made)
    return invalidValue;
  if (!settings().captures)
    return captureUnsupported;
  *graph = own ? keep(std::move(own)) : made;
  ++captures;
  return ok;
}

int cuGraphCreate(void **graph, unsigned) {
  *graph = keep(std::make_unique<Graph>());
  return ok;
}
int cuGraphConditionalHandleCreate(unsigned long long *handle, void *graph, void *,
                                   unsigned initial, unsigned flags) {
  if (flags > 1)
    return invalidValue;
  *handle = createCondition(*static_cast<Graph *>(graph), initial, flags == 1);
  return ok;
}
int cuGraphAddNode_v2(void **node, void *graph, void *const *after, const void *, size_t count,
                      void *parameters) {
  constexpr int conditional = 13;
  auto &given = *static_cast<ConditionalParameters *>(parameters);
  auto made = std::make_unique<Node>();
  if (!hasContext())
    return noContext;
  if (given.type != conditional || given.kind > 1 || given.size != 1 || given.end ||
      std::any_of(given.padding, std::end(given.padding), [](long long p) { return p; }) ||
      !follow(*static_cast<Graph *>(graph), after, count, made->after))
    return invalidValue;
  made->kind = Node::Kind::conditional;
  made->handle = given.handle;
  made->repeats = given.kind == 1;
  made->body = std::make_unique<Graph>(static_cast<Graph *>(graph));
  bodies[made.get()] = made->body.get();
  given.bodies = &bodies[made.get()];
  *node = static_cast<Graph *>(graph)->add(std::move(made));
  return ok;
}
int cuGraphInstantiateWithFlags(void **executable, void *graph, unsigned long long) {
  auto found = graphs.find(graph);
  if (found == graphs.end())
    return invalidValue;
  if (std::string problem = found->second->problem(); !problem.empty())
    return refuse(invalidValue, problem);
  *executable = *executables.insert(new Executable{found->second}).first;
  return ok;
}
int cuGraphLaunch(void *executable, void *stream) {
  if (!hasContext())
    return noContext;
  std::shared_ptr<const Graph> graph = static_cast<Executable *>(executable)->graph;
  return streamOf(stream)->add(Node::Kind::kernel, [graph]() -> int {
    std::string failure;
    int result = graph->launch(failure);
    return failure.empty() ? result : refuse(launchFailed, failure);
  });
}
int cuGraphExecDestroy(void *executable) {
  executables.erase(static_cast<Executable *>(executable));
  delete static_cast<Executable *>(executable);
  return ok;
}
int cuGraphDestroy(void *graph) { return graphs.erase(graph) ? ok : invalidValue; }
}
