// RUN: gradc-opt %s -split-input-file -gradc-choose-layouts | FileCheck %s

// A parameter that ranks divide is stored in the panels that its product reads, as without ranks. So are its slot and the
// gradient that ranks scatter, which is computed in this layout.

// CHECK-DAG: exec.kernel @[[FILTER:gradient.*]](%{{.*}}layouts = [unit, unit, #exec.panel<dim = 1, width = 16>]
// CHECK-DAG: exec.kernel @[[UPDATE:update.*]](%{{.*}}layouts = [#exec.panel<dim = 1, width = 16>, #exec.panel<dim = 1, width = 16>, #exec.panel<dim = 1, width = 16>, #exec.panel<dim = 1, width = 16>, #exec.panel<dim = 1, width = 16>]
// CHECK: exec.buffer primary @w.primary of @w layout <dim = 1, width = 16> : 3072
// CHECK-NOT: mirror
// CHECK: exec.buffer primary @w.velocity.primary of @w.velocity layout <dim = 1, width = 16> : 3072
// CHECK-LABEL: func.func @step
// CHECK: %[[G:.*]] = exec.launch @[[FILTER]](
// CHECK-NEXT: %[[OWN:.*]] = grad.reduce_scatter %[[G]] of [@w] : tensor<24x32xf32>
// CHECK-NEXT: %[[NEW:.*]]:2 = exec.launch @[[UPDATE]](%{{.*}}, %[[OWN]], %{{.*}})
// CHECK-NEXT: %[[ALL:.*]] = grad.all_gather %[[NEW]]#0 of [@w]
// CHECK-NEXT: exec.store @w.primary, %[[ALL]]
// CHECK-NEXT: exec.store @w.velocity.primary, %[[NEW]]#1
// A gradient with another reader is row-major, and packed for the ranks.
// CHECK-LABEL: func.func @watched
// CHECK: %[[G:.*]] = exec.launch @gradient(
// CHECK-NEXT: %[[PACKED:.*]] = exec.launch @pack{{.*}}(%[[G]])
// CHECK-NEXT: grad.reduce_scatter %[[PACKED]] of [@w]
// CHECK: return %[[G]]
module attributes {exec.level = "x86-64-v3"} {
grad.state parameter @w : tensor<24x32xf32> = dense<1.0> : tensor<24x32xf32>
grad.state slot @w.velocity : tensor<24x32xf32> = dense<0.0> : tensor<24x32xf32> {grad.cut = @w}
exec.kernel @forward(%x: tensor<8x24xf32>, %w: tensor<24x32xf32>) attributes {inplace = array<i64>} {
  %0 = grad.matmul %x, %w : tensor<8x24xf32>, tensor<24x32xf32>
  exec.yield %0 : tensor<8x32xf32>
}
exec.kernel @gradient(%x: tensor<8x24xf32>, %d: tensor<8x32xf32>) attributes {inplace = array<i64>} {
  %0 = grad.matmul %x, %d transpose_lhs : tensor<8x24xf32>, tensor<8x32xf32>
  exec.yield %0 : tensor<24x32xf32>
}
exec.kernel @update(%w: tensor<24x32xf32>, %g: tensor<24x32xf32>, %v: tensor<24x32xf32>) attributes {inplace = array<i64: 0, 1, 2>} {
  %0 = grad.add %v, %g : tensor<24x32xf32>
  %1 = grad.sub %w, %0 : tensor<24x32xf32>
  exec.yield %1, %0 : tensor<24x32xf32>, tensor<24x32xf32>
}
func.func @step(%x: tensor<8x24xf32>) {
  %w = grad.read @w : tensor<24x32xf32>
  %v = grad.read @w.velocity : tensor<24x32xf32>
  %y = exec.launch @forward(%x, %w) : (tensor<8x24xf32>, tensor<24x32xf32>) -> tensor<8x32xf32>
  %g = exec.launch @gradient(%x, %y) : (tensor<8x24xf32>, tensor<8x32xf32>) -> tensor<24x32xf32>
  %s = grad.reduce_scatter %g of [@w] : tensor<24x32xf32>
  %new:2 = exec.launch @update(%w, %s, %v) : (tensor<24x32xf32>, tensor<24x32xf32>, tensor<24x32xf32>) -> (tensor<24x32xf32>, tensor<24x32xf32>)
  %all = grad.all_gather %new#0 of [@w] : tensor<24x32xf32>
  grad.write @w, %all : tensor<24x32xf32>
  grad.write @w.velocity, %new#1 : tensor<24x32xf32>
  return
}
func.func @watched(%x: tensor<8x24xf32>, %y: tensor<8x32xf32>) -> tensor<24x32xf32> {
  %w = grad.read @w : tensor<24x32xf32>
  %v = grad.read @w.velocity : tensor<24x32xf32>
  %g = exec.launch @gradient(%x, %y) : (tensor<8x24xf32>, tensor<8x32xf32>) -> tensor<24x32xf32>
  %s = grad.reduce_scatter %g of [@w] : tensor<24x32xf32>
  %new:2 = exec.launch @update(%w, %s, %v) : (tensor<24x32xf32>, tensor<24x32xf32>, tensor<24x32xf32>) -> (tensor<24x32xf32>, tensor<24x32xf32>)
  %all = grad.all_gather %new#0 of [@w] : tensor<24x32xf32>
  grad.write @w, %all : tensor<24x32xf32>
  return %g : tensor<24x32xf32>
}
}

