// RUN: gradc-opt %s -gradc-flatten-updates | FileCheck %s

grad.state parameter @w : tensor<3x3x8x6xf32> = dense<1.0> : tensor<3x3x8x6xf32>
grad.state slot @w.velocity : tensor<3x3x8x6xf32> = dense<0.0> : tensor<3x3x8x6xf32> {grad.cut = @w}
grad.state parameter @v : tensor<24x32xf32> = dense<1.0> : tensor<24x32xf32>
exec.buffer primary @w.primary of @w : 1728
exec.buffer primary @w.velocity.primary of @w.velocity : 1728
exec.buffer primary @v.primary of @v : 3072

// Kernels on row-major tensors become kernels on lists with the same bodies, if they compute element by element.

// CHECK: exec.kernel @[[LIST:update_.*]](%{{.*}}: tensor<432xf32>, %{{.*}}: tensor<432xf32>, %{{.*}}: tensor<432xf32>, %[[RATE:.*]]: tensor<f32>) attributes {inplace = array<i64: 0, 2>}
// CHECK: %[[HALF:.*]] = grad.constant dense<5.000000e-01> : tensor<432xf32>
// CHECK: grad.broadcast %[[RATE]] dims [] : tensor<f32> -> tensor<432xf32>
// CHECK: exec.yield %{{.*}}, %{{.*}} : tensor<432xf32>, tensor<432xf32>
// CHECK-NOT: exec.kernel @update(
exec.kernel @update(%w: tensor<3x3x8x6xf32>, %g: tensor<3x3x8x6xf32>, %v: tensor<3x3x8x6xf32>, %lr: tensor<f32>) attributes {inplace = array<i64: 0, 2>} {
  %half = grad.constant dense<0.5> : tensor<3x3x8x6xf32>
  %rate = grad.broadcast %lr dims [] : tensor<f32> -> tensor<3x3x8x6xf32>
  %0 = grad.mul %v, %half : tensor<3x3x8x6xf32>
  %1 = grad.add %0, %g : tensor<3x3x8x6xf32>
  %2 = grad.mul %1, %rate : tensor<3x3x8x6xf32>
  %3 = grad.sub %w, %2 : tensor<3x3x8x6xf32>
  exec.yield %3, %1 : tensor<3x3x8x6xf32>, tensor<3x3x8x6xf32>
}
exec.kernel @average(%w: tensor<3x3x8x6xf32>) attributes {inplace = array<i64: 0>} {
  %0 = grad.add %w, %w : tensor<3x3x8x6xf32>
  exec.yield %0 : tensor<3x3x8x6xf32>
}

// CHECK-LABEL: func.func @step
// CHECK: %[[S:.*]] = grad.reduce_scatter %{{.*}} of [@w] : tensor<3x3x8x6xf32>
// CHECK-DAG: %[[W:.*]] = grad.reshape %0 : tensor<3x3x8x6xf32> -> tensor<432xf32>
// CHECK-DAG: %[[G:.*]] = grad.reshape %[[S]] : tensor<3x3x8x6xf32> -> tensor<432xf32>
// CHECK: %[[NEW:.*]]:2 = exec.launch @[[LIST]](%[[W]], %[[G]], %{{.*}}, %arg1)
// CHECK: %[[ALL:.*]] = grad.all_gather %[[NEW]]#0 of [@w] : tensor<432xf32>
// Values with other readers keep the shape.
// CHECK: %[[SHAPED:.*]] = grad.reshape %[[ALL]] : tensor<432xf32> -> tensor<3x3x8x6xf32>
// CHECK: exec.store @w.primary, %[[ALL]] : tensor<432xf32>
// CHECK: exec.store @w.velocity.primary, %[[NEW]]#1 : tensor<432xf32>
// CHECK: %[[AVERAGE:.*]] = exec.launch @average(%[[SHAPED]])
// CHECK: return %[[AVERAGE]]
func.func @step(%g: tensor<3x3x8x6xf32>, %lr: tensor<f32>) -> tensor<3x3x8x6xf32> {
  %w = exec.load @w.primary : tensor<3x3x8x6xf32>
  %v = exec.load @w.velocity.primary : tensor<3x3x8x6xf32>
  %s = grad.reduce_scatter %g of [@w] : tensor<3x3x8x6xf32>
  %new:2 = exec.launch @update(%w, %s, %v, %lr) : (tensor<3x3x8x6xf32>, tensor<3x3x8x6xf32>, tensor<3x3x8x6xf32>, tensor<f32>) -> (tensor<3x3x8x6xf32>, tensor<3x3x8x6xf32>)
  %all = grad.all_gather %new#0 of [@w] : tensor<3x3x8x6xf32>
  exec.store @w.primary, %all : tensor<3x3x8x6xf32>
  exec.store @w.velocity.primary, %new#1 : tensor<3x3x8x6xf32>
  %average = exec.launch @average(%all) : (tensor<3x3x8x6xf32>) -> tensor<3x3x8x6xf32>
  return %average : tensor<3x3x8x6xf32>
}

