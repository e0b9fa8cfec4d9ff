// Ops that normalize along a dim.
#ifndef GRAD_NORMALIZATION
#define GRAD_NORMALIZATION

include "dialects/grad/GradDialect.td"

class Grad_SoftmaxLikeOp<string mnemonic, string formula>
    : Grad_CompositeOp<mnemonic, [SameOperandsAndResultType], ["getFlops"]> {
  let summary = formula # " along `dim`, shifted by the maximum";
  let description = "C1: dim is in range. C2: it is not empty.";
  let arguments = (ins Grad_FloatTensor:$operand, I64Attr:$dim);
  let results = (outs Grad_FloatTensor:$result);
  let assemblyFormat = "$operand `dim` $dim attr-dict `:` type($operand)";
  let hasVerifier = 1;
}

def Grad_SoftmaxOp : Grad_SoftmaxLikeOp<"softmax", "e^x / sum(e^x)">;
def Grad_LogSoftmaxOp : Grad_SoftmaxLikeOp<"log_softmax", "x - ln(sum(e^x))">;

#endif
