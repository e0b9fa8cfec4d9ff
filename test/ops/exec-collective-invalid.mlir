// RUN: gradc-opt %s -verify-diagnostics -split-input-file

exec.entry @e arena 128 inputs [{type = tensor<4x16xf32>}, {type = tensor<i32>}] outputs [{type = tensor<16xf32>}] {
  // expected-error @+1 {{expected slices of one element type, found 'f32' and 'f64'}}
  exec.collective sum [#exec.slice<arena 0 at 0 : tensor<16xf32>>, #exec.slice<arena 0 at 64 : tensor<8xf64>>]
}

// -----

exec.entry @e arena 128 inputs [{type = tensor<4x16xf32>}, {type = tensor<i32>}] outputs [{type = tensor<16xf32>}] {
  // expected-error @+1 {{expected slices of f32, f64, i32 or i64, found #exec.slice<arena 0 at 0 : tensor<16xbf16>>}}
  exec.collective sum [#exec.slice<arena 0 at 0 : tensor<16xbf16>>]
}

// -----

exec.entry @e arena 128 inputs [{type = tensor<4x16xf32>}, {type = tensor<i32>}] outputs [{type = tensor<16xf32>}] {
  // expected-error @+1 {{expected a slice, found none}}
  exec.collective sum []
}

// -----

exec.entry @e arena 128 inputs [{type = tensor<4x16xf32>}, {type = tensor<i32>}] outputs [{type = tensor<16xf32>}] {
  // expected-error @+1 {{expected f32 to travel as bf16, found 'f64'}}
  exec.collective sum [#exec.slice<arena 0 at 0 : tensor<8xf64>>] bf16
}

// -----

exec.entry @e arena 128 inputs [{type = tensor<4x16xf32>}, {type = tensor<i32>}] outputs [{type = tensor<16xf32>}] {
  // expected-error @+1 {{expected no write of an input, found #exec.slice<input 0 at 0 : tensor<16xf32>>}}
  exec.collective sum [#exec.slice<input 0 at 0 : tensor<16xf32>>]
}

// -----

exec.entry @e arena 128 inputs [{type = tensor<4x16xf32>}, {type = tensor<i32>}] outputs [{type = tensor<16xf32>}] {
  // expected-error @+1 {{expected a slice within 128 bytes, found bytes 128 to 192}}
  exec.collective sum [#exec.slice<arena 0 at 128 : tensor<16xf32>>]
}

// -----

grad.state parameter @w : tensor<16xf32> = dense<0.0> : tensor<16xf32>
// expected-error @+1 {{expected 1 element or more by units of at most as many, found 16 by 32}}
exec.cut @w.cut of @w : 16 by 32

// -----

exec.entry @e arena 128 inputs [] outputs [] {
  // expected-error @+1 {{expected 1 cuts, found 0}}
  exec.collective scatter [#exec.slice<arena 0 at 0 : tensor<16xf32>>]
}

// -----

grad.state parameter @w : tensor<16xf32> = dense<0.0> : tensor<16xf32>
exec.cut @w.cut of @w : 16 by 16
exec.entry @e arena 128 inputs [] outputs [] {
  // expected-error @+1 {{expected 0 cuts, found 1}}
  exec.collective sum [#exec.slice<arena 0 at 0 : tensor<16xf32>>] cuts [@w.cut]
}

// -----

grad.state parameter @w : tensor<16xf32> = dense<0.0> : tensor<16xf32>
exec.cut @w.cut of @w : 16 by 16
exec.entry @e arena 128 inputs [] outputs [] {
  // expected-error @+1 {{expected a gather to bring values as they are, found bf16}}
  exec.collective gather [#exec.slice<arena 0 at 0 : tensor<16xf32>>] bf16 cuts [@w.cut]
}

// -----

exec.entry @e arena 128 inputs [] outputs [] {
  // expected-error @+1 {{expected @w.cut to be an exec.cut}}
  exec.collective gather [#exec.slice<arena 0 at 0 : tensor<16xf32>>] cuts [@w.cut]
}

// -----

grad.state parameter @w : tensor<16xf32> = dense<0.0> : tensor<16xf32>
exec.cut @w.cut of @w : 8 by 8
exec.entry @e arena 128 inputs [] outputs [] {
  // expected-error @+1 {{expected a slice of 8 elements, found #exec.slice<arena 0 at 0 : tensor<16xf32>>}}
  exec.collective gather [#exec.slice<arena 0 at 0 : tensor<16xf32>>] cuts [@w.cut]
}

// -----

grad.state parameter @w : tensor<16xf32> = dense<0.0> : tensor<16xf32>
exec.cut @w.cut of @w : 16 by 8
exec.kernel @k(%x: tensor<16xf32>) attributes {schedule = #exec.schedule<lanes = 4, tile = [4], order = [0], grain = 1>} {
  %0 = grad.exp %x : tensor<16xf32>
  exec.yield %0 : tensor<16xf32>
}
exec.entry @e arena 128 inputs [] outputs [] {
  // expected-error @+1 {{expected 2 pieces of 1 units, found 4 units}}
  exec.dispatch @k [#exec.slice<arena 0 at 0 : tensor<16xf32>>] -> [#exec.slice<arena 0 at 0 : tensor<16xf32>>] cut @w.cut by 1
}

// -----

grad.state parameter @w : tensor<16xf32> = dense<0.0> : tensor<16xf32>
exec.cut @w.cut of @w : 16 by 4
exec.entry @zeros_elsewhere arena 64 inputs [] outputs [] {
  // expected-error @+1 {{expected zeros in a slice of a scatter, found slice 1}}
  exec.collective scatter [#exec.slice<arena 0 at 0 : tensor<16xf32>>] cuts [@w.cut] zeros [1]
}

// -----

grad.state parameter @w : tensor<16xf32> = dense<0.0> : tensor<16xf32>
exec.cut @w.cut of @w : 16 by 4
exec.entry @zeros_of_a_gather arena 64 inputs [] outputs [] {
  // expected-error @+1 {{expected zeros in a slice of a scatter, found slice 0}}
  exec.collective gather [#exec.slice<arena 0 at 0 : tensor<16xf32>>] cuts [@w.cut] zeros [0]
}
