// Reductions over the taps of a window, and gather and scatter of selected taps.
#ifndef GRAD_POOLING
#define GRAD_POOLING

include "dialects/grad/math/Window.td"

class Grad_WindowedOp<string mnemonic, list<string> cost = []> : Grad_Op<mnemonic, [Grad_InferTypes,
    DeclareOpInterfaceMethods<WindowOpInterface>, DeclareOpInterfaceMethods<PermuteOpInterface, ["canPermute"]>], cost> {
  let extraClassDefinition = [{
    LoopKind $cppClass::getLoopKind() { return LoopKind::reduction; }
    int64_t $cppClass::getWindowRank() { return getWindow().getRank(); }
    bool $cppClass::canPermute(ArrayRef<int64_t> permutation) {
      return keepsLeading(permutation, getWindowRank());
    }
    Operation *$cppClass::buildPermuted(OpBuilder &builder, ValueRange operands, ArrayRef<int64_t> permutation) {
      return clonePermuted(builder, *this, operands, permutation);
    }
  }];
}

def Grad_WindowSumOp : Grad_WindowedOp<"window_sum", ["getFlops"]> {
  let summary = "the sum over every window of the leading dims";
  let description = [{
    result[w..., r...] = sum over taps t of operand[position(w, t)..., r...]. 16-bit floats accumulate in f32, and with `wide` the
    result stays in f32. Its gradient is a window_sum.
    C1: the operand has the window's dims first. C2: at least one window fits in every dim.

    Example: `%y = grad.window_sum %x window <[2, 2] stride [2, 2]> : tensor<32x32x64x3xf32>` is `tensor<16x16x64x3xf32>`
  }];
  let arguments = (ins Grad_NumberTensor:$operand, Grad_Window:$window, UnitAttr:$wide);
  let results = (outs Grad_NumberTensor:$result);
  let assemblyFormat = "$operand `window` $window (`wide` $wide^)? attr-dict `:` type($operand)";
}

def Grad_WindowMaxOp : Grad_WindowedOp<"window_max", ["getFlops"]> {
  let summary = "the maximum of every window of the leading dims, and the number of its tap";
  let description = [{
    `index` is the row-major number of the first maximal tap (NaN wins), i8 for up to 127 taps, i32 for more. A
    window without a tap on the operand has the lowest value and tap 0.
    C1: the operand has the window's dims first. C2: at least one window fits in every dim.
    C3: base is 1 and the window is not reversed.
  }];
  let arguments = (ins Grad_NumberTensor:$operand, Grad_Window:$window);
  let results = (outs Grad_NumberTensor:$result, Grad_IntTensor:$index);
  let assemblyFormat = "$operand `window` $window attr-dict `:` type($operand)";
}

def Grad_WindowGatherOp : Grad_WindowedOp<"window_gather"> {
  let summary = "the tap of every window that `index` selects: result[w..., r...] = operand[position(w, index[w..., r...])..., r...]";
  let description = [{
    0 if that tap is on padding or does not exist. C1: the operand has the window's dims first, and at least one window fits in
    every dim. C2: `index` has the shape of the windows' result. C3: its element type is as in window_max: i8 for up to
    127 taps, i32 for more.
  }];
  let arguments = (ins Grad_NumberTensor:$operand, Grad_IntTensor:$index, Grad_Window:$window);
  let results = (outs Grad_NumberTensor:$result);
  let assemblyFormat = "$operand `,` $index `window` $window attr-dict `:` type($operand) `,` type($index)";
}

def Grad_WindowScatterOp : Grad_WindowedOp<"window_scatter"> {
  let summary = "the adjoint of window_gather: adds every window's value to the tap that `index` selects";
  let description = [{
    `size` gives the result's leading dims. Sums run over windows in row-major order; 16-bit floats accumulate in f32.
    C1: operand and index have the same shape, that of the windows over the result. C2: `size` has one entry per dim of the window,
    1 or more. C3: the element type of `index` is as in window_max: i8 for up to 127 taps, i32 for more.
  }];
  let arguments = (ins Grad_NumberTensor:$operand, Grad_IntTensor:$index, DenseI64ArrayAttr:$size, Grad_Window:$window);
  let results = (outs Grad_NumberTensor:$result);
  let assemblyFormat = "$operand `,` $index `size` $size `window` $window attr-dict `:` type($operand) `,` type($index)";
}

#endif
