// RUN: gradc-opt %s -verify-diagnostics -split-input-file

// A buffer, a cut or an op names something that does not exist.

func.func @load_unknown() {
  // expected-error @+1 {{expected @w.primary to be an exec.buffer}}
  %0 = exec.load @w.primary : tensor<4xf32>
  return
}

// -----

grad.state parameter @w : tensor<4xf32> = dense<0.0> : tensor<4xf32>
func.func @load_state() {
  // expected-error @+1 {{expected @w to be an exec.buffer}}
  %0 = exec.load @w : tensor<4xf32>
  return
}

// -----

func.func @store_unknown(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected @w.primary to be an exec.buffer}}
  exec.store @w.primary, %x : tensor<4xf32>
  return
}

// -----

// expected-error @+1 {{expected @w to be a state}}
exec.buffer primary @w.primary of @w : 64

// -----

exec.kernel @w(%x: tensor<4xf32>) {
  exec.yield %x : tensor<4xf32>
}
// expected-error @+1 {{expected @w to be a state}}
exec.buffer primary @w.primary of @w : 64

// -----

grad.state parameter @w : tensor<4xf32> = dense<0.0> : tensor<4xf32>
// expected-error @+1 {{expected @w.cut to be an exec.cut}}
exec.buffer primary @w.primary of @w : 64 cut @w.cut

// -----

grad.state parameter @w : tensor<4x8xf32> = dense<0.0> : tensor<4x8xf32>
// expected-error @+1 {{expected a layout of 'tensor<4x8xf32>', found #exec.panel<dim = 2, width = 8>}}
exec.buffer primary @w.primary of @w layout <dim = 2, width = 8> : 128

// -----

// expected-error @+1 {{expected @w to be a state}}
exec.cut @w.cut of @w : 4 by 1

// -----

grad.state parameter @w : tensor<16xf32> = dense<0.0> : tensor<16xf32>
exec.cut @w.cut of @w : 16 by 1
exec.kernel @k(%x: tensor<16xf32>) {
  exec.yield %x : tensor<16xf32>
}
exec.entry @e arena 64 inputs [] outputs [] {
  // expected-error @+1 {{expected a number of units per piece of @w.cut}}
  "exec.dispatch"() <{kernel = @k, cut = @w.cut, reads = [#exec.slice<arena 0 at 0 : tensor<16xf32>>],
                      writes = [#exec.slice<arena 0 at 0 : tensor<16xf32>>]}> : () -> ()
}
