// RUN: gradc-opt %s -verify-diagnostics -split-input-file

// expected-error @+1 {{expected inputs and outputs to be dictionaries with the type of a tensor, found {name = "x"}}}
exec.entry @port arena 0 inputs [{name = "x"}] outputs [] {}

// -----

// expected-error @+1 {{expected a slice within 64 bytes, found bytes 0 to 128 of #exec.slice<arena 0 at 0 : tensor<32xf32>>}}
exec.entry @output arena 64 inputs [] outputs [{type = tensor<32xf32>, slice = #exec.slice<arena 0 at 0 : tensor<32xf32>>}] {}

// -----

exec.entry @e arena 128 inputs [{type = tensor<4x16xf32>}, {type = tensor<i32>}] outputs [{type = tensor<16xf32>}] {
  // expected-error @+1 {{expected a slice within 128 bytes, found bytes 64 to 192 of #exec.slice<arena 0 at 64 : tensor<32xf32>>}}
  exec.copy <arena 0 at 64 : tensor<32xf32>> -> <arena 0 at 0 : tensor<32xf32>>
}

// -----

exec.entry @e arena 128 inputs [{type = tensor<4x16xf32>}, {type = tensor<i32>}] outputs [{type = tensor<16xf32>}] { exec.loop 5 {
  // expected-error @+1 {{expected a slice within 256 bytes, found bytes 0 to 320}}
  exec.copy <input 0 at 0 by [64] : tensor<16xf32>> -> <arena 0 at 0 : tensor<16xf32>> }
}

// -----

exec.entry @e arena 128 inputs [{type = tensor<4x16xf32>}, {type = tensor<i32>}] outputs [{type = tensor<16xf32>}] { exec.loop 2 {
  // expected-error @+1 {{expected a slice within 256 bytes, found bytes -64 to 64}}
  exec.copy <input 0 at 0 by [-64] : tensor<16xf32>> -> <arena 0 at 0 : tensor<16xf32>> }
}

// -----

exec.entry @e arena 128 inputs [{type = tensor<4x16xf32>}, {type = tensor<i32>}] outputs [{type = tensor<16xf32>}] {
  // expected-error @+1 {{expected strides of at most 0 loops}}
  exec.copy <input 0 at 0 by [64] : tensor<16xf32>> -> <arena 0 at 0 : tensor<16xf32>>
}

// -----

exec.entry @e arena 128 inputs [{type = tensor<4x16xf32>}, {type = tensor<i32>}] outputs [{type = tensor<16xf32>}] { exec.loop 2 {
  // expected-error @+1 {{expected strides that are multiples of 64}}
  exec.copy <input 0 at 0 by [4] : tensor<16xf32>> -> <arena 0 at 0 : tensor<16xf32>> }
}

// -----

exec.entry @e arena 128 inputs [{type = tensor<4x16xf32>}, {type = tensor<i32>}] outputs [{type = tensor<16xf32>}] {
  // expected-error @+1 {{expected offsets that are multiples of 64}}
  exec.copy <input 0 at 4 : tensor<16xf32>> -> <arena 0 at 0 : tensor<16xf32>>
}

// -----

exec.entry @e arena 128 inputs [{type = tensor<4x16xf32>}, {type = tensor<i32>}] outputs [{type = tensor<16xf32>}] {
  // expected-error @+1 {{expected a slice of a known input, output or buffer}}
  exec.copy <input 2 at 0 : tensor<16xf32>> -> <arena 0 at 0 : tensor<16xf32>>
}

// -----

exec.entry @e arena 128 inputs [{type = tensor<4x16xf32>}, {type = tensor<i32>}] outputs [{type = tensor<16xf32>}] {
  // expected-error @+1 {{expected a slice of a known input, output or buffer}}
  exec.copy <buffer 0 at 0 of @none : tensor<16xf32>> -> <arena 0 at 0 : tensor<16xf32>>
}

// -----

exec.entry @e arena 128 inputs [{type = tensor<4x16xf32>}, {type = tensor<i32>}] outputs [{type = tensor<16xf32>}] {
  // expected-error @+1 {{expected no write of an input}}
  exec.copy <arena 0 at 0 : tensor<16xf32>> -> <input 0 at 0 : tensor<16xf32>>
}

// -----

exec.entry @e arena 128 inputs [{type = tensor<4x16xf32>}, {type = tensor<i32>}] outputs [{type = tensor<16xf32>}] {
  // expected-error @+1 {{expected slices of one type}}
  exec.copy <arena 0 at 0 : tensor<16xf32>> -> <output 0 at 0 : tensor<8xf32>>
}

// -----

exec.entry @e arena 128 inputs [{type = tensor<4x16xf32>}, {type = tensor<i32>}] outputs [{type = tensor<16xf32>}] {
  // expected-error @+1 {{expected a condition of one i1}}
  exec.if <arena 0 at 0 : tensor<2xi1>> {}
}

// -----

exec.entry @e arena 128 inputs [{type = tensor<4x16xf32>}, {type = tensor<i32>}] outputs [{type = tensor<16xf32>}] {
  // expected-error @+1 {{expected a count of one i32 or i64}}
  exec.loop 3 count <arena 0 at 0 : tensor<f32>> {}
}

// -----

exec.entry @e arena 128 inputs [{type = tensor<4x16xf32>}, {type = tensor<i32>}] outputs [{type = tensor<16xf32>}] {
  // expected-error @+1 {{expected 0 to 2147483647 iterations with those of the loops around it, found -1}}
  exec.loop -1 {}
}

// -----

exec.entry @e arena 128 inputs [{type = tensor<4x16xf32>}, {type = tensor<i32>}] outputs [{type = tensor<16xf32>}] { exec.loop 65536 {
  // expected-error @+1 {{expected 0 to 2147483647 iterations with those of the loops around it, found 65536}}
  exec.loop 65536 {} }
}

// -----

exec.entry @e arena 128 inputs [{type = tensor<4x16xf32>}, {type = tensor<i32>}] outputs [{type = tensor<16xf32>}] { exec.loop 1 { exec.loop 1 { exec.loop 1 { exec.loop 1 { exec.loop 1 { exec.loop 1 { exec.loop 1 { exec.loop 1 {
  // expected-error @+1 {{expected at most 8 loops in each other}}
  exec.loop 1 {} } } } } } } } }
}

// -----

exec.entry @e arena 128 inputs [{type = tensor<4x16xf32>}, {type = tensor<i32>}] outputs [{type = tensor<16xf32>}] { exec.if <arena 0 at 0 : tensor<i1>> { exec.if <arena 0 at 0 : tensor<i1>> { exec.if <arena 0 at 0 : tensor<i1>> { exec.if <arena 0 at 0 : tensor<i1>> { exec.if <arena 0 at 0 : tensor<i1>> { exec.if <arena 0 at 0 : tensor<i1>> { exec.if <arena 0 at 0 : tensor<i1>> { exec.if <arena 0 at 0 : tensor<i1>> { exec.if <arena 0 at 0 : tensor<i1>> { exec.if <arena 0 at 0 : tensor<i1>> { exec.if <arena 0 at 0 : tensor<i1>> { exec.if <arena 0 at 0 : tensor<i1>> { exec.if <arena 0 at 0 : tensor<i1>> { exec.if <arena 0 at 0 : tensor<i1>> { exec.if <arena 0 at 0 : tensor<i1>> { exec.if <arena 0 at 0 : tensor<i1>> { exec.if <arena 0 at 0 : tensor<i1>> {
  // expected-error @+1 {{expected at most 16 bodies around a node}}
  exec.if <arena 0 at 0 : tensor<i1>> {} } } } } } } } } } } } } } } } } }
}

// -----

exec.entry @e arena 128 inputs [{type = tensor<4x16xf32>}, {type = tensor<i32>}] outputs [{type = tensor<16xf32>}] {
  // expected-error @+1 {{expected a dispatch, copy, collective, transfer, if or loop in an entry}}
  %0 = grad.constant dense<1.0> : tensor<f32>
}

// -----

exec.kernel @k(%x: tensor<16xf32>) {
  %0 = grad.exp %x : tensor<16xf32>
  exec.yield %0 : tensor<16xf32>
}
exec.entry @e arena 128 inputs [{type = tensor<4x16xf32>}, {type = tensor<i32>}] outputs [{type = tensor<16xf32>}] {
  // expected-error @+1 {{expected of operands number 0 a slice of }}
  exec.dispatch @k [#exec.slice<arena 0 at 0 : tensor<8xf32>>] -> [#exec.slice<arena 0 at 0 : tensor<16xf32>>]
}

// -----

exec.kernel @k(%x: tensor<16xf32>) {
  %0 = grad.exp %x : tensor<16xf32>
  exec.yield %0 : tensor<16xf32>
}
exec.entry @e arena 128 inputs [{type = tensor<4x16xf32>}, {type = tensor<i32>}] outputs [{type = tensor<16xf32>}] {
  // expected-error @+1 {{expected of results number 0 a slice of }}
  exec.dispatch @k [#exec.slice<arena 0 at 0 : tensor<16xf32>>] -> [#exec.slice<arena 0 at 0 : tensor<16xi32>>]
}

// -----

exec.entry @e arena 128 inputs [{type = tensor<4x16xf32>}, {type = tensor<i32>}] outputs [{type = tensor<16xf32>}] {
  // expected-error @+1 {{expected a condition of one i1, found #exec.slice<input 1 at 0 : tensor<i32>>}}
  exec.loop 3 while <input 1 at 0 : tensor<i32>> {}
}

// -----

exec.entry @e arena 128 inputs [{type = tensor<4x16xf32>}, {type = tensor<i32>}] outputs [{type = tensor<16xf32>}] {
  // expected-error @+1 {{expected a slice within 128 bytes}}
  exec.loop 3 while <arena 0 at 128 : tensor<i1>> {}
}

// -----

exec.entry @e arena 128 inputs [{type = tensor<4x16xf32>}, {type = tensor<i32>}] outputs [{type = tensor<16xf32>}] { exec.loop 3 while <arena 0 at 0 : tensor<i1>> {
  // expected-error @+1 {{expected slices that stay in a loop that a condition ends, found #exec.slice<input 0 at 0 by [64] : tensor<16xf32>>}}
  exec.copy <input 0 at 0 by [64] : tensor<16xf32>> -> <output 0 at 0 : tensor<16xf32>> }
}

// -----

exec.entry @e arena 128 inputs [{type = tensor<4x16xf32>}, {type = tensor<i32>}] outputs [{type = tensor<16xf32>}] {
  // expected-error @+1 {{expected 0 to 2147483647 iterations with those of the loops around it, found 2147483648}}
  exec.loop 2147483648 while <arena 0 at 0 : tensor<i1>> {}
}

// -----

// expected-error @+1 {{expects parent op to be one of 'exec.entry, exec.if, exec.loop'}}
exec.loop 2 {}
