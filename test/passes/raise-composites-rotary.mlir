// RUN: gradc-opt %s -gradc-raise-composites | FileCheck %s

// Rotary positions, x cosine + (-b, a) sine for halves a, b of x, are computed half by half.

// CHECK-LABEL: @turned
// CHECK-SAME: (%[[X:.*]]: tensor<2x5x8xf32>, %[[C:.*]]: tensor<2x5x8xf32>, %[[S:.*]]: tensor<2x5x8xf32>
// CHECK-DAG: %[[A:.*]] = grad.slice %[[X]] starts [0, 0, 0]
// CHECK-DAG: %[[B:.*]] = grad.slice %[[X]] starts [0, 0, 4]
// CHECK-DAG: %[[C1:.*]] = grad.slice %[[C]] starts [0, 0, 0]
// CHECK-DAG: %[[S1:.*]] = grad.slice %[[S]] starts [0, 0, 0]
// CHECK-DAG: %[[C2:.*]] = grad.slice %[[C]] starts [0, 0, 4]
// CHECK-DAG: %[[S2:.*]] = grad.slice %[[S]] starts [0, 0, 4]
// CHECK-DAG: %[[AC:.*]] = grad.mul %[[A]], %[[C1]]
// CHECK-DAG: %[[BS:.*]] = grad.mul %[[B]], %[[S1]]
// CHECK-DAG: %[[RE:.*]] = grad.sub %[[AC]], %[[BS]]
// CHECK-DAG: %[[BC:.*]] = grad.mul %[[B]], %[[C2]]
// CHECK-DAG: %[[AS:.*]] = grad.mul %[[A]], %[[S2]]
// CHECK-DAG: %[[IM:.*]] = grad.add %[[BC]], %[[AS]]
// CHECK: %[[Y:.*]] = grad.concatenate %[[RE]], %[[IM]] dim 2
// CHECK-NEXT: return %[[Y]]
func.func @turned(%x: tensor<2x5x8xf32>, %c: tensor<2x5x8xf32>, %s: tensor<2x5x8xf32>) -> tensor<2x5x8xf32> {
  %a = grad.slice %x starts [0, 0, 0] sizes [2, 5, 4] strides [1, 1, 1] : tensor<2x5x8xf32>
  %b = grad.slice %x starts [0, 0, 4] sizes [2, 5, 4] strides [1, 1, 1] : tensor<2x5x8xf32>
  %n = grad.neg %b : tensor<2x5x4xf32>
  %t = grad.concatenate %n, %a dim 2 : tensor<2x5x4xf32>, tensor<2x5x4xf32>
  %p = grad.mul %x, %c : tensor<2x5x8xf32>
  %q = grad.mul %t, %s : tensor<2x5x8xf32>
  %y = grad.add %p, %q : tensor<2x5x8xf32>
  return %y : tensor<2x5x8xf32>
}

