// RUN: gradc-opt %s -gradc-graph-phase -gradc-kernel-phase -gradc-level-phase | FileCheck %s
// RUN: gradc-opt %s -gradc-retype-f64 | FileCheck %s --check-prefix=WIDE

// Passes leave functions without a body as they are, whatever their attributes ask for.

module attributes {exec.level = "x86-64-v3"} {

// CHECK-DAG: func.func private @train(
// WIDE-DAG: func.func private @train(
func.func private @train(tensor<4x8xf32> {grad.batched, grad.role = "data"}) -> tensor<f32> attributes {
    grad.average = 0.5 : f64, grad.batch = 4 : i64, grad.optimizer = {name = "sgd"}, grad.precision = {type = bf16}, grad.rows,
    grad.stages = 2 : i64}

// A bucket of a declaration.
// CHECK-DAG: exec.entry @train.rows.2 arena
// WIDE-DAG: func.func @train.rows.2(%{{.*}}: tensor<2x8xf64>
func.func @train.rows.2(%x: tensor<2x8xf32> {grad.batched, grad.name = "x", grad.role = "data"})
    -> (tensor<2x8xf32> {grad.role = "output"}) attributes {grad.batch = 2 : i64} {
  %0 = grad.exp %x : tensor<2x8xf32>
  return %0 : tensor<2x8xf32>
}

// A declared bucket.
// CHECK-DAG: exec.entry @forward arena
// WIDE-DAG: func.func @forward(%{{.*}}: tensor<4x8xf64>
func.func @forward(%x: tensor<4x8xf32> {grad.batched, grad.name = "x", grad.role = "data"})
    -> (tensor<4x8xf32> {grad.role = "output"}) attributes {grad.batch = 4 : i64} {
  %0 = grad.exp %x : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
// CHECK-DAG: func.func private @forward.rows.1(
// WIDE-DAG: func.func private @forward.rows.1(
func.func private @forward.rows.1(tensor<1x8xf32> {grad.batched, grad.role = "data"}) -> tensor<1x8xf32> attributes {
    grad.batch = 1 : i64}

}
