// Contractions: products summed over a shared dimension.
#ifndef GRAD_CONTRACTION
#define GRAD_CONTRACTION

include "dialects/grad/GradDialect.td"

def Grad_MatmulOp : Grad_Op<"matmul", [Grad_InferTypes,
    DeclareOpInterfaceMethods<ContractionOpInterface>], ["getFlops"]> {
  let summary = "batched matrix product, either side transposed for free";
  let description = [{
    result[b..., m, n] = sum over k of lhs[b..., m, k] rhs[b..., k, n]; with `transpose_lhs` the
    lhs is [b..., k, m], with `transpose_rhs` the rhs is [b..., n, k]. Accumulates in f32 (f64 for f64). With `wide` a product of
    16-bit factors returns the unrounded f32 sum; its gradients round their factors for storage. With `wide` a product of 8-bit
    integers returns their sum in 32 bits, wrapped, and a product of floats by integers, or of f32 by f16, the sum of the lhs' type.

    C1: both sides have rank >= 2, the same rank and the same batch dims.
    C2: the k dims agree. C3: the element types agree; with `wide`, the rhs may have 8-bit integers, or signed ones of 16 bits, beside floats, f16
    beside f32, and 8-bit integers beside those of the other sign.

    Example: `%y = grad.matmul %x, %w transpose_rhs : tensor<32x64xf32>, tensor<128x64xf32>`
  }];
  let arguments = (ins Grad_NumberTensor:$lhs, Grad_NumberTensor:$rhs,
                       UnitAttr:$transpose_lhs, UnitAttr:$transpose_rhs, UnitAttr:$wide);
  let results = (outs Grad_NumberTensor:$result);
  let extraClassDeclaration = "Precision getPrecision() { return Precision::low; }";
  let assemblyFormat = [{
    $lhs `,` $rhs (`transpose_lhs` $transpose_lhs^)? (`transpose_rhs` $transpose_rhs^)? (`wide` $wide^)? attr-dict
    `:` type($lhs) `,` type($rhs)
  }];
}

#endif
