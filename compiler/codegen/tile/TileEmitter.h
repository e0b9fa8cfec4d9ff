// Computes values of a kernel's region on demand: from a result at a point of the register tile
// back to the loads, through linalg.generic ops.
#ifndef COMPILER_CODEGEN_TILE_TILEEMITTER_H
#define COMPILER_CODEGEN_TILE_TILEEMITTER_H

#include "compiler/codegen/tile/DotProducts.h"
#include "compiler/codegen/tile/Prefetcher.h"
#include "compiler/codegen/tile/SumLoops.h"
#include "compiler/codegen/tile/Window.h"
#include "passes/entry/Extents.h"

#include <set>

namespace gradc::tile {

/// One dim of an assembly's output: stride * (the domain's dim) + offset.
struct Piece {
  unsigned dim;
  int64_t stride, offset, size;
  bool isWhole;
};
/// The placement of the op's piece in its output, or none if its output map has another form.
std::optional<llvm::SmallVector<Piece>> piecesOf(mlir::linalg::GenericOp op);
/// Whether the op writes a part of its output and leaves the rest: a piece of a concatenation or a
/// pad.
bool isAssembly(mlir::linalg::GenericOp op);

/// Whether the op's body reads the operand.
bool isRead(mlir::linalg::GenericOp op, mlir::OpOperand &operand);

llvm::SmallVector<unsigned> reducedDims(mlir::linalg::GenericOp op);
/// The value that a reduction's body combines with its accumulator: every path from the yielded
/// value to an input passes through it or the accumulator. Null if it does not exist (argmax).
mlir::Value combinedValue(mlir::linalg::GenericOp op);

/// Threads that cooperate on the same results: each computes its share of a sum, then they exchange
/// their values.
class Team {
public:
  virtual ~Team() = default;
  virtual int64_t size() const = 0;
  /// The number of this thread in the team.
  virtual LinearExpr member() const = 0;
  /// Combines all members' values of each of `partials` in a fixed order; every member gets the
  /// results.
  virtual llvm::SmallVector<mlir::Value>
  combine(LoopNest &nest, llvm::ArrayRef<mlir::Value> partials,
          llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)> combine) = 0;
};

class TileEmitter {
public:
  /// Constants with several elements become globals of `module`.
  TileEmitter(LoopNest &nest, mlir::ModuleOp module) : nest(nest), module(module) {}

  /// Sets the sizes that depend on the rows of the run; by default all sizes are those of the
  /// types.
  void setExtents(ExtentAnalysis analysis) { extents = std::move(analysis); }
  /// The elements per row along a dim of the value, or in a loop of the op; 0: independent of the
  /// rows.
  int64_t perRow(mlir::Value value, int64_t dim) const;
  int64_t perRow(mlir::linalg::GenericOp op, unsigned loop);
  /// The elements per row along each dim of `root`, the type of the largest of some results.
  llvm::SmallVector<int64_t> rowsOf(mlir::RankedTensorType root, mlir::ValueRange results) const;
  /// Whether the value repeats along the dim, so that it has any extent that its reader needs.
  bool isFree(mlir::Value value, int64_t dim) const;

  /// Sets the memory of a value of the region.
  void bind(mlir::Value tensor, Memory memory) { memories[tensor] = memory; }
  /// The memory of a value that was bound.
  const Memory &memoryOf(mlir::Value tensor) const { return memories.find(tensor)->second; }

  /// Computes values that are cheaper together: all reductions under `value`, and transposed loads.
  /// Their values at the points are cached.
  void prepare(mlir::Value value, llvm::ArrayRef<Point> points);
  /// The same of several values, each at its own points: what they share is computed once.
  void prepare(llvm::ArrayRef<mlir::Value> values, llvm::ArrayRef<llvm::SmallVector<Point>> points);
  /// The value at a point: a scalar, or a vector if the point has lanes and the value depends on
  /// them.
  mlir::Value pull(mlir::Value value, const Point &point);

