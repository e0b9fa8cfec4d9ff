// Convolutions: products summed over the taps of a window and over contracted dims.
#ifndef GRAD_CONVOLUTION
#define GRAD_CONVOLUTION

include "dialects/grad/Window.td"

def Grad_ConvolutionOp : Grad_Op<"convolution", [InferTypeOpAdaptor,
    DeclareOpInterfaceMethods<ContractionOpInterface, ["getConvolutionPart"]>], ["getFlops"]> {
  let summary = "windows of the lhs times the rhs, summed over taps and contracted dims";
  let description = [{
    The first dims (as many as `window` has) of lhs, rhs and result are spatial: positions, taps and windows. A letter of
    `dims` names each other dim, as in an einsum: `nc,co->no` is an ordinary convolution,
    result[w..., n, o] = sum over taps t... and c of lhs[position(w, t)..., n, c] rhs[t..., c, o]; `ngc,gco->ngo` one with groups,
    `nc,c->nc` a depthwise one. A letter in both operands only is contracted; in all three it is a batch dim.
    Without spatial dims (`window <[]>`) it is a product with any letters: `tnk,tno->ko` sums over t and n.
    A tap on nothing adds nothing (code may make NaN of it where the rhs is not finite). Accumulates in f32 (f64 for f64);
    `wide` as in `grad.matmul`. Its gradients are convolutions.

    C1: `dims` is `LHS,RHS->RESULT`, lower-case letters, distinct within each, and every letter is in two of them or in all.
    C2: ranks are spatial rank + letters. C3: sizes of one letter agree. C4: the rhs' spatial dims are the window's size.
    C5: the element types agree. C6: at least one window fits in every dim.

    Example: `%y = grad.convolution %x, %w dims "nc,co->no" window <[3, 3] low [1, 1] high [1, 1]> :
    tensor<32x32x64x3xf32>, tensor<3x3x3x16xf32>`
  }];
  let arguments = (ins Grad_NumberTensor:$lhs, Grad_NumberTensor:$rhs, StrAttr:$dims, Grad_Window:$window,
                       UnitAttr:$wide);
  let results = (outs Grad_NumberTensor:$result);
  let extraClassDeclaration = "Precision getPrecision() { return Precision::low; }";
  let assemblyFormat = [{
    $lhs `,` $rhs `dims` $dims `window` $window (`wide` $wide^)? attr-dict `:` type($lhs) `,` type($rhs)
  }];
}

#endif
