// RUN: gradc-opt %s -verify-diagnostics -split-input-file

// expected-error @+1 {{expected 2 layouts (operands, then results), found 1}}
exec.kernel @layouts(%x: tensor<4xf32>) attributes {layouts = [unit]} {
  %0 = grad.exp %x : tensor<4xf32>
  exec.yield %0 : tensor<4xf32>
}

// -----

// expected-error @+1 {{expected inplace operands below 1, found 1}}
exec.kernel @inplace_large(%x: tensor<4xf32>) attributes {inplace = array<i64: 0, 1>} {
  %0 = grad.exp %x : tensor<4xf32>
  exec.yield %0 : tensor<4xf32>
}

// -----

// expected-error @+1 {{expected inplace operands below 1, found -1}}
exec.kernel @inplace_negative(%x: tensor<4xf32>) attributes {inplace = array<i64: -1>} {
  %0 = grad.exp %x : tensor<4xf32>
  exec.yield %0 : tensor<4xf32>
}

// -----

// expected-error @+1 {{expected at least one result}}
exec.kernel @no_result(%x: tensor<4xf32>) {
  exec.yield
}

// -----

// expected-error @+1 {{expected tile and order of rank 2}}
exec.kernel @tile(%x: tensor<4x4xf32>) attributes {schedule = #exec.schedule<lanes = 8, tile = [8], order = [0], grain = 1>} {
  %0 = grad.exp %x : tensor<4x4xf32>
  exec.yield %0 : tensor<4x4xf32>
}

// -----

// expected-error @+1 {{expected tile and order of rank 1}}
exec.kernel @order(%x: tensor<4xf32>) attributes {schedule = #exec.schedule<lanes = 8, tile = [8], order = [0, 1], grain = 1>} {
  %0 = grad.exp %x : tensor<4xf32>
  exec.yield %0 : tensor<4xf32>
}

// -----

// expected-error @+1 {{expected panels of two factors of a matrix, at most one of the inner dim's, found #exec.schedule<lanes = 8, tile = [8], order = [0], grain = 1, panels = [1, 1]> and rank 1}}
exec.kernel @panels_of_vector(%x: tensor<4xf32>) attributes {schedule = #exec.schedule<lanes = 8, tile = [8], order = [0], grain = 1, panels = [1, 1]>} {
  %0 = grad.exp %x : tensor<4xf32>
  exec.yield %0 : tensor<4xf32>
}

// -----

// expected-error @+1 {{expected panels of two factors of a matrix, at most one of the inner dim's}}
exec.kernel @inner_panels(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) attributes {schedule = #exec.schedule<lanes = 8, tile = [2, 8], order = [1, 0], grain = 1, panels = [2, 1]>} {
  %0 = grad.matmul %x, %y transpose_lhs : tensor<4x4xf32>, tensor<4x4xf32>
  exec.yield %0 : tensor<4x4xf32>
}

// -----

// expected-error @+1 {{expected panels on a CPU, of a direct product}}
exec.kernel @winograd_panels(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) attributes {schedule = #exec.schedule<lanes = 8, tile = [2, 8], order = [1, 0], grain = 1, panels = [0, 1], winograd2x2>} {
  %0 = grad.matmul %x, %y : tensor<4x4xf32>, tensor<4x4xf32>
  exec.yield %0 : tensor<4x4xf32>
}

// -----

// expected-error @+1 {{expected panels of two factors of a matrix}}
exec.kernel @negative_panels(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) attributes {schedule = #exec.schedule<lanes = 8, tile = [2, 8], order = [1, 0], grain = 1, panels = [0, -1]>} {
  %0 = grad.matmul %x, %y : tensor<4x4xf32>, tensor<4x4xf32>
  exec.yield %0 : tensor<4x4xf32>
}

// -----

// expected-error @+1 {{expected panels of two factors of a matrix}}
exec.kernel @panels(%x: tensor<4x4xf32>) attributes {schedule = #exec.schedule<lanes = 8, tile = [2, 8], order = [0, 1], grain = 1, panels = [1]>} {
  %0 = grad.matmul %x, %x : tensor<4x4xf32>, tensor<4x4xf32>
  exec.yield %0 : tensor<4x4xf32>
}

