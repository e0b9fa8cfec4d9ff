// RUN: gradc-opt %s -gradc-plan-memory | FileCheck %s

exec.kernel @double(%x: tensor<64xf32>) attributes {inplace = array<i64: 0>} {
  %0 = grad.add %x, %x : tensor<64xf32>
  exec.yield %0 : tensor<64xf32>
}

// Sums replace their operands in place. While they are in flight, nothing else uses their memory: values computed meanwhile have
// other memory.

// CHECK-LABEL: exec.entry @beside
// CHECK: exec.dispatch @double [#exec.slice<input 0 at 0 : tensor<64xf32>>] -> [#exec.slice<arena 0 at [[A:.*]] : tensor<64xf32>>]
// CHECK-NEXT: exec.collective sum [#exec.slice<arena 0 at [[A]] : tensor<64xf32>>] bf16
// CHECK-NEXT: exec.dispatch @double {{.*}} -> [#exec.slice<arena 0 at [[B:.*]] : tensor<64xf32>>]
// CHECK-NEXT: exec.dispatch @double [#exec.slice<arena 0 at [[B]] : {{.*}}>] -> [#exec.slice<output 1
// CHECK-NEXT: exec.dispatch @double [#exec.slice<arena 0 at [[A]] : {{.*}}>] -> [#exec.slice<output 0
func.func @beside(%x: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %a = exec.launch @double(%x) : (tensor<64xf32>) -> tensor<64xf32>
  %s = grad.all_reduce %a bf16 : tensor<64xf32>
  %b = exec.launch @double(%x) : (tensor<64xf32>) -> tensor<64xf32>
  %c = exec.launch @double(%b) : (tensor<64xf32>) -> tensor<64xf32>
  %d = exec.launch @double(%s) : (tensor<64xf32>) -> tensor<64xf32>
  return %d, %c : tensor<64xf32>, tensor<64xf32>
}

// An operand that is read later, is an input, or becomes an output is copied first.

