// Passes of the graph phase up to the step, in pipeline order: simplification, composites, loops, the order of states.
#ifndef GRADC_GRAPH_PASSES
#define GRADC_GRAPH_PASSES

include "mlir/Pass/PassBase.td"

def BindRows : Pass<"gradc-bind-rows", "::mlir::ModuleOp"> {
  let summary = "Make the batch size a run-time number: counts of rows become an input, and entries that allow it take any number of rows";
  let description = [{
    An entry is built for a largest batch of N rows. In a run of n rows, every dim of every value has an extent: its full size, or
    its first k * n elements. Extents start at the arguments marked `grad.batched` and propagate through the ops' indexing maps.
    `grad.count` of dims that hold rows becomes k times the argument `rows`; any other count becomes a constant. The importer marks counts that
    a node has read at compile time (`grad.read_by`): an entry in which one of them counts rows runs on N rows only.

    If a reshape merges rows with dims before them, as a layer over [steps, rows, features] does, the merged dim gets the order [rows, steps]: this reshape, and
    the one that splits the dim again, transpose, and the ops between them stay. This needs a single transpose for every such reshape, and no op
    that numbers the elements of the dim.

    With `judge`, which runs before kernels are formed, an entry whose values all have extents gets `grad.rows`, and its
    twin for a smaller last batch (`NAME.tail`) is removed. So are the entries of sets of the evaluation
    (`evaluate.NAME`) whose batches `evaluate` takes, and their twins for last batches that it or its own twin takes. An op without extents (a reshape across rows, a slice of the batch, a sum
    of values that may repeat per row) is named in a remark; its entry runs on N rows only and keeps its twin. A
    bucket, `NAME.rows.M`, replaces `NAME` in runs of up to
    M rows. It stays if `NAME` takes any number of rows, and has the argument `rows` if `NAME` has it.

    ```mlir
    %n = grad.count %x dims [0, 1] : tensor<32x10xf32>
    ```
    becomes
    ```mlir
    %c = grad.constant dense<1.000000e+01> : tensor<f32>
    %n = grad.mul %c, %rows : tensor<f32>
    ```
  }];
  let options = [Option<"judge", "judge", "bool", "false", "decide which entries take any number of rows">];
}

def SimplifyAlgebra : Pass<"gradc-simplify-algebra", "::mlir::ModuleOp"> {
  let summary = "Apply identities that hold for every value, including NaN, infinities and signed zeros";
  let description = [{
    x + -0.0, x * 1, double negations, decided selects, sums of broadcasts and of repeated constants, pads by nothing; pointwise ops move above a broadcast, where
    they run once an element, and above a reshape that adds dims of 1; a gather moves above ops that dequantize its table; maxima of windows and concatenations take codes
    instead of the floats that they represent; the mask of a pool's gradient moves to the maxima; a select puts elements on a diagonal; a transpose moves into its matmul.
    What does not hold for every float stays: x + 0.0
    turns -0.0 around, and x * 0 is NaN for an infinity.

    ```mlir
    %b = grad.broadcast %y dims [] : tensor<f32> -> tensor<4xf32>
    %e = grad.exp %b : tensor<4xf32>
    ```
    becomes
    ```mlir
    %s = grad.exp %y : tensor<f32>
    %e = grad.broadcast %s dims [] : tensor<f32> -> tensor<4xf32>
    ```
  }];
}

