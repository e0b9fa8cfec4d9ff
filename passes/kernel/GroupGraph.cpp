// Heights tell without a search that most groups do not reach each other; other paths are found
// breadth first, because the groups that are asked about are near each other.
#include "passes/kernel/GroupGraph.h"

using namespace mlir;
using namespace gradc;

Group *GroupGraph::create() { return storage.emplace_back(std::make_unique<Group>()).get(); }

Group *GroupGraph::nodeOf(Operation *op) const {
  Group *group = of(op);
  return group ? group : views.lookup(op);
}

void GroupGraph::add(Operation *op, Group *group) {
  groups[op] = group;
  group->count.reset();
  join(op, group);
}

void GroupGraph::addView(Operation *op) {
  Group *node = viewStorage.emplace_back(std::make_unique<Group>()).get();
  views[op] = node;
  join(op, node);
}

void GroupGraph::join(Operation *op, Group *node) {
  node->ops.push_back(op);
  int64_t before = node->height;
  for (Operation *user : op->getUsers())
    if (Group *reader = nodeOf(user); reader && reader != node)
      node->height = std::max(node->height, reader->height + 1);
  if (node->height > before)
    lift(node);
}

void GroupGraph::merge(Group *into, Group *from) {
  for (Operation *op : from->ops)
    groups[op] = into;
  into->ops.insert(into->ops.end(), from->ops.begin(), from->ops.end());
  into->contraction = into->contraction ? into->contraction : from->contraction;
  into->hasReduction |= from->hasReduction;
  into->hasPads |= from->hasPads;
  into->height = std::max(into->height, from->height);
  into->count.reset();
  from->ops.clear();
  lift(into);
}

void GroupGraph::move(Operation *op, Group *to) {
  llvm::erase(groups[op]->ops, op);
  groups[op] = to;
  to->ops.push_back(op);
}

/// Makes the producers of a node higher than it, and theirs higher than them.
void GroupGraph::lift(Group *node) {
  SmallVector<Group *> work{node};
  while (!work.empty()) {
    Group *reader = work.pop_back_val();
    for (Operation *op : reader->ops)
      for (Value operand : op->getOperands()) {
        Operation *producer = operand.getDefiningOp();
        Group *maker = producer ? nodeOf(producer) : nullptr;
        if (!maker || maker == reader || maker->height > reader->height)
          continue;
        maker->height = reader->height + 1;
        work.push_back(maker);
      }
  }
}

bool GroupGraph::viewsReach(Operation *op, Group *to) const {
  SmallVector<Group *> from;
  for (Operation *user : op->getUsers())
    if (Group *view = views.lookup(user))
      from.push_back(view);
  return search(from, to);
}

bool GroupGraph::search(SmallVector<Group *> from, Group *to) const {
  auto isLow = [&](Group *node) { return node->height <= to->height; };
  llvm::erase_if(from, isLow);
  llvm::SetVector<Group *> seen(from.begin(), from.end());
  for (size_t i = 0; i < seen.size(); ++i) {
    Group *node = seen[i]; // `seen` grows
    for (Operation *op : node->ops)
      for (Operation *user : op->getUsers()) {
        Group *reader = nodeOf(user);
        if (reader == to)
          return true;
        if (reader && !isLow(reader))
          seen.insert(reader);
      }
  }
  return false;
}
