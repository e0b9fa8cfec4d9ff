// RUN: gradc-opt %s | gradc-opt | FileCheck %s --check-prefix=TRIP
// RUN: gradc-opt %s --canonicalize | FileCheck %s
// RUN: gradc-opt %s --gradc-decompose --canonicalize --cse | FileCheck %s --check-prefix=PARTS
// RUN: gradc-opt %s --gradc-differentiate --gradc-simplify-algebra --canonicalize --cse | FileCheck %s --check-prefix=GRAD

// TRIP-LABEL: @trip
// TRIP: grad.random_bits %{{.*}}, %{{.*}} stream 3 : tensor<i32> -> tensor<4xui32>
// TRIP: grad.random_uniform %{{.*}}, %{{.*}}, -1.000000e+00, 1.000000e+00 stream 4 : tensor<i32> -> tensor<4xf32>
// TRIP: grad.random_normal %{{.*}}, %{{.*}}, 0.000000e+00, 1.000000e+00 stream 5 : tensor<i32> -> tensor<4xf32>
// TRIP: grad.dropout %{{.*}}, %{{.*}}, %{{.*}} stream 7 ratio 2.500000e-01 : tensor<4xf32>, tensor<i32>
// A uniform number has 24 bits; a normal number uses two streams; dropout compares the bits themselves.
// PARTS-LABEL: @trip
// PARTS: grad.random_bits %{{.*}}, %{{.*}} stream 4
// PARTS: grad.div
// PARTS: grad.random_bits %{{.*}}, %{{.*}} stream 5
// PARTS: grad.log
// PARTS: grad.random_bits %{{.*}}, %{{.*}} stream 6
// PARTS: grad.cos
// PARTS: %[[BITS:.*]] = grad.random_bits %{{.*}}, %{{.*}} stream 7
// PARTS: grad.compare ge %[[BITS]]
// PARTS: grad.select
func.func @trip(%seed: tensor<i32>, %step: tensor<i32>, %x: tensor<4xf32>)
    -> (tensor<4xui32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0 = grad.random_bits %seed, %step stream 3 : tensor<i32> -> tensor<4xui32>
  %1 = grad.random_uniform %seed, %step, -1.0, 1.0 stream 4 : tensor<i32> -> tensor<4xf32>
  %2 = grad.random_normal %seed, %step, 0.0, 1.0 stream 5 : tensor<i32> -> tensor<4xf32>
  %3 = grad.dropout %x, %seed, %step stream 7 ratio 0.25 : tensor<4xf32>, tensor<i32>
  return %0, %1, %2, %3 : tensor<4xui32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// From the test vectors of the Philox paper: counter 0, key 0 begins with 6627e8d5.
// CHECK-LABEL: @known_answer
// CHECK: dense<1713891541> : tensor<1xui32>
func.func @known_answer() -> tensor<1xui32> {
  %zero = grad.constant dense<0> : tensor<i32>
  %0 = grad.random_bits %zero, %zero stream 0 : tensor<i32> -> tensor<1xui32>
  return %0 : tensor<1xui32>
}

// philox4x32-10(counter = (i, 0, 3, 0), key = (5, 9)) of another implementation, which was checked against
// the paper's vectors.
// CHECK-LABEL: @position
// CHECK: dense<[2695273242, 4015263484, 1283710376]> : tensor<3xui32>
func.func @position() -> tensor<3xui32> {
  %seed = grad.constant dense<5> : tensor<i32>
  %step = grad.constant dense<9> : tensor<i32>
  %0 = grad.random_bits %seed, %step stream 3 : tensor<i32> -> tensor<3xui32>
  return %0 : tensor<3xui32>
}

// Equal numbers for any shape; different ones for another seed, step or stream.
// CHECK-LABEL: @independent
// CHECK-DAG: dense<[[A:\[.*\]]]> : tensor<2xui32>
// CHECK-DAG: dense<[[A]]> : tensor<2xi64>
// CHECK-NOT: dense<[[A]]>
func.func @independent() -> (tensor<2xui32>, tensor<2xi64>, tensor<2xui32>, tensor<2xui32>, tensor<2xui32>) {
  %seed = grad.constant dense<7> : tensor<i32>
  %other = grad.constant dense<8> : tensor<i32>
  %0 = grad.random_bits %seed, %seed stream 1 : tensor<i32> -> tensor<2xui32>
  %m = grad.random_bits %seed, %seed stream 1 : tensor<i32> -> tensor<1x2xui32>
  %r = grad.reshape %m : tensor<1x2xui32> -> tensor<2xui32>
  %1 = grad.cast %r : tensor<2xui32> -> tensor<2xi64>
  %2 = grad.random_bits %other, %seed stream 1 : tensor<i32> -> tensor<2xui32>
  %3 = grad.random_bits %seed, %other stream 1 : tensor<i32> -> tensor<2xui32>
  %4 = grad.random_bits %seed, %seed stream 2 : tensor<i32> -> tensor<2xui32>
  return %0, %1, %2, %3, %4 : tensor<2xui32>, tensor<2xi64>, tensor<2xui32>, tensor<2xui32>, tensor<2xui32>
}

// The gradient draws the same numbers again: for a gradient of ones it equals dropout itself.
// GRAD-LABEL: @grad_dropout
// GRAD-SAME: (%{{.*}}: tensor<4xf32>, %[[SEED:.*]]: tensor<i32>, %[[STEP:.*]]: tensor<i32>)
// GRAD: grad.dropout %{{.*}}, %[[SEED]], %[[STEP]] stream 7 ratio 2.500000e-01
func.func @grad_dropout(%x: tensor<4xf32>, %seed: tensor<i32>, %step: tensor<i32>) -> tensor<4xf32> {
  %d = grad.dropout %x, %seed, %step stream 7 ratio 0.25 : tensor<4xf32>, tensor<i32>
  %y = grad.reduce_sum %d dims [0] : tensor<4xf32>
  %g = grad.gradient %y wrt %x : tensor<f32>, tensor<4xf32>
  return %g : tensor<4xf32>
}
