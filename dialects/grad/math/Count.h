// Counts of elements, which may depend on the run, and divisions by them.
#ifndef DIALECTS_GRAD_MATH_COUNT_H
#define DIALECTS_GRAD_MATH_COUNT_H

#include "dialects/grad/Build.h"

namespace mlir::grad {

/// On a count: the node that has read a number which follows it at compile time. Where it counts
/// rows, the entry then takes no other number of them.
inline constexpr llvm::StringLiteral readByName = "grad.read_by";

/// On a count: the numbers of dims whose sizes follow it in proportion. On a count without readers:
/// the number of the dim that it counts. If the first one counts rows, the dim is one of rows.
inline constexpr llvm::StringLiteral sizesName = "grad.sizes", sizedByName = "grad.sized_by";

/// `x` times `factor` divided by the number of elements of `counted` in `dims`. The number is a
/// constant, unless the dims may hold the batch of the entry under construction. 16-bit floats are
/// multiplied in f32, as f16 has no 1 / n of a large n.
Expr overCount(Expr x, Value counted, ArrayRef<int64_t> dims, double factor = 1);

/// The sum over `dims` of a gradient that means over them repeat for each element that they count,
/// or sums and differences of such: what is repeated, times the number of elements. The rows of the
/// batch, which may be among these, are those of the means' operands; the gradient itself does not
/// show that it holds any. None: the gradient is another one.
std::optional<Expr> sumOfRepeats(Expr gradient, ArrayRef<int64_t> dims);

/// Whether the op computes a number only from the rows of the run and constants: 1 / n of a mean.
bool isCountOfRun(Operation *op);

} // namespace mlir::grad

#endif
