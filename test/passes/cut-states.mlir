// RUN: gradc-opt %s -split-input-file -gradc-cut-states | FileCheck %s

// Launches that update a parameter run on the rank's own pieces, which consist of whole units of all these launches.

grad.state parameter @w : tensor<96xf32> = dense<0.0> : tensor<96xf32>
grad.state slot @w.velocity : tensor<96xf32> = dense<0.0> : tensor<96xf32> {grad.cut = @w}
// CHECK: exec.cut @w.cut of @w : 96 by 32
// CHECK: exec.buffer primary @w.primary of @w : 384
// CHECK-NOT: cut
// CHECK: exec.buffer primary @w.velocity.primary of @w.velocity : 384 cut @w.cut
exec.buffer primary @w.primary of @w : 384
exec.buffer primary @w.velocity.primary of @w.velocity : 384

exec.kernel @update(%w: tensor<96xf32>, %g: tensor<96xf32>, %v: tensor<96xf32>) attributes {inplace = array<i64: 0, 2>,
    schedule = #exec.schedule<lanes = 8, tile = [32], order = [0], grain = 1>} {
  %0 = grad.add %v, %g : tensor<96xf32>
  %1 = grad.sub %w, %0 : tensor<96xf32>
  exec.yield %1, %0 : tensor<96xf32>, tensor<96xf32>
}
exec.kernel @decay(%w: tensor<96xf32>, %g: tensor<96xf32>) attributes {inplace = array<i64: 0>,
    schedule = #exec.schedule<lanes = 8, tile = [16], order = [0], grain = 1>} {
  %0 = grad.sub %w, %g : tensor<96xf32>
  exec.yield %0 : tensor<96xf32>
}
exec.kernel @norm(%g: tensor<96xf32>) attributes {schedule = #exec.schedule<lanes = 1, tile = [], order = [], grain = 1>} {
  %0 = grad.mul %g, %g : tensor<96xf32>
  %1 = grad.reduce_sum %0 dims [0] : tensor<96xf32>
  exec.yield %1 : tensor<f32>
}

// CHECK-LABEL: @train
// CHECK: grad.reduce_scatter %{{.*}} of [@w] {exec.cuts = [@w.cut]} : tensor<96xf32>
// CHECK: exec.launch @update({{.*}}) {exec.cut = @w.cut, exec.units_per_piece = 1 : i64}
func.func @train(%g: tensor<96xf32>) {
  %w = exec.load @w.primary : tensor<96xf32>
  %v = exec.load @w.velocity.primary : tensor<96xf32>
  %s = grad.reduce_scatter %g of [@w] : tensor<96xf32>
  %0:2 = exec.launch @update(%w, %s, %v) : (tensor<96xf32>, tensor<96xf32>, tensor<96xf32>) -> (tensor<96xf32>, tensor<96xf32>)
  %1 = grad.all_gather %0#0 of [@w] : tensor<96xf32>
  exec.store @w.primary, %1 : tensor<96xf32>
  exec.store @w.velocity.primary, %0#1 : tensor<96xf32>
  return
}

// Here, a norm reads all sums.
// CHECK-LABEL: @clipped
// CHECK: grad.reduce_scatter %{{.*}} of [@w] {exec.cuts = [@w.cut], exec.zeros = array<i64: 0>} : tensor<96xf32>
// CHECK: exec.launch @norm(%{{[a-z0-9]*}}) : (
// CHECK: exec.launch @decay({{.*}}) {exec.cut = @w.cut, exec.units_per_piece = 2 : i64}
func.func @clipped(%g: tensor<96xf32>) -> tensor<f32> {
  %w = exec.load @w.primary : tensor<96xf32>
  %s = grad.reduce_scatter %g of [@w] : tensor<96xf32>
  %n = exec.launch @norm(%s) : (tensor<96xf32>) -> tensor<f32>
  %a = grad.all_reduce %n : tensor<f32>
  %0 = exec.launch @decay(%w, %s) : (tensor<96xf32>, tensor<96xf32>) -> tensor<96xf32>
  %1 = grad.all_gather %0 of [@w] : tensor<96xf32>
  exec.store @w.primary, %1 : tensor<96xf32>
  return %a : tensor<f32>
}

