// RUN: gradc-opt %s -gradc-retype-f64 | FileCheck %s

// CHECK: grad.state {{ ?}}parameter @w : tensor<2xf64> = dense<[1.500000e+00, -2.000000e+00]> : tensor<2xf64>
grad.state parameter @w : tensor<2xf32> = dense<[1.5, -2.0]> : tensor<2xf32>
// CHECK: grad.state {{ ?}}slot @w.first : tensor<2xf64> = dense<0.000000e+00> : tensor<2xf64>
grad.state slot @w.first : tensor<2xbf16> = dense<0.0> : tensor<2xbf16>
// CHECK: grad.state {{ ?}}constant @table : tensor<2xi32> = dense<[1, 2]> : tensor<2xi32>
grad.state constant @table : tensor<2xi32> = dense<[1, 2]> : tensor<2xi32>

// CHECK-LABEL: func.func @f(
// CHECK-SAME: %arg0: tensor<2xf64> {grad.role = "data"}, %arg1: tensor<2xi32>) -> tensor<2xf64>
func.func @f(%x: tensor<2xf16> {grad.role = "data"}, %n: tensor<2xi32>) -> tensor<2xf32> {
  // CHECK: grad.read @w : tensor<2xf64>
  %w = grad.read @w : tensor<2xf32>
  // CHECK: grad.constant dense<[5.000000e-01, 0x7FF8000000000000]> : tensor<2xf64>
  %c = grad.constant dense<[0.5, 0x7FC00000]> : tensor<2xf32>
  // CHECK: grad.constant dense<1> : tensor<2xi32>
  %one = grad.constant dense<1> : tensor<2xi32>
  // CHECK: grad.cast %arg0 : tensor<2xf64> -> tensor<2xf64>
  %0 = grad.cast %x : tensor<2xf16> -> tensor<2xf32>
  // CHECK: grad.add %arg1, %{{.*}} : tensor<2xi32>
  %1 = grad.add %n, %one : tensor<2xi32>
  // CHECK: grad.cast %{{.*}} : tensor<2xi32> -> tensor<2xf64>
  %2 = grad.cast %1 : tensor<2xi32> -> tensor<2xf32>
  // CHECK: grad.compare {{.*}} : tensor<2xf64>
  %3 = grad.compare lt %0, %w : tensor<2xf32>
  // CHECK: grad.select {{.*}} : tensor<2xf64>
  %4 = grad.select %3, %2, %c : tensor<2xf32>
  return %4 : tensor<2xf32>
}

// Bit casts see the bits of the type in the program, not those of f64.
// CHECK-LABEL: func.func @bits(
func.func @bits(%x: tensor<2xf32>) -> tensor<2xf16> {
  // CHECK: %[[F32:.*]] = grad.cast %arg0 : tensor<2xf64> -> tensor<2xf32>
  // CHECK: %[[BITS:.*]] = grad.bit_cast %[[F32]] : tensor<2xf32> -> tensor<2xi32>
  %0 = grad.bit_cast %x : tensor<2xf32> -> tensor<2xi32>
  %1 = grad.cast %0 : tensor<2xi32> -> tensor<2xi16>
  // CHECK: %[[F16:.*]] = grad.bit_cast %{{.*}} : tensor<2xi16> -> tensor<2xf16>
  // CHECK: %[[F64:.*]] = grad.cast %[[F16]] : tensor<2xf16> -> tensor<2xf64>
  // CHECK: return %[[F64]]
  %2 = grad.bit_cast %1 : tensor<2xi16> -> tensor<2xf16>
  return %2 : tensor<2xf16>
}

// Nothing is rounded, as by casts between floats.
// CHECK-LABEL: func.func @rounded(
// CHECK-SAME: %[[X:.*]]: tensor<2xf64>, %{{.*}}: tensor<2xf64>)
// CHECK-NEXT: return %[[X]]
func.func @rounded(%x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<2xf32> {
  %0 = grad.straight_through %x, %y : tensor<2xf32>
  return %0 : tensor<2xf32>
}

// A value whose gradient is that of a constant, none, is not the constant. Gradients in f64 are those of the loss, and pass it.
// CHECK-LABEL: func.func @detached(
// CHECK-SAME: %[[X:.*]]: tensor<2xf64>)
// CHECK: return %[[X]]
func.func @detached(%x: tensor<2xf32>) -> tensor<2xf32> {
  %zero = grad.constant dense<0.0> : tensor<2xf32>
  %0 = grad.straight_through %zero, %x : tensor<2xf32>
  return %0 : tensor<2xf32>
}

// Scalars that the runtime exchanges stay f32.
// CHECK-LABEL: func.func @counts(
// CHECK-SAME: %[[ROWS:.*]]: tensor<f32> {grad.role = "rows"}, %[[RATE:.*]]: tensor<f32> {grad.role = "learning_rate"}) -> (tensor<f32> {grad.role = "loss"}, tensor<f64>)
func.func @counts(%rows: tensor<f32> {grad.role = "rows"}, %rate: tensor<f32> {grad.role = "learning_rate"})
    -> (tensor<f32> {grad.role = "loss"}, tensor<f32>) {
  // CHECK-DAG: %[[A:.*]] = grad.cast %[[ROWS]] : tensor<f32> -> tensor<f64>
  // CHECK-DAG: %[[B:.*]] = grad.cast %[[RATE]] : tensor<f32> -> tensor<f64>
  // CHECK: %[[C:.*]] = grad.div %[[A]], %[[B]] : tensor<f64>
  // CHECK: %[[LOSS:.*]] = grad.cast %[[C]] : tensor<f64> -> tensor<f32>
  // CHECK: return %[[LOSS]], %[[C]]
  %0 = grad.div %rows, %rate : tensor<f32>
  return %0, %0 : tensor<f32>, tensor<f32>
}
