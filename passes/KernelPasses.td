// Passes of the kernel phase, in pipeline order: composites become primitives, and ops form kernels.
#ifndef GRADC_KERNEL_PASSES
#define GRADC_KERNEL_PASSES

include "mlir/Pass/PassBase.td"

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
    queries and keys as the kernel limits require, an argsort, a cumulative sum or product, or the positions of enough elements, a suppression of boxes, a Fourier transform
    of f32 or f64 whose length has small factors, and ops that write rows of a table. It keeps nothing in a module of a GPU level.
  }];
  let options = [Option<"keepForLibraries", "keep-for-libraries", "bool", "false", "leave what a library takes whole">,
                 Option<"keepForKernels", "keep-for-kernels", "bool", "false", "leave what a CPU's kernel computes whole">];
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
    Where a step holds rows of the batch, each row is padded by itself: 10 rows of 4 elements become `tensor<10x8xf32>`, of which a
    run with fewer rows has the first ones.
  }];
}

def FlattenIndices : Pass<"gradc-flatten-indices", "::mlir::ModuleOp"> {
  let summary = "Give scatters with several indices, or an index per element, one index per row";
  let description = [{
    On CPUs, a kernel adds up many updates of rows that one index chooses; other updates are searched for by each target.

    ```mlir
    %1 = grad.scatter %zeros[%y, %x] add %points dims [-1, -2, 1] index_dims [0]
        : tensor<128x128x32xf32>, tensor<8000x32xf32>, tensor<8000xi64>, tensor<8000xi64>
    ```
    becomes a scatter into `tensor<16384x32xf32>` at y * 128 + x, or at 16384, which is out of range, if y or x is. Dims that the indices
    run along are parts of that index, too, if all of these dims are the target's outermost ones. If they are not, if one in front of those
    that indices choose along has enough units for the threads, or if some may hold rows, in an entry that takes any number of rows, only
    the dims that indices choose along are merged, and those between them, for instance of two indices for each row; the kernel's units
    then lie along dims outside of them.

    A scatter that replaces few whole rows of an input, and is returned, becomes a `grad.set_rows`, whose kernel writes only these rows: a
    cache of keys and values that gains a step. The targets have to be distinct: the dims of the updates are dims of the target, but for
    one along which an index counts.

    ```mlir
    %1 = grad.scatter %past[%at] replace %key dims [0, 1, -1, 3] index_dims [0, 2]
        : tensor<1x12x1024x64xf32>, tensor<1x12x1x64xf32>, tensor<1x1xi64>
    ```
    becomes a `grad.set_rows` of 12 rows in `tensor<12288x64xf32>`, at head * 1024 + at. Entries that take any number of rows keep the scatter.
  }];
}

def SplitRows : Pass<"gradc-split-rows", "::mlir::ModuleOp"> {
  let summary = "Give products the row dims of the pointwise ops that read them";
  let description = [{
    A product of rows that have several dims, such as positions of sequences, comes with its rows merged, and a reshape between
    it and the ops behind it would keep these out of its kernel.

    ```mlir
    %0 = grad.matmul %x, %w : tensor<1024x256xf32>, tensor<256x64xf32>
    %1 = grad.reshape %0 : tensor<1024x64xf32> -> tensor<8x128x64xf32>
    %2 = grad.relu %1 : tensor<8x128x64xf32>
    ```
    becomes
    ```mlir
    %s = grad.reshape %x : tensor<1024x256xf32> -> tensor<8x128x256xf32>
    %1 = grad.convolution %s, %w dims "aby,yz->abz" window <[]> : tensor<8x128x256xf32>, tensor<256x64xf32>
    %2 = grad.relu %1 : tensor<8x128x64xf32>
    ```
    Once kernels are formed, MergeRows merges the rows again. A product is left alone if other ops read it with merged rows, or if a
    pointwise op behind it reads a value for each index of one of the dims, such as a position: the rows could not be merged again.

    A sum over the batch of a product, such as its blocks, has its rows behind that batch, where MergeRows merges none. There the reshape
    moves behind the pointwise ops, up to one that reads a value for each index of one of the dims.
  }];
}

