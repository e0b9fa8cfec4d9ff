// Values times a gate of their own, which exporters write in parts.
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

#endif