// CHECK-LABEL: @turned_first
// CHECK-SAME: (%[[X:.*]]: tensor<2x5x8xf32>, %[[C:.*]]: tensor<2x5x8xf32>, %[[S:.*]]: tensor<2x5x8xf32>
// CHECK-DAG: %[[A:.*]] = grad.slice %[[X]] starts [0, 0, 0]
// CHECK-DAG: %[[B:.*]] = grad.slice %[[X]] starts [0, 0, 4]
// CHECK-DAG: %[[C1:.*]] = grad.slice %[[C]] starts [0, 0, 0]
// CHECK-DAG: %[[S1:.*]] = grad.slice %[[S]] starts [0, 0, 0]
// CHECK-DAG: %[[C2:.*]] = grad.slice %[[C]] starts [0, 0, 4]
// CHECK-DAG: %[[S2:.*]] = grad.slice %[[S]] starts [0, 0, 4]
// CHECK-DAG: %[[AC:.*]] = grad.mul %[[A]], %[[C1]]
// CHECK-DAG: %[[BS:.*]] = grad.mul %[[B]], %[[S1]]
// CHECK-DAG: %[[RE:.*]] = grad.sub %[[AC]], %[[BS]]
// CHECK-DAG: %[[BC:.*]] = grad.mul %[[B]], %[[C2]]
// CHECK-DAG: %[[AS:.*]] = grad.mul %[[A]], %[[S2]]
// CHECK-DAG: %[[IM:.*]] = grad.add %[[BC]], %[[AS]]
// CHECK: %[[Y:.*]] = grad.concatenate %[[RE]], %[[IM]] dim 2
// CHECK-NEXT: return %[[Y]]
func.func @turned_first(%x: tensor<2x5x8xf32>, %c: tensor<2x5x8xf32>, %s: tensor<2x5x8xf32>) -> tensor<2x5x8xf32> {
  %a = grad.slice %x starts [0, 0, 0] sizes [2, 5, 4] strides [1, 1, 1] : tensor<2x5x8xf32>
  %b = grad.slice %x starts [0, 0, 4] sizes [2, 5, 4] strides [1, 1, 1] : tensor<2x5x8xf32>
  %n = grad.neg %b : tensor<2x5x4xf32>
  %t = grad.concatenate %n, %a dim 2 : tensor<2x5x4xf32>, tensor<2x5x4xf32>
  %p = grad.mul %c, %x : tensor<2x5x8xf32>
  %q = grad.mul %s, %t : tensor<2x5x8xf32>
  %y = grad.add %q, %p : tensor<2x5x8xf32>
  return %y : tensor<2x5x8xf32>
}

// Repeated factors are halved before they are repeated.
// CHECK-LABEL: @repeated_tables
// CHECK-SAME: (%{{.*}}: tensor<2x5x8xf32>, %[[C:.*]]: tensor<5x8xf32>, %[[S:.*]]: tensor<5xf32>
// CHECK-DAG: %[[C1:.*]] = grad.slice %[[C]] starts [0, 0] sizes [5, 4]
// CHECK-DAG: grad.broadcast %[[C1]] dims [1, 2] : tensor<5x4xf32> -> tensor<2x5x4xf32>
// CHECK-DAG: grad.broadcast %[[S]] dims [1] : tensor<5xf32> -> tensor<2x5x4xf32>
// CHECK: grad.concatenate
func.func @repeated_tables(%x: tensor<2x5x8xf32>, %table: tensor<5x8xf32>, %u: tensor<5xf32>) -> tensor<2x5x8xf32> {
  %c = grad.broadcast %table dims [1, 2] : tensor<5x8xf32> -> tensor<2x5x8xf32>
  %s = grad.broadcast %u dims [1] : tensor<5xf32> -> tensor<2x5x8xf32>
  %a = grad.slice %x starts [0, 0, 0] sizes [2, 5, 4] strides [1, 1, 1] : tensor<2x5x8xf32>
  %b = grad.slice %x starts [0, 0, 4] sizes [2, 5, 4] strides [1, 1, 1] : tensor<2x5x8xf32>
  %n = grad.neg %b : tensor<2x5x4xf32>
  %t = grad.concatenate %n, %a dim 2 : tensor<2x5x4xf32>, tensor<2x5x4xf32>
  %p = grad.mul %x, %c : tensor<2x5x8xf32>
  %q = grad.mul %t, %s : tensor<2x5x8xf32>
  %y = grad.add %p, %q : tensor<2x5x8xf32>
  return %y : tensor<2x5x8xf32>
}

// Near misses: other halves, an operand of another value, another reader.