def RaiseComposites : Pass<"gradc-raise-composites", "::mlir::ModuleOp"> {
  let summary = "Make composites of what exporters write in parts: normalizations, GELU, SiLU, Mish, rotary positions";
  let description = [{
    The gradient of a composite reads less and takes fewer kernels than that of its parts, and GPU libraries compute some composites
    whole. Each form is a pattern of its own (`passes/raise/`), which matches the algebra of `grad` ops and knows no
    exporter: constants and axes must be those of the composite, factors of a product may come in any order. An activation
    whose inner values are read elsewhere stays, and so do normalizations over rows of the batch and inside loops.

    ```mlir
    %m = grad.reduce_mean %x dims [1] : tensor<8x64xf32>
    %b = grad.broadcast %m dims [0] : tensor<8xf32> -> tensor<8x64xf32>
    %c = grad.sub %x, %b : tensor<8x64xf32>
    %s = grad.mul %c, %c : tensor<8x64xf32>
    %v = grad.reduce_mean %s dims [1] : tensor<8x64xf32>
    %e = grad.add %v, %epsilon : tensor<8xf32>
    %d = grad.sqrt %e : tensor<8xf32>
    %r = grad.broadcast %d dims [0] : tensor<8xf32> -> tensor<8x64xf32>
    %y = grad.div %c, %r : tensor<8x64xf32>
    ```
    becomes
    ```mlir
    %y, %m, %v = grad.normalize %x dims [1] epsilon 1.0e-05 : tensor<8x64xf32>
    ```
  }];
}

def IntegerProducts : Pass<"gradc-integer-products", "::mlir::ModuleOp"> {
  let summary = "Multiply quantized tensors as bytes, and apply zero points and scales to the sums";
  let description = [{
    A product, or convolution, of two tensors that are written as (code - zero point) * scale, with 8-bit codes, sums products of
    codes in 32 bits: an instruction adds four of them, and nothing is rounded. Zero points contribute sums of codes, which
    are constants for weights. The same holds for products of integers without scales (MatMulInteger, ConvInteger). One scale
    and zero point for the lhs; those of the rhs may differ from column to column. Codes that are unsigned or signed on
    the wrong side are shifted by 128. A picture with a zero point is padded outside, before it is transposed. Entries that ask for gradients stay as they are, as do products with sums along several dims (or
    none: depthwise convolutions), and sums of more than 32768 products.

    What is added to each row because of zero points is a state if it is constant, so that entries keep their free number of rows.

    If only the rhs is quantized, and constant, its scales leave the sum as well. A matrix stays in codes (`%x, %w wide : tensor<8x64xf32>,
    tensor<64x32xi8>`), and a filter, also a depthwise one, becomes a constant of floats. Zero points that are known are subtracted from the
    codes, in i16 if a difference does not fit in i8, so that no sum of an infinite lhs is multiplied; with other zero points the matrix is
    dequantized.

    A matrix with a scale, and maybe a zero point, for each block along the sum is multiplied as a batch of products with codes, one for
    each block; scales multiply the sums of blocks before these are added. Zero points that are known are subtracted
    as well. With other zero points it is dequantized, block by block; so it is by more than 8 rows if the codes are not constant, or for GPUs.

    Products of vectors that constant states hold, such as those of both scales, or of a bias' codes and scales, are states themselves.

    ```mlir
    %a = grad.cast %x : tensor<8x64xui8> -> tensor<8x64xf32>
    %b = grad.mul %a, %scale : tensor<8x64xf32>
    %c = grad.cast %w : tensor<64x32xi8> -> tensor<64x32xf32>
    %d = grad.mul %c, %scales : tensor<64x32xf32>
    %y = grad.matmul %b, %d : tensor<8x64xf32>, tensor<64x32xf32>
    ```
    becomes
    ```mlir
    %s = grad.matmul %x, %w wide : tensor<8x64xui8>, tensor<64x32xi8>
    %f = grad.cast %s : tensor<8x32xi32> -> tensor<8x32xf32>
    %y = grad.mul %f, %products_of_scales : tensor<8x32xf32>
    ```
  }];
  let options = [Option<"forGpus", "for-gpus", "bool", "false", "some levels are those of GPUs, whose kernels reduce no batch of products">];
}

