// Attention: two products around a softmax, in one op.
#ifndef GRAD_ATTENTION
#define GRAD_ATTENTION

include "dialects/grad/GradDialect.td"

class Grad_AttentionLikeOp<string mnemonic>
    : Grad_CompositeOp<mnemonic, [Grad_InferTypes, AttrSizedOperandSegments, Grad_OwnKernel, DeclareOpInterfaceMethods<AttentionOpInterface>,
                                  DeclareOpInterfaceMethods<PermuteOpInterface>], ["getFlops"]> {
  let extraClassDeclaration = Grad_HighPrecision<>.declaration;
}

def Grad_AttentionOp : Grad_AttentionLikeOp<"attention"> {
  let summary = "softmax(scale query key^T + mask) value, and the statistics of its softmax";
  let description = [{
    Queries [B, H, T, D], keys [B, G, S, D] and values [B, G, S, E] give a result [B, H, T, E]. Each group of H / G adjacent
    query heads shares one key head. score[b, h, t, s] = scale * sum over d of query[b, h, t, d] key[b, h / (H / G), s, d]. A float
    mask is added to the scores; a bool mask is true for the keys that a query attends to. Each dim of a mask is that of the scores or 1.
    With `causal = c` query t attends to the keys s <= t + c.
    result[b, h, t, :] = sum over s of softmax(score)[b, h, t, s] value[b, h / (H / G), s, :].

    `statistic` [B, H, T, 2] is what the gradient needs to recompute the softmax: the maximum m over a query's keys, and
    1 / sum over s of e^(score - m). A query that attends to no key (all of its scores are -inf) has result 0 and statistic 0.

    With `dropout`, each softmax(score) is multiplied by 1 / (1 - ratio) with probability 1 - ratio and by 0 otherwise, exactly as
    `grad.dropout` with the same seed, step and stream does to a tensor [B, H, T, S]. The statistic is that of the softmax before dropout.

    With `order`, all other operands and results are transposed: dim i of a tensor is dim order[i] in the notation above.

    C1: query, key and value have rank 4 and one float type. C2: `order` is a permutation of 4 dims. C3: the batch dims
    agree; key and value have the same number of heads, which divides the number of query heads. C4: query and key agree in D, key
    and value in S; no dim is 0. C5: a mask has bool elements or the queries' element type; each of its dims is 1 or that of the
    scores, and its last dim is S. C6: seed, step, `stream` and `ratio` are given together; seed and step are 32-bit integers of
    rank 0, 0 <= ratio < 1, and there are at most 2^32 scores.

    Example: `%y, %lse = grad.attention %q, %k, %v {causal = 0 : i64, scale = 1.25e-1 : f64} :
        tensor<2x12x128x64xf32>, tensor<2x12x128x64xf32>, tensor<2x12x128x64xf32>`
  }];
  let arguments = (ins Grad_FloatTensor:$query, Grad_FloatTensor:$key, Grad_FloatTensor:$value,
                       Optional<Grad_Tensor>:$mask, Optional<Grad_IntTensor>:$seed, Optional<Grad_IntTensor>:$step,
                       F64Attr:$scale, OptionalAttr<I64Attr>:$causal, OptionalAttr<DenseI64ArrayAttr>:$order,
                       OptionalAttr<I32Attr>:$stream, OptionalAttr<F64Attr>:$ratio);
  let results = (outs Grad_FloatTensor:$result, Grad_FloatTensor:$statistic);
  let assemblyFormat = [{
    $query `,` $key `,` $value (`mask` $mask^ `:` type($mask))? (`dropout` $seed^ `,` $step `:` type($seed) `,` type($step))? (`order` $order^)? attr-dict `:` type($query) `,` type($key) `,` type($value)
  }];
}

def Grad_AttentionGradOp : Grad_AttentionLikeOp<"attention_grad"> {
  let summary = "the gradients of attention's query, key and value from that of its result";
  let description = [{
    With p = e^(score - statistic[.., 0]) statistic[.., 1] and g the gradient of the result: the gradient of value is the sum over t of p g, that of the
    scores is ds = p (g value^T - sum over e of g result), and those of query and key are scale ds key and scale ds^T query.
    With `dropout`, the p in value's gradient and g value^T are dropped and scaled as the weights were.
    Operands and constraints are those of `attention`. C7: `result`, `gradient` and `statistic` have the types of attention's
    result, result and statistic.
  }];
  let arguments = (ins Grad_FloatTensor:$query, Grad_FloatTensor:$key, Grad_FloatTensor:$value,
                       Grad_FloatTensor:$result, Grad_FloatTensor:$statistic, Grad_FloatTensor:$gradient,
                       Optional<Grad_Tensor>:$mask, Optional<Grad_IntTensor>:$seed, Optional<Grad_IntTensor>:$step,
                       F64Attr:$scale, OptionalAttr<I64Attr>:$causal, OptionalAttr<DenseI64ArrayAttr>:$order,
                       OptionalAttr<I32Attr>:$stream, OptionalAttr<F64Attr>:$ratio);
  let results = (outs Grad_FloatTensor:$queryGradient, Grad_FloatTensor:$keyGradient,
                      Grad_FloatTensor:$valueGradient);
  let assemblyFormat = [{
    $query `,` $key `,` $value `,` $result `,` $statistic `,` $gradient (`mask` $mask^ `:` type($mask))? (`dropout` $seed^ `,` $step `:` type($seed) `,` type($step))? (`order` $order^)? attr-dict
    `:` type($query) `,` type($key) `,` type($value) `,` type($result) `,` type($statistic) `,` type($gradient)
  }];
}

#endif
