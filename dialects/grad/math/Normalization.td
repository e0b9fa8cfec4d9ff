// Ops that normalize along dims.
#ifndef GRAD_NORMALIZATION
#define GRAD_NORMALIZATION

include "dialects/grad/GradDialect.td"

class Grad_SoftmaxLikeOp<string mnemonic, string formula>
    : Grad_CompositeOp<mnemonic, [SameOperandsAndResultType, DeclareOpInterfaceMethods<PermuteOpInterface>],
                       ["getFlops"]> {
  let summary = formula # " along `dim`, shifted by the maximum";
  let description = "C1: dim is in range. C2: it is not empty.";
  let arguments = (ins Grad_FloatTensor:$operand, I64Attr:$dim);
  let results = (outs Grad_FloatTensor:$result);
  let assemblyFormat = "$operand `dim` $dim attr-dict `:` type($operand)";
  let hasVerifier = 1;
}

def Grad_SoftmaxOp : Grad_SoftmaxLikeOp<"softmax", "e^x / sum(e^x)">;
def Grad_LogSoftmaxOp : Grad_SoftmaxLikeOp<"log_softmax", "x - ln(sum(e^x))"> {
  let extraClassDeclaration = Grad_HighPrecision<>.declaration;
}

def Grad_NormalizeOp : Grad_CompositeOp<"normalize", [Grad_InferTypes,
    DeclareOpInterfaceMethods<ReductionOpInterface>, DeclareOpInterfaceMethods<PermuteOpInterface>], ["getFlops"]> {
  let summary = "(x - mean) / sqrt(variance + epsilon) over `dims`, and the mean and the variance";
  let description = [{
    The common core of batch, layer, group and instance normalization; scale and shift are a separate multiplication and
    addition. `mean` and `variance` (biased, in two passes) lack `dims`. The gradient of `result` is
    rstd * (g - mean(g) - result * mean(g * result)). Of 16-bit floats all is computed in f32, the type of `mean` and `variance`:
    f16 has no square of 300.

    With `count`, means are over all ranks: local sums are summed over ranks and divided by `count`, the total number of elements
    per mean.
    C1: dims are sorted, distinct and in range; there is at least one, and none has size 0. C2: epsilon is not negative. C3: the count has the element type of `mean`.

    Example: `%y, %mean, %variance = grad.normalize %x dims [0, 1, 2] epsilon 1.0e-05 : tensor<8x8x32x16xf32>`
  }];
  let arguments = (ins Grad_FloatTensor:$operand, Optional<Grad_FloatScalar>:$count, DenseI64ArrayAttr:$dims,
                       F64Attr:$epsilon);
  let results = (outs Grad_FloatTensor:$result, Grad_FloatTensor:$mean, Grad_FloatTensor:$variance);
  let assemblyFormat = [{
    $operand (`of` $count^ `:` type($count))? `dims` $dims `epsilon` $epsilon attr-dict `:` type($operand)
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$operand, "::llvm::ArrayRef<int64_t>":$dims, "::llvm::APFloat":$epsilon),
                            [{ build($_builder, $_state, operand, ::mlir::Value(), dims, epsilon); }]>];
}

#endif
