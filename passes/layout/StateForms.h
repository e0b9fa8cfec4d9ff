// The forms in which a level stores each state: which panels, and which mirrors beside the primary.
#ifndef PASSES_LAYOUT_STATEFORMS_H
#define PASSES_LAYOUT_STATEFORMS_H

#include "dialects/exec/Level.h"
#include "dialects/grad/Grad.h"
#include "passes/layout/CopyKernel.h"

#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/StringMap.h"

namespace gradc {

/// Storage of one state: the primary first, then mirrors, some of which are narrower.
struct StateStorage {
  mlir::grad::StateOp state;
  llvm::SmallVector<CopyForm> forms;
  llvm::SmallVector<mlir::exec::BufferOp> buffers; ///< filled in once the forms are known
  bool fixed = false;       ///< the primary is row-major: something outside kernels touches it
  bool isDivided = false;   ///< ranks divide it
  bool isViewed = false;    ///< kernels read views of it
  bool isOfNibbles = false; ///< its elements fit in four bits, and all readers take those
  /// Forms that a loop or branch reads, or an entry that does not write the state.
  llvm::SmallVector<CopyForm> lasting;
};

/// 1. Each contraction asks for the panels that it reads a state in, the forward's first.
/// 2. The first form that holds all values of a state is its primary; the others are mirrors.
/// 3. A mirror that only entries read which write the state serves one run: readers pack the state
///    themselves instead.
/// 4. States that one kernel updates together are stored alike: a tile of the update then walks
///    each buffer from end to end, and ranks can divide all of them at the same places.
class StateForms {
public:
  StateForms(mlir::ModuleOp module, const mlir::SymbolTable &symbols,
             const mlir::exec::Level &level);

  llvm::MutableArrayRef<StateStorage> all() { return storages; }
  StateStorage &of(llvm::StringRef state) { return storages[index.lookup(state)]; }
  const mlir::exec::Level &getLevel() const { return level; }
  /// The panels that a launch wants an operand in, or that launches want what they read a view of;
  /// null: row-major, or not of launches.
  mlir::exec::PanelAttr wantedBy(mlir::OpOperand &use) const;
  /// The narrower element type that a launch reads a state in for other launches, if that is all it
  /// does: a mirror in that type takes its place. (On GPUs that is not measured.)
  mlir::Type narrowedState(mlir::exec::LaunchOp launch) const;

private:
  /// Finds the states that lie in nibbles.
  void markNibbles(mlir::ModuleOp module);
  /// Whether the value is such a state, or a view of one.
  bool readsNibbles(mlir::Value value) const;
  /// Whether a view of a state that no entry writes keeps the last dim, and only kernels read it:
  /// panels along that dim are panels of the view, too.
  bool showsPanels(mlir::grad::ReshapeOp view) const;
  void note(mlir::Operation *op);
  void noteLaunch(mlir::exec::LaunchOp launch);
  void noteForm(mlir::exec::LaunchOp reader, mlir::grad::ReadOp read, CopyForm form);
  void putPrimaryFirst(StateStorage &storage);
  void dropMirrorsOfOneRun(StateStorage &storage);
  void alignUpdates(mlir::exec::LaunchOp launch);

  const mlir::SymbolTable &symbols;
  const mlir::exec::Level &level;
  llvm::SmallVector<StateStorage> storages;
  llvm::StringMap<size_t> index;
  /// The states that each entry writes.
  llvm::DenseSet<std::pair<mlir::Operation *, mlir::Attribute>> written;
};

} // namespace gradc

#endif
