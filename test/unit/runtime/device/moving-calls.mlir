// A product that a library may compute, on slices of a loop: its first operand and its result move.

exec.kernel @product(%a: tensor<8x16xf32>, %b: tensor<16x32xf32>) attributes {library = #exec.library<matmul epilogue = none, operands = [0, 1]>} {
  %0 = grad.matmul %a, %b : tensor<8x16xf32>, tensor<16x32xf32>
  exec.yield %0 : tensor<8x32xf32>
}

exec.entry @forward arena 64
    inputs [{name = "x", type = tensor<4x8x16xf32>, role = "data"}, {name = "w", type = tensor<16x32xf32>, role = "data"}]
    outputs [{name = "y", type = tensor<4x8x32xf32>, role = "output", slice = #exec.slice<output 0 at 0 : tensor<4x8x32xf32>>}] {
  exec.loop 4 attributes {nodes = ["steps"]} {
    exec.dispatch @product [#exec.slice<input 0 at 0 by [512] : tensor<8x16xf32>>, #exec.slice<input 1 at 0 : tensor<16x32xf32>>]
        -> [#exec.slice<output 0 at 0 by [1024] : tensor<8x32xf32>>] {nodes = ["product"]}
  }
}
