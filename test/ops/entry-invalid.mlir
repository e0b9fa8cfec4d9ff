// RUN: gradc-opt %s -verify-diagnostics -split-input-file
// RUN: not gradc-opt %s -split-input-file -gradc-retype-f64 -o /dev/null 2>&1 | FileCheck %s
// CHECK: expected argument 0 of an entry to be a static tensor

// An argument or a result with an attribute of the dialect is a port of an entry.
// expected-error @+1 {{expected argument 0 of an entry to be a static tensor, found 'tensor<*xf32>'}}
func.func @unranked(%rate: tensor<*xf32> {grad.role = "learning_rate"}) -> tensor<*xf32> {
  return %rate : tensor<*xf32>
}

// -----

// expected-error @+1 {{expected argument 1 of an entry to be a static tensor, found 'f32'}}
func.func @scalar(%x: tensor<f32>, %rate: f32 {grad.role = "learning_rate"}) {
  return
}

// -----

// expected-error @+1 {{expected result 0 of an entry to be a static tensor, found 'tensor<?xf32>'}}
func.func @dynamic(%x: tensor<?xf32>) -> (tensor<?xf32> {grad.role = "output"}) {
  return %x : tensor<?xf32>
}

// -----

// The ports of a function with an attribute of the dialect, too, though they have none.
// expected-error @+1 {{expected argument 0 of an entry to be a static tensor, found 'memref<4xf32>'}}
func.func @memory(%x: memref<4xf32>) attributes {grad.batch = 4 : i64} {
  return
}

// -----

// expected-error @+1 {{expected result 1 of an entry to be a static tensor, found 'index'}}
func.func private @declaration() -> (tensor<f32>, index) attributes {grad.batch = 4 : i64}

// -----

// expected-error @+1 {{expected tensors of less than 2^60 bytes, found 'tensor<288230376151711744xf32>'}}
func.func @huge(%x: tensor<288230376151711744xf32> {grad.role = "data"}) {
  return
}

// -----

// One element less. Other functions may have any types.
func.func @large(%x: tensor<288230376151711743xf32> {grad.role = "data"}) {
  return
}
func.func @other(%x: tensor<*xf32>, %y: tensor<1099511627776x1099511627776xf32>) {
  return
}
