// Products with a matrix of codes with a scale for each block along the sum.
#ifndef PASSES_RAISE_BLOCKPRODUCTS_H
#define PASSES_RAISE_BLOCKPRODUCTS_H

#include "passes/raise/ConstantCodes.h"

namespace gradc {

/// If `rhs` is the second factor of `op`, a product of floats, and its blocks lie along the sum,
/// multiplies by its codes, block by block, or dequantizes it block by block: for more than a few
/// rows, if codes are not constant, or also GPUs run the product. Zero points that are known are
/// subtracted at compile time. Other ops stay as they are.
void multiplyByBlocks(mlir::OpBuilder &builder, ComputedStates &computed,
                      mlir::grad::ContractionOpInterface op, const DequantizedBlocks &rhs,
                      bool forGpus);

} // namespace gradc

#endif
