// RUN: gradc-opt %s | gradc-opt | FileCheck %s --check-prefix=TRIP
// RUN: gradc-opt %s --canonicalize | FileCheck %s
// RUN: gradc-opt %s --gradc-decompose --canonicalize --cse | FileCheck %s --check-prefix=PARTS
// RUN: gradc-opt %s --gradc-differentiate --gradc-simplify-algebra --canonicalize --cse | FileCheck %s --check-prefix=GRAD

// TRIP-LABEL: @trip
// TRIP: grad.gelu %{{.*}} : tensor<3xf32>
// TRIP: grad.gelu %{{.*}} {approximate} : tensor<3xf32>
// TRIP: grad.gelu_grad %{{.*}}, %{{.*}} : tensor<3xf32>
// TRIP: grad.gelu_grad %{{.*}}, %{{.*}} {approximate} : tensor<3xf32>
// TRIP: grad.silu %{{.*}} : tensor<3xf32>
// TRIP: grad.swish %{{.*}} slope 1.702000e+00 : tensor<3xf32>
// TRIP: grad.mish %{{.*}} : tensor<3xf32>
// PARTS-LABEL: @trip
// PARTS-NOT: grad.gelu
// PARTS: grad.erf
// PARTS-NOT: grad.gelu
// PARTS: grad.tanh
// The gradients share the erf and the tanh.
// PARTS-NOT: grad.{{gelu|erf|tanh|silu}}
// PARTS: grad.exp
// PARTS-NOT: grad.{{gelu|erf|tanh|silu}}
// PARTS: grad.sigmoid
// PARTS-NEXT: grad.mul
// PARTS-NEXT: %[[SLOPED:.*]] = grad.mul %{{.*}}, %{{.*}} : tensor<3xf32>
// PARTS-NEXT: grad.sigmoid %[[SLOPED]]
// PARTS-NOT: grad.{{log1p|tanh|mish}}
// PARTS: return
func.func @trip(%x: tensor<3xf32>, %g: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
  %0 = grad.gelu %x : tensor<3xf32>
  %1 = grad.gelu %x {approximate} : tensor<3xf32>
  %2 = grad.gelu_grad %x, %g : tensor<3xf32>
  %3 = grad.gelu_grad %x, %g {approximate} : tensor<3xf32>
  %4 = grad.silu %x : tensor<3xf32>
  %5 = grad.swish %x slope 1.702 : tensor<3xf32>
  %6 = grad.mish %x : tensor<3xf32>
  return %0, %1, %2, %3, %4, %5, %6 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}

// NaN and -0 are preserved; integers have a relu, too.
// CHECK-LABEL: @relus
func.func @relus() -> (tensor<5xf32>, tensor<2xi8>, tensor<2xui8>) {
  %x = grad.constant dense<[0x7FC00000, -0.0, -1.0, 2.0, 0xFF800000]> : tensor<5xf32>
  // CHECK-DAG: dense<[0x7FC00000, -0.000000e+00, 0.000000e+00, 2.000000e+00, 0.000000e+00]>
  %0 = grad.relu %x : tensor<5xf32>
  %i = grad.constant dense<[-128, 127]> : tensor<2xi8>
  // CHECK-DAG: dense<[0, 127]> : tensor<2xi8>
  %1 = grad.relu %i : tensor<2xi8>
  %u = grad.constant dense<[200, 0]> : tensor<2xui8>
  // CHECK-DAG: dense<[200, 0]> : tensor<2xui8>
  %2 = grad.relu %u : tensor<2xui8>
  return %0, %1, %2 : tensor<5xf32>, tensor<2xi8>, tensor<2xui8>
}

