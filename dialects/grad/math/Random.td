// Counter-based random numbers (Philox 4x32-10): the same seed, step and op give the same bits anywhere.
#ifndef GRAD_RANDOM
#define GRAD_RANDOM

include "dialects/grad/GradDialect.td"

def Grad_RandomBitsOp : Grad_Op<"random_bits", [AllTypesMatch<["seed", "step"]>]> {
  let summary = "32 random bits per element: word 0 of philox4x32-10(counter = (index, 0, stream, 0), key = (seed, step))";
  let description = [{
    `index` is the element's row-major position; `seed` and `step` are i32 of rank 0; `stream`
    is different for each random op of a model. C1: seed and step are 32-bit integers of rank 0.
    C2: the result has 32-bit elements, at most 2^32 of them.
  }];
  let arguments = (ins Grad_IntTensor:$seed, Grad_IntTensor:$step, I32Attr:$stream);
  let results = (outs Grad_IntTensor:$result);
  let assemblyFormat = "$seed `,` $step `stream` $stream attr-dict `:` type($seed) `->` type($result)";
  let hasVerifier = 1;
}

class Grad_RandomOp<string mnemonic> : Grad_CompositeOp<mnemonic, [AllTypesMatch<["seed", "step"]>]> {
  let arguments = (ins Grad_IntTensor:$seed, Grad_IntTensor:$step, I32Attr:$stream, F64Attr:$a, F64Attr:$b);
  let results = (outs Grad_FloatTensor:$result);
  let assemblyFormat = "$seed `,` $step `,` $a `,` $b `stream` $stream attr-dict `:` type($seed) `->` type($result)";
  let description = "C1: seed and step are 32-bit integers of rank 0. C2: at most 2^32 elements.";
  let hasVerifier = 1;
}
def Grad_RandomUniformOp : Grad_RandomOp<"random_uniform"> {
  let summary = "uniform in [a, b), 24 random bits";
}
def Grad_RandomNormalOp : Grad_RandomOp<"random_normal"> {
  let summary = "normal with mean a and standard deviation b (Box-Muller over streams `stream` and `stream` + 1)";
}

def Grad_DropoutOp : Grad_CompositeOp<"dropout", [AllTypesMatch<["operand", "result"]>,
    AllTypesMatch<["seed", "step"]>]> {
  let summary = "y = x / (1 - ratio) with probability 1 - ratio, else 0";
  let description = [{
    C1: seed and step are 32-bit integers of rank 0. C2: at most 2^32 elements. C3: 0 <= ratio < 1.
    The gradient draws the same numbers again, so the forward pass saves nothing.
  }];
  let arguments = (ins Grad_FloatTensor:$operand, Grad_IntTensor:$seed, Grad_IntTensor:$step,
                       I32Attr:$stream, F64Attr:$ratio);
  let results = (outs Grad_FloatTensor:$result);
  let assemblyFormat = "$operand `,` $seed `,` $step `stream` $stream `ratio` $ratio attr-dict `:` type($operand) `,` type($seed)";
  let hasVerifier = 1;
}

#endif
