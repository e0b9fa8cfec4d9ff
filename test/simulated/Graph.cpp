// A node runs when all nodes that it follows have run. The order of independent nodes is the
// reverse of the order in which they were added, so a missing dependency shows.
#include "test/simulated/Graph.h"

#include <algorithm>
#include <optional>
#include <set>

namespace gradc::simulated {
namespace {

enum Error { ok = 0, launchFailed = 719 };

struct Condition {
  const Graph *graph;
  unsigned initial;
  bool assignsInitial;
  std::optional<unsigned> value;
};

// Never destroyed: graphs may be, later.
std::map<uint64_t, Condition> &conditions = *new std::map<uint64_t, Condition>;
uint64_t conditionCount = 0;
const Graph *running = nullptr; // the root of the graph that is being run

} // namespace

uint64_t createCondition(const Graph &graph, unsigned initial, bool assignsInitial) {
  conditions[++conditionCount] = {&graph, initial, assignsInitial, std::nullopt};
  return conditionCount;
}

Graph::~Graph() {
  std::erase_if(conditions, [&](const auto &c) { return c.second.graph == this; });
}

bool Graph::holds(const Node *node) const {
  return std::any_of(nodes.begin(), nodes.end(), [&](const auto &n) { return n.get() == node; });
}

std::string Graph::problem() const {
  std::set<uint64_t> used;
  for (const auto &node : nodes) {
    if (parent && node->kind == Node::Kind::event)
      return "an event in the body of a conditional node";
    if (parent && node->kind == Node::Kind::pageableCopy)
      return "a copy of pageable host memory in the body of a conditional node";
    if (node->kind != Node::Kind::conditional)
      continue;
    auto condition = conditions.find(node->handle);
    if (condition == conditions.end() || condition->second.graph != this)
      return "a conditional node with a handle that was made for another graph";
    if (!used.insert(node->handle).second)
      return "two conditional nodes with one handle";
    if (std::string inside = node->body->problem(); !inside.empty())
      return inside;
  }
  for (const auto &[handle, condition] : conditions)
    if (condition.graph == this && !used.count(handle))
      return "a handle without its conditional node";
  return "";
}

void Graph::assignDefaults() const {
  for (auto &[handle, condition] : conditions)
    if (condition.graph == this && condition.assignsInitial)
      condition.value = condition.initial;
  for (const auto &node : nodes)
    if (node->body)
      node->body->assignDefaults();
}

int Graph::launch(std::string &failure) const {
  assignDefaults();
  running = this;
  int result = run(failure);
  running = nullptr;
  return result;
}

int Graph::run(std::string &failure) const {
  std::set<const Node *> done;
  while (done.size() < nodes.size()) {
    auto isReady = [&](const std::unique_ptr<Node> &node) {
      return !done.count(node.get()) &&
             std::all_of(node->after.begin(), node->after.end(),
                         [&](const Node *before) { return done.count(before); });
    };
    auto next = std::find_if(nodes.rbegin(), nodes.rend(), isReady);
    const Node &node = **next;
    int result = node.body ? runConditional(node, failure) : node.work();
    if (result != ok)
      return result;
    done.insert(&node);
  }
  return ok;
}

int Graph::runConditional(const Node &node, std::string &failure) const {
  constexpr int endless = 1 << 20;
  Condition &condition = conditions.at(node.handle);
  for (int i = 0; i < endless; ++i) {
    if (!condition.value) {
      failure = "a conditional node whose condition nobody has set";
      return launchFailed;
    }
    if (*condition.value == 0)
      return ok;
    if (int result = node.body->run(failure); result != ok || !node.repeats)
      return result;
  }
  failure = "a WHILE node that does not end";
  return launchFailed;
}

void Graph::visitKernels(const std::function<void(const Kernel &)> &visit) const {
  for (const auto &node : nodes) {
    if (node->kernel)
      visit(*node->kernel);
    if (node->body)
      node->body->visitKernels(visit);
  }
}

} // namespace gradc::simulated

void cudaGraphSetConditional(unsigned long long handle, unsigned value) {
  using namespace gradc::simulated;
  auto found = conditions.find(handle);
  if (found == conditions.end() || !running || !found->second.graph->isWithin(*running))
    return failKernel("it sets a condition of another graph");
  found->second.value = value;
}
