// The loops of a kernel under construction: their variables, the values computed in each loop, and
// hoisting of values into outer loops while an inner loop is open.
#ifndef COMPILER_CODEGEN_TILE_LOOPNEST_H
#define COMPILER_CODEGEN_TILE_LOOPNEST_H

#include "compiler/codegen/tile/Point.h"
#include "dialects/exec/Level.h"

#include <map>

namespace gradc::tile {

class LoopNest {
public:
  /// Builds at `builder`, which must be in the function's entry block: depth 0.
  LoopNest(mlir::OpBuilder &builder, mlir::Location location, const mlir::exec::Level &level,
           int64_t lanes);

  mlir::OpBuilder &builder;
  mlir::Location location;
  const mlir::exec::Level &level;
  const int64_t lanes;
  /// The rows of the run; null if no size depends on them.
  mlir::Value rows;

  using LoopBody = llvm::function_ref<llvm::SmallVector<mlir::Value>(LinearExpr, mlir::ValueRange)>;
  /// for (i = lower; i < upper; i++) with carried values; `body` gets i and returns the next
  /// carried values.
  llvm::SmallVector<mlir::Value> loop(mlir::Value lower, mlir::Value upper,
                                      mlir::ValueRange carried, LoopBody body);
  /// The same with constant bounds; unrolled if `unroll`.
  llvm::SmallVector<mlir::Value> loop(int64_t lower, int64_t upper, bool unroll,
                                      mlir::ValueRange carried, LoopBody body);
  /// for (i = 0; i < count; i++). Nothing is hoisted out of it.
  void again(int64_t count, llvm::function_ref<void(LinearExpr)> body);
  void again(mlir::Value count, llvm::function_ref<void(LinearExpr)> body);
  /// if (condition). Nothing is hoisted out of it.
  void when(mlir::Value condition, llvm::function_ref<void()> body);
  /// condition ? body : otherwise. Nothing is hoisted out of the body.
  llvm::SmallVector<mlir::Value> choose(mlir::Value condition, mlir::ValueRange otherwise,
                                        llvm::function_ref<llvm::SmallVector<mlir::Value>()> body);

  /// The outermost depth where all variables are known.
  unsigned depthOf(const LinearExpr &e) const;
  unsigned depthOf(const Point &p) const;
  /// Runs `emit` with the insertion point at `depth`, before the inner loops that are open.
  void atDepth(unsigned depth, llvm::function_ref<void()> emit);

  /// The cached value of `value` at `p`, empty until computed. There is one table per depth, which
  /// is dropped with its loop.
  mlir::Value &known(mlir::Value value, const Point &p);

  /// Makes a value of the current loop a variable. `uniform`: equal for all threads of a team.
  LinearExpr variable(mlir::Value value, bool uniform = false);
  /// Whether the expression or point is the same for all threads of a team.
  bool isUniform(const LinearExpr &e) const;
  bool isUniform(const Point &p) const;
  /// The expression (without lanes) as an i64.
  mlir::Value index(const LinearExpr &e);
  /// Quotient and remainder of the expression (without lanes, never negative) by a constant.
  std::pair<LinearExpr, LinearExpr> divide(const LinearExpr &e, int64_t divisor);

  mlir::Value constant(int64_t value);
  /// The address `count` elements of a type behind `base`; any count, unlike a constant index of
  /// llvm.getelementptr.
  mlir::Value addressBehind(mlir::Value base, mlir::Type element, int64_t count);
  /// The number of a dim's elements in this run: `perRow` per row or, if that is 0, `size`.
  mlir::Value extent(int64_t size, int64_t perRow);
  mlir::VectorType vectorOf(mlir::Type element) const;
  /// The scalar in every lane; vectors stay.
  mlir::Value splat(mlir::Value scalar);
  /// The scalar in each of `width` lanes; vectors stay.
  mlir::Value splat(mlir::Value scalar, int64_t width);
  /// Combines the halves of a vector, then those of the result, until one lane is left: a fixed
  /// order. Each result has half as many lanes: whole vectors that add themselves with their lanes
  /// swapped are merged with a broadcast of the result, which LLVM 22 miscompiles for 8 lanes of
  /// 64 bits (lane 0 is added to itself).
  mlir::Value combineLanes(mlir::Value vector,
                           llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)> combine);
  /// `value`, a scalar or a vector, where the condition holds; by masking, without a branch.
  mlir::Value select(mlir::Value condition, mlir::Value value, mlir::Value otherwise);
  /// True in the first `count` lanes.
  mlir::Value prefixMask(int64_t count);

private:
  struct Scope {
    mlir::Block *block;
    std::map<std::pair<const void *, Point>, mlir::Value> known;
    std::map<LinearExpr, mlir::Value> indices;
    std::map<std::pair<LinearExpr, int64_t>, std::pair<LinearExpr, LinearExpr>> quotients;
  };
  struct Variable {
    mlir::Value value;
    unsigned depth;
    bool uniform;
  };

  llvm::SmallVector<std::shared_ptr<Scope>> scopes;
  unsigned floor = 0; // nothing is hoisted above
  std::vector<Variable> variables;
  llvm::DenseMap<std::pair<mlir::Value, int64_t>, mlir::Value> splats; // by number of lanes
};

} // namespace gradc::tile

#endif
