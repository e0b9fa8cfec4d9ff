// All passes, in pipeline order. The phases are in compiler/Pipeline.cpp.
#ifndef GRADC_PASSES
#define GRADC_PASSES

include "mlir/Pass/PassBase.td"

// Graph phase -------------------------------------------------------------------------------------

def RaiseComposites : Pass<"gradc-raise-composites", "::mlir::ModuleOp"> {
  let summary = "Make composites of what exporters write in parts: normalizations, GELU, SiLU, rotary positions";
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
    attends to. A known mask that is triangular becomes `causal`. Key heads that are repeated for several
    query heads are read in place. Not fused: attentions too small for their own kernel (`KernelLimits`), scores with
    other readers, trained masks, and entries with mixed precision. On GPUs nothing is
    fused.

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
    the steps of a chunk. An op is moved only if every step runs it, so a run cannot fail in new ways. The loop over the parts of a
    batch is left alone, because it exists to avoid stacks. Ops move through OverStepsOpInterface, contractions through their
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

def OrderStates : Pass<"gradc-order-states", "::mlir::ModuleOp"> {
  let summary = "Store states with their dims in the order that their readers need";
  let description = [{
    A state that all entries read only through the same transpose is stored transposed. The step is built
    afterwards, so gradient, slots and update have the same order of dims. States that are already written, or read in two ways,
    stay.

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

def BuildStep : Pass<"gradc-build-step", "::mlir::ModuleOp"> {
  let summary = "Turn a loss into a training step: gradients, clipping, optimizer updates";
  let description = [{
    In every function with `grad.optimizer`: requests the gradient of result 0 (the loss) with
    respect to every parameter it reads, clips (`grad.clip`: by value, by each norm or by the global
    norm), applies the optimizer and writes parameters and slots back. Slots become states
    `PARAMETER.SLOT`. A state's own `grad.optimizer` overrides the function's, and with `grad.rate` its learning rate is the
    argument with that role and that `grad.field`. `grad.trains` names the parameters that a function updates, if not
    all; a parameter's `grad.steps` names the state that counts these updates and replaces the argument with role "step".
    Of a parameter that a function reads only in whole rows (RowsOpInterface), an update may be left with these rows: if its state
    has `grad.lazy`, or if the rule changes nothing where the gradient is 0 (UpdateOpInterface) and the batch reads at most
    half as many rows as there are. The function then requests the gradients of what it reads, adds up those of equal rows, and writes
    the new rows of parameter and slots (`grad.set_rows`).
    With `grad.watch` a function updates nothing and returns the gradients of these parameters.
    With `grad.ranks` a function runs on a rank's rows of the batch: the loss is that rank's share, and gradients, loss, metrics
    and statistics are summed over ranks (`grad.all_reduce`) before their first use.
    The update and the running statistics that the forward pass writes are predicated on a finite loss (with clipping: a
    finite norm). Parameters that the loss does not reach become constants, with a remark. The gradient
    request is an op, so this pass does not need the backward graph.
  }];
  let options = [Option<"cuda", "cuda", "bool", "false", "all levels are those of GPUs, which do not write rows in place">];
}

def MixPrecision : Pass<"gradc-mix-precision", "::mlir::ModuleOp"> {
  let summary = "In functions with `grad.precision`, compute products in 16 bits and store the values between them"
                " in 16 bits";
  let description = [{
    Factors of contractions are rounded to the 16-bit type; sums are f32. Results of contractions, and values computed only
    from such results (PrecisionOpInterface), are stored in 16 bits: storage casts round and widen them. All
    other arithmetic is f32. Losses, reductions, powers and states stay in f32; a parameter is rounded
    where a contraction reads it. Gradients follow the same rules. `high` names nodes that stay in f32.

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
}

def AverageWeights : Pass<"gradc-average-weights", "::mlir::ModuleOp"> {
  let summary = "Keep an exponential moving average of each trained parameter, and evaluate on it";
  let description = [{
    `grad.average` on a training function is the decay. Each parameter W that the function writes gets a state `W.ema` with
    the initial value of W; after the update, if the step proceeds, it becomes ema + (1 - decay) (W - ema). Functions without
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

def SimplifyAlgebra : Pass<"gradc-simplify-algebra", "::mlir::ModuleOp"> {
  let summary = "Apply identities that hold for every value, including NaN, infinities and signed zeros";
  let description = [{
    x + -0.0, x * 1, double negations, decided selects, sums of broadcasts, pads by nothing; pointwise ops move above a broadcast, where
    they run once an element, and above a reshape that adds dims of 1; a transpose moves into its matmul. What does not hold for every float stays: x + 0.0
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

def RetypeF64 : Pass<"gradc-retype-f64", "::mlir::ModuleOp"> {
  let summary = "Convert every float of the module to f64, to check gradients";
  let description = [{
    Only `gradc verify` runs this pass, because a difference quotient in f32 is mostly rounding error. It runs before
    differentiation, so gradients are built as usual and their constants (1 / n of a mean) are rounded once, to f64. Numbers
    exchanged with the runtime (rates, counts of rows, the loss) stay f32.
  }];
}

// Kernel phase ------------------------------------------------------------------------------------

def DecomposeComposites : Pass<"gradc-decompose", "::mlir::ModuleOp"> {
  let summary = "Replace composite ops by their primitives, unless a kernel computes them whole";
  let description = [{
    Applies DecomposeOpInterface until no composite is left; primitives stay. It runs after differentiation, because the
    gradients of whole composites are more stable and cheaper than those of their parts.

    ```mlir
    %y = grad.sgd %p, %g, %rate, %go : tensor<2x4xf32>, tensor<f32>
    ```
    becomes p - rate * g, selected by `%go`, in `grad.mul`, `grad.sub` and `grad.select`.

    `keep-for-libraries` keeps the composites that a GPU library can compute: GELU in its tanh form, and its
    gradient. The pass runs again after libraries are chosen.

    `keep-for-kernels` keeps an attention, or its gradient, if a CPU kernel computes it whole, that is if it has at least as many
    queries and keys as the kernel limits require, and ops that write rows of a table. It keeps nothing in a module of a GPU level.
  }];
  let options = [Option<"keepForLibraries", "keep-for-libraries", "bool", "false", "leave what a library takes whole">,
                 Option<"keepForKernels", "keep-for-kernels", "bool", "false", "leave what a CPU's kernel computes whole">];
}

def BindRows : Pass<"gradc-bind-rows", "::mlir::ModuleOp"> {
  let summary = "Make the batch size a run-time number: counts of rows become an input, and entries that allow it take any number of rows";
  let description = [{
    An entry is built for a largest batch of N rows. In a run of n rows, every dim of every value has an extent: its full size, or
    its first k * n elements. Extents start at the arguments marked `grad.batched` and propagate through the ops' indexing maps.
    `grad.count` of dims that hold rows becomes k times the argument `rows`; any other count becomes a constant.

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

def ReassociateSums : Pass<"gradc-reassociate-sums", "::mlir::ModuleOp"> {
  let summary = "Reorder sums to reduce cost: factor out invariant factors, and split sums of few long columns in two steps";
  let description = [{
    1. A factor that is constant along all summed dims moves out of the sum, if the remaining operand is computed anyway. The
       gradient of a normalization sums dy and dy * x, each with and without the scale: two of the four sums remain.
    2. A sum of few long columns first sums all dims but the first, so that threads share the first dim, and then the first dim.
    Sums of f16 and bf16 are left alone: another order may overflow.

    ```mlir
    %b = grad.broadcast %scale dims [1] : tensor<8xf32> -> tensor<32x8xf32>
    %p = grad.mul %dy, %b : tensor<32x8xf32>
    %s = grad.reduce_sum %p dims [0] : tensor<32x8xf32>
    ```
    becomes
    ```mlir
    %t = grad.reduce_sum %dy dims [0] : tensor<32x8xf32>
    %s = grad.mul %t, %scale : tensor<8xf32>
    ```
  }];
  let options = [Option<"cuda", "cuda", "bool", "false", "decide by the limits of GPUs, not CPUs">];
}

def AlignSteps : Pass<"gradc-align-steps", "::mlir::ModuleOp"> {
  let summary = "Pad the steps of stacks, so that a schedule can address each step";
  let description = [{
    A schedule's slice must be at a multiple of 64 bytes in every iteration of a loop. A stack whose step size is not a multiple
    of that is padded before the scan that reads it, and cropped after the scan that produces it; a stack passed from one scan to
    another stays padded.

    ```mlir
    %y = grad.scan 3 from () over (%xs) with () : (tensor<3x4xf32>) -> tensor<3x4xf32> {
    ^bb0(%x: tensor<4xf32>):
      %0 = grad.exp %x : tensor<4xf32>
      grad.yield %0 : tensor<4xf32>
    }
    ```
    becomes a scan over `tensor<3x16xf32>`, whose body reads the first 4 of 16 elements and appends 12 zeros to the yielded value.
  }];
}

def FormKernels : Pass<"gradc-form-kernels", "::mlir::ModuleOp"> {
  let summary = "Group ops into kernels and outline each as an exec.kernel";
  let dependentDialects = ["::mlir::exec::ExecDialect"];
  let description = [{
    1. Large constants become states; views (reshapes) stay outside kernels.
    2. Every contraction is fused with its epilogue; pointwise chains and reductions are fused while they
       share a root space and no expensive value would be computed twice.
    3. Each group is outlined; identical kernels are merged.

    ```mlir
    %0 = grad.matmul %x, %w : tensor<32x8xf32>, tensor<8x16xf32>
    %1 = grad.relu %0 : tensor<32x16xf32>
    ```
    becomes
    ```mlir
    %1 = exec.launch @matmul_relu(%x, %w) : (tensor<32x8xf32>, tensor<8x16xf32>) -> tensor<32x16xf32>
    ```
    and `exec.kernel @matmul_relu`, which holds the two ops.
  }];
  let options = [Option<"cuda", "cuda", "bool", "false", "decide by the limits of GPUs, not CPUs">];
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

def SkipRoundings : Pass<"gradc-skip-roundings", "::mlir::ModuleOp"> {
  let summary = "Remove storage roundings whose result is read in the same kernel";
  let description = [{
    ```mlir
    %t = grad.cast %s storage : tensor<4x2xf32> -> tensor<4x2xbf16>
    %y = grad.cast %t storage : tensor<4x2xbf16> -> tensor<4x2xf32>
    ```
    in a kernel: readers of %y read %s instead. If %t has other readers, the kernel still returns it, and a reduction of %y then
    keeps reading the rounded value.
  }];
}

def ChooseLayouts : Pass<"gradc-choose-layouts", "::mlir::ModuleOp"> {
  let summary = "Keep weights in the panel layout that their contractions need";
  let dependentDialects = ["::mlir::exec::ExecDialect"];
  let description = [{
    Looks at all entries of a level, so that a state has one primary layout for the whole training.
    Where a contraction wants another one, a mirror is kept, refreshed after each write. A state that is read or
    written outside kernels stays row-major, and so does one that ranks divide if its panels would be more than 1/32 padding. The gradient that ranks scatter is stored
    as its state is. What a loop reads in panels, and is no state, is packed before it. Entries `pack:STATE` and `unpack:STATE` translate for checkpoints and
    export.

    ```mlir
    %w = grad.read @w : tensor<8x16xf32>
    ```
    becomes
    ```mlir
    exec.buffer primary @w.primary of @w layout <dim = 1, width = 16> : 512
    %w = exec.load @w.primary : tensor<8x16xf32>
    ```
    If kernels read a state through a kernel that only rounds it, a mirror of the narrower type replaces that kernel.
  }];
}

def FlattenUpdates : Pass<"gradc-flatten-updates", "::mlir::ModuleOp"> {
  let summary = "Compute the updates that ranks divide over lists of elements";
  let dependentDialects = ["::mlir::exec::ExecDialect"];
  let description = [{
    A unit of an update over a 3x3x64x64 filter is a third of it, or one of a few panels: too much to divide among ranks. Where everything is
    computed element by element and stored in the same order without padding, the tensors become lists, of which a unit is a few vectors.

    ```mlir
    %w1 = exec.launch @update(%w, %g) : (tensor<3x3x64x64xf32>, tensor<3x3x64x64xf32>) -> tensor<3x3x64x64xf32>
    %w2 = grad.all_gather %w1 of [@w] : tensor<3x3x64x64xf32>
    ```
    becomes
    ```mlir
    %0 = grad.reshape %w : tensor<3x3x64x64xf32> -> tensor<36864xf32>
    %1 = grad.reshape %g : tensor<3x3x64x64xf32> -> tensor<36864xf32>
    %w1 = exec.launch @update_0(%0, %1) : (tensor<36864xf32>, tensor<36864xf32>) -> tensor<36864xf32>
    %w2 = grad.all_gather %w1 of [@w] : tensor<36864xf32>
    ```
    Lists of tensors in panels are in the order of the panels. Panels with padding stay as they are: their updates walk panel by panel.
  }];
}

def PackFactors : Pass<"gradc-pack-factors", "::mlir::ModuleOp"> {
  let summary = "Pack factors of products that are not states";
  let dependentDialects = ["::mlir::exec::ExecDialect"];
  let description = [{
    Products of bf16 read pairs of neighbours along the sum, for one dot-product instruction or as two f32 values per load. If the
    sum runs along the rows of a row-major factor, its pairs are adjacent. If the sum runs across rows, as in both factors of a
    weight's gradient, the factor is packed before the product, once for all products of a block that read it, if packing takes less
    time than the product saves. A product with a state packed in pairs along another dim is left alone.

    A factor of another type that the product reads across its rows, such as a transposed weight behind a view, is packed
    in panels of values if the product has 128 or more rows.

    ```mlir
    %dw = exec.launch @matmul(%x, %dy) : ...
    ```
    becomes
    ```mlir
    %0 = exec.launch @pack(%x) : ...    // #exec.panel<dim = 1, width = 32, pairs = 0>
    %1 = exec.launch @pack(%dy) : ...
    %dw = exec.launch @matmul_0(%0, %1) : ...
    ```
  }];
}

def ChooseLibraries : Pass<"gradc-choose-libraries", "::mlir::ModuleOp"> {
  let summary = "Find the kernels of a GPU level that a library call can replace";
  let dependentDialects = ["::mlir::exec::ExecDialect"];
  let description = [{
    Marks a kernel that one call of cuBLASLt or cuDNN can replace with that call. If a call computes only the
    first part of a kernel (a weight gradient, followed by the update), the kernel is split if that pays. With `mode` auto, a
    matrix product becomes a call if that saves more time than its overhead and another round trip through memory; convolutions
    do not, because of the layout copies that cuDNN makes. With always, every candidate becomes a call; with never, none does. The pass does
    nothing on CPU levels. GELU in its tanh form, and its gradient, are still whole at this point and decomposed next. The
    input of GELU may be a second result of the call.

    ```mlir
    %1 = exec.launch @matmul_compare_select(%g, %w, %y) : ...
    ```
    becomes
    ```mlir
    %0 = exec.launch @matmul(%g, %w) : ...      // library = #exec.library<matmul epilogue = none, operands = [0, 1]>
    %1 = exec.launch @compare_select(%0, %y) : ...
    ```
  }];
  let options = [Option<"mode", "mode", "std::string", "\"auto\"", "auto, always or never">];
}

def FindExtents : Pass<"gradc-find-extents", "::mlir::ModuleOp"> {
  let summary = "Annotate each kernel with the dims of its operands that hold rows of the batch";
  let description = [{
    Propagates extents from launch to launch in entries that take any number of rows (`grad.rows`). A kernel that two launches run
    with different extents is duplicated. Kernels without rows of the batch are left alone.

    ```mlir
    exec.kernel @matmul (%x: tensor<32x64xf32>, %w: tensor<64x10xf32>) -> tensor<32x10xf32> ...
    ```
    becomes a kernel with `extents = [[1, 0], [0, 0]], rows = [1, 0]`: in a run of n rows it reads and computes n rows.
  }];
}

def Schedule : Pass<"gradc-schedule", "::mlir::ModuleOp"> {
  let summary = "Choose register tile, loop order and units of every kernel, by level";
  let description = [{
    A contraction uses the level's measured tile; other kernels use enough vectors to hide latency. `grain` is the number
    of units below which another thread does not pay. It depends on the work, never on the number of threads.

    ```mlir
    exec.kernel @matmul_relu(...) attributes {schedule =
        #exec.schedule<lanes = 8, tile = [6, 16], order = [0, 1], grain = 6>, ...}
    ```
  }];
}

def GroupLaunches : Pass<"gradc-group-launches", "::mlir::ModuleOp"> {
  let summary = "Merge independent launches of a GPU into one launch";
  let dependentDialects = ["::mlir::exec::ExecDialect"];
  let description = [{
    A launch takes about 2 us, longer than most parameter updates run.
    0. A kernel in which one team computes many sums (a global norm) is cut after the sums, so that they can become parts.
    1. The height of a launch is the length of the longest path of dependent launches from it. Launches of equal height are
       independent, and merging them creates no cycles. Height corresponds to the latest possible position in the schedule.
    2. Small kernels of equal height become parts of one kernel. So do pointwise kernels of any size, together with the small ones if
       those are all pointwise. The bytes that a group keeps alive are bounded, and so is the number of its operands and results.
    3. Kernels that two entries share stay shared.

    Library calls and contractions through shared memory are not merged. The pass does nothing on CPU levels, where a dispatch takes 0.2 us.

    ```mlir
    %1 = exec.launch @sgd(%w1, %g1, %rate) : ...
    %2 = exec.launch @sgd_1(%w2, %g2, %rate) : ...
    ```
    becomes
    ```mlir
    %1:2 = exec.launch @sgd_and_1_more(%w1, %g1, %w2, %g2, %rate) : ...  // parts = [#exec.part<operands = 2, results = 1, ..>, ..]
    ```
  }];
}

def OrderLaunches : Pass<"gradc-order-launches", "::mlir::ModuleOp"> {
  let summary = "Run a launch as soon as that frees memory";
  let description = [{
    Launches are initially in graph order, with gradients first and all updates at the end. A launch whose operands are available and
    which lowers memory use runs at once: a parameter's update directly after its gradient, which is then still in cache.
    Launches that wait for something else (clipping by a global norm) stay in place. A sum over ranks starts as soon as its
    operands are available, and its readers run when nothing else is left to do.

    ```mlir
    %g1 = exec.launch @gradient(%x, %y) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %g2 = exec.launch @gradient(%y, %z) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %w = exec.load @w.primary : tensor<8x8xf32>
    %u1 = exec.launch @update(%g1, %w) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    exec.store @w.primary, %u1 : tensor<8x8xf32>
    ```
    becomes
    ```mlir
    %w = exec.load @w.primary : tensor<8x8xf32>
    %g1 = exec.launch @gradient(%x, %y) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %u1 = exec.launch @update(%g1, %w) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %g2 = exec.launch @gradient(%y, %z) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    exec.store @w.primary, %u1 : tensor<8x8xf32>
    ```
  }];
}

def BucketSums : Pass<"gradc-bucket-sums", "::mlir::ModuleOp"> {
  let summary = "Merge sums over ranks that start at about the same time into one collective";
  let description = [{
    Every collective has a fixed latency. Consecutive sums are merged at the position of the last one until the bucket has `bytes`
    bytes; a bucket is also closed when a node reads one of its sums. All sums of a bucket have the same
    element type and wire format. Sums that later sums depend on, such as batch statistics, are needed soon, so gradients
    are not merged with them.

    ```mlir
    %s1 = grad.all_reduce %g1 : tensor<8x8xf32>
    %g2 = exec.launch @gradient(%x, %y) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %s2 = grad.all_reduce %g2 : tensor<8x8xf32>
    ```
    becomes
    ```mlir
    %g2 = exec.launch @gradient(%x, %y) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %s:2 = grad.all_reduce %g1, %g2 : tensor<8x8xf32>, tensor<8x8xf32>
    ```
  }];
  // At 10 GB/s, 1 MiB takes 0.1 ms: ten times a network's latency, yet a short wait after the last gradient.
  let options = [Option<"bytes", "bytes", "int64_t", "1 << 20", "bytes of values from which on a collective takes no more">];
}

def Rematerialize : Pass<"gradc-rematerialize", "::mlir::ModuleOp"> {
  let summary = "Recompute results before late uses, so that an entry fits a memory budget";
  let description = [{
    The budget limits the bytes of states and an entry's arena; 0 means no limit. While an entry exceeds it: of the results that are live
    across the node with peak memory, the one with the least recomputation time per byte is recomputed just before its
    next use, from the values available there. Its operands may be kept longer for that, or be recomputed in turn. The kernel is
    the same, and so are the bits. An entry that still exceeds the budget is left as it is; the caller has to reject it.

    ```mlir
    %a = exec.launch @gelu(%x) : (tensor<8x8xf32>) -> tensor<8x8xf32>
    ...                                                             // peak memory; %x has later uses, too
    %g = exec.launch @gradient(%x, %a) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    ```
    becomes
    ```mlir
    %a = exec.launch @gelu(%x) : (tensor<8x8xf32>) -> tensor<8x8xf32>
    ...
    %b = exec.launch @gelu(%x) {exec.recomputed} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %g = exec.launch @gradient(%x, %b) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    ```
  }];
  let options = [Option<"budget", "budget", "int64_t", "0", "bytes of states and the arena of one entry">];
}

def CutStates : Pass<"gradc-cut-states", "::mlir::ModuleOp"> {
  let summary = "Decide how ranks divide parameters, and which launches run only on a rank's own parts";
  let description = [{
    If each rank updates its own part of a parameter, the launches of the update run only the units of the elements that the rank
    owns. The size of a piece is a common multiple of the units of these launches, so that each can be cut there. If a rule needs whole
    tensors, or a writer's units are not contiguous elements, one rank owns the whole state, and only it runs the launches that lead there.

    ```mlir
    %g1 = grad.reduce_scatter %g of [@w] : tensor<96xf32>
    %w1 = exec.launch @update(%w, %g1, %lr) : (tensor<96xf32>, tensor<96xf32>, tensor<f32>) -> tensor<96xf32>
    %w2 = grad.all_gather %w1 of [@w] : tensor<96xf32>
    ```
    becomes
    ```mlir
    exec.cut @w.cut of @w : 96 by 32
    %w1 = exec.launch @update(%w, %g1, %lr) {exec.cut = @w.cut, exec.units_per_piece = 1} : (...) -> tensor<96xf32>
    ```
    A launch whose result is needed in whole, such as a norm, runs unchanged on all ranks. A scatter that it reads is marked to leave zeros
    (`exec.zeros`) where the rank owns nothing.
  }];
}

def PlanMemory : Pass<"gradc-plan-memory", "::mlir::ModuleOp"> {
  let summary = "Allocate every tensor: functions become exec.entry over one arena";
  let dependentDialects = ["::mlir::exec::ExecDialect"];
  let description = [{
    Computes liveness over the launch order, reuses operands in place if the kernel allows it, and places the largest tensor first, at
    the lowest free offset (64-byte aligned). States and entry inputs are never in the arena.

    ```mlir
    %1 = exec.launch @matmul_relu(%x, %w) : (tensor<32x8xf32>, tensor<8x16xf32>) -> tensor<32x16xf32>
    ```
    becomes
    ```mlir
    exec.dispatch @matmul_relu [#exec.slice<input 0 at 0 : tensor<32x8xf32>>,
        #exec.slice<buffer 0 at 0 of @w.primary : tensor<8x16xf32>>] -> [#exec.slice<arena 0 at 0 : tensor<32x16xf32>>]
    ```
  }];
}

// Tests only --------------------------------------------------------------------------------------

def CorruptKernel : Pass<"gradc-test-corrupt-kernel", "::mlir::ModuleOp"> {
  let summary = "Make one kernel compute wrong results, to prove that verify detects it";
  let description = [{
    `kernel=NAME` or `kernel=NAME:KIND`. `shift`, the default: 1.25 x + 1 on the first result. `factor`: multiplies its floats
    by 1.001; `factor@N`: those of result N. `edge`: shifts only its last element. `swap`: exchanges the first two
    operands of the same type.
  }];
  let options = [Option<"kernel", "kernel", "std::string", "\"\"", "symbol of the kernel">];
}

#endif
