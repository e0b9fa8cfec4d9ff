// Ops that several processes (ranks) compute together.
#ifndef GRAD_COLLECTIVE
#define GRAD_COLLECTIVE

include "dialects/grad/GradDialect.td"

def Grad_AllReduceOp : Op<Grad_Dialect, "all_reduce", [Pure, InferTypeOpAdaptor,
    DeclareOpInterfaceMethods<EvaluateOpInterface>, DeclareOpInterfaceMethods<GradientOpInterface>,
    DeclareOpInterfaceMethods<CostOpInterface, ["getFlops"]>, PrecisionOpInterface, OperandRoleOpInterface,
    DeclareOpInterfaceMethods<CollectiveOpInterface, ["travelsNarrow"]>]> {
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

/// One whose values belong to ranks: of operand i, a rank owns the elements that it owns of state i.
class Grad_CutCollective<string mnemonic, dag more, string format, list<string> answers>
    : Op<Grad_Dialect, mnemonic, [Pure, InferTypeOpAdaptor, DeclareOpInterfaceMethods<EvaluateOpInterface>,
        DeclareOpInterfaceMethods<GradientOpInterface>, DeclareOpInterfaceMethods<CostOpInterface, ["getFlops"]>,
        PrecisionOpInterface, OperandRoleOpInterface, DeclareOpInterfaceMethods<CollectiveOpInterface, answers>]> {
  let arguments = !con((ins Variadic<Grad_NumberTensor>:$operands,
                            TypedArrayAttrBase<FlatSymbolRefAttr, "states">:$states), more);
  let results = (outs Variadic<Grad_NumberTensor>:$results);
  let assemblyFormat = "$operands `of` $states " # format # "attr-dict `:` type($operands)";
  let hasVerifier = 1;
  let extraClassDeclaration = Grad_HighPrecision<>.declaration;
}

def Grad_ReduceScatterOp : Grad_CutCollective<"reduce_scatter", (ins UnitAttr:$bf16), "(`bf16` $bf16^)? ",
                                              ["travelsNarrow", "getCutStates"]> {
  let summary = "the sums of each operand over all ranks, on the rank that owns an element; 0 elsewhere";
  let description = [{
    Each element belongs to one rank, the one that updates the same element of the state. Sums of squares and the like over
    the results are therefore parts of those over all elements, which `grad.all_reduce` adds up. Of one rank, as in `evaluate`, the
    results are the operands. It follows differentiation and has no gradient.

    C1: all operands are of one element type: f32, f64, i32 or i64. C2: there is one. C3: only f32 travels as bf16. C4: there is a
    state for each operand.

    Example: `%0 = grad.reduce_scatter %dw of [@w] bf16 : tensor<64x10xf32>`
  }];
}

def Grad_AllGatherOp : Grad_CutCollective<"all_gather", (ins), "", ["getCutStates"]> {
  let summary = "each element of each operand from the rank that owns it, on every rank";
  let description = [{
    What a rank has of elements that it does not own counts for nothing. Of one rank, as in `evaluate`, the results are the
    operands. It follows differentiation and has no gradient.

    C1: all operands are of one element type: f32, f64, i32 or i64. C2: there is one. C3: there is a state for each operand.

    Example: `%0 = grad.all_gather %w of [@w] : tensor<64x10xf32>`
  }];
}

#endif
