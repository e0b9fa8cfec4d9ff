// Ops that move elements without computing on them.
#ifndef GRAD_SHAPE
#define GRAD_SHAPE

include "dialects/grad/GradDialect.td"

def Grad_IotaOp : Grad_Op<"iota"> {
  let summary = "result[i] = i[dim]: every element is its own index along `dim`";
  let description = "C1: dim is in range.";
  let arguments = (ins I64Attr:$dim);
  let results = (outs Grad_NumberTensor:$result);
  let assemblyFormat = "`dim` $dim attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Grad_ReshapeOp : Grad_Op<"reshape"> {
  let summary = "the same elements in row-major order in another shape (never a copy)";
  let description = "C1: the same number of elements and the same element type.";
  let arguments = (ins Grad_Tensor:$operand);
  let results = (outs Grad_Tensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizeMethod = 1;
}

def Grad_TransposeOp : Grad_Op<"transpose", [Grad_InferTypes,
    DeclareOpInterfaceMethods<MovementOpInterface>]> {
  let summary = "result dim i is operand dim permutation[i]";
  let description = "C1: `permutation` is a permutation of the operand's dims.";
  let arguments = (ins Grad_Tensor:$operand, DenseI64ArrayAttr:$permutation);
  let results = (outs Grad_Tensor:$result);
  let assemblyFormat = "$operand `permutation` $permutation attr-dict `:` type($operand)";
  let hasFolder = 1;
  let hasCanonicalizeMethod = 1;
}

def Grad_BroadcastOp : Grad_Op<"broadcast", [DeclareOpInterfaceMethods<MovementOpInterface>]> {
  let summary = "operand dim i becomes result dim dims[i]; the other result dims repeat it";
  let description = [{
    C1: one entry per operand dim, strictly increasing, in range. C2: sizes agree (an operand dim of 1
    does not stretch: reshape it away). C3: the element types agree.

    Example: `%y = grad.broadcast %b dims [1] : tensor<10xf32> -> tensor<32x10xf32>`
  }];
  let arguments = (ins Grad_Tensor:$operand, DenseI64ArrayAttr:$dims);
  let results = (outs Grad_Tensor:$result);
  let assemblyFormat = "$operand `dims` $dims attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizeMethod = 1;
}

def Grad_SliceOp : Grad_Op<"slice", [Grad_InferTypes,
    DeclareOpInterfaceMethods<MovementOpInterface>, DeclareOpInterfaceMethods<PermuteOpInterface>]> {
  let summary = "result[i] = operand[start + i * stride], `size` of them per dim";
  let description = [{
    C1: one start, size and stride per dim. C2: strides are not 0 (negative ones walk backwards).
    C3: first and last index of every non-empty dim are in range.
  }];
  let arguments = (ins Grad_Tensor:$operand, DenseI64ArrayAttr:$starts, DenseI64ArrayAttr:$sizes,
                       DenseI64ArrayAttr:$strides);
  let results = (outs Grad_Tensor:$result);
  let assemblyFormat = [{
    $operand `starts` $starts `sizes` $sizes `strides` $strides attr-dict `:` type($operand)
  }];
  let hasFolder = 1;
}

def Grad_PadOp : Grad_Op<"pad", [Grad_InferTypes,
    DeclareOpInterfaceMethods<PermuteOpInterface>]> {
  let summary = "pads with `value`: `low` elements before, `high` after, `interior` between two elements";
  let description = [{
    result dim = low + size + (size - 1) * interior + high. C1: one low, high and interior per dim, none negative.
  }];
  let arguments = (ins Grad_Tensor:$operand, DenseI64ArrayAttr:$low, DenseI64ArrayAttr:$high,
                       DenseI64ArrayAttr:$interior, DefaultValuedAttr<F64Attr, "0.0">:$value);
  let results = (outs Grad_Tensor:$result);
  let assemblyFormat = [{
    $operand `low` $low `high` $high `interior` $interior attr-dict `:` type($operand)
  }];
}

def Grad_ConcatenateOp : Grad_Op<"concatenate", [Grad_InferTypes,
    DeclareOpInterfaceMethods<PermuteOpInterface>]> {
  let summary = "the concatenation of the operands along `dim`";
  let description = "C1: at least one operand. C2: dim is in range. C3: the other dims and element types agree.";
  let arguments = (ins Variadic<Grad_Tensor>:$operands, I64Attr:$dim);
  let results = (outs Grad_Tensor:$result);
  let assemblyFormat = "$operands `dim` $dim attr-dict `:` type($operands)";
  let hasFolder = 1;
}

#endif