// CHECK-LABEL: exec.entry @copied
// CHECK: exec.dispatch @double [#exec.slice<input 0 at 0 : tensor<64xf32>>] -> [#exec.slice<arena 0 at [[A:.*]] : tensor<64xf32>>]
// CHECK-NEXT: exec.copy <arena 0 at [[A]] : tensor<64xf32>> -> <arena 0 at [[S:.*]] : tensor<64xf32>>
// CHECK-NEXT: exec.copy <input 0 at 0 : tensor<64xf32>> -> <output 0 at 0 : tensor<64xf32>>
// CHECK-NEXT: exec.collective sum [#exec.slice<arena 0 at [[S]] : tensor<64xf32>>, #exec.slice<output 0 at 0 : tensor<64xf32>>]
// CHECK-NEXT: exec.dispatch @double [#exec.slice<arena 0 at [[A]] :
// CHECK-NEXT: exec.dispatch @double [#exec.slice<arena 0 at [[S]] :
func.func @copied(%x: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) {
  %a = exec.launch @double(%x) : (tensor<64xf32>) -> tensor<64xf32>
  %s:2 = grad.all_reduce %a, %x : tensor<64xf32>, tensor<64xf32>
  %b = exec.launch @double(%a) : (tensor<64xf32>) -> tensor<64xf32>
  %c = exec.launch @double(%s#0) : (tensor<64xf32>) -> tensor<64xf32>
  return %s#1, %b, %c : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
}

// Ranks exchange panels as they are stored, padding included: 3 panels of 24x16 hold 24x40 numbers here. Panels that are read
// later are copied in this form, too.

grad.state parameter @w : tensor<24x40xf32> = dense<0.0> : tensor<24x40xf32>
exec.buffer primary @w.primary of @w layout <dim = 1, width = 16> : 4608
exec.cut @w.cut of @w : 1152 by 384
exec.kernel @pack(%x: tensor<24x40xf32>) attributes {layouts = [unit, #exec.panel<dim = 1, width = 16>]} {
  exec.yield %x : tensor<24x40xf32>
}
exec.kernel @update(%w: tensor<24x40xf32>, %g: tensor<24x40xf32>) attributes {inplace = array<i64: 0>,
    layouts = [#exec.panel<dim = 1, width = 16>, #exec.panel<dim = 1, width = 16>, #exec.panel<dim = 1, width = 16>]} {
  %0 = grad.sub %w, %g : tensor<24x40xf32>
  exec.yield %0 : tensor<24x40xf32>
}
exec.kernel @unpack(%x: tensor<24x40xf32>) attributes {layouts = [#exec.panel<dim = 1, width = 16>, unit]} {
  exec.yield %x : tensor<24x40xf32>
}

// CHECK-LABEL: exec.entry @panels arena {{9216|9280}}
// CHECK: exec.dispatch @pack [{{.*}}] -> [#exec.slice<arena 0 at [[G:.*]] : tensor<24x40xf32>>]
// CHECK-NEXT: exec.copy <arena 0 at [[G]] : tensor<1152xf32>> -> <arena 0 at [[S:.*]] : tensor<1152xf32>>
// CHECK-NEXT: exec.collective scatter [#exec.slice<arena 0 at [[S]] : tensor<1152xf32>>] cuts [@w.cut] zeros [0]
// CHECK-NEXT: exec.dispatch @update [{{.*}}, #exec.slice<arena 0 at [[S]] : tensor<24x40xf32>>] -> [#exec.slice<buffer 0 at 0 of @w.primary : tensor<24x40xf32>>]
// CHECK-NEXT: exec.collective gather [#exec.slice<buffer 0 at 0 of @w.primary : tensor<1152xf32>>] cuts [@w.cut]
// CHECK: exec.dispatch @unpack [#exec.slice<arena 0 at [[G]] :
func.func @panels(%x: tensor<24x40xf32>) -> tensor<24x40xf32> {
  %w = exec.load @w.primary : tensor<24x40xf32>
  %g = exec.launch @pack(%x) : (tensor<24x40xf32>) -> tensor<24x40xf32>
  %s = grad.reduce_scatter %g of [@w] {exec.cuts = [@w.cut], exec.zeros = array<i64: 0>} : tensor<24x40xf32>
  %new = exec.launch @update(%w, %s) : (tensor<24x40xf32>, tensor<24x40xf32>) -> tensor<24x40xf32>
  %all = grad.all_gather %new of [@w] {exec.cuts = [@w.cut]} : tensor<24x40xf32>
  exec.store @w.primary, %all : tensor<24x40xf32>
  %u = exec.launch @unpack(%g) : (tensor<24x40xf32>) -> tensor<24x40xf32>
  return %u : tensor<24x40xf32>
}

// Nothing uses the memory of a value that is received but not read: it would wait for the other rank, which may wait for what is sent
// later.

// CHECK-LABEL: exec.entry @unread
// CHECK: exec.transfer <arena 0 at [[U:.*]] : tensor<64xf32>> peer 1 number 1{{ }}
// CHECK-NOT: arena 0 at [[U]] :
// CHECK: exec.transfer <{{.*}}> peer 1 number 0 send
// CHECK-NOT: arena 0 at [[U]] :
// CHECK: }
func.func @unread(%x: tensor<64xf32>) -> tensor<64xf32> {
  %unread = grad.receive from 1 after() number 1 turn 3 : () -> tensor<64xf32>
  %read = grad.receive from 1 after() number 2 turn 3 : () -> tensor<64xf32>
  %a = exec.launch @double(%x) : (tensor<64xf32>) -> tensor<64xf32>
  grad.send %a to 1 number 0 turn 2 : tensor<64xf32>
  %b = exec.launch @double(%read) : (tensor<64xf32>) -> tensor<64xf32>
  return %b : tensor<64xf32>
}