def ShardProducts : Pass<"gradc-shard-products", "::mlir::ModuleOp"> {
  let summary = "Shard products over ranks, by columns and rows in turn";
  let description = [{
    In a module with `grad.shards = N`, each of N ranks gets 1/N of a product's columns, computes what follows element by
    element or head by head, and multiplies by the same 1/N of the rows of the next product; ranks then sum their terms. The pass
    finds what a chain needs by following the loops of ops from a parameter, forward and backward, over all
    entries. What the ops of a chain read whole enters by `grad.fan_out`, whose gradient is the other sum. States keep
    their names and their whole initial values.

    Parameters stay whole, with a remark, where the sizes are no multiples of N, an op needs elements of several shards, the
    optimizer's rule needs the whole tensor, or the products are too small to be worth the sums.

    ```mlir
    grad.state parameter @w : tensor<8x6xf32> = dense<0.5> : tensor<8x6xf32>
    grad.state parameter @v : tensor<6x4xf32> = dense<0.5> : tensor<6x4xf32>
    %h = grad.matmul %x, %w : tensor<32x8xf32>, tensor<8x6xf32>
    %y = grad.matmul %h, %v : tensor<32x6xf32>, tensor<6x4xf32>
    ```
    becomes
    ```mlir
    grad.state parameter @w : tensor<8x3xf32> shard [1, 1, 2] = dense<0.5> : tensor<8x6xf32>
    grad.state parameter @v : tensor<3x4xf32> shard [0, 1, 2] = dense<0.5> : tensor<6x4xf32>
    %f = grad.fan_out %x : tensor<32x8xf32>
    %h = grad.matmul %f, %w : tensor<32x8xf32>, tensor<8x3xf32>
    %t = grad.matmul %h, %v : tensor<32x3xf32>, tensor<3x4xf32>
    %y = grad.sum_shards %t : tensor<32x4xf32>
    ```
  }];
  let options = [Option<"leastFlopsPerByte", "least-flops-per-byte", "int64_t", "8",
                        "floating-point operations saved in the forward pass for each byte summed over ranks">];
}

def FormAttention : Pass<"gradc-form-attention", "::mlir::ModuleOp"> {
  let summary = "Fuse two products around a softmax into one attention op, if one kernel can compute it";
  let description = [{
    Between the products there may be a scale factor, then a mask, which is either added or selects the keys that a query
    attends to. A known mask that is triangular, of bools or of numbers that hide a key for sure, becomes `causal`. Key heads that are repeated for several
    query heads are read in place. Not fused: attentions too small for their own kernel (`KernelLimits`), scores with
    other readers, trained masks, and entries with mixed precision. On GPUs nothing is
    fused. What is too small on CPUs, as the one query of a decoder that writes a token, still reads keys and values
    without copies: its products take the query heads that share a key head as rows, and the factor of keys moves to the queries.

    ```mlir
    %s = grad.matmul %q, %k transpose_rhs : tensor<2x4x64x32xf32>, tensor<2x4x64x32xf32>
    %p = grad.softmax %s dim 3 : tensor<2x4x64x64xf32>
    %y = grad.matmul %p, %v : tensor<2x4x64x64xf32>, tensor<2x4x64x32xf32>
    ```
    becomes
    ```mlir
    %y, %0 = grad.attention %q, %k, %v {scale = 1.0 : f64} : tensor<2x4x64x32xf32>, tensor<2x4x64x32xf32>, tensor<2x4x64x32xf32>
    ```
  }];
  let options = [Option<"cuda", "cuda", "bool", "false", "limits of GPUs instead of those of CPUs">];
}

