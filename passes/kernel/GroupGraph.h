// Groups of ops under construction, each a future kernel, and the paths between them.
#ifndef PASSES_KERNEL_GROUPGRAPH_H
#define PASSES_KERNEL_GROUPGRAPH_H

#include "dialects/grad/Grad.h"

#include <memory>

namespace gradc {

struct Group {
  std::vector<mlir::Operation *> ops; ///< in reverse program order
  mlir::RankedTensorType root;
  mlir::Operation *contraction = nullptr; ///< in the group, or to join after what reads it
  bool hasReduction = false;
  bool hasPads = false;
  bool closed = false;          ///< accepts no further ops
  bool joins = false;           ///< ... but slices of what is concatenated
  std::optional<int64_t> count; ///< of the tensors that it reads or writes, if known

private:
  friend class GroupGraph;
  /// More than that of every group that reads results of this one.
  int64_t height = 0;
};

/// A graph without cycles over the groups of a block. Users join before their producers.
class GroupGraph {
public:
  /// A new group without ops.
  Group *create();
  /// The group of an op; null if it has none (yet).
  Group *of(mlir::Operation *op) const { return groups.lookup(op); }
  void add(mlir::Operation *op, Group *group);
  /// Notes an op that stays outside of all groups and passes values on.
  void addView(mlir::Operation *op);
  /// Moves the ops of `from`, which stays empty.
  void merge(Group *into, Group *from);
  /// Moves an op between groups that depend on each other already.
  void move(mlir::Operation *op, Group *to);

  /// Whether a chain of users leads from one group to the other.
  bool reaches(Group *from, Group *to) const { return search({from}, to); }
  /// Whether one leads from the users of `op` that are in no group.
  bool viewsReach(mlir::Operation *op, Group *to) const;

  auto all() const { return llvm::make_pointee_range(storage); }

private:
  Group *nodeOf(mlir::Operation *op) const;
  void join(mlir::Operation *op, Group *node);
  void lift(Group *node);
  bool search(llvm::SmallVector<Group *> from, Group *to) const;

  std::vector<std::unique_ptr<Group>> storage, viewStorage;
  llvm::DenseMap<mlir::Operation *, Group *> groups, views;
};

} // namespace gradc

#endif