// For large |x| the sigmoid is denormal on one side and exactly 1 on the other.
// CHECK-LABEL: @far
func.func @far() -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %x = grad.constant dense<[-100.0, 100.0, 0.0, 0x7FC00000]> : tensor<4xf32>
  // CHECK-DAG: dense<[3.783510e-44, 1.000000e+00, 5.000000e-01, {{0x[7F]FC00000}}]>
  %0 = grad.sigmoid %x : tensor<4xf32>
  // CHECK-DAG: dense<[-1.000000e+00, 1.000000e+00, 0.000000e+00, 0x7FC00000]>
  %1 = grad.tanh %x : tensor<4xf32>
  // CHECK-DAG: dense<[-0.000000e+00, 1.000000e+02, 0.000000e+00, 0x7FC00000]>
  %2 = grad.gelu %x : tensor<4xf32>
  return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// gelu(1) = 0.8413447 (exact), 0.8411920 (tanh form); silu(1) = 0.7310586, swish(1) = 0.8457958 with slope 1.702; mish(1) = 0.8650984.
// CHECK-LABEL: @values
func.func @values() -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) {
  %x = grad.constant dense<1.0> : tensor<f32>
  // CHECK-DAG: dense<0.841344773> : tensor<f32>
  %0 = grad.gelu %x : tensor<f32>
  // CHECK-DAG: dense<8.411920e-01> : tensor<f32>
  %1 = grad.gelu %x {approximate} : tensor<f32>
  // CHECK-DAG: dense<0.731058597> : tensor<f32>
  %2 = grad.silu %x : tensor<f32>
  // CHECK-DAG: dense<0.845795{{.*}}> : tensor<f32>
  %3 = grad.swish %x slope 1.702 : tensor<f32>
  // CHECK-DAG: dense<0.865098{{.*}}> : tensor<f32>
  %4 = grad.mish %x : tensor<f32>
  return %0, %1, %2, %3, %4 : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>
}

