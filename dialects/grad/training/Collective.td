// Ops that several processes (ranks) compute together.
#ifndef GRAD_COLLECTIVE
#define GRAD_COLLECTIVE

include "dialects/grad/GradDialect.td"

def Grad_AllReduceOp : Op<Grad_Dialect, "all_reduce", [Pure, Grad_InferTypes,
    DeclareOpInterfaceMethods<EvaluateOpInterface>, DeclareOpInterfaceMethods<GradientOpInterface>,
    DeclareOpInterfaceMethods<CostOpInterface, ["getFlops"]>, PrecisionOpInterface, OperandRoleOpInterface,
    DeclareOpInterfaceMethods<CollectiveOpInterface, ["travelsNarrow"]>]> {
  let summary = "the sums of each operand over all ranks, on every rank";
  let description = [{
    Ranks run the same program, so all of them reach the op, in the same order. Differentiation is of the sum of all
    ranks' objectives: an operand's gradient is the sum over ranks of its result's gradient. With one rank, as in
    `evaluate`, the results are the operands; the op does not fold, since the number of ranks is known only at run time. An operand has
    the same size on all ranks, so it never holds rows of the batch. With `bf16`, f32 values travel as bf16 and are
    summed in f32.

    C1: all operands have one element type: f32, f64, i32 or i64. C2: there is at least one operand. C3: `bf16` requires f32.

    Example: `%0:2 = grad.all_reduce %dw, %db bf16 : tensor<64x10xf32>, tensor<10xf32>`
  }];
  let arguments = (ins Variadic<Grad_NumberTensor>:$operands, UnitAttr:$bf16);
  let results = (outs Variadic<Grad_NumberTensor>:$results);
  let assemblyFormat = "$operands (`bf16` $bf16^)? attr-dict `:` type($operands)";
  let hasVerifier = 1;
  let extraClassDeclaration = Grad_HighPrecision<>.declaration;
}

/// A collective over divided tensors: a rank owns the same elements of operand i as of state i.
class Grad_CutCollective<string mnemonic, dag more, string format, list<string> answers>
    : Op<Grad_Dialect, mnemonic, [Pure, Grad_InferTypes, DeclareOpInterfaceMethods<EvaluateOpInterface>,
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
    Each element belongs to the rank that updates the same element of the state. A reduction of the results on one rank, such as a
    sum of squares, therefore is a partial sum, and `grad.all_reduce` adds up the partial sums. With one rank, as in `evaluate`, the
    results are the operands. The op is created after differentiation and has no gradient.

    C1: all operands have one element type: f32, f64, i32 or i64. C2: there is at least one operand. C3: `bf16` requires f32. C4: there
    is one state per operand.

    Example: `%0 = grad.reduce_scatter %dw of [@w] bf16 : tensor<64x10xf32>`
  }];
}

def Grad_AllGatherOp : Grad_CutCollective<"all_gather", (ins), "", ["getCutStates"]> {
  let summary = "each element of each operand from the rank that owns it, on every rank";
  let description = [{
    A rank's values of elements that it does not own are ignored. With one rank, as in `evaluate`, the results are the
    operands. The op is created after differentiation and has no gradient.

    C1: all operands have one element type: f32, f64, i32 or i64. C2: there is at least one operand. C3: there is one state per operand.

    Example: `%0 = grad.all_gather %w of [@w] : tensor<64x10xf32>`
  }];
}

def Grad_SumShardsOp : Op<Grad_Dialect, "sum_shards", [Pure, Grad_InferTypes,
    DeclareOpInterfaceMethods<EvaluateOpInterface>, DeclareOpInterfaceMethods<GradientOpInterface>,
    DeclareOpInterfaceMethods<CostOpInterface, ["getFlops"]>, PrecisionOpInterface, OperandRoleOpInterface,
    DeclareOpInterfaceMethods<CollectiveOpInterface, ["holdsRows"]>,
    DeclareOpInterfaceMethods<PermuteOpInterface, ["canPermute"]>]> {
  let summary = "the sums over ranks of terms that each rank has computed from its shards, on every rank";
  let description = [{
    All ranks compute the same objective, on the same rows. A rank's operand is its term of the sum, and differentiation
    is of that one objective: the operand's gradient is the result's, on every rank. This is the end of a sharded chain; its start is
    `grad.fan_out`, and each is the gradient of the other. With one rank, as in `evaluate`, the results are the operands.

    C1: all operands have one element type: f32, f64, i32 or i64. C2: there is at least one operand.

    Example: `%0 = grad.sum_shards %y : tensor<32x10xf32>`
  }];
  let arguments = (ins Variadic<Grad_NumberTensor>:$operands);
  let results = (outs Variadic<Grad_NumberTensor>:$results);
  let assemblyFormat = "$operands attr-dict `:` type($operands)";
  let hasVerifier = 1;
  let extraClassDeclaration = Grad_HighPrecision<>.declaration;
}

def Grad_FanOutOp : Grad_CompositeOp<"fan_out", [SameOperandsAndResultType,
    DeclareOpInterfaceMethods<PermuteOpInterface>], ["getFlops"]> {
  let summary = "a value that all ranks have, as an operand of what each computes with its shards";
  let description = [{
    result = operand. Each rank's gradient of the result covers only its own shards; the operand's gradient is the sum
    over ranks (`grad.sum_shards`). After differentiation it decomposes to its operand.

    Example: `%0 = grad.fan_out %x : tensor<32x64xf32>`
  }];
  let arguments = (ins Grad_FloatTensor:$operand);
  let results = (outs Grad_FloatTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand)";
}

#endif
