// Ops that read and write elements at indices computed at run time.
#ifndef GRAD_INDEX
#define GRAD_INDEX

include "dialects/grad/GradDialect.td"

def Grad_ScatterReductionEnum : Grad_Enum<"ScatterReduction", "what an update does to its target", [
  I32EnumAttrCase<"replace", 0>, I32EnumAttrCase<"add", 1>, I32EnumAttrCase<"mul", 2>,
  I32EnumAttrCase<"max", 3>, I32EnumAttrCase<"min", 4>]>;
def Grad_ScatterReduction : EnumAttr<Grad_Dialect, Grad_ScatterReductionEnum, "scatter_reduction">;

def Grad_GatherOp : Grad_Op<"gather", [Grad_InferTypes,
    DeclareOpInterfaceMethods<MovementOpInterface>, DeclareOpInterfaceMethods<RowsOpInterface>]> {
  let summary = "elements of `data` at run-time indices";
  let description = [{
    result[d] = data[c], where coordinate c[i] is d[dims[i]] or, if dims[i] is -1 - k, an element of the k-th indices:
    indices_k[d[index_dims[0]], d[index_dims[1]], ...]. Negative indices count from the end. An index out of range reads
    the nearest element (0 if the dim is empty); the builder of the op has to report it. The gradient adds in order of position:
    a scatter, or gathers if the indices are a constant list along one dim.

    C1: `dims` has one entry per dim of the data; its non-negative entries are distinct, and each of -1 to -K, for K indices,
    occurs once. C2: all indices are i32 or i64, of one shape, and `index_dims` has one distinct entry per dim of that shape.
    C3: every dim of the result is in `dims` or `index_dims`, and the sizes agree if it is in both.

    Example, a row of the table for every token:
    `%y = grad.gather %table[%tokens] dims [-1, 2] index_dims [0, 1] : tensor<50x8xf32>, tensor<4x6xi64>`
  }];
  let arguments = (ins Grad_Tensor:$data, Variadic<Grad_IntTensor>:$indices, DenseI64ArrayAttr:$dims,
                       DenseI64ArrayAttr:$index_dims);
  let results = (outs Grad_Tensor:$result);
  let assemblyFormat = [{
    $data `[` $indices `]` `dims` $dims `index_dims` $index_dims attr-dict `:` type($data) `,` type($indices)
  }];
  let extraClassDeclaration = "bool costDependsOnIndices() { return true; }";
  let hasCanonicalizer = 1;
}

def Grad_ScatterOp : Grad_Op<"scatter", [AllTypesMatch<["init", "result"]>], ["getFlops"]> {
  let summary = "`init` with `updates` combined into the elements at run-time indices";
  let description = [{
    For every element updates[d], in row-major order: result[c] becomes `updates[d]` or result[c] + (*, max, min) updates[d],
    with the coordinates c of gather. Updates out of range have no effect. Sums and products of 16-bit floats accumulate in f32.
    Gradients of updates are gathers, which read the nearest element if out of range: except for `replace`, who builds the op with such
    indices makes these updates constants.

    C1 to C3 as in gather, with `init` as the data and `updates` as the result. C4: only `replace` accepts bools.

    Example, the gradient of an embedding:
    `%g = grad.scatter %zero[%tokens] add %dy dims [-1, 2] index_dims [0, 1] : tensor<50x8xf32>, tensor<4x6x8xf32>, tensor<4x6xi64>`
  }];
  let arguments = (ins Grad_Tensor:$init, Variadic<Grad_IntTensor>:$indices, Grad_Tensor:$updates,
                       Grad_ScatterReduction:$reduction, DenseI64ArrayAttr:$dims, DenseI64ArrayAttr:$index_dims);
  let results = (outs Grad_Tensor:$result);
  let assemblyFormat = [{
    $init `[` $indices `]` $reduction $updates `dims` $dims `index_dims` $index_dims attr-dict
    `:` type($init) `,` type($updates) `,` type($indices)
  }];
  let extraClassDeclaration = "bool costDependsOnIndices() { return true; }";
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
}

