// RUN: sed s/LEVEL/x86-64-v3/ %s | gradc-opt -gradc-schedule | FileCheck %s --check-prefix=V3
// RUN: sed s/LEVEL/x86-64-v4/ %s | gradc-opt -gradc-schedule | FileCheck %s --check-prefix=V4

// Grain: one unit of heavy work is worth a thread. Light work is never shared: its grain is the number
// of its units (@rows, @doubles).
module attributes {exec.level = "LEVEL"} {

// Four vectors of a row at a time.

// V3-LABEL: exec.kernel @pointwise(
// V3-SAME: #exec.schedule<lanes = 8, tile = [1, 32], order = [0, 1], grain = 6>
// V4-LABEL: exec.kernel @pointwise(
// V4-SAME: #exec.schedule<lanes = 16, tile = [1, 64], order = [0, 1], grain = 8>
exec.kernel @pointwise(%x: tensor<1024x1024xf32>) attributes {flops = 1048576 : i64, bytes = 8388608 : i64} {
  %0 = grad.exp %x : tensor<1024x1024xf32>
  exec.yield %0 : tensor<1024x1024xf32>
}

// At least one vector.

// V3-LABEL: exec.kernel @short(
// V3-SAME: #exec.schedule<lanes = 8, tile = [8], order = [0], grain = 1>
// V4-LABEL: exec.kernel @short(
// V4-SAME: #exec.schedule<lanes = 16, tile = [16], order = [0], grain = 1>
exec.kernel @short(%x: tensor<5xf32>) attributes {flops = 5 : i64, bytes = 40 : i64} {
  %0 = grad.exp %x : tensor<5xf32>
  exec.yield %0 : tensor<5xf32>
}

// Short rows are held in registers, long rows are read in pieces. 32 registers hold four rows of three
// vectors at once.

// V3-LABEL: exec.kernel @rows(
// V3-SAME: #exec.schedule<lanes = 8, tile = [1, 40], order = [0, 1], grain = 64>
// V4-LABEL: exec.kernel @rows(
// V4-SAME: #exec.schedule<lanes = 16, tile = [4, 48], order = [0, 1], grain = 16>
exec.kernel @rows(%x: tensor<64x40xf32>) attributes {flops = 5120 : i64, bytes = 20480 : i64} {
  %0 = grad.reduce_sum %x dims [1] : tensor<64x40xf32>
  %1 = grad.broadcast %0 dims [0] : tensor<64xf32> -> tensor<64x40xf32>
  %2 = grad.sub %x, %1 : tensor<64x40xf32>
  exec.yield %2 : tensor<64x40xf32>
}

// V3-LABEL: exec.kernel @long_rows(
// V3-SAME: #exec.schedule<lanes = 8, tile = [1, 32], order = [0, 1], grain = 5>
// V4-LABEL: exec.kernel @long_rows(
// V4-SAME: #exec.schedule<lanes = 16, tile = [1, 64], order = [0, 1], grain = 6>
exec.kernel @long_rows(%x: tensor<64x1024xf32>) attributes {flops = 131072 : i64, bytes = 524288 : i64} {
  %0 = grad.reduce_sum %x dims [1] : tensor<64x1024xf32>
  %1 = grad.broadcast %0 dims [0] : tensor<64xf32> -> tensor<64x1024xf32>
  %2 = grad.sub %x, %1 : tensor<64x1024xf32>
  exec.yield %2 : tensor<64x1024xf32>
}

// Sums of columns that memory is read for take whole rows, others as many columns as registers hold.

// V3-LABEL: exec.kernel @columns_of_memory(
// V3-SAME: tile = [1, 384], order = [0, 1]
// V4-LABEL: exec.kernel @columns_of_memory(
// V4-SAME: tile = [1, 384], order = [0, 1]
exec.kernel @columns_of_memory(%x: tensor<8x512x384xf32>) attributes {flops = 1572864 : i64, bytes = 6303744 : i64} {
  %0 = grad.reduce_sum %x dims [1] : tensor<8x512x384xf32>
  exec.yield %0 : tensor<8x384xf32>
}

// V3-LABEL: exec.kernel @columns_of_wide_rows(
// V3-SAME: tile = [1, 472], order = [0, 1]
// V4-LABEL: exec.kernel @columns_of_wide_rows(
// V4-SAME: tile = [1, 704], order = [0, 1]
exec.kernel @columns_of_wide_rows(%x: tensor<8x512x1400xf32>) attributes {flops = 5734400 : i64, bytes = 22982400 : i64} {
  %0 = grad.reduce_sum %x dims [1] : tensor<8x512x1400xf32>
  exec.yield %0 : tensor<8x1400xf32>
}

// V3-LABEL: exec.kernel @columns_in_cache(
// V3-SAME: tile = [1, 48], order = [0, 1]
// V4-LABEL: exec.kernel @columns_in_cache(
// V4-SAME: tile = [1, 64], order = [0, 1]
exec.kernel @columns_in_cache(%x: tensor<8x16x384xf32>) attributes {flops = 49152 : i64, bytes = 208896 : i64} {
  %0 = grad.reduce_sum %x dims [1] : tensor<8x16x384xf32>
  exec.yield %0 : tensor<8x384xf32>
}

// Four short rows run together, so that the latencies of their reductions overlap.

// V3-LABEL: exec.kernel @short_rows(
// V3-SAME: #exec.schedule<lanes = 8, tile = [4, 16], order = [0, 1], grain = 8>
// V4-LABEL: exec.kernel @short_rows(
// V4-SAME: #exec.schedule<lanes = 16, tile = [4, 16], order = [0, 1], grain = 8>
exec.kernel @short_rows(%x: tensor<32x10xf32>) attributes {flops = 640 : i64, bytes = 2560 : i64} {
  %0 = grad.reduce_sum %x dims [1] : tensor<32x10xf32>
  %1 = grad.broadcast %0 dims [0] : tensor<32xf32> -> tensor<32x10xf32>
  %2 = grad.sub %x, %1 : tensor<32x10xf32>
  exec.yield %2 : tensor<32x10xf32>
}

// A transpose of the innermost dim goes through a square of registers; any other one is an ordinary
// loop.

// V3-LABEL: exec.kernel @pack(
// V3-SAME: #exec.schedule<lanes = 8, tile = [8, 8], order = [1, 0], grain = 3>
// V4-LABEL: exec.kernel @pack(
// V4-SAME: #exec.schedule<lanes = 16, tile = [16, 16], order = [1, 0], grain = 2>
exec.kernel @pack(%x: tensor<24x40xf32>) attributes {flops = 0 : i64, bytes = 9216 : i64, layouts = [#exec.panel<dim = 1, width = 16>, #exec.panel<dim = 1, width = 16>]} {
  %0 = grad.transpose %x permutation [1, 0] : tensor<24x40xf32>
  exec.yield %0 : tensor<40x24xf32>
}

// V3-LABEL: exec.kernel @swap_outer(
// V3-SAME: #exec.schedule<lanes = 8, tile = [1, 1, 32], order = [0, 1, 2], grain = 6>
// V4-LABEL: exec.kernel @swap_outer(
// V4-SAME: #exec.schedule<lanes = 16, tile = [1, 1, 64], order = [0, 1, 2], grain = 6>
exec.kernel @swap_outer(%x: tensor<24x40x64xf32>) attributes {flops = 0 : i64, bytes = 491520 : i64} {
  %0 = grad.transpose %x permutation [1, 0, 2] : tensor<24x40x64xf32>
  exec.yield %0 : tensor<40x24x64xf32>
}

// V3-LABEL: exec.kernel @doubles(
// V3-SAME: #exec.schedule<lanes = 4, tile = [16], order = [0], grain = 64>
// V4-LABEL: exec.kernel @doubles(
// V4-SAME: #exec.schedule<lanes = 8, tile = [32], order = [0], grain = 32>
exec.kernel @doubles(%x: tensor<1024xf64>) attributes {flops = 1024 : i64, bytes = 16384 : i64} {
  %0 = grad.exp %x : tensor<1024xf64>
  exec.yield %0 : tensor<1024xf64>
}

// The widest element type determines the lanes.

// V3-LABEL: exec.kernel @mixed(
// V3-SAME: #exec.schedule<lanes = 4, tile = [16], order = [0], grain = 64>
// V4-LABEL: exec.kernel @mixed(
// V4-SAME: #exec.schedule<lanes = 8, tile = [32], order = [0], grain = 32>
exec.kernel @mixed(%x: tensor<1024xf32>) attributes {flops = 1024 : i64, bytes = 12288 : i64} {
  %0 = grad.cast %x : tensor<1024xf32> -> tensor<1024xf64>
  exec.yield %0 : tensor<1024xf64>
}

// A scalar has no loops.

// V3-LABEL: exec.kernel @scalar(
// V3-SAME: #exec.schedule<lanes = 8, tile = [], order = [], grain = 1>
// V4-LABEL: exec.kernel @scalar(
// V4-SAME: #exec.schedule<lanes = 16, tile = [], order = [], grain = 1>
exec.kernel @scalar(%x: tensor<f32>) attributes {flops = 1 : i64, bytes = 8 : i64} {
  %0 = grad.exp %x : tensor<f32>
  exec.yield %0 : tensor<f32>
}

// Each tile of a scatter searches all indices, so it is wide; not where indices choose along the lanes.

// V3-LABEL: exec.kernel @scatter_rows(
// V3-SAME: lanes = 8, tile = [1, 256]
// V4-LABEL: exec.kernel @scatter_rows(
// V4-SAME: lanes = 16, tile = [1, 512]
exec.kernel @scatter_rows(%init: tensor<50x512xf32>, %at: tensor<24xi64>, %u: tensor<24x512xf32>) attributes {flops = 12288 : i64, bytes = 151744 : i64} {
  %0 = grad.scatter %init[%at] add %u dims [-1, 1] index_dims [0] : tensor<50x512xf32>, tensor<24x512xf32>, tensor<24xi64>
  exec.yield %0 : tensor<50x512xf32>
}
// V3-LABEL: exec.kernel @element_of_each_column(
// V3-SAME: lanes = 8, tile = [1, 256], order = [0, 1], grain = 1>
exec.kernel @element_of_each_column(%init: tensor<5x256xf32>, %at: tensor<99x256xi64>, %u: tensor<99x256xf32>) attributes {flops = 25344 : i64, bytes = 309248 : i64} {
  %0 = grad.scatter %init[%at] add %u dims [-1, 1] index_dims [0, 1] : tensor<5x256xf32>, tensor<99x256xf32>, tensor<99x256xi64>
  exec.yield %0 : tensor<5x256xf32>
}

// Many updates are read once for as many rows as fit in a quarter of the L2 cache, where they are added up; if a row is no longer than
// a cache line, or there are as many updates as rows, for as many as fit in a core's part of the shared cache.

// V4-LABEL: exec.kernel @many_updates(
// V4-SAME: block = [{{[0-9]+}}], scatter>
exec.kernel @many_updates(%table: tensor<20000x16xf32>, %at: tensor<512x26xi64>, %u: tensor<512x26x16xf32>) attributes {flops = 532992 : i64, bytes = 3518464 : i64} {
  %z = grad.constant dense<0.0> : tensor<20000x16xf32>
  %g = grad.scatter %z[%at] add %u dims [-1, 2] index_dims [0, 1] : tensor<20000x16xf32>, tensor<512x26x16xf32>, tensor<512x26xi64>
  %n = grad.sub %table, %g : tensor<20000x16xf32>
  exec.yield %n : tensor<20000x16xf32>
}
// V3-LABEL: exec.kernel @histogram(
// V3-SAME: block = [{{[0-9]+}}], scatter>
exec.kernel @histogram(%init: tensor<256xf32>, %at: tensor<4096xi64>, %u: tensor<4096xf32>) attributes {flops = 4096 : i64, bytes = 50176 : i64} {
  %0 = grad.scatter %init[%at] add %u dims [-1] index_dims [0] : tensor<256xf32>, tensor<4096xf32>, tensor<4096xi64>
  exec.yield %0 : tensor<256xf32>
}
// V4-LABEL: exec.kernel @sums_of_long_rows(
// V4-SAME: block = [256], scatter>
exec.kernel @sums_of_long_rows(%table: tensor<20000x64xf32>, %at: tensor<13312xi64>, %u: tensor<13312x64xf32>) attributes {flops = 851968 : i64, bytes = 13754368 : i64} {
  %g = grad.scatter %table[%at] add %u dims [-1, 1] index_dims [0] : tensor<20000x64xf32>, tensor<13312x64xf32>, tensor<13312xi64>
  %n = grad.sub %table, %g : tensor<20000x64xf32>
  exec.yield %n : tensor<20000x64xf32>
}
// V4-LABEL: exec.kernel @more_updates_than_rows(
// V4-SAME: grain = {{[0-9][0-9][0-9]}}, block = [2048], scatter>
exec.kernel @more_updates_than_rows(%x: tensor<2048x128xf32>, %at: tensor<16384xi64>, %u: tensor<16384x128xf32>) attributes {flops = 2359296 : i64, bytes = 10616832 : i64} {
  %z = grad.constant dense<0.0> : tensor<2048x128xf32>
  %g = grad.scatter %z[%at] add %u dims [-1, 1] index_dims [0] : tensor<2048x128xf32>, tensor<16384x128xf32>, tensor<16384xi64>
  %n = grad.sub %x, %g : tensor<2048x128xf32>
  exec.yield %n : tensor<2048x128xf32>
}
// A thread tells all updates of its targets from others, which takes longer than to add up short rows: these are not divided.
// V4-LABEL: exec.kernel @short_rows_on_one_thread(
// V4-SAME: tile = [4, 16], order = [0, 1], grain = 512, block = [512], scatter>
exec.kernel @short_rows_on_one_thread(%x: tensor<2048x16xf32>, %at: tensor<16384xi64>, %u: tensor<16384x16xf32>) attributes {flops = 294912 : i64, bytes = 1441792 : i64} {
  %z = grad.constant dense<0.0> : tensor<2048x16xf32>
  %g = grad.scatter %z[%at] add %u dims [-1, 1] index_dims [0] : tensor<2048x16xf32>, tensor<16384x16xf32>, tensor<16384xi64>
  %n = grad.sub %x, %g : tensor<2048x16xf32>
  exec.yield %n : tensor<2048x16xf32>
}
// V4-LABEL: exec.kernel @list(
// V4-SAME: tile = [64], order = [0], grain = {{[0-9]+}}, block = [6250], scatter>
exec.kernel @list(%init: tensor<400000xi64>, %at: tensor<400000xi64>, %u: tensor<400000xi64>) attributes {flops = 400000 : i64, bytes = 12800000 : i64} {
  %0 = grad.scatter %init[%at] replace %u dims [-1] index_dims [0] : tensor<400000xi64>, tensor<400000xi64>, tensor<400000xi64>
  %1 = grad.sub %init, %0 : tensor<400000xi64>
  exec.yield %1 : tensor<400000xi64>
}
// V4-LABEL: exec.kernel @longer_list(
// V4-SAME: block = [32768], scatter>
exec.kernel @longer_list(%init: tensor<4000000xf32>, %at: tensor<400000xi64>, %u: tensor<400000xf32>) attributes {flops = 400000 : i64, bytes = 36800000 : i64} {
  %0 = grad.scatter %init[%at] add %u dims [-1] index_dims [0] : tensor<4000000xf32>, tensor<400000xf32>, tensor<400000xi64>
  %1 = grad.sub %init, %0 : tensor<4000000xf32>
  exec.yield %1 : tensor<4000000xf32>
}
// A result that is the sums takes the updates itself, wherever it lies: a thread reads all updates once. Not if its sums have more bits.
// V4-LABEL: exec.kernel @rows_set(
// V4-SAME: block = [25000], scatter>
exec.kernel @rows_set(%table: tensor<100000x64xf32>, %at: tensor<10000xi64>, %u: tensor<10000x64xf32>) attributes {flops = 640000 : i64, bytes = 53840000 : i64} {
  %0 = grad.scatter %table[%at] replace %u dims [-1, 1] index_dims [0] : tensor<100000x64xf32>, tensor<10000x64xf32>, tensor<10000xi64>
  exec.yield %0 : tensor<100000x64xf32>
}
// V4-LABEL: exec.kernel @sums_of_halves(
// V4-SAME: block = [256], scatter>
exec.kernel @sums_of_halves(%table: tensor<20000x64xbf16>, %at: tensor<13312xi64>, %u: tensor<13312x64xbf16>) attributes {flops = 851968 : i64, bytes = 6930432 : i64} {
  %g = grad.scatter %table[%at] add %u dims [-1, 1] index_dims [0] : tensor<20000x64xbf16>, tensor<13312x64xbf16>, tensor<13312xi64>
  exec.yield %g : tensor<20000x64xbf16>
}
// Other rows are read, too, so that no tile has all it needs in scratch memory.
// V4-LABEL: exec.kernel @norm_of_sums(
// V4-NOT: scatter>
// V4: exec.yield
exec.kernel @norm_of_sums(%at: tensor<4096xi64>, %u: tensor<4096x16xf32>) attributes {flops = 65536 : i64, bytes = 300000 : i64} {
  %z = grad.constant dense<0.0> : tensor<200x16xf32>
  %g = grad.scatter %z[%at] add %u dims [-1, 1] index_dims [0] : tensor<200x16xf32>, tensor<4096x16xf32>, tensor<4096xi64>
  %s = grad.reduce_sum %g dims [0, 1] : tensor<200x16xf32>
  exec.yield %g, %s : tensor<200x16xf32>, tensor<f32>
}
// Each row has updates of its own, which its unit adds up: also if runs differ in the number of rows.
// V3-LABEL: exec.kernel @updates_of_each_row(
// V3-SAME: order = [0, 1], grain = {{[0-9]+}}, block = [1], scatter>
exec.kernel @updates_of_each_row(%x: tensor<8x50257xf32>, %i: tensor<8x1000xi64>, %u: tensor<8x1000xf32>) attributes {flops = 8000 : i64, bytes = 3312448 : i64} {
  %0 = grad.scatter %x[%i] replace %u dims [0, -1] index_dims [0, 1] : tensor<8x50257xf32>, tensor<8x1000xf32>, tensor<8x1000xi64>
  exec.yield %0 : tensor<8x50257xf32>
}
// V3-LABEL: exec.kernel @updates_of_rows_of_a_run(
// V3-SAME: order = [0, 1], grain = {{[0-9]+}}, block = [1], scatter>
exec.kernel @updates_of_rows_of_a_run(%x: tensor<8x50257xf32>, %i: tensor<8x1000xi64>, %u: tensor<8x1000xf32>) attributes {flops = 8000 : i64, bytes = 3312448 : i64, extents = [array<i64: 1, 0>, array<i64: 1, 0>, array<i64: 1, 0>], rows = array<i64: 1, 0>} {
  %0 = grad.scatter %x[%i] replace %u dims [0, -1] index_dims [0, 1] : tensor<8x50257xf32>, tensor<8x1000xf32>, tensor<8x1000xi64>
  exec.yield %0 : tensor<8x50257xf32>
}
// V3-LABEL: exec.kernel @points_of_each_channel(
// V3-SAME: order = [1, 0, 2], grain = {{[0-9]+}}, block = [1], scatter>
exec.kernel @points_of_each_channel(%x: tensor<1x32x32768xf32>, %i: tensor<20000xi64>, %u: tensor<1x32x20000xf32>) attributes {flops = 640000 : i64, bytes = 11108608 : i64} {
  %0 = grad.scatter %x[%i] max %u dims [0, 1, -1] index_dims [2] : tensor<1x32x32768xf32>, tensor<1x32x20000xf32>, tensor<20000xi64>
  exec.yield %0 : tensor<1x32x32768xf32>
}
// The rows are the units, although there are more targets: an index for each element chooses among these.
// V3-LABEL: exec.kernel @elements_of_few_rows(
// V3-SAME: order = [0, 1, 2], grain = {{[0-9]+}}, block = [1], scatter>
exec.kernel @elements_of_few_rows(%x: tensor<2x256x64xf32>, %i: tensor<2x500x64xi64>, %u: tensor<2x500x64xf32>) attributes {flops = 64000 : i64, bytes = 1030144 : i64, extents = [array<i64: 1, 0, 0>, array<i64: 1, 0, 0>, array<i64: 1, 0, 0>], rows = array<i64: 1, 0, 0>} {
  %0 = grad.scatter %x[%i] add %u dims [0, -1, 2] index_dims [0, 1, 2] : tensor<2x256x64xf32>, tensor<2x500x64xf32>, tensor<2x500x64xi64>
  exec.yield %0 : tensor<2x256x64xf32>
}
// A search takes less time with few targets, and sums of a unit that are no result have to fit in a cache.
// V3-LABEL: exec.kernel @few_targets(
// V3-NOT: scatter>
// V3: exec.yield
exec.kernel @few_targets(%x: tensor<2048x64xf32>, %i: tensor<2048x100xi64>, %u: tensor<2048x100xf32>) attributes {flops = 204800 : i64, bytes = 3506176 : i64} {
  %0 = grad.scatter %x[%i] add %u dims [0, -1] index_dims [0, 1] : tensor<2048x64xf32>, tensor<2048x100xf32>, tensor<2048x100xi64>
  exec.yield %0 : tensor<2048x64xf32>
}
// V3-LABEL: exec.kernel @targets_beyond_caches(
// V3-NOT: scatter>
// V3: exec.yield
exec.kernel @targets_beyond_caches(%x: tensor<8x4000000xf32>, %i: tensor<8x1000xi64>, %u: tensor<8x1000xf32>) attributes {flops = 8000 : i64, bytes = 256096000 : i64} {
  %0 = grad.scatter %x[%i] replace %u dims [0, -1] index_dims [0, 1] : tensor<8x4000000xf32>, tensor<8x1000xf32>, tensor<8x1000xi64>
  %1 = grad.sub %x, %0 : tensor<8x4000000xf32>
  exec.yield %1 : tensor<8x4000000xf32>
}
// V3-LABEL: exec.kernel @targets_of_a_result(
// V3-SAME: block = [1], scatter>
exec.kernel @targets_of_a_result(%x: tensor<8x4000000xf32>, %i: tensor<8x1000xi64>, %u: tensor<8x1000xf32>) attributes {flops = 8000 : i64, bytes = 256096000 : i64} {
  %0 = grad.scatter %x[%i] replace %u dims [0, -1] index_dims [0, 1] : tensor<8x4000000xf32>, tensor<8x1000xf32>, tensor<8x1000xi64>
  exec.yield %0 : tensor<8x4000000xf32>
}
// Threads share the matrices, although those are few: each row would compute the maximum anew.
// V3-LABEL: exec.kernel @maxima_of_matrices(
// V3-SAME: order = [1, 0, 2, 3]
// V4-LABEL: exec.kernel @maxima_of_matrices(
// V4-SAME: order = [1, 0, 2, 3]
exec.kernel @maxima_of_matrices(%x: tensor<3x4x512x64xf32>) attributes {flops = 786432 : i64, bytes = 3145728 : i64} {
  %0 = grad.reduce_max %x dims [2, 3] : tensor<3x4x512x64xf32>
  %1 = grad.broadcast %0 dims [0, 1] : tensor<3x4xf32> -> tensor<3x4x512x64xf32>
  %2 = grad.sub %x, %1 : tensor<3x4x512x64xf32>
  exec.yield %2 : tensor<3x4x512x64xf32>
}
}
