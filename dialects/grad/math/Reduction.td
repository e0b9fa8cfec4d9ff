// Reductions over a set of dims; the dims disappear from the result.
#ifndef GRAD_REDUCTION
#define GRAD_REDUCTION

include "dialects/grad/GradDialect.td"

/// An op whose results lack its `dims`.
class Grad_HasDims { code definitions = [{
    SmallVector<int64_t> $cppClass::getReducedDims() { return SmallVector<int64_t>(getDims()); }
    Operation *$cppClass::buildPermuted(OpBuilder &builder, ValueRange operands, ArrayRef<int64_t> permutation) {
      return create(builder, getLoc(), operands[0], permuteSet(getDims(), permutation));
    }
  }]; }

/// Sums and products of 16-bit floats accumulate in f32.
class Grad_ReductionOp<string mnemonic, string formula> : Grad_Op<mnemonic, [Grad_InferTypes,
    DeclareOpInterfaceMethods<ReductionOpInterface>, DeclareOpInterfaceMethods<PermuteOpInterface>], ["getFlops"]> {
  let summary = formula # " over `dims`, which disappear";
  let description = "C1: dims are sorted, distinct and in range. C2 (max, min): no reduced dim is 0.";
  let arguments = (ins Grad_NumberTensor:$operand, DenseI64ArrayAttr:$dims);
  let results = (outs Grad_NumberTensor:$result);
  let assemblyFormat = "$operand `dims` $dims attr-dict `:` type($operand)";
  let extraClassDeclaration = Grad_HighPrecision<>.declaration;
  let extraClassDefinition = Grad_HasDims<>.definitions;
}

def Grad_ReduceSumOp : Grad_ReductionOp<"reduce_sum", "the sum">;
def Grad_ReduceProdOp : Grad_ReductionOp<"reduce_prod", "the product">;
def Grad_ReduceMaxOp : Grad_ReductionOp<"reduce_max", "the maximum (NaN wins; ties share the gradient)">;
def Grad_ReduceMinOp : Grad_ReductionOp<"reduce_min", "the minimum (NaN wins; ties share the gradient)">;

def Grad_ReduceMeanOp : Grad_CompositeOp<"reduce_mean", [Grad_InferTypes,
    DeclareOpInterfaceMethods<ReductionOpInterface>, DeclareOpInterfaceMethods<PermuteOpInterface>]> {
  let summary = "the mean over `dims`, which disappear";
  let description = "16-bit floats are summed and divided in f32. C1: dims are sorted, distinct and in range.";
  let arguments = (ins Grad_FloatTensor:$operand, DenseI64ArrayAttr:$dims);
  let results = (outs Grad_FloatTensor:$result);
  let assemblyFormat = "$operand `dims` $dims attr-dict `:` type($operand)";
  let extraClassDeclaration = Grad_HighPrecision<>.declaration;
  let extraClassDefinition = Grad_HasDims<>.definitions;
}

def Grad_ArgmaxOp : Grad_Op<"argmax", [Grad_InferTypes,
    DeclareOpInterfaceMethods<ReductionOpInterface, ["isSharable"]>, DeclareOpInterfaceMethods<PermuteOpInterface>]> {
  let summary = "index of the first maximum along `dim`, which disappears, as i64 (NaN wins)";
  let description = "C1: dim is in range. C2: it is not empty.";
  let arguments = (ins Grad_NumberTensor:$operand, I64Attr:$dim);
  let results = (outs Grad_IntTensor:$result);
  let assemblyFormat = "$operand `dim` $dim attr-dict `:` type($operand)";
}

def Grad_CountOp : Grad_Op<"count", [Grad_InferTypes]> {
  let summary = "the number of elements of a slice of the operand along `dims`, as f32 (f64 of an f64 operand)";
  let description = [{
    The divisor of a mean. If the dims hold rows of the batch, the count depends on the run, and `gradc-bind-rows` computes it from
    the number of rows; otherwise it is the product of the sizes. `least`: a run with a smaller count is an error at this op's node.

    C1: dims are sorted, distinct and in range.

    Example: `%n = grad.count %x dims [0] : tensor<32x10xf32>`
  }];
  let arguments = (ins Grad_Tensor:$operand, DenseI64ArrayAttr:$dims, OptionalAttr<I64Attr>:$least);
  let results = (outs Grad_FloatScalar:$result);
  let assemblyFormat = "$operand `dims` $dims (`least` $least^)? attr-dict `:` type($operand)";
}

#endif
