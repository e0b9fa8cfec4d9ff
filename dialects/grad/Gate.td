// Values times a gate of their own, which exporters write in parts, and roundings that a gradient passes.
#ifndef GRAD_GATE
#define GRAD_GATE

include "dialects/grad/GradDialect.td"

def Grad_SwishOp : Grad_CompositeOp<"swish", [SameOperandsAndResultType, Grad_Pointwise]> {
  let summary = "y = x sigmoid(slope x); with slope 1.702 QuickGELU, with slope 1 silu";
  let description = "Example: `%y = grad.swish %x slope 1.702 : tensor<4x8xf32>`";
  let arguments = (ins Grad_FloatTensor:$operand, F64Attr:$slope);
  let results = (outs Grad_FloatTensor:$result);
  let assemblyFormat = "$operand `slope` $slope attr-dict `:` type($operand)";
}

def Grad_MishOp : Grad_CompositeOp<"mish", [SameOperandsAndResultType, Grad_Pointwise]> {
  let summary = "y = x tanh(ln(1 + e^x))";
  let arguments = (ins Grad_FloatTensor:$operand);
  let results = (outs Grad_FloatTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand)";
}

def Grad_StraightThroughOp : Grad_CompositeOp<"straight_through", [SameOperandsAndResultType, Grad_Pointwise]> {
  let summary = "y = value, with y's gradient as that of x";
  let description = [{
    For a value that is x rounded by integer arithmetic, which has no gradient: the rounding counts as the identity, like a cast between floats.

    Example: `%y = grad.straight_through %x, %rounded : tensor<3xf32>`
  }];
  let arguments = (ins Grad_FloatTensor:$operand, Grad_FloatTensor:$value);
  let results = (outs Grad_FloatTensor:$result);
  let assemblyFormat = "$operand `,` $value attr-dict `:` type($operand)";
}

#endif
