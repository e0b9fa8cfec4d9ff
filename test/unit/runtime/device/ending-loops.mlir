// Loops that conditions end: each row is doubled `count` times, then until it is 100 or more, `count` times at most.

exec.kernel @double(%a: tensor<16xf32>) attributes {inplace = array<i64: 0>} {
  %0 = grad.add %a, %a : tensor<16xf32>
  exec.yield %0 : tensor<16xf32>
}
exec.kernel @less(%n: tensor<i32>) attributes {inplace = array<i64: 0>} {
  %one = grad.constant dense<1> : tensor<i32>
  %0 = grad.sub %n, %one : tensor<i32>
  exec.yield %0 : tensor<i32>
}
exec.kernel @positive(%n: tensor<i32>) {
  %zero = grad.constant dense<0> : tensor<i32>
  %0 = grad.compare gt %n, %zero : tensor<i32>
  exec.yield %0 : tensor<i1>
}
exec.kernel @small(%a: tensor<16xf32>) {
  %limit = grad.constant dense<100.0> : tensor<f32>
  %largest = grad.reduce_max %a dims [0] : tensor<16xf32>
  %0 = grad.compare lt %largest, %limit : tensor<f32>
  exec.yield %0 : tensor<i1>
}

exec.entry @forward arena 192
    inputs [{name = "x", type = tensor<4x16xf32>, role = "data"}, {name = "count", type = tensor<i32>, role = "data"}]
    outputs [{name = "y", type = tensor<4x16xf32>, role = "output", slice = #exec.slice<output 0 at 0 : tensor<4x16xf32>>},
             {name = "z", type = tensor<4x16xf32>, role = "output", slice = #exec.slice<output 1 at 0 : tensor<4x16xf32>>}] {
  exec.loop 4 attributes {nodes = ["rows"]} {
    exec.copy <input 0 at 0 by [64] : tensor<16xf32>> -> <arena 0 at 0 : tensor<16xf32>>
    exec.copy <input 1 at 0 : tensor<i32>> -> <arena 0 at 64 : tensor<i32>>
    exec.dispatch @positive [#exec.slice<arena 0 at 64 : tensor<i32>>] -> [#exec.slice<arena 0 at 128 : tensor<i1>>]
    exec.loop 1000 while <arena 0 at 128 : tensor<i1>> attributes {nodes = ["times"]} {
      exec.dispatch @double [#exec.slice<arena 0 at 0 : tensor<16xf32>>] -> [#exec.slice<arena 0 at 0 : tensor<16xf32>>]
      exec.dispatch @less [#exec.slice<arena 0 at 64 : tensor<i32>>] -> [#exec.slice<arena 0 at 64 : tensor<i32>>]
      exec.dispatch @positive [#exec.slice<arena 0 at 64 : tensor<i32>>] -> [#exec.slice<arena 0 at 128 : tensor<i1>>]
    }
    exec.copy <arena 0 at 0 : tensor<16xf32>> -> <output 0 at 0 by [64] : tensor<16xf32>>
    exec.dispatch @small [#exec.slice<arena 0 at 0 : tensor<16xf32>>] -> [#exec.slice<arena 0 at 128 : tensor<i1>>]
    exec.loop 1000 count <input 1 at 0 : tensor<i32>> while <arena 0 at 128 : tensor<i1>> attributes {nodes = ["until"]} {
      exec.dispatch @double [#exec.slice<arena 0 at 0 : tensor<16xf32>>] -> [#exec.slice<arena 0 at 0 : tensor<16xf32>>]
      exec.dispatch @small [#exec.slice<arena 0 at 0 : tensor<16xf32>>] -> [#exec.slice<arena 0 at 128 : tensor<i1>>]
    }
    exec.copy <arena 0 at 0 : tensor<16xf32>> -> <output 1 at 0 by [64] : tensor<16xf32>>
  }
}
