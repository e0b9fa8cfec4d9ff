// Passes of the graph phase, in pipeline order: simplification, the step, gradients.
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
    twin for a smaller last batch (`NAME.tail`) is removed. An op without extents (a reshape across rows, a slice of the batch, a sum
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

def MixPrecision : Pass<"gradc-mix-precision", "::mlir::ModuleOp"> {
  let summary = "In functions with `grad.precision`, compute products in 16 bits and store the values between them"
                " in 16 bits";
  let description = [{
    Factors of contractions are rounded to the 16-bit type; sums are f32. Results of contractions, and values computed only
    from such results (PrecisionOpInterface), are stored in 16 bits: storage casts round and widen them. All
    other arithmetic is f32. Losses, reductions and the squares that only these read, powers and states stay in f32; a parameter
    is rounded where a contraction reads it. Gradients follow the same rules. `high` names nodes that stay in f32.
    If the loss itself asks for a gradient, Differentiate runs within this pass, first: a request would not find the readers of a
    target that is stored in 16 bits. States are never replaced by what is stored, so requests for their gradients can wait.

    ```mlir
    func.func @f(%x: tensor<4x8xf32>, %w: tensor<8x2xf32>) attributes {grad.precision = {type = bf16}}
    %y = grad.matmul %x, %w : tensor<4x8xf32>, tensor<8x2xf32>
    ```
    becomes
    ```mlir
    %a = grad.cast %x storage : tensor<4x8xf32> -> tensor<4x8xbf16>
    %b = grad.cast %w storage : tensor<8x2xf32> -> tensor<8x2xbf16>
    %s = grad.matmul %a, %b wide : tensor<4x8xbf16>, tensor<8x2xbf16>
    %t = grad.cast %s storage : tensor<4x2xf32> -> tensor<4x2xbf16>
    %y = grad.cast %t storage : tensor<4x2xbf16> -> tensor<4x2xf32>
    ```
  }];
  let options = [Option<"lateRequests", "late-requests", "bool", "false",
                        "leave requests for gradients of states alone to a later Differentiate">];
}

def BuildStep : Pass<"gradc-build-step", "::mlir::ModuleOp"> {
  let summary = "Turn a loss into a training step: gradients, clipping, optimizer updates";
  let description = [{
    In every function with `grad.optimizer`: requests the gradient of result 0 (the loss) with
    respect to every parameter it reads, clips (`grad.clip`: by value, by each norm or by the global
    norm), applies the optimizer and writes parameters and slots back. Slots become states
    `PARAMETER.SLOT`. Updates of 16-bit parameters are computed in f32, and their slots are f32, as are sums of their
    gradients over micro-batches and gradients that are clipped or divided by the loss scale. A state's own `grad.optimizer`
    overrides the function's, and with `grad.rate` its learning rate is the argument with that role and that `grad.field`. `grad.trains` names the parameters that a function updates, if not
    all; a parameter's `grad.steps` names the state that counts these updates and replaces the argument with role "step".
    Of a parameter that a function reads only in whole rows (RowsOpInterface), an update may be left with these rows: if its state
    has `grad.lazy`, or if the rule changes nothing where the gradient is 0 (UpdateOpInterface) and the batch reads at most
    half as many rows as there are. The function then requests the gradients of what it reads, adds up those of equal rows, and writes
    the new rows of parameter and slots (`grad.set_rows`).
    A parameter with `grad.prune` has a slot `PARAMETER.mask` of bools. The mask is renewed within a `grad.if`, the gradient is masked
    before it is clipped, and the new parameter before it is written. Such a parameter is never updated by rows.
    With `grad.watch` a function updates nothing and returns the gradients of these parameters.
    With `grad.ranks` a function runs on a rank's rows of the batch: the loss is that rank's share, and gradients, loss, metrics
    and statistics are summed over ranks (`grad.all_reduce`) before their first use.
    The update and the running statistics that the forward pass writes are predicated on a finite loss (with clipping: a
    finite norm). Parameters that the loss does not reach become constants, with a remark. The gradient
    request is an op, so this pass does not need the backward graph.
  }];
  let options = [Option<"cuda", "cuda", "bool", "false", "all levels are those of GPUs, which do not write rows in place">];
}

def RetypeF64 : Pass<"gradc-retype-f64", "::mlir::ModuleOp"> {
  let summary = "Convert every float of the module to f64, to check gradients";
  let description = [{
    Only `gradc verify` runs this pass, because a difference quotient in f32 is mostly rounding error. It runs before
    differentiation, so gradients are built as usual and their constants (1 / n of a mean) are rounded once, to f64. Numbers
    exchanged with the runtime (rates, counts of rows, the loss) stay f32.
  }];
}

def AverageWeights : Pass<"gradc-average-weights", "::mlir::ModuleOp"> {
  let summary = "Keep an average of each trained parameter, and evaluate on it";
  let description = [{
    `grad.average` on a training function is the decay. Each parameter W that the function writes gets a state `W.ema` with
    the initial value of W; after the update, if the step proceeds, it becomes ema + (1 - decay) (W - ema). With
    `grad.average = {begin, every}` it is the mean of W after the step `begin` and after every `every` steps behind it, and W itself
    until then. Averages of 16-bit
    parameters are f32, and cast where they are read instead of the parameters; those of pruned ones are 0 where the mask says so. Functions without
    the attribute do not train and read the averages instead of the weights, except functions with `grad.watch`, which
    observe the trained weights. Running statistics have no
    averages and are read directly.

    ```mlir
    grad.write @w, %updated : tensor<4xf32>
    ```
    becomes, if the step proceeds,
    ```mlir
    grad.write @w, %updated : tensor<4xf32>
    %e = grad.read @w.ema : tensor<4xf32>
    %moved = ... %e + (1 - decay) (%updated - %e)
    grad.write @w.ema, %moved : tensor<4xf32>
    ```
  }];
}

def AssignStages : Pass<"gradc-assign-stages", "::mlir::ModuleOp"> {
  let summary = "Choose the stage of a pipeline for each op of a training step's forward";
  let description = [{
    In functions with `grad.stages`, the ops that the loss depends on are cut, in program order, into that many runs. The cost of a run
    is that of its ops, of the updates of the parameters that it reads first, and of the bytes that cross its beginning; the most
    expensive run is as cheap as possible. An op that only depends on inputs belongs to no stage unless it is expensive. Differentiation
    hands an op's stage to the ops of its gradient.

    ```mlir
    %0 = grad.matmul %x, %w0 {grad.stage = 0 : i64} : tensor<8x4xf32>, tensor<4x4xf32>
    %1 = grad.matmul %0, %w1 {grad.stage = 1 : i64} : tensor<8x4xf32>, tensor<4x2xf32>
    ```
  }];
}

def Differentiate : Pass<"gradc-differentiate", "::mlir::ModuleOp"> {
  let summary = "Replace every grad.gradient by reverse-mode differentiation";
  let description = [{
    1. Mark the ops between targets and objective (innermost request first, so that requests nest).
    2. Walk them backwards, build each gradient through GradientOpInterface, and add up contributions.
    3. Report all ops whose gradient is missing, each at its own location.
    4. Remove the barriers (grad.optimization_barrier) that kept computed targets.
    Requests with the same objective share their backward graph.

    ```mlir
    %y = grad.mul %x, %x : tensor<4xf32>
    %l = grad.reduce_sum %y dims [0] : tensor<4xf32>
    %g = grad.gradient %l wrt %x : tensor<f32>, tensor<4xf32>
    ```
    becomes, simplified (the seed of a sum is 1 everywhere),
    ```mlir
    %s = grad.mul %x, %one : tensor<4xf32>
    %g = grad.add %s, %s : tensor<4xf32>
    ```
  }];
}

def CutStages : Pass<"gradc-cut-stages", "::mlir::ModuleOp"> {
  let summary = "Make a function of each stage of a pipeline";
  let description = [{
    Beside a function with `grad.stages`, adds one function per stage, for the rank of that number. Parts of the batch (`grad.scan`) are
    unrolled. An op runs on its stage; an op without one on that of its largest operand. If all operands are small, and of several
    stages, every stage that needs the results computes them. A state belongs to the stage that reads it first. A value that
    another stage needs is sent once, and results of the function are sent to all stages. Parts are ordered one forward, one backward:
    `turn` is the position in that order.

    ```mlir
    func.func @train.stage.0(%x: tensor<8x4xf32>) {
      %w = grad.read @w0 : tensor<4x4xf32>
      %0 = grad.matmul %x, %w : tensor<8x4xf32>, tensor<4x4xf32>
      grad.send %0 to 1 number 0 turn 1 : tensor<8x4xf32>
      %g = grad.receive from 1 after(%0) number 1 turn 2 : (tensor<8x4xf32>) -> tensor<8x4xf32>
      ...
    ```
  }];
}

def ReadStored : Pass<"gradc-read-stored", "::mlir::ModuleOp"> {
  let summary = "Make readers of a value that is stored in 16 bits read the stored value";
  let description = [{
    Gradients use the values before they are rounded for storage, so such values would otherwise be kept in both forms.

    ```mlir
    %y = grad.relu %x : tensor<4xf32>
    %t = grad.cast %y storage : tensor<4xf32> -> tensor<4xbf16>
    %u = grad.cast %t storage : tensor<4xbf16> -> tensor<4xf32>
    ```
    Later readers of %y then read %u.
  }];
}

def EndScans : Pass<"gradc-end-scans", "::mlir::ModuleOp"> {
  let summary = "End loops at their conditions";
  let description = [{
    A scan ends at a carried flag if each step is one if on the flag whose else region leaves all carried values as they are, and the flag
    false: the steps after it would change nothing. The ops of the if's body then are those of the step, where kernels write carried values
    in place. Scans with stacks are left alone, such as one whose steps a gradient reads.

    ```mlir
    %r:2 = grad.scan 1000 from (%go, %x) over () with () : (tensor<i1>, tensor<4xf32>) -> (tensor<i1>, tensor<4xf32>) {
    ^bb0(%flag: tensor<i1>, %v: tensor<4xf32>):
      %s:2 = grad.if %flag with (%v) : (tensor<4xf32>) -> (tensor<i1>, tensor<4xf32>) {
      ^bb0(%a: tensor<4xf32>):
        %w = grad.add %a, %a : tensor<4xf32>
        %again = ...
        grad.yield %again, %w : tensor<i1>, tensor<4xf32>
      } else {
      ^bb0(%a: tensor<4xf32>):
        %no = grad.constant dense<false> : tensor<i1>
        grad.yield %no, %a : tensor<i1>, tensor<4xf32>
      }
      grad.yield %s#0, %s#1 : tensor<i1>, tensor<4xf32>
    }
    ```
    becomes
    ```mlir
    %r:2 = grad.scan 1000 while 0 from (%go, %x) over () with () : (tensor<i1>, tensor<4xf32>) -> (tensor<i1>, tensor<4xf32>) {
    ^bb0(%flag: tensor<i1>, %v: tensor<4xf32>):
      %w = grad.add %v, %v : tensor<4xf32>
      %again = ...
      grad.yield %again, %w : tensor<i1>, tensor<4xf32>
    }
    ```
  }];
}

def WidenColumns : Pass<"gradc-widen-columns", "::mlir::ModuleOp"> {
  let summary = "Give convolutions of f32 with at most 4 columns more of them, as far as that is faster";
  let description = [{
    Vectors run along the columns of a product: the filters of a convolution, or the channels of a picture whose gradient it is.
    1. A window over a single element has one tap on it. Taps become columns, and windows slide over the other dims.
    2. The gradient of a filter with few columns exchanges its factors: the channels become columns.
    3. Else taps are divided into blocks along each dim. One convolution has the first taps of all blocks as columns, and so on;
       slices of it, one per block, each moved to its place, are added up.
    4. A depthwise convolution of at most 4 channels becomes one convolution per channel, if (3) then gives each of them columns.

    The estimate counts the vectors of products, and what it takes to add up columns. Grouped convolutions, those with
    strides (3, 4) and those with too little work stay. What is left of the last block of taps is multiplied by 0: an infinity makes NaN of
    more elements than those whose windows have it.

    ```mlir
    %y = grad.convolution %x, %w dims "nc,co->no" window <[9] low [4] high [4]> : tensor<9000x4x64xf32>, tensor<9x64x1xf32>
    ```
    becomes, with %v[t, c, b] = %w[t, c, 0] of tap t + b,
    ```mlir
    %q = grad.convolution %x, %v dims "nc,co->no" window <[1] low [4] high [4]> : tensor<9000x4x64xf32>, tensor<1x64x9xf32>
    %0 = grad.slice %q starts [0, 0, 0] sizes [9000, 4, 1] strides [1, 1, 1] : tensor<9008x4x9xf32>
    %1 = grad.slice %q starts [1, 0, 1] sizes [9000, 4, 1] strides [1, 1, 1] : tensor<9008x4x9xf32>
    %2 = grad.add %0, %1 : tensor<9000x4x1xf32>
    ...
    ```
  }];
}

def DeriveStates : Pass<"gradc-derive-states", "::mlir::ModuleOp"> {
  let summary = "Compute what depends on fixed states alone once, instead of in each run";
  let description = [{
    A value that is computed from constants and states that no entry writes is the same in every run until a caller sets a
    state. If it takes work, it becomes a `derived` state. The entry `derive:` computes all of them; the runtime runs it when states
    have been set, before the next run. Entries that need equal values share them.

    Where another op reads such a value, a state holds it, or values above it: what moves or repeats elements, or takes a few
    instructions for each, is left to the kernel that reads them. A derived state has at most twice as many bytes as what it
    is computed from. States of ranks' shards, the stages of a pipeline, the models of map stages, and entries without inputs are left alone.

    ```mlir
    func.func @forward(%x: tensor<4x512xf32>) -> tensor<4x512xf32> {
      %w = grad.read @w : tensor<512x64xf32>
      %p = grad.read @positions : tensor<64x512xf32>
      %k = grad.matmul %w, %p : tensor<512x64xf32>, tensor<64x512xf32>
      %y = grad.matmul %x, %k : tensor<4x512xf32>, tensor<512x512xf32>
    ```
    becomes
    ```mlir
    grad.state derived @derived : tensor<512x512xf32> = dense<0.0> : tensor<512x512xf32>
    func.func @"derive:"() { // grad.write @derived, %k
    func.func @forward(%x: tensor<4x512xf32>) -> tensor<4x512xf32> {
      %k = grad.read @derived : tensor<512x512xf32>
      %y = grad.matmul %x, %k : tensor<4x512xf32>, tensor<512x512xf32>
    ```
  }];
}

#endif
