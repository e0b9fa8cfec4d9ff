// RUN: gradc-opt %s | gradc-opt | FileCheck %s
// RUN: gradc-opt %s --gradc-differentiate --gradc-decompose --canonicalize | FileCheck %s --check-prefix=GRAD

// CHECK-LABEL: @value
// CHECK: grad.straight_through %{{.*}}, %{{.*}} : tensor<3xf32>
// Its value is the second operand.
// GRAD-LABEL: @value
// GRAD-SAME: (%{{.*}}: tensor<3xf32>, %[[Y:.*]]: tensor<3xf32>)
// GRAD-NEXT: return %[[Y]]
func.func @value(%x: tensor<3xf32>, %y: tensor<3xf32>) -> tensor<3xf32> {
  %0 = grad.straight_through %x, %y : tensor<3xf32>
  return %0 : tensor<3xf32>
}

// Its gradient goes to the first operand, as that of x * x at the second one: 2 y.
// GRAD-LABEL: @gradient
// GRAD-SAME: (%[[X:.*]]: tensor<f32>, %[[Y:.*]]: tensor<f32>)
// GRAD-DAG: %[[ZERO:.*]] = grad.constant dense<0.000000e+00> : tensor<f32>
// GRAD-DAG: %[[ONE:.*]] = grad.constant dense<1.000000e+00> : tensor<f32>
// GRAD: %[[A:.*]] = grad.mul %[[Y]], %[[ONE]]
// GRAD: %[[B:.*]] = grad.mul %[[Y]], %[[ONE]]
// GRAD: %[[G:.*]] = grad.add %[[A]], %[[B]] : tensor<f32>
// GRAD: return %[[G]], %[[ZERO]]
func.func @gradient(%x: tensor<f32>, %y: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  %0 = grad.straight_through %x, %y : tensor<f32>
  %1 = grad.mul %0, %0 : tensor<f32>
  %2:2 = grad.gradient %1 wrt %x, %y : tensor<f32>, tensor<f32>, tensor<f32>
  return %2#0, %2#1 : tensor<f32>, tensor<f32>
}