def HoistFromScans : Pass<"gradc-hoist-from-scans", "::mlir::ModuleOp"> {
  let summary = "Move ops out of loops if the recurrence does not need them";
  let description = [{
    For each scan, innermost first:
    1. Loop-invariant values are computed once before the scan, unless they only repeat elements.
    2. A product of a step's values with invariants (the input's share in a cell) becomes one product over all steps before the
       scan, with its pointwise epilogue, if it does not depend on carried values.
    3. If only stacked results depend on such a product (an output layer), it becomes one product after the scan, with all its users.
    4. A carried sum to which each step only adds products, and which no step reads (a weight's gradient), becomes one product
       after the scan that also sums over the steps. Exception: if the sum stays in cache between steps and a step has 32 rows or
       more, the loop is as fast and needs no stacks.

    The added stacks take at most `stack-bytes`: a loop that needs more is split into an outer loop over chunks and an inner loop over
    the steps of a chunk. An op is moved only if every step runs it, so a run cannot fail in new ways. A loop that a condition may end
    only loses invariants, and only if it has a first step. The loop over the parts of a batch is left alone, because it exists to avoid stacks. Ops move through OverStepsOpInterface, contractions through their
    letters.

    ```mlir
    %ys = grad.scan 10 from (%h0) over (%xs) with (%w, %r) : ... {
    ^bb0(%h: tensor<4x8xf32>, %x: tensor<4x8xf32>, %b: tensor<8x8xf32>, %c: tensor<8x8xf32>):
      %0 = grad.matmul %x, %b : tensor<4x8xf32>, tensor<8x8xf32>
      %1 = grad.matmul %h, %c : tensor<4x8xf32>, tensor<8x8xf32>
      ...
    ```
    becomes
    ```mlir
    %p = grad.convolution %xs, %w dims "tnk,ko->tno" window <[]> : tensor<10x4x8xf32>, tensor<8x8xf32>
    %ys = grad.scan 10 from (%h0) over (%p) with (%r) : ...
    ```
  }];
  let options = [Option<"stackBytes", "stack-bytes", "int64_t", "1 << 28",
                        "bytes of the stacks that one loop may add">];
}

def MoveTransposes : Pass<"gradc-move-transposes", "::mlir::ModuleOp"> {
  let summary = "Move transposes to where the fewest bytes are transposed";
  let description = [{
    If a model's layout differs from the layout of its convolutions, it has two transposes around each convolution. The pass
    switches whole areas of ops that work in either layout (pointwise ops, reductions, normalizations, pools over the same spatial
    dims, slices, pads, concatenations) if that transposes fewer bytes, or equally many but more ops then directly follow a
    contraction as its epilogue. Broadcasts absorb a transpose, and so do the letters of a convolution.
    A transpose between other ops stays, and so does a target of a gradient.

    ```mlir
    %0 = grad.transpose %x permutation [2, 3, 0, 1] : tensor<8x16x4x4xf32>
    %1 = grad.relu %0 : tensor<4x4x8x16xf32>
    %2 = grad.transpose %1 permutation [2, 3, 0, 1] : tensor<4x4x8x16xf32>
    ```
    becomes
    ```mlir
    %2 = grad.relu %x : tensor<8x16x4x4xf32>
    ```
  }];
}

def OrderStates : Pass<"gradc-order-states", "::mlir::ModuleOp"> {
  let summary = "Store states in the shape and with the order of dims that their readers need";
  let description = [{
    A state that all entries read only through the same transpose is stored transposed, and one that products and
    transposes read only through the same reshape is stored in that shape (the weights of an ONNX LSTM have a dim of
    directions, and MatMulNBits has a list of scales). Loops and branches that hand it on are looked through.
    The step is built afterwards, so gradient, slots and update have the same form. A filter that entries scale and
    round element by element before they transpose it is stored transposed, too; entries that return such values without
    a transpose get one. States that are already written, or read in two ways, stay.

    ```mlir
    grad.state parameter @w : tensor<16x8xf32> = dense<0.0>
    %w = grad.read @w : tensor<16x8xf32>
    %t = grad.transpose %w permutation [1, 0] : tensor<16x8xf32>
    ```
    becomes
    ```mlir
    grad.state parameter @w : tensor<8x16xf32> permutation [1, 0] = dense<0.0>
    %t = grad.read @w : tensor<8x16xf32>
    ```
  }];
}

#endif
