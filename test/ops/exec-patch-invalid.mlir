// RUN: gradc-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{expected operands of a patch below 3, found 3}}
exec.kernel @operand(%t: tensor<5x3xf32>, %i: tensor<2xi32>, %v: tensor<2x3xf32>) attributes {patch = #exec.patch<table = 0, rows = 1, values = 3>} {
  %0 = grad.set_rows %t[%i], %v : tensor<5x3xf32>, tensor<2x3xf32>, tensor<2xi32>
  exec.yield %0 : tensor<5x3xf32>
}

// -----

// expected-error @+1 {{expected a patch to have one result, of type 'tensor<5x3xf32>'}}
exec.kernel @result(%t: tensor<5x3xf32>, %i: tensor<2xi32>, %v: tensor<2x3xf32>) attributes {patch = #exec.patch<table = 0, rows = 1, values = 2>} {
  exec.yield %v : tensor<2x3xf32>
}

// -----

// expected-error @+1 {{expected a patch of rows of 'tensor<5x3xf32>', found 'tensor<2x4xf32>' at 'tensor<2xi32>'}}
exec.kernel @shape(%t: tensor<5x3xf32>, %i: tensor<2xi32>, %v: tensor<2x4xf32>) attributes {patch = #exec.patch<table = 0, rows = 1, values = 2>} {
  exec.yield %t : tensor<5x3xf32>
}

// -----

// expected-error @+1 {{expected a patch on a CPU, with a fixed number of rows}}
exec.kernel @blocks(%t: tensor<5x3xf32>, %i: tensor<2xi32>, %v: tensor<2x3xf32>) attributes {patch = #exec.patch<table = 0, rows = 1, values = 2>,
    blocks = #exec.blocks<threads = 32, team = 32, adjacent = true, rows = 1>} {
  %0 = grad.set_rows %t[%i], %v : tensor<5x3xf32>, tensor<2x3xf32>, tensor<2xi32>
  exec.yield %0 : tensor<5x3xf32>
}
