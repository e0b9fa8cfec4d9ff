// Ops that several processes (ranks) compute together.
#ifndef GRAD_COLLECTIVE
#define GRAD_COLLECTIVE

include "dialects/grad/GradDialect.td"

def Grad_AllReduceOp : Op<Grad_Dialect, "all_reduce", [Pure, InferTypeOpAdaptor,
    DeclareOpInterfaceMethods<EvaluateOpInterface>, DeclareOpInterfaceMethods<GradientOpInterface>,
    DeclareOpInterfaceMethods<CostOpInterface, ["getFlops"]>, PrecisionOpInterface, OperandRoleOpInterface]> {
  let summary = "the sums of each operand over all ranks, on every rank";
  let description = [{
    Ranks run the same program, so all of them get here, in the same order. What is differentiated is the sum of the
    ranks' objectives: an operand's gradient is the sum over the ranks of its result's. Of one rank, as in
    `evaluate`, the results are the operands; the op does not fold, since the number of ranks is that of the run. Each operand is of
    one size in all ranks: none holds rows of the batch. With `bf16`, f32 values travel as bf16 and are
    summed in f32.

    C1: all operands are of one element type: f32, f64, i32 or i64. C2: there is one. C3: only f32 travels as bf16.

    Example: `%0:2 = grad.all_reduce %dw, %db bf16 : tensor<64x10xf32>, tensor<10xf32>`
  }];
  let arguments = (ins Variadic<Grad_NumberTensor>:$operands, UnitAttr:$bf16);
  let results = (outs Variadic<Grad_NumberTensor>:$results);
  let assemblyFormat = "$operands (`bf16` $bf16^)? attr-dict `:` type($operands)";
  let hasVerifier = 1;
  let extraClassDeclaration = Grad_HighPrecision<>.declaration;
}

#endif