def Grad_SetRowsOp : Grad_CompositeOp<"set_rows", [AllTypesMatch<["table", "result"]>,
    DeclareOpInterfaceMethods<RowsOpInterface, ["getNewRows"]>], ["getFlops"]> {
  let summary = "`table` with the rows at run-time indices replaced";
  let description = [{
    result[rows[i], ...] = values[i, ...], and the table's rows elsewhere: a scatter of whole rows. A CPU kernel writes only these
    rows, over the table; other targets compute the scatter. Negative indices count from the end. Indices out of range have no effect,
    and the others have to be distinct: with equal ones, the row is one of their values.

    C1: the table has a first dim, and `rows` is a list of i32 or i64. C2: `values` have the list's length and the table's
    remaining dims.

    Example: `%t = grad.set_rows %table[%rows], %values : tensor<50x8xf32>, tensor<4x8xf32>, tensor<4xi32>`
  }];
  let arguments = (ins Grad_Tensor:$table, Grad_IntTensor:$rows, Grad_Tensor:$values);
  let results = (outs Grad_Tensor:$result);
  let assemblyFormat = "$table `[` $rows `]` `,` $values attr-dict `:` type($table) `,` type($values) `,` type($rows)";
  let hasVerifier = 1;
}

def Grad_ArgsortOp : Grad_CompositeOp<"argsort", [Grad_OwnKernel, DeclareOpInterfaceMethods<PermuteOpInterface>], ["getFlops"]> {
  let summary = "positions along `dim` of the elements in order";
  let description = [{
    result[.., i, ..] is the position of the element that has i elements before it: smaller ones, or larger ones if `descending`, and
    equal ones at smaller positions. NaN counts as the largest number. The result may have only the first positions. A CPU kernel sorts; the
    decomposition compares all pairs.

    C1: dim is in range. C2: the result is i64 and has the operand's shape but, along dim, at most as many elements.

    Example, the largest 5 of each row: `%i = grad.argsort %x dim 1 descending : tensor<2x100xf32> -> tensor<2x5xi64>`
  }];
  let arguments = (ins Grad_NumberTensor:$operand, I64Attr:$dim, UnitAttr:$descending);
  let results = (outs Grad_IntTensor:$result);
  let assemblyFormat = "$operand `dim` $dim (`descending` $descending^)? attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
}

def Grad_PositionsOp : Grad_CompositeOp<"positions", [Grad_OwnKernel], ["getFlops"]> {
  let summary = "the coordinates of the elements that are true";
  let description = [{
    Column i has the coordinates of the i-th true element in row-major order, one for each dim. Columns behind the last of these are 0;
    elements that are more than the columns are left out. A CPU kernel visits each element once; the decomposition adds up the true ones
    before each element, and scatters.

    C1: the operand has a dim. C2: the result is i64, with a row for each dim and at most as many columns as the operand has elements.

    Example: `%p = grad.positions %keep : tensor<6x4xi1> -> tensor<2x24xi64>`
  }];
  let arguments = (ins Grad_BoolTensor:$operand);
  let results = (outs Grad_IntTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
}

def Grad_NonMaxSuppressionOp : Grad_CompositeOp<"non_max_suppression", [Grad_OwnKernel,
    AllTypesMatch<["top", "left", "bottom", "right", "area"]>, AllTypesMatch<["candidates", "result"]>], ["getFlops", "costDependsOnIndices"]> {
  let summary = "which boxes are kept, if those that overlap a better one are dropped";
  let description = [{
    Visits the boxes of an image, for each class, in the given order. A box is kept if it is a candidate, fewer than `limit` have been
    kept, and it overlaps none of them by more than `threshold` of their union. result[b, c, i] is for the i-th box in order, which is
    box order[b, c, i]; candidates[b, c, n] is for box n. A CPU kernel compares a box with those that were kept; the decomposition is a
    scan in which each kept box marks what it suppresses.

    C1: the boxes' sides and areas have one type [images, boxes]. C2: the order is i64 [images, classes, boxes], without repetition, and
    the candidates have its shape. C3: the threshold is a scalar of the sides' element type, the limit one of i64.

    Example: `%keep = grad.non_max_suppression %t, %l, %b, %r, %a order %o candidates %c threshold %x limit %n :
        tensor<1x9xf32>, tensor<1x2x9xi64>, tensor<1x2x9xi1>, tensor<f32>, tensor<i64>`
  }];
  let arguments = (ins Grad_FloatTensor:$top, Grad_FloatTensor:$left, Grad_FloatTensor:$bottom, Grad_FloatTensor:$right,
                       Grad_FloatTensor:$area, Grad_IntTensor:$order, Grad_BoolTensor:$candidates,
                       Grad_FloatScalar:$threshold, Grad_IntTensor:$limit);
  let results = (outs Grad_BoolTensor:$result);
  let assemblyFormat = [{
    $top `,` $left `,` $bottom `,` $right `,` $area `order` $order `candidates` $candidates `threshold` $threshold `limit` $limit attr-dict
    `:` type($top) `,` type($order) `,` type($candidates) `,` type($threshold) `,` type($limit)
  }];
  let hasVerifier = 1;
}

#endif
