// Passes of the graph phase from the step on, in pipeline order: precision, the step, gradients, stages, and what gradients allow to improve.
#ifndef GRADC_STEP_PASSES
#define GRADC_STEP_PASSES

include "mlir/Pass/PassBase.td"

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