def FormKernels : Pass<"gradc-form-kernels", "::mlir::ModuleOp"> {
  let summary = "Group ops into kernels and outline each as an exec.kernel";
  let dependentDialects = ["::mlir::exec::ExecDialect"];
  let description = [{
    1. Large constants become states; views (reshapes) stay outside kernels.
    2. Every contraction is fused with its epilogue; pointwise chains and reductions are fused while they
       share a root space and no expensive value would be computed twice. Pads without gaps, and the slices that they read, join
       pointwise ops that read nothing but pads. A transpose whose last dim comes from another place stays out of kernels that reduce its
       rows, or windows of it, unless it is small: they would gather its elements one by one. A reduction over the batch of a product with codes, such as the blocks of a quantized weight,
       brings the product with it (not on GPUs).
    3. A pointwise value that other groups need element by element, and can compute from what they read anyway, is computed there
       again if that costs less than writing and reading it: the tanh of a GELU, for its gradient.
    4. Each group is outlined; identical kernels are merged.

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

def MergeRows : Pass<"gradc-merge-rows", "::mlir::ModuleOp"> {
  let summary = "Merge dims that a product walks as one";
  let description = [{
    Neighbouring row dims of a product become one, together with those of the ops on single elements behind it; launches read and
    write views. Likewise neighbouring dims that are summed. Tiles and panels are then cut from whole rows, wherever a dim ends.

    ```mlir
    %0 = grad.convolution %x, %w dims "aby,yz->abz" window <[]> : tensor<8x128x256xf32>, tensor<256x64xf32>
    %1 = grad.convolution %x, %g dims "aby,abz->yz" window <[]> : tensor<8x128x256xf32>, tensor<8x128x64xf32>
    ```
    in kernels become
    ```mlir
    %0 = grad.matmul %x, %w : tensor<1024x256xf32>, tensor<256x64xf32>
    %1 = grad.matmul %x, %g transpose_lhs : tensor<1024x256xf32>, tensor<1024x64xf32>
    ```
    A kernel that reads a value for each index of one of the dims alone keeps its dims. So does one in an entry that takes any
    number of rows, if these do not lead the dims in all its operands and results.
  }];
}

def MergePositions : Pass<"gradc-merge-positions", "::mlir::ModuleOp"> {
  let summary = "Merge the spatial dims of convolutions that have one tap, of a single picture";
  let description = [{
    ```mlir
    %y = grad.convolution %x, %w dims "nc,co->no" window <[1, 1]> : tensor<14x14x1x64xf32>, tensor<1x1x64x96xf32>
    ```
    in a kernel becomes one over `tensor<196x1x1x64xf32>`, together with the ops on single elements behind it; launches read and
    write views. Register tiles are positions of one dim, of which 14 leave the last tile of 6 almost empty. With several pictures,
    tiles are pictures.
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

def WidenFactors : Pass<"gradc-widen-factors", "::mlir::ModuleOp"> {
  let summary = "Convert factors of f16 to f32 before a product reads them";
  let dependentDialects = ["::mlir::exec::ExecDialect"];
  let description = [{
    No instruction multiplies f16 and adds in f32. A product would convert a number of its lhs each time it reads it, once for every
    few vectors of columns. A rhs that is a state stays in f16, half of the bytes: its vectors are converted as they are loaded, for all rows of a
    tile. Products whose lhs is a state stay as they are, and so do those whose kernel moves a factor or reads it elsewhere. Products that follow
    soon share a copy. Sums were those of f32 before, so no bit of a result changes.

    ```mlir
    %y = exec.launch @matmul(%x, %w) : (tensor<32x64xf16>, tensor<64x128xf16>) -> tensor<32x128xf16>
    ```
    becomes, if %w is a state,
    ```mlir
    %0 = exec.launch @widen(%x) : (tensor<32x64xf16>) -> tensor<32x64xf32>
    %y = exec.launch @matmul_0(%0, %w) : (tensor<32x64xf32>, tensor<64x128xf16>) -> tensor<32x128xf16>
    ```
  }];
}

#endif