// -----

exec.kernel @isolated(%x: tensor<4xf32>) {
  %0 = grad.exp %x : tensor<4xf32>
  exec.yield %0 : tensor<4xf32>
}
func.func @launch_count(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected 1 operands and 1 results, found 2 and 1}}
  %0 = exec.launch @isolated(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @launch_unknown(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected @nowhere to be an exec.kernel}}
  %0 = exec.launch @nowhere(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

grad.state parameter @w : tensor<4xf32> = dense<0.0> : tensor<4xf32>
func.func @launch_state(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected @w to be an exec.kernel}}
  %0 = exec.launch @w(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

exec.kernel @pointwise(%x: tensor<4xf32>) {
  %0 = grad.exp %x : tensor<4xf32>
  exec.yield %0 : tensor<4xf32>
}
exec.entry @dispatch_count arena 64 inputs [] outputs [] {
  // expected-error @+1 {{expected 1 results, found 0}}
  exec.dispatch @pointwise [#exec.slice<input 0 at 0 : tensor<4xf32>>] -> []
}

// -----

exec.entry @dispatch_unknown arena 64 inputs [] outputs [] {
  // expected-error @+1 {{expected @nowhere to be an exec.kernel}}
  exec.dispatch @nowhere [] -> []
}

// -----

exec.kernel @outside(%x: tensor<4xf32>) {
  exec.yield %x : tensor<4xf32>
}
// expected-error @+1 {{expects parent op to be one of 'exec.entry, exec.if, exec.loop'}}
exec.dispatch @outside [#exec.slice<input 0 at 0 : tensor<4xf32>>] -> [#exec.slice<arena 0 at 0 : tensor<4xf32>>]

// -----

func.func @yield() {
  // expected-error @+1 {{expects parent op 'exec.kernel'}}
  exec.yield
}

// -----

// expected-error @+1 {{expected blocks of whole teams over at most 1 dims, found #exec.blocks<threads = 100, team = 32, adjacent = true, rows = 1>}}
exec.kernel @torn_team(%x: tensor<4xf32>) attributes {blocks = #exec.blocks<threads = 100, team = 32, adjacent = true, rows = 1>} {
  %0 = grad.exp %x : tensor<4xf32>
  exec.yield %0 : tensor<4xf32>
}

// -----

// expected-error @+1 {{expected blocks of whole teams over at most 1 dims}}
exec.kernel @many_rows(%x: tensor<4xf32>) attributes {blocks = #exec.blocks<threads = 64, team = 32, adjacent = true, rows = 2>} {
  %0 = grad.exp %x : tensor<4xf32>
  exec.yield %0 : tensor<4xf32>
}

// -----

// expected-error @+1 {{expected 3 operands and 1 result of a library call, found 2 and 1}}
exec.kernel @no_bias(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) attributes {library = #exec.library<matmul epilogue = bias, operands = [0, 1]>} {
  %0 = grad.matmul %x, %y : tensor<4x4xf32>, tensor<4x4xf32>
  exec.yield %0 : tensor<4x4xf32>
}

// -----

// expected-error @+1 {{expected 3 operands and 1 result of a library call, found 2 and 1}}
exec.kernel @no_slope(%x: tensor<4x8xf32>, %y: tensor<8x8xf32>) attributes {library = #exec.library<matmul epilogue = gelu_grad, operands = [0, 1]>} {
  %0 = grad.matmul %x, %y : tensor<4x8xf32>, tensor<8x8xf32>
  exec.yield %0 : tensor<4x8xf32>
}

// -----

// expected-error @+1 {{expected 2 operands and 2 results of a library call, found 2 and 1}}
exec.kernel @not_kept(%x: tensor<4x8xf32>, %y: tensor<8x8xf32>) attributes {library = #exec.library<matmul epilogue = gelu, operands = [0, 1], kept = 0>} {
  %0 = grad.matmul %x, %y : tensor<4x8xf32>, tensor<8x8xf32>
  exec.yield %0 : tensor<4x8xf32>
}

// -----

// expected-error @+1 {{expected a library call to keep result 0 or 1 of a GELU, found #exec.library<matmul epilogue = relu, operands = [0, 1], kept = 1>}}
exec.kernel @kept_of_relu(%x: tensor<4x8xf32>, %y: tensor<8x8xf32>) attributes {library = #exec.library<matmul epilogue = relu, operands = [0, 1], kept = 1>} {
  %0 = grad.matmul %x, %y : tensor<4x8xf32>, tensor<8x8xf32>
  %1 = grad.relu %0 : tensor<4x8xf32>
  exec.yield %0, %1 : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// expected-error @+1 {{expected operands of a library call below 2, found 2}}
exec.kernel @no_operand(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) attributes {library = #exec.library<matmul epilogue = none, operands = [0, 2]>} {
  %0 = grad.matmul %x, %y : tensor<4x4xf32>, tensor<4x4xf32>
  exec.yield %0 : tensor<4x4xf32>
}

// -----

// expected-error @+1 {{expected parts in the place of a schedule or a library call}}
exec.kernel @both(%a: tensor<8xf32>, %b: tensor<8xf32>) attributes {schedule = #exec.schedule<lanes = 4, tile = [4], order = [0], grain = 1>, parts = [
    #exec.part<operands = 1, results = 1, schedule = <lanes = 4, tile = [4], order = [0], grain = 1>, blocks = <threads = 32, team = 1, adjacent = false, rows = 1>>,
    #exec.part<operands = 1, results = 1, schedule = <lanes = 4, tile = [4], order = [0], grain = 1>, blocks = <threads = 32, team = 1, adjacent = false, rows = 1>>]} {
  %0 = grad.exp %a : tensor<8xf32>
  %1 = grad.exp %b : tensor<8xf32>
  exec.yield %0, %1 : tensor<8xf32>, tensor<8xf32>
}

// -----

// expected-error @+1 {{expected a part to have results, found #exec.part<operands = 1, results = 0}}
exec.kernel @nothing(%a: tensor<8xf32>, %b: tensor<8xf32>) attributes {parts = [
    #exec.part<operands = 1, results = 2, schedule = <lanes = 4, tile = [4], order = [0], grain = 1>, blocks = <threads = 32, team = 1, adjacent = false, rows = 1>>,
    #exec.part<operands = 1, results = 0, schedule = <lanes = 4, tile = [4], order = [0], grain = 1>, blocks = <threads = 32, team = 1, adjacent = false, rows = 1>>]} {
  %0 = grad.exp %a : tensor<8xf32>
  %1 = grad.exp %b : tensor<8xf32>
  exec.yield %0, %1 : tensor<8xf32>, tensor<8xf32>
}

// -----

// expected-error @+1 {{expected parts of 2 operands and of 2 results, found 2 and 1}}
exec.kernel @too_few(%a: tensor<8xf32>, %b: tensor<8xf32>) attributes {parts = [
    #exec.part<operands = 2, results = 1, schedule = <lanes = 4, tile = [4], order = [0], grain = 1>, blocks = <threads = 32, team = 1, adjacent = false, rows = 1>>]} {
  %0 = grad.exp %a : tensor<8xf32>
  %1 = grad.exp %b : tensor<8xf32>
  exec.yield %0, %1 : tensor<8xf32>, tensor<8xf32>
}

// -----

// expected-error @+1 {{expected parts of 2 operands and of 2 results, found 3 and 2}}
exec.kernel @too_many(%a: tensor<8xf32>, %b: tensor<8xf32>) attributes {parts = [
    #exec.part<operands = 2, results = 1, schedule = <lanes = 4, tile = [4], order = [0], grain = 1>, blocks = <threads = 32, team = 1, adjacent = false, rows = 1>>,
    #exec.part<operands = 1, results = 1, schedule = <lanes = 4, tile = [4], order = [0], grain = 1>, blocks = <threads = 32, team = 1, adjacent = false, rows = 1>>]} {
  %0 = grad.exp %a : tensor<8xf32>
  %1 = grad.exp %b : tensor<8xf32>
  exec.yield %0, %1 : tensor<8xf32>, tensor<8xf32>
}

// -----

// expected-error @+1 {{expected tile and order of rank 1}}
exec.kernel @flat_part(%a: tensor<8xf32>, %b: tensor<8xf32>) attributes {parts = [
    #exec.part<operands = 1, results = 1, schedule = <lanes = 4, tile = [4], order = [0], grain = 1>, blocks = <threads = 32, team = 1, adjacent = false, rows = 1>>,
    #exec.part<operands = 1, results = 1, schedule = <lanes = 4, tile = [4, 4], order = [0, 1], grain = 1>, blocks = <threads = 32, team = 1, adjacent = false, rows = 1>>]} {
  %0 = grad.exp %a : tensor<8xf32>
  %1 = grad.exp %b : tensor<8xf32>
  exec.yield %0, %1 : tensor<8xf32>, tensor<8xf32>
}

// -----

// expected-error @+1 {{expected parts with blocks of 32 threads, found 64}}
exec.kernel @other_threads(%a: tensor<8xf32>, %b: tensor<8xf32>) attributes {parts = [
    #exec.part<operands = 1, results = 1, schedule = <lanes = 4, tile = [4], order = [0], grain = 1>, blocks = <threads = 32, team = 1, adjacent = false, rows = 1>>,
    #exec.part<operands = 1, results = 1, schedule = <lanes = 4, tile = [4], order = [0], grain = 1>, blocks = <threads = 64, team = 1, adjacent = false, rows = 1>>]} {
  %0 = grad.exp %a : tensor<8xf32>
  %1 = grad.exp %b : tensor<8xf32>
  exec.yield %0, %1 : tensor<8xf32>, tensor<8xf32>
}

// -----

// expected-error @+1 {{expected parts without a contraction through shared memory}}
exec.kernel @stages(%a: tensor<8xf32>, %b: tensor<8xf32>) attributes {parts = [
    #exec.part<operands = 1, results = 1, schedule = <lanes = 4, tile = [4], order = [0], grain = 1>, blocks = <threads = 32, team = 1, adjacent = false, rows = 1>>,
    #exec.part<operands = 1, results = 1, schedule = <lanes = 4, tile = [4], order = [0], grain = 1, block = [16]>, blocks = <threads = 32, team = 1, adjacent = false, rows = 1>>]} {
  %0 = grad.exp %a : tensor<8xf32>
  %1 = grad.exp %b : tensor<8xf32>
  exec.yield %0, %1 : tensor<8xf32>, tensor<8xf32>
}

// -----

// expected-error @+1 {{expected part 1 to read operands of its own, found operand 0}}
exec.kernel @foreign(%a: tensor<8xf32>, %b: tensor<8xf32>) attributes {parts = [
    #exec.part<operands = 1, results = 1, schedule = <lanes = 4, tile = [4], order = [0], grain = 1>, blocks = <threads = 32, team = 1, adjacent = false, rows = 1>>,
    #exec.part<operands = 1, results = 1, schedule = <lanes = 4, tile = [4], order = [0], grain = 1>, blocks = <threads = 32, team = 1, adjacent = false, rows = 1>>]} {
  %0 = grad.exp %a : tensor<8xf32>
  %1 = grad.exp %a : tensor<8xf32>
  exec.yield %0, %1 : tensor<8xf32>, tensor<8xf32>
}

// -----

// expected-error @+1 {{expected an operand to turn, found #exec.turned<operand = 2, dim = 0, tiles = 1>}}
exec.kernel @turns_no_operand(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) attributes {layouts = [unit, #exec.panel<dim = 1, width = 8>, unit], schedule = #exec.schedule<lanes = 8, tile = [2, 8], order = [1, 0], grain = 1, turned = <operand = 2, dim = 0, tiles = 1>>} {
  %0 = grad.matmul %x, %w transpose_rhs : tensor<4x8xf32>, tensor<8x8xf32>
  exec.yield %0 : tensor<4x8xf32>
}

// -----

// expected-error @+1 {{expected an operand in panels of whole vectors, or matrices of rows of a vector, along another dim than the turned one, which has the root's columns, found #exec.turned<operand = 1, dim = 1, tiles = 1>}}
exec.kernel @turns_along(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) attributes {layouts = [unit, #exec.panel<dim = 1, width = 8>, unit], schedule = #exec.schedule<lanes = 8, tile = [2, 8], order = [1, 0], grain = 1, turned = <operand = 1, dim = 1, tiles = 1>>} {
  %0 = grad.matmul %x, %w transpose_rhs : tensor<4x8xf32>, tensor<8x8xf32>
  exec.yield %0 : tensor<4x8xf32>
}

// -----

// expected-error @+1 {{expected column tiles as units, or one tile of a batch's matrix outside its rows, where an operand is turned}}
exec.kernel @turns_by_rows(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) attributes {layouts = [unit, #exec.panel<dim = 1, width = 8>, unit], schedule = #exec.schedule<lanes = 8, tile = [2, 8], order = [0, 1], grain = 1, turned = <operand = 1, dim = 0, tiles = 1>>} {
  %0 = grad.matmul %x, %w transpose_rhs : tensor<4x8xf32>, tensor<8x8xf32>
  exec.yield %0 : tensor<4x8xf32>
}

// -----

// expected-error @+1 {{expected column tiles as units, or one tile of a batch's matrix outside its rows, where an operand is turned}}
exec.kernel @turns_several_tiles_of_a_batch(%x: tensor<2x4x8xf32>, %w: tensor<2x8x8xf32>) attributes {schedule = #exec.schedule<lanes = 8, tile = [1, 2, 8], order = [0, 2, 1], grain = 1, turned = <operand = 1, dim = 1, tiles = 2>>} {
  %0 = grad.matmul %x, %w transpose_rhs : tensor<2x4x8xf32>, tensor<2x8x8xf32>
  exec.yield %0 : tensor<2x4x8xf32>
}

// -----

// expected-error @+1 {{expected direct, whole sums where an operand is turned}}
exec.kernel @turns_blocks(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) attributes {layouts = [unit, #exec.panel<dim = 1, width = 8>, unit], schedule = #exec.schedule<lanes = 8, tile = [2, 8], order = [1, 0], grain = 1, block = [8], turned = <operand = 1, dim = 0, tiles = 1>>} {
  %0 = grad.matmul %x, %w transpose_rhs : tensor<4x8xf32>, tensor<8x8xf32>
  exec.yield %0 : tensor<4x8xf32>
}

// -----

// expected-error @+1 {{expected a spacing of direct sums on a CPU, 1 along the outermost dim, vectors and rows of a run}}
exec.kernel @spacing_of_units(%x: tensor<4x2x8xf32>) attributes {
    schedule = #exec.schedule<lanes = 8, tile = [3, 1, 8], order = [0, 1, 2], grain = 1, spacing = [2, 1, 1]>} {
  exec.yield %x : tensor<4x2x8xf32>
}

// -----

// expected-error @+1 {{expected a spacing of direct sums on a CPU, 1 along the outermost dim, vectors and rows of a run}}
exec.kernel @spacing_of_another_rank(%x: tensor<4x2x8xf32>) attributes {
    schedule = #exec.schedule<lanes = 8, tile = [3, 1, 8], order = [2, 1, 0], grain = 1, spacing = [2, 1]>} {
  exec.yield %x : tensor<4x2x8xf32>
}

// -----

// expected-error @+1 {{expected a spacing of direct sums on a CPU, 1 along the outermost dim, vectors and rows of a run}}
exec.kernel @spacing_of_rows(%x: tensor<4x2x8xf32>) attributes {
    extents = [array<i64: 1, 0, 0>], rows = array<i64: 1, 0, 0>,
    schedule = #exec.schedule<lanes = 8, tile = [3, 1, 8], order = [2, 1, 0], grain = 1, spacing = [2, 1, 1]>} {
  exec.yield %x : tensor<4x2x8xf32>
}

// -----

// expected-error @+1 {{expected operands to be static tensors, found 'tensor<?xf32>'}}
exec.kernel @dynamic(%x: tensor<4xf32>, %y: tensor<?xf32>) {
  exec.yield %x : tensor<4xf32>
}

// -----

// expected-error @+1 {{expected operands to be static tensors, found 'f32'}}
exec.kernel @number(%x: tensor<4xf32>, %y: f32) {
  exec.yield %x : tensor<4xf32>
}

// -----

// The kernel's own verifier needs the terminator, whose operands are its results.
"exec.kernel"() <{sym_name = "endless"}> ({
^bb0(%x: tensor<4xf32>):
  // expected-error @+1 {{block with no terminator}}
  %0 = "grad.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
}) : () -> ()

// -----

// expected-error @+1 {{expected a layout of 'tensor<4x8xf32>', found #exec.panel<dim = 2, width = 8>}}
exec.kernel @layout_dim(%x: tensor<4x8xf32>) attributes {layouts = [unit, #exec.panel<dim = 2, width = 8>]} {
  exec.yield %x : tensor<4x8xf32>
}

// -----

// expected-error @+1 {{expected a layout of 'tensor<4x8xf32>', found #exec.panel<dim = 1, width = 0>}}
exec.kernel @layout_width(%x: tensor<4x8xf32>) attributes {layouts = [#exec.panel<dim = 1, width = 0>, unit]} {
  exec.yield %x : tensor<4x8xf32>
}

// -----

// expected-error @+1 {{expected a layout of 'tensor<4x8xf32>', found #exec.panel<dim = 1, width = 8, pairs = 2>}}
exec.kernel @layout_pairs(%x: tensor<4x8xf32>) attributes {layouts = [#exec.panel<dim = 1, width = 8, pairs = 2>, unit]} {
  exec.yield %x : tensor<4x8xf32>
}

// -----

// Another dim than that of the panels is interleaved.

// expected-error @+1 {{expected a layout of 'tensor<8x8xf32>', found #exec.panel<dim = 1, width = 8, pairs = 1>}}
exec.kernel @layout_of_one_dim(%x: tensor<8x8xf32>) attributes {layouts = [#exec.panel<dim = 1, width = 8, pairs = 1>, unit]} {
  exec.yield %x : tensor<8x8xf32>
}

// -----

// expected-error @+1 {{expected pairs, quads, nibbles, winograd2x2 or winograd4x4, found bits}}
exec.kernel @layout_kind(%x: tensor<8x8xi8>) attributes {layouts = [#exec.panel<dim = 1, width = 8, bits = 0>, unit]} {
  exec.yield %x : tensor<8x8xi8>
}

// -----

// Nibbles are integers of 8 bits, and whole words of them.

// expected-error @+1 {{expected a layout of 'tensor<8x8xf32>', found #exec.panel<dim = 1, width = 8, nibbles = 0>}}
exec.kernel @layout_nibbles(%x: tensor<8x8xf32>) attributes {layouts = [#exec.panel<dim = 1, width = 8, nibbles = 0>, unit]} {
  exec.yield %x : tensor<8x8xf32>
}

// -----

// expected-error @+1 {{expected a layout of 'tensor<12x8xi8>', found #exec.panel<dim = 1, width = 8, nibbles = 0>}}
exec.kernel @layout_words(%x: tensor<12x8xi8>) attributes {layouts = [#exec.panel<dim = 1, width = 8, nibbles = 0>, unit]} {
  exec.yield %x : tensor<12x8xi8>
}

// -----

// expected-error @+1 {{expected vectors of 1 lane or more, found #exec.schedule<lanes = 0, tile = [8], order = [0], grain = 1>}}
exec.kernel @lanes(%x: tensor<8xf32>) attributes {schedule = #exec.schedule<lanes = 0, tile = [8], order = [0], grain = 1>} {
  exec.yield %x : tensor<8xf32>
}

// -----

// expected-error @+1 {{expected an order of all dims, found #exec.schedule<lanes = 8, tile = [2, 8], order = [1, 1], grain = 1>}}
exec.kernel @repeated(%x: tensor<4x8xf32>) attributes {schedule = #exec.schedule<lanes = 8, tile = [2, 8], order = [1, 1], grain = 1>} {
  exec.yield %x : tensor<4x8xf32>
}

// -----

// expected-error @+1 {{expected tiles of 1 element or more, found #exec.schedule<lanes = 8, tile = [0, 8], order = [1, 0], grain = 1>}}
exec.kernel @no_tile(%x: tensor<4x8xf32>) attributes {schedule = #exec.schedule<lanes = 8, tile = [0, 8], order = [1, 0], grain = 1>} {
  exec.yield %x : tensor<4x8xf32>
}
