// Fourier transforms of rows of numbers.
#ifndef GRAD_FOURIER
#define GRAD_FOURIER

include "dialects/grad/GradDialect.td"

def Grad_FourierOp : Grad_CompositeOp<"fourier", [Grad_OwnKernel], ["getFlops"]> {
  let summary = "the discrete Fourier transform of rows of complex or real numbers";
  let description = [{
    Rows are [rows, n, 2], with real and imaginary parts, or, of real numbers, [rows, n, 1]. result[r, j] is the sum over k of
    operand[r, k] e^(-2 pi i j k / n); of a real row, only j from 0 to n / 2 are wanted. `inverse`: e^(2 pi i j k / n), not divided by
    n; a real result is the real part of the sum over k from 0 to n / 2, so that each direction is the gradient of the other. A CPU
    kernel transforms a vector of rows at a time by butterflies; the decomposition multiplies by matrices.

    C1: operand and result are [rows, numbers, 2] or [rows, numbers, 1], with the same rows and element type, and at least one number.
    C2: complex numbers become as many complex numbers.
    C3: a real operand is not `inverse`, a real result is, and one of both is complex.
    C4: n real numbers, an even number, have n / 2 + 1 complex ones.

    Example: `%y = grad.fourier %x : tensor<8x400x1xf32> -> tensor<8x201x2xf32>`
  }];
  let arguments = (ins Grad_FloatTensor:$operand, UnitAttr:$inverse);
  let results = (outs Grad_FloatTensor:$result);
  let assemblyFormat =
      "$operand (`inverse` $inverse^)? attr-dict `:` type($operand) `->` type($result)";
  let extraClassDeclaration = Grad_HighPrecision<>.declaration;
  let hasVerifier = 1;
}

#endif