  /// From now on, the reduction `op` covers only [begin, end) of its first reduced dims, and adds
  /// to the content of `memory`. `steps`: of a whole block.
  void accumulate(mlir::linalg::GenericOp op, const Memory &memory,
                  llvm::ArrayRef<std::pair<LinearExpr, LinearExpr>> block, int64_t steps);

  /// Adds to `sums`, which holds elements of the scatter's result, its updates of targets at
  /// [first, last) along loop `dim`. An index chooses the targets along loop `chosen`, which may be
  /// another one. False, with nothing emitted, if the op's condition has another form, or if the
  /// rows of the run change the number of targets along `chosen`, or of those that share an index.
  bool addUpdates(mlir::linalg::GenericOp op, unsigned chosen, unsigned dim, const Memory &sums,
                  mlir::Value first, mlir::Value last);

  /// From now on, the elements of `value` that `sum` reads along a row are also stored in `memory`,
  /// where those who need them after the sum find them. `sum` has no other input. Rows that are
  /// summed element by element, since their vectors are not next to each other, are not stored.
  void keep(mlir::Value value, mlir::linalg::GenericOp sum, const Memory &memory) {
    kept = {value, sum, memory, {}};
  }
  /// Ends `keep`: what follows may sum rows again whose results are in the memory.
  void keepNoMore() { kept = {}; }

  /// From now on, a product is summed along the lanes: each result has `chains` vectors of partial
  /// sums, for any number of rows in a tile. 0: lanes run along results.
  void sumAlongLanes(int64_t chains) { laneChains = chains; }

  /// From now on the team shares every sum that all its members need; null ends this.
  void share(Team *team) { this->team = team; }

  /// Whether the value depends on a reduction to fewer dims, a statistic of its rows.
  static bool hasRowReduction(mlir::Value value);
  /// The maximum number of elements that one element under the value sums; 0 without reductions.
  static int64_t reducedElements(mlir::Value value);
  bool hasFailed() const { return failed; }

  Prefetcher prefetcher{*this};
  DotProducts dots{*this};

private:
  friend class DotProducts;
  friend class Prefetcher;

  void compute(mlir::Value value, const Point &point);
  /// The element of `value` that `keep` stored, null if it did not.
  mlir::Value loadKept(mlir::Value value, const Point &point);
  void computeGeneric(mlir::linalg::GenericOp op, mlir::OpResult result, const Point &point);
  void computeReshape(mlir::Operation *op, const Point &point);
  void computeAssembly(mlir::linalg::GenericOp op, const Point &point);
  std::optional<std::pair<const Memory *, Point>> copiedFrom(mlir::Value value, Point point);
  mlir::Value assembleVector(mlir::linalg::GenericOp op, const Point &point);
  mlir::Value isInside(llvm::ArrayRef<Piece> pieces, llvm::ArrayRef<LinearExpr> domain);
  mlir::Value lanesInside(llvm::ArrayRef<Piece> pieces, const Point &point);
  mlir::Value assembleScalar(mlir::linalg::GenericOp op, const Point &point);
  mlir::Value computeConstant(mlir::arith::ConstantOp op, const Point &point);
  void prepareOnce(mlir::Value value, llvm::ArrayRef<Point> points,
                   std::set<std::pair<const void *, Point>> &seen);

  /// Each lane computed alone.
  mlir::Value laneByLane(mlir::Type element, const Point &point,
                         llvm::function_ref<mlir::Value(const Point &)> compute);

  // Points and domains.
  /// The iteration of `op` that computes `result` at `point`; reduction dims stay 0.
  std::optional<llvm::SmallVector<LinearExpr>> domainOf(mlir::OpResult result, const Point &point);
  std::optional<Point> operandPoint(mlir::linalg::GenericOp op, mlir::OpOperand &operand,
                                    llvm::ArrayRef<LinearExpr> domain, int64_t valid);

