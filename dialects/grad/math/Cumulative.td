// Sums and products of all elements up to each one along a dim.
#ifndef GRAD_CUMULATIVE
#define GRAD_CUMULATIVE

include "dialects/grad/GradDialect.td"

def Grad_CumulativeKindEnum : Grad_Enum<"CumulativeKind", "what each element is combined to", [
  I32EnumAttrCase<"sum", 0>, I32EnumAttrCase<"prod", 1>]>;
def Grad_CumulativeKind : EnumAttr<Grad_Dialect, Grad_CumulativeKindEnum, "cumulative_kind">;

def Grad_CumulativeOp : Grad_CompositeOp<"cumulative", [SameOperandsAndResultType, Grad_OwnKernel,
    DeclareOpInterfaceMethods<PermuteOpInterface>]> {
  let summary = "the sum, or product, of the elements up to each one along `dim`";
  let description = [{
    result[.., i, ..] is the sum (`prod`: the product) of operand[.., 0, ..] to operand[.., i, ..]. `exclusive`: up to i - 1, so that the
    first result is 0 (or 1). `reverse`: the same from the other end of the dim. Integers wrap. 16-bit floats accumulate in f32 or wider, and each
    result is rounded once. A CPU kernel takes one element after the other; the decomposition takes log2(n) steps.

    C1: dim is in range.

    Example, the sum of the elements before each one: `%y = grad.cumulative sum %x dim 1 exclusive : tensor<2x100xf32>`
  }];
  let arguments = (ins Grad_NumberTensor:$operand, Grad_CumulativeKind:$kind, I64Attr:$dim, UnitAttr:$exclusive, UnitAttr:$reverse);
  let results = (outs Grad_NumberTensor:$result);
  let assemblyFormat = [{
    $kind $operand `dim` $dim (`exclusive` $exclusive^)? (`reverse` $reverse^)? attr-dict `:` type($operand)
  }];
  let extraClassDeclaration = Grad_HighPrecision<>.declaration;
  let hasVerifier = 1;
}

#endif