// CHECK-LABEL: @other_half_negated
// CHECK: grad.concatenate
// CHECK: grad.mul %{{.*}} : tensor<2x5x8xf32>
// CHECK: grad.add %{{.*}} : tensor<2x5x8xf32>
// CHECK: return
func.func @other_half_negated(%x: tensor<2x5x8xf32>, %c: tensor<2x5x8xf32>, %s: tensor<2x5x8xf32>) -> tensor<2x5x8xf32> {
  %a = grad.slice %x starts [0, 0, 0] sizes [2, 5, 4] strides [1, 1, 1] : tensor<2x5x8xf32>
  %b = grad.slice %x starts [0, 0, 4] sizes [2, 5, 4] strides [1, 1, 1] : tensor<2x5x8xf32>
  %n = grad.neg %a : tensor<2x5x4xf32>
  %t = grad.concatenate %b, %n dim 2 : tensor<2x5x4xf32>, tensor<2x5x4xf32>
  %p = grad.mul %x, %c : tensor<2x5x8xf32>
  %q = grad.mul %t, %s : tensor<2x5x8xf32>
  %y = grad.add %p, %q : tensor<2x5x8xf32>
  return %y : tensor<2x5x8xf32>
}

// CHECK-LABEL: @not_negated
// CHECK: grad.concatenate
// CHECK: grad.mul %{{.*}} : tensor<2x5x8xf32>
// CHECK: grad.add %{{.*}} : tensor<2x5x8xf32>
// CHECK: return
func.func @not_negated(%x: tensor<2x5x8xf32>, %c: tensor<2x5x8xf32>, %s: tensor<2x5x8xf32>) -> tensor<2x5x8xf32> {
  %a = grad.slice %x starts [0, 0, 0] sizes [2, 5, 4] strides [1, 1, 1] : tensor<2x5x8xf32>
  %b = grad.slice %x starts [0, 0, 4] sizes [2, 5, 4] strides [1, 1, 1] : tensor<2x5x8xf32>
  %t = grad.concatenate %b, %a dim 2 : tensor<2x5x4xf32>, tensor<2x5x4xf32>
  %p = grad.mul %x, %c : tensor<2x5x8xf32>
  %q = grad.mul %t, %s : tensor<2x5x8xf32>
  %y = grad.add %p, %q : tensor<2x5x8xf32>
  return %y : tensor<2x5x8xf32>
}

// CHECK-LABEL: @overlapping
// CHECK: grad.concatenate
// CHECK: grad.mul %{{.*}} : tensor<2x5x8xf32>
// CHECK: grad.add %{{.*}} : tensor<2x5x8xf32>
// CHECK: return
func.func @overlapping(%x: tensor<2x5x8xf32>, %c: tensor<2x5x8xf32>, %s: tensor<2x5x8xf32>) -> tensor<2x5x8xf32> {
  %a = grad.slice %x starts [0, 0, 0] sizes [2, 5, 4] strides [1, 1, 1] : tensor<2x5x8xf32>
  %b = grad.slice %x starts [0, 0, 3] sizes [2, 5, 4] strides [1, 1, 1] : tensor<2x5x8xf32>
  %n = grad.neg %b : tensor<2x5x4xf32>
  %t = grad.concatenate %n, %a dim 2 : tensor<2x5x4xf32>, tensor<2x5x4xf32>
  %p = grad.mul %x, %c : tensor<2x5x8xf32>
  %q = grad.mul %t, %s : tensor<2x5x8xf32>
  %y = grad.add %p, %q : tensor<2x5x8xf32>
  return %y : tensor<2x5x8xf32>
}

// CHECK-LABEL: @of_two
// CHECK: grad.concatenate
// CHECK: grad.mul %{{.*}} : tensor<2x5x8xf32>
// CHECK: grad.add %{{.*}} : tensor<2x5x8xf32>
// CHECK: return
func.func @of_two(%x: tensor<2x5x8xf32>, %c: tensor<2x5x8xf32>, %s: tensor<2x5x8xf32>, %z: tensor<2x5x8xf32>) -> tensor<2x5x8xf32> {
  %a = grad.slice %z starts [0, 0, 0] sizes [2, 5, 4] strides [1, 1, 1] : tensor<2x5x8xf32>
  %b = grad.slice %x starts [0, 0, 4] sizes [2, 5, 4] strides [1, 1, 1] : tensor<2x5x8xf32>
  %n = grad.neg %b : tensor<2x5x4xf32>
  %t = grad.concatenate %n, %a dim 2 : tensor<2x5x4xf32>, tensor<2x5x4xf32>
  %p = grad.mul %x, %c : tensor<2x5x8xf32>
  %q = grad.mul %t, %s : tensor<2x5x8xf32>
  %y = grad.add %p, %q : tensor<2x5x8xf32>
  return %y : tensor<2x5x8xf32>
}

