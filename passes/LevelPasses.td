// Passes of the level phase, in pipeline order: layouts, schedules and the memory plan of one level.
#ifndef GRADC_LEVEL_PASSES
#define GRADC_LEVEL_PASSES

include "mlir/Pass/PassBase.td"

def SeparateRows : Pass<"gradc-separate-rows", "::mlir::ModuleOp"> {
  let summary = "Run the rows of a batch one by one, where their values then stay in the cache";
  let dependentDialects = ["::mlir::exec::ExecDialect"];
  let description = [{
    Threads share the rows of such an entry, and each row runs on one of them with the code of the bucket for one row. All values of one row fit into
    a cache where those of a batch do not, but each row reads the weights anew: an entry is separated if the values that a batch would write to memory
    and read again take longer than the weights that do not hide behind arithmetic. Its rows must be independent of each other, and its outputs must be
    rows. GPUs run whole batches.

    ```mlir
    func.func @forward(%x: tensor<64x3x224x224xf32>) -> tensor<64x1000xf32> {...}
    ```
    becomes
    ```mlir
    exec.entry @forward arena 0 each_row @forward.rows.1 inputs [...] outputs [...] {}
    ```
  }];
}

def ChooseLayouts : Pass<"gradc-choose-layouts", "::mlir::ModuleOp"> {
  let summary = "Keep weights in the panel layout that their contractions need";
  let dependentDialects = ["::mlir::exec::ExecDialect"];
  let description = [{
    Looks at all entries of a level, so that a state has one primary layout for the whole training.
    Where a contraction wants another one, and an entry that does not write the state or a loop reads it, a mirror is kept, refreshed after each
    write. Other contractions turn the primary's panels themselves, or a launch packs the state before the first of them. A state that is read or
    written outside kernels stays row-major, and so does one that ranks divide if its panels would be more than 1/32 padding. The gradient that ranks scatter is stored
    as its state is. A view of a state that no entry writes shows its panels, if these are along the last dim and the view keeps that. What a loop reads in panels, and is no state, is packed before it. Entries `pack:STATE` and `unpack:STATE` translate for checkpoints and
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
    in panels of values if the product has 128 or more rows. A filter that the step computes is transformed for Winograd's
    algorithm if that takes less time than it saves.

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
    of units below which another thread does not pay. It depends on the work, never on the number of threads. The order of the
    loops decides which operands may be overwritten (`inplace`).

    ```mlir
    exec.kernel @matmul_relu(...) attributes {schedule =
        #exec.schedule<lanes = 8, tile = [6, 16], order = [0, 1], grain = 6>, ...}
    ```

    A kernel whose key is in the tuning file has the schedule that was measured; the module then has the file's hash as
    `exec.tuning`.
  }];
  let options = [Option<"tuning", "tuning", "std::string", "", "tuning file; empty: none">];
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
  let summary = "Run a launch as soon as that frees memory, or after the peak of memory";
  let description = [{
    Launches are initially in graph order, with gradients first and all updates at the end. A launch whose operands are available and
    which lowers memory use runs at once: a parameter's update directly after its gradient, which is then still in cache.
    Launches that wait for something else (clipping by a global norm) stay in place. A sum over ranks starts as soon as its
    operands are available, and its readers run when nothing else is left to do. Where memory is highest, launches before whose
    results are only read later follow behind, if that lowers the peak.

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
    A launch whose result is needed in whole, such as a norm, runs unchanged on all ranks. `exec.zeros` of a scatter
    numbers the results that it reads, which are then zero where the rank owns nothing.
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

#endif
