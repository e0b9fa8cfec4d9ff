// Assigns every value of a function a place, and orders the nodes.
#ifndef PASSES_MEMORY_PLACEMENT_H
#define PASSES_MEMORY_PLACEMENT_H

#include "dialects/exec/Exec.h"
#include "dialects/grad/Grad.h"
#include "dialects/grad/training/Transfer.h"
#include "passes/memory/Arena.h"

namespace gradc {

/// The place of a value: a region of the arena (`region` >= 0), whose offset is known at the end,
/// or another space.
struct Place {
  Place() = default;
  Place(mlir::exec::Space space, int64_t index, mlir::FlatSymbolRefAttr buffer = nullptr)
      : space(space), index(index), buffer(buffer) {}

  mlir::exec::Space space = mlir::exec::Space::arena;
  int64_t index = 0;
  mlir::FlatSymbolRefAttr buffer;
  int64_t region = -1;
  int64_t offset = 0;
  llvm::SmallVector<int64_t, 2> strides; ///< bytes per iteration of the loops around the reader

  bool operator==(const Place &o) const = default;
};

struct PlacedTensor {
  Place place;
  mlir::RankedTensorType type;
};

/// One node of the schedule. A launch reads its operands and writes its results; a copy (which has
/// no `op`) has one read and one write; an if reads its condition, and so does a scan that has one;
/// a collective writes the tensors that it changes; a transfer reads or writes one.
struct PlacedNode {
  PlacedNode(mlir::Operation *op, mlir::Location location) : op(op), location(location) {}

  mlir::Operation *op;
  mlir::Location location;
  llvm::SmallVector<PlacedTensor> reads, writes;
  std::vector<PlacedNode> body, otherwise;
};

class Placement {
public:
  /// `symbols`: with the kernels and buffers of the function's module.
  Placement(const mlir::SymbolTable &symbols, mlir::func::FuncOp function)
      : symbols(symbols), function(function) {}

  /// Places all values; failures are reported at the function.
  mlir::LogicalResult run();

  const std::vector<PlacedNode> &getNodes() const { return nodes; }
  int64_t getArenaBytes() const { return arena.getBytes(); }
  mlir::exec::SliceAttr sliceOf(mlir::Value value) const { return sliceOf(tensorOf(value)); }
  mlir::exec::SliceAttr sliceOf(const PlacedTensor &tensor) const;

private:
  using Nodes = std::vector<PlacedNode>;

  mlir::LogicalResult placeBlock(mlir::Block &block, Nodes &into);
  void placeLaunch(mlir::exec::LaunchOp launch, Nodes &into);
  void placePatch(mlir::exec::LaunchOp launch, mlir::exec::PatchAttr patch, Nodes &into);
  mlir::LogicalResult placeIf(mlir::grad::IfOp branch, Nodes &into);
  mlir::LogicalResult placeBranch(mlir::grad::IfOp branch, mlir::Block &block, Nodes &into);
  mlir::LogicalResult placeScan(mlir::grad::ScanOp scan, Nodes &into);
  void placeCollective(mlir::Operation *op, Nodes &into);
  void placeTransfer(mlir::Operation *op, const mlir::grad::TransferHalf &transfer, Nodes &into);
  void placeArguments(mlir::grad::ScanOp scan);
  void copyYielded(mlir::grad::ScanOp scan, Nodes &into);
  void findOutputs();

  Place placeResult(mlir::exec::LaunchOp launch, mlir::OpResult result);
  Place placeFor(mlir::OpResult result);
  std::optional<Place> placeAtYield(mlir::exec::LaunchOp launch, mlir::OpResult result);
  std::optional<Place> placeOverOperand(mlir::exec::LaunchOp launch, unsigned result);
  Place newRegion(int64_t bytes);
  /// Gives a value its place; only once.
  void setPlace(mlir::Value value, const Place &place);
  bool diesAt(mlir::Value value, mlir::Operation *node) const;
  bool isLastRead(mlir::Value value, mlir::exec::LaunchOp launch, unsigned result) const;
  void copy(mlir::Location location, PlacedTensor from, PlacedTensor to, Nodes &into);
  void touch(const PlacedTensor &tensor, bool isWrite);

  mlir::exec::KernelOp kernelOf(mlir::exec::LaunchOp launch) const {
    return symbols.lookup<mlir::exec::KernelOp>(launch.getKernel());
  }
  PlacedTensor tensorOf(mlir::Value value) const;
  Place stepOf(const Place &stack, mlir::RankedTensorType step, mlir::grad::ScanOp scan) const;

  const mlir::SymbolTable &symbols;
  mlir::func::FuncOp function;
  Nodes nodes;
  llvm::DenseMap<mlir::Value, Place> outputs; ///< results that are computed in place of an output
  llvm::DenseMap<mlir::Value, Place> places;
  std::vector<llvm::SmallVector<mlir::Value, 1>> inRegion; ///< the values in each
  llvm::DenseSet<mlir::Operation *> placed; ///< nodes and terminators already processed
  Arena arena;
};

} // namespace gradc

#endif
