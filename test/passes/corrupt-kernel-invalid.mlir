// RUN: gradc-opt %s -verify-diagnostics -gradc-test-corrupt-kernel=kernel=other

// expected-error @+1 {{expected a kernel named "other"}}
module {
  // expected-note @+1 {{found kernel "this"}}
  exec.kernel @this(%x: tensor<4xf32>) {
    exec.yield %x : tensor<4xf32>
  }
}
