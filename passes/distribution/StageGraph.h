// Which stage of a pipeline runs each op of a training step, and what stages send each other.
#ifndef PASSES_DISTRIBUTION_STAGEGRAPH_H
#define PASSES_DISTRIBUTION_STAGEGRAPH_H

#include "dialects/grad/Grad.h"
#include "passes/distribution/Stages.h"
#include "passes/entry/Extents.h"

namespace gradc {

/// On ops of an unrolled step: the part of the batch that they compute.
inline constexpr llvm::StringLiteral partName = "grad.part";

/// A value that one stage computes and another one needs.
struct Transfer {
  mlir::Value value;
  int64_t from, to;
  int64_t sendTurn, receiveTurn; ///< of the two stages
};

/// The ops of a step whose parts are unrolled. An op belongs to one stage, or it is shared: every
/// stage that needs its results computes them.
class StageGraph {
public:
  StageGraph(mlir::func::FuncOp unrolled, int64_t stages, int64_t parts)
      : function(unrolled), stages(stages), parts(parts), turns(stages, parts),
        included(size_t(stages)) {}

  /// Fails, with an error, if a stage would wait for a later one.
  mlir::LogicalResult run();

  bool runs(int64_t stage, mlir::Operation *op) const {
    return included[size_t(stage)].contains(op);
  }
  /// In an order in which they can be waited for; a transfer's number is its index.
  llvm::ArrayRef<Transfer> getTransfers() const { return transfers; }
  /// Whether what a stage receives may depend on what it has sent before, in the same part or
  /// outside of all parts.
  bool mayDepend(const Transfer &receive, const Transfer &sent) const;
  /// Whether a stage hands what this op computes in one part on to the next part, and has it when
  /// that receives a value: a sum of gradients.
  bool isCarriedTo(const Transfer &receive, mlir::Operation *op) const;

private:
  /// Stages of ops that belong to none.
  static constexpr int64_t shared = -1, open = -2;
  struct Place {
    int64_t stage = shared, part = 0;
    bool isBackward = false;
  };

  void findOwners();
  int64_t firstTaggedUser(mlir::Value value) const;
  void place(mlir::Operation *op);
  int64_t chooseStage(mlir::Operation *op, const Place &place);
  int64_t stageOfWrite(mlir::Operation *op);
  void close(mlir::Value value, int64_t stage);
  const Place *placeOf(mlir::Value value) const;
  int64_t turnOf(mlir::Operation *op, int64_t stage) const;
  void findNeeds();
  void need(mlir::Value value, int64_t stage, int64_t turn);
  mlir::LogicalResult orderTransfers();

  mlir::func::FuncOp function;
  int64_t stages, parts;
  PipelineTurns turns;
  llvm::DenseMap<mlir::Operation *, Place> places;
  llvm::DenseMap<mlir::Operation *, size_t> positions;
  llvm::DenseMap<mlir::Attribute, int64_t> owners;         ///< of states
  std::vector<llvm::DenseSet<mlir::Operation *>> included; ///< by stage
  std::vector<std::pair<mlir::Operation *, int64_t>> work;
  llvm::MapVector<std::pair<mlir::Value, int64_t>, Transfer> found; ///< by value and receiver
  std::vector<Transfer> transfers;
};

/// The extents of the values of a step, if replicas of the pipeline share its rows. The values of a
/// step without extents are whole here, and reported when its rows are bound.
ExtentAnalysis extentsOfStep(mlir::func::FuncOp unrolled);

} // namespace gradc

#endif