// CHECK-LABEL: @strided
// CHECK: grad.concatenate
// CHECK: grad.mul %{{.*}} : tensor<2x5x8xf32>
// CHECK: grad.add %{{.*}} : tensor<2x5x8xf32>
// CHECK: return
func.func @strided(%x: tensor<2x5x8xf32>, %c: tensor<2x5x8xf32>, %s: tensor<2x5x8xf32>) -> tensor<2x5x8xf32> {
  %a = grad.slice %x starts [0, 0, 0] sizes [2, 5, 4] strides [1, 1, 2] : tensor<2x5x8xf32>
  %b = grad.slice %x starts [0, 0, 4] sizes [2, 5, 4] strides [1, 1, 1] : tensor<2x5x8xf32>
  %n = grad.neg %b : tensor<2x5x4xf32>
  %t = grad.concatenate %n, %a dim 2 : tensor<2x5x4xf32>, tensor<2x5x4xf32>
  %p = grad.mul %x, %c : tensor<2x5x8xf32>
  %q = grad.mul %t, %s : tensor<2x5x8xf32>
  %y = grad.add %p, %q : tensor<2x5x8xf32>
  return %y : tensor<2x5x8xf32>
}

// CHECK-LABEL: @turn_read
// CHECK: grad.concatenate
// CHECK: grad.mul %{{.*}} : tensor<2x5x8xf32>
// CHECK: grad.add %{{.*}} : tensor<2x5x8xf32>
// CHECK: return
func.func @turn_read(%x: tensor<2x5x8xf32>, %c: tensor<2x5x8xf32>, %s: tensor<2x5x8xf32>) -> (tensor<2x5x8xf32>, tensor<2x5x8xf32>) {
  %a = grad.slice %x starts [0, 0, 0] sizes [2, 5, 4] strides [1, 1, 1] : tensor<2x5x8xf32>
  %b = grad.slice %x starts [0, 0, 4] sizes [2, 5, 4] strides [1, 1, 1] : tensor<2x5x8xf32>
  %n = grad.neg %b : tensor<2x5x4xf32>
  %t = grad.concatenate %n, %a dim 2 : tensor<2x5x4xf32>, tensor<2x5x4xf32>
  %p = grad.mul %x, %c : tensor<2x5x8xf32>
  %q = grad.mul %t, %s : tensor<2x5x8xf32>
  %y = grad.add %p, %q : tensor<2x5x8xf32>
  return %y, %t : tensor<2x5x8xf32>, tensor<2x5x8xf32>
}

// CHECK-LABEL: @other_cosine
// CHECK: grad.concatenate
// CHECK: grad.mul %{{.*}} : tensor<2x5x8xf32>
// CHECK: grad.add %{{.*}} : tensor<2x5x8xf32>
// CHECK: return
func.func @other_cosine(%x: tensor<2x5x8xf32>, %c: tensor<2x5x8xf32>, %s: tensor<2x5x8xf32>) -> tensor<2x5x8xf32> {
  %a = grad.slice %x starts [0, 0, 0] sizes [2, 5, 4] strides [1, 1, 1] : tensor<2x5x8xf32>
  %b = grad.slice %x starts [0, 0, 4] sizes [2, 5, 4] strides [1, 1, 1] : tensor<2x5x8xf32>
  %n = grad.neg %b : tensor<2x5x4xf32>
  %t = grad.concatenate %n, %a dim 2 : tensor<2x5x4xf32>, tensor<2x5x4xf32>
  %p = grad.mul %c, %c : tensor<2x5x8xf32>
  %q = grad.mul %t, %s : tensor<2x5x8xf32>
  %y = grad.add %p, %q : tensor<2x5x8xf32>
  return %y : tensor<2x5x8xf32>
}

