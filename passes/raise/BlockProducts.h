// Products with a matrix of codes with a scale for each block along the sum.
#ifndef PASSES_RAISE_BLOCKPRODUCTS_H
#define PASSES_RAISE_BLOCKPRODUCTS_H

#include "passes/raise/Dequantized.h"

namespace gradc {

/// Multiplies by the codes, block by block, if `op` is such a product of floats and its rhs. For
/// more rows, the matrix is dequantized block by block. Other ops
/// stay as they are.
void multiplyByBlocks(mlir::OpBuilder &builder, mlir::grad::ContractionOpInterface op,
                      const DequantizedBlocks &rhs);

} // namespace gradc

#endif
