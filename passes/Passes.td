// Every pass, in pipeline order: the table of contents. The phases are in compiler/Pipeline.cpp.
#ifndef GRADC_PASSES
#define GRADC_PASSES

include "mlir/Pass/PassBase.td"

// Graph phase -------------------------------------------------------------------------------------

def RaiseComposites : Pass<"gradc-raise-composites", "::mlir::ModuleOp"> {
  let summary = "Make composites of what exporters write in parts: normalizations, GELU, SiLU";
  let description = [{
    A composite's gradient reads less and is computed with fewer kernels than that of its parts, and mixed precision, libraries and kernels ask for
    the composite. Each form is a pattern of its own (`passes/raise/`), which matches the algebra of `grad` ops and knows no
    exporter: constants and axes must be those of the composite, factors of a product may come in any order. A value
    inside that somebody else reads stays, for that reader.

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

def FormAttention : Pass<"gradc-form-attention", "::mlir::ModuleOp"> {
  let summary = "Make one op of two products around a softmax, where one kernel computes them";
  let description = [{
    Between the products may be a factor, then a mask: one that is added, or one that says which keys a query sees. The
    mask's value is looked at where it is known, so that a triangle becomes `causal`. Key heads that are repeated for several
    query heads are read where they are. Attentions too small for a kernel of their own (`KernelLimits`), scores that
    somebody else reads, masks that are trained and entries of mixed precision stay as they are; nothing is
    formed for GPUs.

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
    A model in one layout, whose convolutions want another, comes with two transposes around each. Areas of ops that can
    work in either layout (pointwise ops, reductions, normalizations, pools over the same spatial dims, slices, pads,
    concatenations) are turned as a whole, where that transposes fewer bytes, or as many with more ops right behind a
    contraction, whose epilogue they then are. Broadcasts absorb a transpose, as do the letters of a convolution.
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
  let summary = "Move out of loops what their recurrence does not need";
  let description = [{
    Per scan, innermost first:
    1. What never changes is computed once before it, unless it only repeats elements.
    2. A product of a step with what never changes (an input's share in a cell) is one product of all steps before it, with its
       pointwise epilogue, if it does not depend on carried values.
    3. Such a product that only stacked results depend on (an output layer) is one product behind it, with all that follows.
    4. A carried sum to which each step only adds products, and which no step reads (the gradient of a weight), is one product
       behind it, which sums over the steps, too. Not where the sum stays in a cache from step to step and a step has 32 rows or
       more: in the loop it is as fast, and needs no stacks.

    Stacks that this adds take `stack-bytes` at most: a loop whose stacks are larger becomes a loop over chunks of steps, each of
    them a loop. An op leaves only if every step runs it, so no run fails that did not fail before. The loop over the parts of a
    batch stays as it is, because its purpose is to keep no stacks. Ops move through OverStepsOpInterface, contractions by their
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
  let summary = "Store states with their dims in the order that their readers want";
  let description = [{
    A state that every entry only reads through one and the same transpose is stored transposed. Its gradient, slots
    and update then come in that order, too, because the step is built afterwards. States that are written already, or read in two ways,
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
    one), applies the optimizer and writes parameters and slots back. Slots become states
    `PARAMETER.SLOT`. A state's own `grad.optimizer` stands in for the function's, and with `grad.rate` its learning rate is the
    argument of that role and that `grad.field`. `grad.trains` names the parameters that a function updates where these are
    not all; a parameter's `grad.steps` names the state that counts the steps which do, in place of the argument with role "step".
    With `grad.watch` a function updates nothing and returns the gradients of these parameters.
    With `grad.ranks` a function runs on the rows that a rank has of the batch: the loss is that rank's share, and gradients, loss, metrics
    and statistics are summed over ranks (`grad.all_reduce`) before anything looks at them.
    The update is predicated on a finite loss (with clipping: a finite norm), and so are the running statistics that
    the forward writes. Parameters that the loss does not reach become constants, with a remark. The
    request is an op, so this pass needs no backward graph.
  }];
}

def MixPrecision : Pass<"gradc-mix-precision", "::mlir::ModuleOp"> {
  let summary = "Compute products in 16 bits and store what lies between them so, where `grad.precision` says"
                " so";
  let description = [{
    Factors of contractions are rounded to the 16-bit type, sums are f32. What a contraction gives, and what follows from
    that alone (PrecisionOpInterface), is stored in 16 bits: it is rounded and widened by casts for storage. All
    arithmetic is of f32. Losses, reductions and powers stay as they are, and so do states: a parameter is rounded
    where a contraction reads it. Gradients of all this are of the same kind. `high` names nodes that stay in f32.

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
    In every function with `grad.average`, the decay: each parameter W that it writes has a state `W.ema`, which begins as
    W does; behind the update, where the step proceeds, it becomes ema + (1 - decay) (W - ema). Functions without the
    attribute, which do not train, read the averages in place of the weights; those with `grad.watch`, which look at a step, do
    not. Running statistics have none: what they
    hold is read as it is.

    ```mlir
    grad.write @w, %updated : tensor<4xf32>
    ```
    becomes, where the step proceeds,
    ```mlir
    grad.write @w, %updated : tensor<4xf32>
    %e = grad.read @w.ema : tensor<4xf32>
    %moved = ... %e + (1 - decay) (%updated - %e)
    grad.write @w.ema, %moved : tensor<4xf32>
    ```
  }];
}

def Differentiate : Pass<"gradc-differentiate", "::mlir::ModuleOp"> {
  let summary = "Answer every grad.gradient by reverse-mode differentiation";
  let description = [{
    1. Mark the ops between targets and objective (innermost request first, so that requests nest).
    2. Walk them backwards, ask each GradientOpInterface, add up contributions.
    3. Report every op whose gradient is missing, all at once, each at its own location.
    Requests of one objective share their backward graph.

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

def SimplifyAlgebra : Pass<"gradc-simplify-algebra", "::mlir::ModuleOp"> {
  let summary = "Apply identities that hold for every value, NaN, infinities and signed zeros included";
  let description = [{
    x + -0.0, x * 1, double negations, decided selects, sums of broadcasts; pointwise ops move above a broadcast, where
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
  let summary = "Turn every float of the module to f64: gradients are checked in it";
  let description = [{
    Only `gradc verify` runs it. In f32 a difference quotient is mostly rounding. It runs before the gradients are
    there: they are built in the same way, and their constants (1 / n of a mean) are rounded once, to f64. Numbers that
    the runtime gives and takes (rates, counts of rows, the loss) stay f32.
  }];
}

// Kernel phase ------------------------------------------------------------------------------------

def DecomposeComposites : Pass<"gradc-decompose", "::mlir::ModuleOp"> {
  let summary = "Replace composite ops by their primitives, where no kernel takes them whole";
  let description = [{
    Asks DecomposeOpInterface until no composite is left; primitives stay. It runs after differentiation, which wants
    composites whole: their gradients are stabler and cheaper than those of their parts.

    ```mlir
    %y = grad.sgd %p, %g, %rate, %go : tensor<2x4xf32>, tensor<f32>
    ```
    becomes p - rate * g, selected by `%go`, in `grad.mul`, `grad.sub` and `grad.select`.

    With `keep-for-libraries` the composites that a GPU's library takes whole are left: GELU in its tanh form, and its
    gradient. Once libraries were chosen, the pass runs once more.

    With `keep-for-kernels` an attention, or its gradient, is left where a CPU's kernel computes it whole: from as many queries and
    keys on as the limits on kernels say. Nothing is left so in a module of a GPU's level.
  }];
  let options = [Option<"keepForLibraries", "keep-for-libraries", "bool", "false", "leave what a library takes whole">,
                 Option<"keepForKernels", "keep-for-kernels", "bool", "false", "leave what a CPU's kernel computes whole">];
}

def BindRows : Pass<"gradc-bind-rows", "::mlir::ModuleOp"> {
  let summary = "Make the batch a number of the run: counts of rows become an input, entries that allow it take any number";
  let description = [{
    An entry is built for a largest batch, N rows. Every dim of every value has an extent in a run of n rows: its size, or
    k * n, the first of them. Extents start at the arguments marked `grad.batched` and go through the ops' indexing maps.
    `grad.count` of dims that hold rows becomes k times the argument `rows`, any other a constant.

    With `judge`, which comes before kernels are formed, an entry whose values all have extents gets `grad.rows`, and its
    twin for a smaller last batch (`NAME.tail`) goes. An op without them (a reshape across rows, a slice of the batch, a sum
    of what may be repeated once a row) is named in a remark; its entry runs on N rows only, and keeps its twin. A
    bucket, `NAME.rows.M`, which runs in the place of `NAME` on up to
    M rows, stays where `NAME` takes any number, and has the argument `rows` where `NAME` has it.

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
  let summary = "Sum in the order that costs least: factors outside, few long columns in two steps";
  let description = [{
    1. A factor that is the same along all that is summed comes out of the sum, where what is left is made anyhow. The
       gradient of a normalization sums dy, dy * x, and both once more with the scale: two sums are left of the four.
    2. Sums of few and long columns sum all dims but the first, then that one: threads share the first dim.
    Sums of f16 and bf16 stay: in another order they may overflow.

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
  let summary = "Pad the steps of stacks, so that a schedule can address each of them";
  let description = [{
    A slice of a schedule lies at a multiple of 64 bytes, in each iteration of a loop. A stack whose steps are no multiple
    of that is padded before the scan that reads it, and cut behind the one that makes it; what one scan hands to
    another stays padded.

    ```mlir
    %y = grad.scan 3 from () over (%xs) with () : (tensor<3x4xf32>) -> tensor<3x4xf32> {
    ^bb0(%x: tensor<4xf32>):
      %0 = grad.exp %x : tensor<4xf32>
      grad.yield %0 : tensor<4xf32>
    }
    ```
    becomes a scan over `tensor<3x16xf32>`, in whose body the first 4 of 16 elements are read, and 12 zeros follow what it yields.
  }];
}

def FormKernels : Pass<"gradc-form-kernels", "::mlir::ModuleOp"> {
  let summary = "Group ops into kernels and outline each as an exec.kernel";
  let dependentDialects = ["::mlir::exec::ExecDialect"];
  let description = [{
    1. Large constants become states; views (reshapes) stay outside.
    2. Every contraction takes its epilogue; pointwise chains and reductions join while they share
       a root space and no value would be computed twice at a cost.
    3. Outline; identical kernels become one.

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
  let summary = "Whoever reads a value that is stored in 16 bits reads it from there";
  let description = [{
    Gradients are built from what ops compute, before it is rounded for storage: it would be kept in both forms.

    ```mlir
    %y = grad.relu %x : tensor<4xf32>
    %t = grad.cast %y storage : tensor<4xf32> -> tensor<4xbf16>
    %u = grad.cast %t storage : tensor<4xbf16> -> tensor<4xf32>
    ```
    Who reads %y behind these reads %u.
  }];
}

def SkipRoundings : Pass<"gradc-skip-roundings", "::mlir::ModuleOp"> {
  let summary = "Leave out roundings for storage whose result is read in the same kernel";
  let description = [{
    ```mlir
    %t = grad.cast %s storage : tensor<4x2xf32> -> tensor<4x2xbf16>
    %y = grad.cast %t storage : tensor<4x2xbf16> -> tensor<4x2xf32>
    ```
    in a kernel: what reads %y reads %s. The kernel still gives %t where others read that; then a reduction of %y reads it as
    they do.
  }];
}

def ChooseLayouts : Pass<"gradc-choose-layouts", "::mlir::ModuleOp"> {
  let summary = "Keep weights in the panel layout that their contractions want";
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
    Where kernels read a state through one that only rounds it, a mirror of the narrower type takes that kernel's place.
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
  let summary = "Pack the factors of products that are not states";
  let dependentDialects = ["::mlir::exec::ExecDialect"];
  let description = [{
    Products of bf16 read pairs of neighbours along the sum: in one instruction, or as two f32 of one load. A row-major
    factor has them where the sum runs along its rows. One that the sum runs across, as both factors of a weight's gradient,
    is packed before the product, once for all products of a block that read it, where that takes less time than the
    product saves. A state that lies in pairs along another dim leaves its product as it is.

    A factor of another type that the product reads across its rows, such as a transposed weight behind a view, is packed
    in panels of values for a product of 128 or more rows.

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
  let summary = "Find the kernels of a GPU level that one library call computes";
  let dependentDialects = ["::mlir::exec::ExecDialect"];
  let description = [{
    Marks a kernel that is one call of cuBLASLt or cuDNN with that call. A kernel of which a call computes only the
    first part (a weight gradient and the update with it) becomes two where that pays: by `mode` auto, where the call's
    flops are worth a launch and another way through memory; by always, each. A convolution is cuDNN's where it is worth
    the copies in another order that cuDNN makes, too. With never, there are no calls. Nothing
    happens on CPU levels. GELU in its tanh form, and its gradient, are still whole, and are decomposed next. What
    GELU is applied to may be a second result of the call.

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
  let summary = "Tell each kernel which dims of its operands hold rows of the batch";
  let description = [{
    In entries that take any number of rows (`grad.rows`), from launch to launch. A kernel that two launches run with
    different extents becomes two. Kernels that no row reaches stay as they are.

    ```mlir
    exec.kernel @matmul (%x: tensor<32x64xf32>, %w: tensor<64x10xf32>) -> tensor<32x10xf32> ...
    ```
    becomes a kernel with `extents = [[1, 0], [0, 0]], rows = [1, 0]`: of n rows it reads and computes n.
  }];
}

def Schedule : Pass<"gradc-schedule", "::mlir::ModuleOp"> {
  let summary = "Choose register tile, loop order and units of every kernel, by level";
  let description = [{
    A contraction takes the level's measured tile; other kernels enough vectors to hide latency. `grain` is the number
    of units below which another thread does not pay: it depends on the work, never on the number of threads.

    ```mlir
    exec.kernel @matmul_relu(...) attributes {schedule =
        #exec.schedule<lanes = 8, tile = [6, 16], order = [0, 1], grain = 6>, ...}
    ```
  }];
}

def GroupLaunches : Pass<"gradc-group-launches", "::mlir::ModuleOp"> {
  let summary = "Make one launch of a GPU's launches that do not wait for each other";
  let dependentDialects = ["::mlir::exec::ExecDialect"];
  let description = [{
    A launch takes some 2 us, more than most updates of a parameter run.
    0. A kernel in which one team adds up many sums (a global norm) is cut behind them, so that they can be parts.
    1. A launch's height is the number of launches on the longest way from it to one that nobody waits for. Those of the same height
       do not wait for each other, whatever is grouped: a group is where all of its members could be the latest.
    2. Small kernels of one height become parts of one kernel, and so do pointwise ones of any size, with the small ones where these
       are all pointwise. What stays alive for a group is bounded, and so is the number of its operands and results.
    3. Kernels that are the same in two entries stay the same.

    Library calls and contractions through shared memory stay alone. Nothing happens on CPU levels: a dispatch there takes 0.2 us.

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
    Launches come in the order of the graph, gradients first and all updates at the end. A launch whose operands are there, and after which less memory
    is taken than before, runs at once: the update of a parameter behind its gradient, which is then still in the cache.
    Launches that wait for something else (clipping by a global norm) stay where they are. A sum over ranks begins as soon as its
    operands are there, and what reads it comes when nothing else is left to do.

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
  let summary = "Sum over ranks what is finished at about the same time in one collective";
  let description = [{
    A collective costs a latency, however little it sums. Sums that follow each other are one, where their last one began, until
    together they have `bytes`; a sum stays apart where a node before it already waits for what it would join. All of a collective is of one
    element type and travels alike. Sums on which later ones depend, as those of batch statistics, are waited for soon: gradients
    do not join them.

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
  // At 10 GB/s 1 MiB takes 0.1 ms, ten times a network's latency, and little is left of it behind the last gradient.
  let options = [Option<"bytes", "bytes", "int64_t", "1 << 20", "bytes of values from which on a collective takes no more">];
}

def Rematerialize : Pass<"gradc-rematerialize", "::mlir::ModuleOp"> {
  let summary = "Compute results again where they are needed late, so that an entry fits a budget";
  let description = [{
    The budget is what states and the arena of an entry may take; 0 is no limit. While an entry takes more: of the results that are kept
    over the node at which most memory is taken, the one that takes the least time per byte is computed again just before its
    next use, from what is there then. Its operands may be kept longer for that, or be computed again in turn. The kernel is
    the same, and so are the bits. An entry that still takes more is left so; it is for who planned it to refuse.

    ```mlir
    %a = exec.launch @gelu(%x) : (tensor<8x8xf32>) -> tensor<8x8xf32>
    ...                                                             // here most is taken; %x is needed later, too
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
  let summary = "Decide how ranks divide parameters, and which launches run on the parts of a rank alone";
  let description = [{
    Where each rank updates its own part of a parameter, the launches that do so run some of their units: those of the elements that the rank
    owns. Elements are divided by the largest of the launches' units, so that each launch can be cut there. A rule that takes whole
    tensors, and a writer whose units are no runs of elements, let one rank have all of a state: it alone runs the launches that end there.

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
    A launch with a result that is needed whole, as a norm is, runs on all ranks as it is. A scatter that it reads is told to leave zeros
    (`exec.zeros`) where the rank owns nothing.
  }];
}

def PlanMemory : Pass<"gradc-plan-memory", "::mlir::ModuleOp"> {
  let summary = "Give every tensor its place: functions become exec.entry over one arena";
  let dependentDialects = ["::mlir::exec::ExecDialect"];
  let description = [{
    Liveness over the launch order; in place where the kernel allows; largest tensor first, lowest
    free offset (64-byte aligned). States and entry inputs are never in the arena.

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
  let summary = "Make one kernel's code compute something else, to prove that verify catches it";
  let description = [{
    `kernel=NAME` or `kernel=NAME:KIND`. `shift`, the default: 1.25 x + 1 of the first result. `factor`: its floats
    times 1.001; `factor@N`: those of result N. `edge`: the shift in its last element only. `swap`: the first two
    operands of one type are exchanged.
  }];
  let options = [Option<"kernel", "kernel", "std::string", "\"\"", "symbol of the kernel">];
}

#endif