// Far out mish is 0 on one side and x on the other; so are its parts, whose powers do not overflow.
// CHECK-LABEL: @mish_far
// CHECK-DAG: dense<[{{-?}}0.000000e+00, 1.000000e+02, 0.000000e+00, {{0x[7F]FC00000}}]>
func.func @mish_far() -> tensor<4xf32> {
  %x = grad.constant dense<[-200.0, 100.0, 0.0, 0x7FC00000]> : tensor<4xf32>
  %0 = grad.mish %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// Far out the slope of the tanh form is 0 or 1; so is that of its parts, whose powers do not overflow.
// CHECK-LABEL: @gelu_slope_far
// CHECK-DAG: dense<[0.000000e+00, 0.000000e+00, 1.000000e+00, 1.000000e+00, {{0x[7F]E00}}]> : tensor<5xf16>
// CHECK-DAG: dense<[0.000000e+00, 0.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00]> : tensor<5xf32>
// CHECK-DAG: dense<[0.000000e+00, 1.000000e+00]> : tensor<2xf64>
// PARTS-LABEL: @gelu_slope_far
// PARTS-DAG: dense<[0.000000e+00, 0.000000e+00, 1.000000e+00, 1.000000e+00, {{0x[7F]E00}}]> : tensor<5xf16>
// PARTS-DAG: dense<[0.000000e+00, 0.000000e+00, 1.000000e+00, 1.000000e+00, 1.000000e+00]> : tensor<5xf32>
// PARTS-DAG: dense<[0.000000e+00, 1.000000e+00]> : tensor<2xf64>
func.func @gelu_slope_far() -> (tensor<5xf16>, tensor<5xf32>, tensor<2xf64>) {
  %h = grad.constant dense<[-300.0, -256.0, 255.0, 60000.0, 0x7E00]> : tensor<5xf16>
  %hg = grad.constant dense<1.0> : tensor<5xf16>
  %0 = grad.gelu_grad %h, %hg {approximate} : tensor<5xf16>
  %x = grad.constant dense<[-3.0e38, -2.0e19, 20.0, 2.0e19, 3.0e38]> : tensor<5xf32>
  %g = grad.constant dense<1.0> : tensor<5xf32>
  %1 = grad.gelu_grad %x, %g {approximate} : tensor<5xf32>
  %d = grad.constant dense<[-1.0e160, 1.0e160]> : tensor<2xf64>
  %dg = grad.constant dense<1.0> : tensor<2xf64>
  %2 = grad.gelu_grad %d, %dg {approximate} : tensor<2xf64>
  return %0, %1, %2 : tensor<5xf16>, tensor<5xf32>, tensor<2xf64>
}

// The gradient uses the result, so the operand need not be saved. It is 0 at 0.
// GRAD-LABEL: @grad_relu
// GRAD: %[[Y:.*]] = grad.relu
// GRAD: %[[C:.*]] = grad.compare gt %[[Y]]
// GRAD: grad.select %[[C]]
func.func @grad_relu(%x: tensor<f32>) -> tensor<f32> {
  %y = grad.relu %x : tensor<f32>
  %g = grad.gradient %y wrt %x : tensor<f32>, tensor<f32>
  return %g : tensor<f32>
}

// At 0 the slopes of tanh, sigmoid, gelu (both forms), silu and mish are 1, 1/4, 1/2, 1/2 and 3/5.
// GRAD-LABEL: @slopes
// GRAD-DAG: %[[TANH:.*]] = grad.constant dense<1.000000e+00> : tensor<f64>
// GRAD-DAG: %[[SIGMOID:.*]] = grad.constant dense<2.500000e-01> : tensor<f64>
// GRAD-DAG: %[[HALF:.*]] = grad.constant dense<5.000000e-01> : tensor<f64>
// GRAD-DAG: %[[MISH:.*]] = grad.constant dense<6.000000e-01> : tensor<f64>
// GRAD: return %[[TANH]], %[[SIGMOID]], %[[HALF]], %[[HALF]], %[[HALF]], %[[MISH]]
func.func @slopes() -> (tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>) {
  %x = grad.constant dense<0.0> : tensor<f64>
  %0 = grad.tanh %x : tensor<f64>
  %1 = grad.sigmoid %x : tensor<f64>
  %2 = grad.gelu %x : tensor<f64>
  %3 = grad.gelu %x {approximate} : tensor<f64>
  %4 = grad.silu %x : tensor<f64>
  %5 = grad.mish %x : tensor<f64>
  %g0 = grad.gradient %0 wrt %x : tensor<f64>, tensor<f64>
  %g1 = grad.gradient %1 wrt %x : tensor<f64>, tensor<f64>
  %g2 = grad.gradient %2 wrt %x : tensor<f64>, tensor<f64>
  %g3 = grad.gradient %3 wrt %x : tensor<f64>, tensor<f64>
  %g4 = grad.gradient %4 wrt %x : tensor<f64>, tensor<f64>
  %g5 = grad.gradient %5 wrt %x : tensor<f64>, tensor<f64>
  return %g0, %g1, %g2, %g3, %g4, %g5 : tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>
}

// Far out the slope of the tanh form no longer changes; at 0 it changes by sqrt(2 / pi). No power overflows.
// GRAD-LABEL: @gelu_bend_far
// GRAD: %[[BEND:.*]] = grad.constant dense<[{{-?}}0.000000e+00, {{-?}}0.000000e+00, {{7.97[0-9]+}}e-01, {{-?}}0.000000e+00, {{-?}}0.000000e+00, {{0x[7F]E00}}]> : tensor<6xf16>
// GRAD: return %[[BEND]]
func.func @gelu_bend_far() -> tensor<6xf16> {
  %x = grad.constant dense<[-60000.0, -300.0, 0.0, 40.0, 0x7C00, 0x7E00]> : tensor<6xf16>
  %g = grad.constant dense<1.0> : tensor<6xf16>
  %0 = grad.gelu_grad %x, %g {approximate} : tensor<6xf16>
  %1 = grad.reduce_sum %0 dims [0] : tensor<6xf16>
  %2 = grad.gradient %1 wrt %x : tensor<f16>, tensor<6xf16>
  return %2 : tensor<6xf16>
}