// -----

// If more than 1/32 of the panels would be padding, the reader packs them, because ranks would send the padding as well.

// CHECK: exec.buffer primary @w.primary of @w : 960
// CHECK-NOT: mirror
// CHECK-LABEL: func.func @step
// CHECK: %[[W:.*]] = exec.load @w.primary
// CHECK: %[[PACKED:.*]] = exec.launch @pack{{.*}}(%[[W]])
// CHECK: exec.launch @{{forward.*}}(%{{.*}}, %[[PACKED]])
// CHECK: %[[ALL:.*]] = grad.all_gather %{{.*}} of [@w] : tensor<24x10xf32>
// CHECK: exec.store @w.primary, %[[ALL]]
module attributes {exec.level = "x86-64-v3"} {
grad.state parameter @w : tensor<24x10xf32> = dense<1.0> : tensor<24x10xf32>
exec.kernel @forward(%x: tensor<8x24xf32>, %w: tensor<24x10xf32>) attributes {inplace = array<i64>} {
  %0 = grad.matmul %x, %w : tensor<8x24xf32>, tensor<24x10xf32>
  exec.yield %0 : tensor<8x10xf32>
}
exec.kernel @update(%w: tensor<24x10xf32>, %g: tensor<24x10xf32>) attributes {inplace = array<i64: 0>} {
  %0 = grad.sub %w, %g : tensor<24x10xf32>
  exec.yield %0 : tensor<24x10xf32>
}
func.func @step(%x: tensor<8x24xf32>, %g: tensor<24x10xf32>) -> tensor<8x10xf32> {
  %w = grad.read @w : tensor<24x10xf32>
  %y = exec.launch @forward(%x, %w) : (tensor<8x24xf32>, tensor<24x10xf32>) -> tensor<8x10xf32>
  %s = grad.reduce_scatter %g of [@w] : tensor<24x10xf32>
  %new = exec.launch @update(%w, %s) : (tensor<24x10xf32>, tensor<24x10xf32>) -> tensor<24x10xf32>
  %all = grad.all_gather %new of [@w] : tensor<24x10xf32>
  grad.write @w, %all : tensor<24x10xf32>
  return %y : tensor<8x10xf32>
}
}

// -----

// An update that cannot run in place writes elsewhere and is copied to the buffer before ranks gather from it.

// CHECK-LABEL: func.func @step
// CHECK: %[[NEW:.*]] = exec.launch @turn(
// CHECK-NEXT: %[[COPIED:.*]] = exec.launch @copy(%[[NEW]])
// CHECK-NEXT: %[[ALL:.*]] = grad.all_gather %[[COPIED]] of [@w]
// CHECK-NEXT: exec.store @w.primary, %[[ALL]]
module attributes {exec.level = "x86-64-v3"} {
grad.state parameter @w : tensor<24x24xf32> = dense<1.0> : tensor<24x24xf32> {grad.whole}
exec.kernel @turn(%w: tensor<24x24xf32>, %g: tensor<24x24xf32>) attributes {inplace = array<i64: 1>} {
  %0 = grad.transpose %w permutation [1, 0] : tensor<24x24xf32>
  %1 = grad.sub %0, %g : tensor<24x24xf32>
  exec.yield %1 : tensor<24x24xf32>
}
func.func @step(%g: tensor<24x24xf32>) {
  %w = grad.read @w : tensor<24x24xf32>
  %s = grad.reduce_scatter %g of [@w] : tensor<24x24xf32>
  %new = exec.launch @turn(%w, %s) : (tensor<24x24xf32>, tensor<24x24xf32>) -> tensor<24x24xf32>
  %all = grad.all_gather %new of [@w] : tensor<24x24xf32>
  grad.write @w, %all : tensor<24x24xf32>
  return
}
}
