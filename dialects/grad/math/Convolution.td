// Convolutions: products summed over the taps of a window and over contracted dims.
#ifndef GRAD_CONVOLUTION
#define GRAD_CONVOLUTION

include "dialects/grad/math/Window.td"

def Grad_ConvolutionOp : Grad_Op<"convolution", [Grad_InferTypes,
    DeclareOpInterfaceMethods<ContractionOpInterface, ["getConvolutionPart"]>], ["getFlops"]> {
  let summary = "windows of the lhs times the rhs, summed over taps and contracted dims";
  let description = [{
    The leading dims of lhs, rhs and result, one per dim of `window`, are spatial: positions, taps and windows. `dims` names every
    other dim by a letter, as in an einsum: `nc,co->no` is an ordinary convolution,
    result[w..., n, o] = sum over taps t... and c of lhs[position(w, t)..., n, c] rhs[t..., c, o]; `ngc,gco->ngo` is a grouped
    and `nc,c->nc` a depthwise convolution. A letter in the operands only is contracted; a letter in all three is a batch dim.
    Without spatial dims (`window <[]>`) the op is a general product: `tnk,tno->ko` sums over t and n.
    A tap on padding adds nothing (compiled code may produce NaN if the rhs is not finite). Accumulates in f32 (f64 for f64);
    `wide` as in `grad.matmul`. The gradients are convolutions.

    C1: `dims` is `LHS,RHS->RESULT`, lower-case letters, distinct within each, and every letter is in two or all three of them.
    C2: ranks are spatial rank + number of letters. C3: sizes of one letter agree. C4: the rhs' spatial dims are the window's size.
    C5: the element types agree as in `grad.matmul`. C6: at least one window fits in every dim.

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
