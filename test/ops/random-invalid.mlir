// RUN: gradc-opt %s -verify-diagnostics -split-input-file

func.func @bits_c1(%seed: tensor<1xi32>) {
  // expected-error @+1 {{expected seed and step to be 32-bit integers of rank 0, found 'tensor<1xi32>'}}
  %0 = grad.random_bits %seed, %seed stream 0 : tensor<1xi32> -> tensor<4xui32>
  return
}

// -----

func.func @bits_c2(%seed: tensor<i32>) {
  // expected-error @+1 {{expected a result of 32-bit integers, found 'i64'}}
  %0 = grad.random_bits %seed, %seed stream 0 : tensor<i32> -> tensor<4xi64>
  return
}

// -----

func.func @bits_c2_count(%seed: tensor<i32>) {
  // expected-error @+1 {{expected at most 2^32 elements, found 4294967297}}
  %0 = grad.random_bits %seed, %seed stream 0 : tensor<i32> -> tensor<4294967297xui32>
  return
}

// -----

func.func @uniform_c1(%seed: tensor<i64>) {
  // expected-error @+1 {{expected seed and step to be 32-bit integers of rank 0, found 'tensor<i64>'}}
  %0 = grad.random_uniform %seed, %seed, 0.0, 1.0 stream 0 : tensor<i64> -> tensor<4xf32>
  return
}

// -----

func.func @dropout_c3(%x: tensor<4xf32>, %seed: tensor<i32>) {
  // expected-error @+1 {{expected ratio in [0, 1), found 1}}
  %0 = grad.dropout %x, %seed, %seed stream 0 ratio 1.0 : tensor<4xf32>, tensor<i32>
  return
}