  // Bodies.
  using BodyOperand = llvm::function_ref<mlir::Value(mlir::OpOperand &)>;
  /// The body's yielded values, as vectors if an operand or an index is one. With `fuse`, a product
  /// that is only added to the accumulator becomes one fused operation.
  llvm::SmallVector<mlir::Value> emitBody(mlir::linalg::GenericOp op,
                                          llvm::ArrayRef<LinearExpr> domain, int64_t valid,
                                          bool fuse, BodyOperand operand);
  void emitBodyOp(mlir::Operation *op, mlir::IRMapping &map);
  mlir::Value lookUp(mlir::Value value, mlir::IRMapping &map);
  mlir::Value emitExtract(mlir::tensor::ExtractOp op, llvm::ArrayRef<LinearExpr> domain,
                          mlir::IRMapping &map, int64_t valid);
  mlir::Value coordinate(const LinearExpr &e);

  // Reductions.
  /// An operand of a reduction at one of its steps, at a point of the tile: through its window if
  /// it has one.
  mlir::Value pullOperand(const WindowReads &windows, mlir::linalg::GenericOp op,
                          mlir::OpOperand &operand, size_t point, llvm::ArrayRef<LinearExpr> domain,
                          int64_t valid);
  /// Loads what several steps read together, apart from operands read through windows.
  void prepareSteps(mlir::linalg::GenericOp op, const WindowReads *windows,
                    llvm::ArrayRef<Step> steps);
  void reduce(mlir::linalg::GenericOp op, mlir::OpResult result, llvm::ArrayRef<Point> points);
  void reduceInLanes(mlir::linalg::GenericOp op, mlir::OpResult result,
                     llvm::ArrayRef<Point> points);
  /// Loops over the steps of a reduction, in blocks if it is an f32 sum that is long enough. The
  /// parameters are those of `SumLoops::cut`; `start`: the initial value of each accumulator.
  SumLoops sumLoops(mlir::linalg::GenericOp op, llvm::ArrayRef<int64_t> steps, int64_t terms,
                    llvm::ArrayRef<mlir::Value> start);
  /// The steps of the innermost loop to execute together, so that strided loads are transposed.
  int64_t stepsTogether(mlir::linalg::GenericOp op, const WindowReads &windows,
                        llvm::ArrayRef<LinearExpr> domain, const Point &point);
  /// The part of a reduction's body that computes a value.
  struct BodyPart {
    mlir::Value value;
    llvm::SmallVector<mlir::Operation *> ops;  ///< in the body's order
    llvm::SmallVector<mlir::OpOperand *> from; ///< the inputs that they read
    llvm::SmallBitVector loops;                ///< the loops that the value depends on
  };
  /// None if the value is null, or depends on the accumulator or on an element at a computed index.
  static std::optional<BodyPart> findPart(mlir::linalg::GenericOp op, mlir::Value value);
  mlir::Value emitPart(mlir::linalg::GenericOp op, const BodyPart &part,
                       llvm::ArrayRef<LinearExpr> domain);
  /// The condition under which a step of a reduction counts.
  static std::optional<BodyPart> findCondition(mlir::linalg::GenericOp op);
  void addUpdate(mlir::linalg::GenericOp op, const Memory &sums,
                 llvm::SmallVector<LinearExpr> &domain, llvm::ArrayRef<unsigned> across);
  /// Whether it holds in one lane at least, in one of the domains.
  mlir::Value holdsAnywhere(mlir::linalg::GenericOp op, const BodyPart &condition,
                            llvm::ArrayRef<llvm::SmallVector<LinearExpr>> domains);
  /// A reduction that few steps change. False for others, and where lanes run across its targets.
  bool reduceWhere(mlir::linalg::GenericOp op, mlir::OpResult result, llvm::ArrayRef<Point> points);
  /// Reduces the row of each lane with vectors along `dim`, if the points' lanes run across the
  /// rows of an input. With `sumAlongLanes`, all lanes may share another input. False, with nothing
  /// emitted, for other reductions.
  bool reduceRowOfEachLane(mlir::linalg::GenericOp op, mlir::OpResult result,
                           llvm::ArrayRef<Point> points, unsigned dim);
  /// Reduces each point with vectors along `dim`, and prefetches the rows of `next`.
  void reduceAcross(mlir::linalg::GenericOp op, mlir::OpResult result, llvm::ArrayRef<Point> points,
                    unsigned dim, mlir::Value combined, std::optional<Prefetcher::Rows> next = {});
  /// The vectors of a few of the points, `chains` each.
  llvm::SmallVector<mlir::Value> reduceTogether(mlir::linalg::GenericOp op, mlir::OpResult result,
                                                llvm::ArrayRef<Point> points, unsigned dim,
                                                int64_t chains,
                                                std::optional<Prefetcher::Rows> next);
  /// The steps [first, last) of a summed dim that are taken now: a block of it, or all of a dim of
  /// constant size.
  std::pair<LinearExpr, LinearExpr> stepsOf(mlir::linalg::GenericOp op, unsigned dim);
  LinearExpr firstStep(mlir::linalg::GenericOp op, unsigned dim);
  mlir::Value lastStep(mlir::linalg::GenericOp op, unsigned dim);
  /// One step of a sum by vectors: `valid` lanes at `first`, into a chain.
  using ReduceStep = llvm::function_ref<void(LinearExpr first, int64_t chain, int64_t valid,
                                             llvm::SmallVector<mlir::Value> &values)>;
  /// `loops`: number `depth` of them is the one over the vectors.
  llvm::SmallVector<mlir::Value> reduceRows(const SumLoops &loops, size_t depth, mlir::Value size,
                                            int64_t chains, llvm::SmallVector<mlir::Value> values,
                                            ReduceStep step);
  llvm::SmallVector<mlir::Value> reduceVectors(const SumLoops &loops, size_t depth, int64_t size,
                                               int64_t chains,
                                               llvm::SmallVector<mlir::Value> values,
                                               ReduceStep step);
  bool reduceByTeam(mlir::linalg::GenericOp op, mlir::OpResult result,
                    llvm::ArrayRef<Point> points);
  bool putRowsFirst(mlir::linalg::GenericOp op, llvm::SmallVectorImpl<unsigned> &shared);
  std::optional<unsigned> sharedVector(mlir::linalg::GenericOp op, mlir::OpResult result,
                                       const Point &point, llvm::ArrayRef<unsigned> shared);
  /// Partial results, in pairs, until one is left: a fixed order.
  mlir::Value combineTree(mlir::linalg::GenericOp op, mlir::Value combined,
                          llvm::SmallVector<mlir::Value> parts);
  /// The lanes of a vector of partial results, in a fixed order.
  mlir::Value combineLanes(mlir::linalg::GenericOp op, mlir::Value combined, mlir::Value vector);
  std::optional<unsigned> dimToVectorize(mlir::linalg::GenericOp op, mlir::OpResult result,
                                         const Point &point);
  int64_t laneCost(mlir::Value value, const Point &point);
  mlir::Value combine(mlir::linalg::GenericOp op, mlir::Value combined, mlir::Value a,
                      mlir::Value b);
  mlir::Value initial(mlir::linalg::GenericOp op, unsigned result, const Point &point);

  void fail(mlir::Operation *op, const llvm::Twine &why);

  LoopNest &nest;
  mlir::ModuleOp module;
  llvm::DenseMap<mlir::Value, Memory> memories;
  std::optional<ExtentAnalysis> extents;
  struct Accumulation {
    mlir::linalg::GenericOp op;
    Memory memory;
    llvm::SmallVector<std::pair<LinearExpr, LinearExpr>> block;
    int64_t steps = 0;
  };
  Accumulation accumulation;
  struct Kept {
    mlir::Value value;
    mlir::linalg::GenericOp sum;
    Memory memory;
    llvm::SmallVector<Point> rows; ///< that are stored
  };
  Kept kept;
  Team *team = nullptr;
  int64_t laneChains = 0; // of `sumAlongLanes`
  bool failed = false;
};

} // namespace gradc::tile

#endif