// Of two gradients in one scatter, only the one that a norm reads is zero elsewhere.
// CHECK-LABEL: @partly
// CHECK: grad.reduce_scatter {{.*}} {exec.cuts = [@w.cut, @w.cut], exec.zeros = array<i64: 1>}
func.func @partly(%g: tensor<96xf32>, %h: tensor<96xf32>) -> tensor<f32> {
  %w = exec.load @w.primary : tensor<96xf32>
  %s:2 = grad.reduce_scatter %g, %h of [@w, @w] : tensor<96xf32>, tensor<96xf32>
  %n = exec.launch @norm(%s#1) : (tensor<96xf32>) -> tensor<f32>
  %0 = exec.launch @decay(%w, %s#0) : (tensor<96xf32>, tensor<96xf32>) -> tensor<96xf32>
  %1 = grad.all_gather %0 of [@w] : tensor<96xf32>
  exec.store @w.primary, %1 : tensor<96xf32>
  return %n : tensor<f32>
}

// -----

// If a rule needs the whole tensor, one rank updates all of the parameter. Only this rank computes values that only the update reads.

grad.state parameter @w : tensor<96xf32> = dense<0.0> : tensor<96xf32> {grad.whole}
// CHECK: exec.cut @w.cut of @w : 96 by 96
exec.buffer primary @w.primary of @w : 384
exec.kernel @norm(%g: tensor<96xf32>) attributes {schedule = #exec.schedule<lanes = 1, tile = [], order = [], grain = 1>} {
  %0 = grad.mul %g, %g : tensor<96xf32>
  %1 = grad.reduce_sum %0 dims [0] : tensor<96xf32>
  exec.yield %1 : tensor<f32>
}
exec.kernel @scaled(%w: tensor<96xf32>, %g: tensor<96xf32>, %n: tensor<f32>) attributes {inplace = array<i64: 0>,
    schedule = #exec.schedule<lanes = 8, tile = [32], order = [0], grain = 1>} {
  %0 = grad.broadcast %n dims [] : tensor<f32> -> tensor<96xf32>
  %1 = grad.mul %g, %0 : tensor<96xf32>
  %2 = grad.sub %w, %1 : tensor<96xf32>
  exec.yield %2 : tensor<96xf32>
}

// CHECK-LABEL: @whole
// CHECK: grad.reduce_scatter %{{.*}} of [@w] {exec.cuts = [@w.cut]} : tensor<96xf32>
// CHECK: exec.launch @norm(%{{[a-z0-9]*}}) {exec.cut = @w.cut, exec.units_per_piece = 1 : i64}
// CHECK: exec.launch @scaled({{.*}}) {exec.cut = @w.cut, exec.units_per_piece = 3 : i64}
func.func @whole(%g: tensor<96xf32>) {
  %w = exec.load @w.primary : tensor<96xf32>
  %s = grad.reduce_scatter %g of [@w] : tensor<96xf32>
  %n = exec.launch @norm(%s) : (tensor<96xf32>) -> tensor<f32>
  %0 = exec.launch @scaled(%w, %s, %n) : (tensor<96xf32>, tensor<96xf32>, tensor<f32>) -> tensor<96xf32>
  %1 = grad.all_gather %0 of [@w] : tensor<96xf32>
  exec.store @w.primary, %1 : tensor<96xf32>
  return
}

// -----

// The units of these tiles are not contiguous, so one rank owns the whole state.

grad.state parameter @w : tensor<8x64xf32> = dense<0.0> : tensor<8x64xf32>
// CHECK: exec.cut @w.cut of @w : 512 by 512
exec.buffer primary @w.primary of @w : 2048
exec.kernel @columns(%w: tensor<8x64xf32>, %g: tensor<8x64xf32>) attributes {inplace = array<i64: 0>,
    schedule = #exec.schedule<lanes = 8, tile = [1, 8], order = [1, 0], grain = 1>} {
  %0 = grad.sub %w, %g : tensor<8x64xf32>
  exec.yield %0 : tensor<8x64xf32>
}
// CHECK: exec.launch @columns({{.*}}) {exec.cut = @w.cut, exec.units_per_piece = 8 : i64}
func.func @train(%g: tensor<8x64xf32>) {
  %w = exec.load @w.primary : tensor<8x64xf32>
  %s = grad.reduce_scatter %g of [@w] : tensor<8x64xf32>
  %0 = exec.launch @columns(%w, %s) : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  %1 = grad.all_gather %0 of [@w] : tensor<8x64xf32>
  exec.store @w.primary, %1 : tensor<8x64xf32>
  return
}

// -----

// One launch updates two parameters, so they are cut alike. Where nothing is gathered, a slot is written whole.

grad.state parameter @v : tensor<96xf32> = dense<0.0> : tensor<96xf32>
grad.state parameter @w : tensor<96xf32> = dense<0.0> : tensor<96xf32>
grad.state slot @w.velocity : tensor<96xf32> = dense<0.0> : tensor<96xf32> {grad.cut = @w}
// CHECK: exec.cut @v.cut of @v : 96 by 32
// CHECK-NOT: exec.cut @w.cut
// CHECK: exec.buffer primary @w.velocity.primary of @w.velocity : 384 cut @v.cut
exec.buffer primary @v.primary of @v : 384
exec.buffer primary @w.primary of @w : 384
exec.buffer primary @w.velocity.primary of @w.velocity : 384
exec.kernel @both(%v: tensor<96xf32>, %w: tensor<96xf32>, %g: tensor<96xf32>, %h: tensor<96xf32>) attributes {inplace = array<i64: 0, 1>,
    schedule = #exec.schedule<lanes = 8, tile = [32], order = [0], grain = 1>} {
  %0 = grad.sub %v, %g : tensor<96xf32>
  %1 = grad.sub %w, %h : tensor<96xf32>
  exec.yield %0, %1, %h : tensor<96xf32>, tensor<96xf32>, tensor<96xf32>
}
exec.kernel @fill(%x: tensor<96xf32>) attributes {schedule = #exec.schedule<lanes = 8, tile = [8], order = [0], grain = 1>} {
  exec.yield %x : tensor<96xf32>
}

// CHECK: exec.launch @both({{.*}}) {exec.cut = @v.cut, exec.units_per_piece = 1 : i64}
// CHECK: grad.all_gather %{{.*}} of [@v, @w] {exec.cuts = [@v.cut, @v.cut]}
func.func @train(%g: tensor<96xf32>, %h: tensor<96xf32>) {
  %v = exec.load @v.primary : tensor<96xf32>
  %w = exec.load @w.primary : tensor<96xf32>
  %s:2 = grad.reduce_scatter %g, %h of [@v, @w] : tensor<96xf32>, tensor<96xf32>
  %0:3 = exec.launch @both(%v, %w, %s#0, %s#1) : (tensor<96xf32>, tensor<96xf32>, tensor<96xf32>, tensor<96xf32>) -> (tensor<96xf32>, tensor<96xf32>, tensor<96xf32>)
  %1:2 = grad.all_gather %0#0, %0#1 of [@v, @w] : tensor<96xf32>, tensor<96xf32>
  exec.store @v.primary, %1#0 : tensor<96xf32>
  exec.store @w.primary, %1#1 : tensor<96xf32>
  exec.store @w.velocity.primary, %0#2 : tensor<96xf32>
  return
}
// CHECK-LABEL: @fill_slot
// CHECK-NOT: exec.units_per_piece
func.func @fill_slot(%x: tensor<96xf32>) {
  %0 = exec.launch @fill(%x) : (tensor<96xf32>) -> tensor<96xf32>
  exec.store @w.velocity.primary, %0 : tensor<96xf32>
  return
}

// -----

// A parameter in panels is cut into panels, the units of an update that walks them in order, padding included.

grad.state parameter @w : tensor<24x60xf32> = dense<0.0> : tensor<24x60xf32>
grad.state slot @w.velocity : tensor<24x60xf32> = dense<0.0> : tensor<24x60xf32> {grad.cut = @w}
// CHECK: exec.cut @w.cut of @w : 1536 by 384
exec.buffer primary @w.primary of @w layout <dim = 1, width = 16> : 6144
// CHECK: exec.buffer primary @w.velocity.primary of @w.velocity layout <dim = 1, width = 16> : 6144 cut @w.cut
exec.buffer primary @w.velocity.primary of @w.velocity layout <dim = 1, width = 16> : 6144
exec.kernel @update(%w: tensor<24x60xf32>, %g: tensor<24x60xf32>, %v: tensor<24x60xf32>) attributes {inplace = array<i64: 0, 2>,
    layouts = [#exec.panel<dim = 1, width = 16>, #exec.panel<dim = 1, width = 16>, #exec.panel<dim = 1, width = 16>, #exec.panel<dim = 1, width = 16>, #exec.panel<dim = 1, width = 16>],
    schedule = #exec.schedule<lanes = 8, tile = [2, 16], order = [1, 0], grain = 1>} {
  %0 = grad.add %v, %g : tensor<24x60xf32>
  %1 = grad.sub %w, %0 : tensor<24x60xf32>
  exec.yield %1, %0 : tensor<24x60xf32>, tensor<24x60xf32>
}
// CHECK: exec.launch @update({{.*}}) {exec.cut = @w.cut, exec.units_per_piece = 1 : i64}
func.func @train(%g: tensor<24x60xf32>) {
  %w = exec.load @w.primary : tensor<24x60xf32>
  %v = exec.load @w.velocity.primary : tensor<24x60xf32>
  %s = grad.reduce_scatter %g of [@w] : tensor<24x60xf32>
  %0:2 = exec.launch @update(%w, %s, %v) : (tensor<24x60xf32>, tensor<24x60xf32>, tensor<24x60xf32>) -> (tensor<24x60xf32>, tensor<24x60xf32>)
  %1 = grad.all_gather %0#0 of [@w] : tensor<24x60xf32>
  exec.store @w.primary, %1 : tensor<24x60xf32>
  exec.store @w.velocity.primary, %0#1 : tensor<24x60xf32>
  return
}

// -----

// Rows of panels are not contiguous in memory. A slot of a state that one rank updates may have another layout.

grad.state parameter @v : tensor<24x60xf32> = dense<0.0> : tensor<24x60xf32>
grad.state parameter @w : tensor<24x60xf32> = dense<0.0> : tensor<24x60xf32> {grad.whole}
grad.state slot @w.velocity : tensor<24x60xf32> = dense<0.0> : tensor<24x60xf32> {grad.cut = @w}
// CHECK: exec.cut @v.cut of @v : 1536 by 1536
exec.buffer primary @v.primary of @v layout <dim = 1, width = 16> : 6144
// CHECK: exec.cut @w.cut of @w : 1536 by 1536
exec.buffer primary @w.primary of @w layout <dim = 1, width = 16> : 6144
// CHECK: exec.buffer primary @w.velocity.primary of @w.velocity : 5760 cut @w.cut
exec.buffer primary @w.velocity.primary of @w.velocity : 5760
exec.kernel @rows(%w: tensor<24x60xf32>, %g: tensor<24x60xf32>) attributes {inplace = array<i64: 0>,
    layouts = [#exec.panel<dim = 1, width = 16>, #exec.panel<dim = 1, width = 16>, #exec.panel<dim = 1, width = 16>],
    schedule = #exec.schedule<lanes = 8, tile = [1, 16], order = [0, 1], grain = 1>} {
  %0 = grad.sub %w, %g : tensor<24x60xf32>
  exec.yield %0 : tensor<24x60xf32>
}
exec.kernel @whole(%w: tensor<24x60xf32>, %g: tensor<24x60xf32>, %v: tensor<24x60xf32>) attributes {inplace = array<i64: 0, 2>,
    layouts = [#exec.panel<dim = 1, width = 16>, #exec.panel<dim = 1, width = 16>, unit, #exec.panel<dim = 1, width = 16>, unit],
    schedule = #exec.schedule<lanes = 8, tile = [1, 16], order = [0, 1], grain = 1>} {
  %0 = grad.add %v, %g : tensor<24x60xf32>
  %1 = grad.sub %w, %0 : tensor<24x60xf32>
  exec.yield %1, %0 : tensor<24x60xf32>, tensor<24x60xf32>
}
// CHECK: exec.launch @rows({{.*}}) {exec.cut = @v.cut, exec.units_per_piece = 24 : i64}
// CHECK: exec.launch @whole({{.*}}) {exec.cut = @w.cut, exec.units_per_piece = 24 : i64}
func.func @train(%g: tensor<24x60xf32>, %h: tensor<24x60xf32>) {
  %v = exec.load @v.primary : tensor<24x60xf32>
  %w = exec.load @w.primary : tensor<24x60xf32>
  %m = exec.load @w.velocity.primary : tensor<24x60xf32>
  %s:2 = grad.reduce_scatter %g, %h of [@v, @w] : tensor<24x60xf32>, tensor<24x60xf32>
  %0 = exec.launch @rows(%v, %s#0) : (tensor<24x60xf32>, tensor<24x60xf32>) -> tensor<24x60xf32>
  %1:2 = exec.launch @whole(%w, %s#1, %m) : (tensor<24x60xf32>, tensor<24x60xf32>, tensor<24x60xf32>) -> (tensor<24x60xf32>, tensor<24x60xf32>)
  %2:2 = grad.all_gather %0, %1#0 of [@v, @w] : tensor<24x60xf32>, tensor<24x60xf32>
  exec.store @v.primary, %2#0 : tensor<24x60xf32>
  exec.store @w.primary, %2#1 : tensor<24x60xf32>
  exec.store @w.velocity.primary, %1#1 : tensor<24x60xf32>
  return
}
