// RUN: gradc-opt %s --gradc-bind-rows="judge" --verify-diagnostics

// If ranks cannot share an entry's batch, the error is reported once, and not again for the twins of the entry.

// expected-error @+1 {{expected entry "train" to take any number of rows, since `distribution` gives each rank some of the batch; it takes 8 only: it reads or writes the batch elsewhere than row by row}}
func.func @train(%x: tensor<8x4xf32> {grad.batched}) -> tensor<4x4xf32> attributes {grad.batch = 8 : i64, grad.ranks = {}} {
  // expected-remark @+1 {{entry "train" takes no other number of rows than 8: it reads or writes the batch elsewhere than row by row}}
  %0 = grad.slice %x starts [4, 0] sizes [4, 4] strides [1, 1] : tensor<8x4xf32>
  return %0 : tensor<4x4xf32>
}
func.func @train.tail(%x: tensor<3x4xf32> {grad.batched}) -> tensor<2x4xf32> attributes {grad.batch = 3 : i64, grad.ranks = {}} {
  %0 = grad.slice %x starts [1, 0] sizes [2, 4] strides [1, 1] : tensor<3x4xf32>
  return %0 : tensor<2x4xf32>
}
func.func @train.watch.tail(%x: tensor<3x4xf32> {grad.batched}) -> tensor<2x4xf32> attributes {grad.batch = 3 : i64, grad.ranks = {}} {
  %0 = grad.slice %x starts [1, 0] sizes [2, 4] strides [1, 1] : tensor<3x4xf32>
  return %0 : tensor<2x4xf32>
}

// Another entry has errors of its own.

// expected-error @+1 {{expected entry "train.head" to take any number of rows}}
func.func @train.head(%x: tensor<8x4xf32> {grad.batched}) -> tensor<4x4xf32> attributes {grad.batch = 8 : i64, grad.ranks = {}} {
  // expected-remark @+1 {{entry "train.head" takes no other number of rows than 8}}
  %0 = grad.slice %x starts [4, 0] sizes [4, 4] strides [1, 1] : tensor<8x4xf32>
  return %0 : tensor<4x4xf32>
}
