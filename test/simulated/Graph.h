// Graphs of the simulated driver: nodes in the order of their dependencies, and conditional nodes
// with the rules that the real driver states for them.
#ifndef TEST_SIMULATED_GRAPH_H
#define TEST_SIMULATED_GRAPH_H

#include "test/simulated/Execution.h"

#include <functional>
#include <map>
#include <memory>
#include <vector>

namespace gradc::simulated {

/// Returns the driver's error code, 0 on success.
using Work = std::function<int()>;

class Graph;

struct Node {
  enum class Kind { kernel, copy, pageableCopy, fill, event, conditional };
  Kind kind = Kind::kernel;
  Work work;                       ///< of every other kind than `conditional`
  const Kernel *kernel = nullptr;  ///< that the work launches
  std::vector<const Node *> after; ///< the nodes that it follows
  uint64_t handle = 0;             ///< conditional: its condition
  bool repeats = false;            ///< conditional: WHILE
  std::unique_ptr<Graph> body;     ///< conditional
};

class Graph {
public:
  /// `parent`: of a conditional node's body.
  explicit Graph(Graph *parent = nullptr) : parent(parent) {}
  Graph(const Graph &) = delete;
  ~Graph();

  Node *add(std::unique_ptr<Node> node) { return nodes.emplace_back(std::move(node)).get(); }
  bool holds(const Node *node) const;
  /// The reason why a driver would refuse the graph; "" if it would not.
  std::string problem() const;
  /// Runs all nodes, of those whose predecessors have run the one added last.
  int run(std::string &failure) const;
  /// As the first launch of an executable graph: sets conditions to their defaults.
  int launch(std::string &failure) const;
  void visitKernels(const std::function<void(const Kernel &)> &visit) const;
  /// Whether it is `root`, or a body in it at any depth.
  bool isWithin(const Graph &root) const {
    return this == &root || (parent && parent->isWithin(root));
  }

private:
  void assignDefaults() const;
  int runConditional(const Node &node, std::string &failure) const;

  Graph *parent;
  std::vector<std::unique_ptr<Node>> nodes;
};

/// A condition for a node of `graph`.
uint64_t createCondition(const Graph &graph, unsigned initial, bool assignsInitial);

} // namespace gradc::simulated

extern "C" {
/// The function of NVIDIA's device runtime. Fails if the handle is none of the running graph.
void cudaGraphSetConditional(unsigned long long handle, unsigned value);
}

#endif