// Tensors in the same panels become lists in the order of the panels.

// CHECK: exec.kernel @[[PANELS:in_panels_.*]](%{{.*}}: tensor<768xf32>, %{{.*}}: tensor<768xf32>) attributes {inplace = array<i64: 0>} {
exec.kernel @in_panels(%w: tensor<24x32xf32>, %g: tensor<24x32xf32>) attributes {inplace = array<i64: 0>,
    layouts = [#exec.panel<dim = 1, width = 16>, #exec.panel<dim = 1, width = 16>, #exec.panel<dim = 1, width = 16>]} {
  %0 = grad.sub %w, %g : tensor<24x32xf32>
  exec.yield %0 : tensor<24x32xf32>
}
exec.kernel @mirror(%w: tensor<24x32xf32>) attributes {layouts = [#exec.panel<dim = 1, width = 16>, unit]} {
  exec.yield %w : tensor<24x32xf32>
}
// CHECK-LABEL: func.func @step_in_panels
// CHECK: %[[NEW:.*]] = exec.launch @[[PANELS]](
// CHECK: %[[ALL:.*]] = grad.all_gather %[[NEW]] of [@u] : tensor<768xf32>
// CHECK: %[[SHAPED:.*]] = grad.reshape %[[ALL]] : tensor<768xf32> -> tensor<24x32xf32>
// CHECK: exec.store @u.primary, %[[ALL]] : tensor<768xf32>
// CHECK: exec.launch @mirror(%[[SHAPED]])
grad.state parameter @u : tensor<24x32xf32> = dense<1.0> : tensor<24x32xf32>
exec.buffer primary @u.primary of @u layout <dim = 1, width = 16> : 3072
func.func @step_in_panels(%g: tensor<24x32xf32>) -> tensor<24x32xf32> {
  %u = exec.load @u.primary : tensor<24x32xf32>
  %s = grad.reduce_scatter %g of [@u] : tensor<24x32xf32>
  %0 = exec.launch @in_panels(%u, %s) : (tensor<24x32xf32>, tensor<24x32xf32>) -> tensor<24x32xf32>
  %1 = grad.all_gather %0 of [@u] : tensor<24x32xf32>
  exec.store @u.primary, %1 : tensor<24x32xf32>
  %2 = exec.launch @mirror(%1) : (tensor<24x32xf32>) -> tensor<24x32xf32>
  return %2 : tensor<24x32xf32>
}

// Unchanged: padded panels, tensors in different layouts, ops that depend on an element's position, and updates that ranks do not divide.

exec.kernel @padded(%w: tensor<24x32xf32>, %g: tensor<24x32xf32>) attributes {inplace = array<i64: 0>,
    layouts = [#exec.panel<dim = 0, width = 16>, #exec.panel<dim = 0, width = 16>, #exec.panel<dim = 0, width = 16>]} {
  %0 = grad.sub %w, %g : tensor<24x32xf32>
  exec.yield %0 : tensor<24x32xf32>
}

exec.kernel @mixed(%w: tensor<24x32xf32>, %g: tensor<24x32xf32>) attributes {inplace = array<i64: 0>,
    layouts = [#exec.panel<dim = 1, width = 16>, unit, #exec.panel<dim = 1, width = 16>]} {
  %0 = grad.sub %w, %g : tensor<24x32xf32>
  exec.yield %0 : tensor<24x32xf32>
}
exec.kernel @rows(%w: tensor<24x32xf32>, %g: tensor<24x32xf32>) attributes {inplace = array<i64: 0>} {
  %0 = grad.reduce_sum %g dims [1] : tensor<24x32xf32>
  %1 = grad.broadcast %0 dims [0] : tensor<24xf32> -> tensor<24x32xf32>
  %2 = grad.sub %w, %1 : tensor<24x32xf32>
  exec.yield %2 : tensor<24x32xf32>
}
exec.kernel @places(%w: tensor<24x32xf32>, %g: tensor<24x32xf32>) attributes {inplace = array<i64: 0>} {
  %0 = grad.iota dim 0 : tensor<24x32xf32>
  %1 = grad.mul %0, %g : tensor<24x32xf32>
  %2 = grad.sub %w, %1 : tensor<24x32xf32>
  exec.yield %2 : tensor<24x32xf32>
}
exec.kernel @alone(%w: tensor<24x32xf32>, %g: tensor<24x32xf32>) attributes {inplace = array<i64: 0>} {
  %0 = grad.add %w, %g : tensor<24x32xf32>
  exec.yield %0 : tensor<24x32xf32>
}
// CHECK-LABEL: func.func @others
// CHECK-NOT: grad.reshape
// CHECK: exec.launch @padded(
// CHECK-NOT: grad.reshape
// CHECK: exec.launch @mixed(
// CHECK-NOT: grad.reshape
// CHECK: exec.launch @rows(
// CHECK-NOT: grad.reshape
// CHECK: exec.launch @places(
// CHECK-NOT: grad.reshape
// CHECK: exec.launch @alone(
// CHECK-NOT: grad.reshape
func.func @others(%g: tensor<24x32xf32>) -> (tensor<24x32xf32>, tensor<24x32xf32>, tensor<24x32xf32>, tensor<24x32xf32>) {
  %v = exec.load @v.primary : tensor<24x32xf32>
  %0 = exec.launch @padded(%v, %g) : (tensor<24x32xf32>, tensor<24x32xf32>) -> tensor<24x32xf32>
  %1 = grad.all_gather %0 of [@v] : tensor<24x32xf32>
  %2 = exec.launch @mixed(%v, %g) : (tensor<24x32xf32>, tensor<24x32xf32>) -> tensor<24x32xf32>
  %3 = grad.all_gather %2 of [@v] : tensor<24x32xf32>
  %4 = exec.launch @rows(%v, %g) : (tensor<24x32xf32>, tensor<24x32xf32>) -> tensor<24x32xf32>
  %5 = grad.all_gather %4 of [@v] : tensor<24x32xf32>
  %6 = exec.launch @places(%v, %g) : (tensor<24x32xf32>, tensor<24x32xf32>) -> tensor<24x32xf32>
  %7 = grad.all_gather %6 of [@v] : tensor<24x32xf32>
  %8 = exec.launch @alone(%v, %g) : (tensor<24x32xf32>, tensor<24x32xf32>) -> tensor<24x32xf32>
  exec.store @v.primary, %8 : tensor<24x32xf32>
  return %1, %3, %5, %7 : tensor<24x32xf32>, tensor<24x32xf32>, tensor<24x32xf32>, tensor<24x32xf32>
}
