// RUN: gradc-opt %s -split-input-file -verify-diagnostics -gradc-build-step | FileCheck %s
// RUN: gradc-opt %s -split-input-file -verify-diagnostics -gradc-build-step=cuda=true | FileCheck %s --check-prefix=CUDA

// SGD updates only the rows of a table that were read. Equal indices are found by comparing all pairs. Duplicates get an index
// out of range.

grad.state parameter @table : tensor<50x8xf32> = dense<0.5> : tensor<50x8xf32>

// CHECK-LABEL: func.func @sgd(
// CUDA-LABEL: func.func @sgd(
func.func @sgd(%i: tensor<3x2xi64>, %lr: tensor<f32> {grad.role = "learning_rate"}) -> tensor<f32> attributes {
    grad.optimizer = {name = "sgd"}} {
  // CHECK: %[[TABLE:.*]] = grad.read @table
  // CHECK: %[[READ:.*]] = grad.gather %[[TABLE]][%arg0]
  %w = grad.read @table : tensor<50x8xf32>
  %x = grad.gather %w[%i] dims [-1, 2] index_dims [0, 1] : tensor<50x8xf32>, tensor<3x2xi64>
  // CHECK: %[[LOSS:.*]] = grad.reduce_mean
  %l = grad.reduce_mean %x dims [0, 1, 2] : tensor<3x2x8xf32>
  // CHECK: %[[G:.*]] = grad.gradient %[[LOSS]] wrt %[[READ]] : tensor<f32>, tensor<3x2x8xf32>
  // CHECK: %[[ROWS:.*]] = grad.cast %arg0 : tensor<3x2xi64> -> tensor<3x2xi32>
  // CHECK: %[[OWN:.*]] = grad.select %{{.*}}, %{{.*}}, %[[ROWS]]
  // CHECK: %[[A:.*]] = grad.broadcast %[[OWN]] dims [0, 1] : tensor<3x2xi32> -> tensor<3x2x3x2xi32>
  // CHECK: %[[B:.*]] = grad.broadcast %[[OWN]] dims [2, 3]
  // CHECK: grad.compare eq %[[A]], %[[B]]
  // CHECK: %[[FIRST:.*]] = grad.reduce_min %{{.*}} dims [2, 3] : tensor<3x2x3x2xi32>
  // CHECK: %[[LIST:.*]] = grad.scatter %{{.*}}[%[[FIRST]]] replace %[[OWN]] dims [-1] index_dims [0, 1] : tensor<6xi32>
  // CHECK: %[[SUMS:.*]] = grad.scatter %{{.*}}[%[[FIRST]]] add %[[G]] dims [-1, 2] index_dims [0, 1] : tensor<6x8xf32>
  // CHECK: %[[OLD:.*]] = grad.gather %[[TABLE]][%[[LIST]]] dims [-1, 1] index_dims [0]
  // CHECK: %[[NEW:.*]] = grad.sgd %[[OLD]], %[[SUMS]]
  // CHECK: %[[ALL:.*]] = grad.set_rows %[[TABLE]][%[[LIST]]], %[[NEW]]
  // CHECK: grad.write @table, %[[ALL]]
  // CUDA: %[[W:.*]] = grad.read @table
  // CUDA: grad.gradient %{{.*}} wrt %[[W]]
  // CUDA-NOT: grad.set_rows
  return %l : tensor<f32>
}

// -----

// Two reads of a table share one list, in which equal rows of both are found. Slots with the table's type are updated by rows, counters are not.

grad.state parameter @table : tensor<50x8xf32> = dense<0.5> : tensor<50x8xf32> {grad.lazy}
// CHECK: grad.state {{ ?}}parameter @table
// CHECK-NOT: grad.lazy

// CHECK-LABEL: func.func @lazy(
// CUDA-LABEL: func.func @lazy(
func.func @lazy(%i: tensor<3xi32>, %j: tensor<i32>, %lr: tensor<f32> {grad.role = "learning_rate"},
    %t: tensor<f32> {grad.role = "step"}) -> tensor<f32> attributes {
    grad.optimizer = {name = "nadam", beta1 = 0.9, beta2 = 0.999, epsilon = 1.0e-8, momentum_decay = 0.004}, grad.clip = {global_norm = 1.0}} {
  %w = grad.read @table : tensor<50x8xf32>
  // CHECK: %[[X:.*]] = grad.gather {{.*}} : tensor<50x8xf32>, tensor<3xi32>
  // CHECK: %[[Y:.*]] = grad.gather {{.*}} : tensor<50x8xf32>, tensor<i32>
  %x = grad.gather %w[%i] dims [-1, 1] index_dims [0] : tensor<50x8xf32>, tensor<3xi32>
  %y = grad.gather %w[%j] dims [-1, 0] index_dims [] : tensor<50x8xf32>, tensor<i32>
  %b = grad.broadcast %y dims [1] : tensor<8xf32> -> tensor<3x8xf32>
  %z = grad.mul %x, %b : tensor<3x8xf32>
  %l = grad.reduce_mean %z dims [0, 1] : tensor<3x8xf32>
  // CHECK: %[[G:.*]]:2 = grad.gradient %{{.*}} wrt %[[X]], %[[Y]]
  // CHECK: grad.scatter %{{.*}} add %[[G]]#1 {{.*}} : tensor<4x8xf32>
  // CHECK: grad.scatter %{{.*}} add %[[G]]#0 {{.*}} : tensor<4x8xf32>
  // CHECK: %[[SUM:.*]] = grad.add
  // The norm is computed from the sums of duplicate rows.
  // CHECK: grad.mul %[[SUM]], %[[SUM]]
  // CHECK: %[[M:.*]] = grad.read @table.first
  // CHECK: %[[OLD_M:.*]] = grad.gather %[[M]]
  // CHECK: %[[Q:.*]] = grad.read @table.product
  // CHECK: %[[NEW:.*]], %[[SLOTS:.*]]:3 = grad.nadam %{{.*}}, %{{.*}}, %[[OLD_M]], %{{.*}}, %[[Q]],
  // CHECK: grad.set_rows %[[M]][%{{.*}}], %[[SLOTS]]#0
  // CHECK: grad.write @table.product, %[[SLOTS]]#2
  // CUDA: grad.set_rows
  return %l : tensor<f32>
}

// -----

// All rows are updated if Adam's moments or weight decay change all of them, if a product reads the whole table, or if a batch reads
// most of its rows.

grad.state parameter @adam : tensor<50x8xf32> = dense<0.5> : tensor<50x8xf32> {grad.optimizer = {name = "adam", beta1 = 0.9, beta2 = 0.999, epsilon = 1.0e-8}}
grad.state parameter @decays : tensor<50x8xf32> = dense<0.5> : tensor<50x8xf32> {grad.optimizer = {name = "sgd", weight_decay = 0.1}}
grad.state parameter @tied : tensor<50x8xf32> = dense<0.5> : tensor<50x8xf32>
grad.state parameter @small : tensor<5x8xf32> = dense<0.5> : tensor<5x8xf32>
grad.state parameter @columns : tensor<8x50xf32> = dense<0.5> : tensor<8x50xf32>

// CHECK-LABEL: func.func @dense(
// CHECK-NOT: grad.set_rows
// CHECK: return
func.func @dense(%i: tensor<3xi32>, %lr: tensor<f32> {grad.role = "learning_rate"}, %t: tensor<f32> {grad.role = "step"}) -> tensor<f32> attributes {
    grad.optimizer = {name = "sgd"}} {
  %a = grad.read @adam : tensor<50x8xf32>
  %0 = grad.gather %a[%i] dims [-1, 1] index_dims [0] : tensor<50x8xf32>, tensor<3xi32>
  %d = grad.read @decays : tensor<50x8xf32>
  %1 = grad.gather %d[%i] dims [-1, 1] index_dims [0] : tensor<50x8xf32>, tensor<3xi32>
  %p = grad.read @tied : tensor<50x8xf32>
  %2 = grad.gather %p[%i] dims [-1, 1] index_dims [0] : tensor<50x8xf32>, tensor<3xi32>
  %3 = grad.matmul %2, %p transpose_rhs : tensor<3x8xf32>, tensor<50x8xf32>
  %s = grad.read @small : tensor<5x8xf32>
  %4 = grad.gather %s[%i] dims [-1, 1] index_dims [0] : tensor<5x8xf32>, tensor<3xi32>
  %c = grad.read @columns : tensor<8x50xf32>
  %5 = grad.gather %c[%i] dims [1, -1] index_dims [0] : tensor<8x50xf32>, tensor<3xi32>
  %6 = grad.add %0, %1 : tensor<3x8xf32>
  %7 = grad.add %6, %4 : tensor<3x8xf32>
  %8 = grad.add %7, %5 : tensor<3x8xf32>
  %9 = grad.reduce_mean %8 dims [0, 1] : tensor<3x8xf32>
  %10 = grad.reduce_mean %3 dims [0, 1] : tensor<3x50xf32>
  %l = grad.add %9, %10 : tensor<f32>
  return %l : tensor<f32>
}

// -----

// Adagrad changes nothing where the gradient is 0; an average of the table changes everywhere.

grad.state parameter @a : tensor<50x8xf32> = dense<0.5> : tensor<50x8xf32>

// CHECK-LABEL: func.func @adagrad(
// CHECK-COUNT-2: grad.set_rows
func.func @adagrad(%i: tensor<3xi32>, %lr: tensor<f32> {grad.role = "learning_rate"}, %t: tensor<f32> {grad.role = "step"}) -> tensor<f32> attributes {
    grad.optimizer = {name = "adagrad", epsilon = 1.0e-10}} {
  %a = grad.read @a : tensor<50x8xf32>
  %0 = grad.gather %a[%i] dims [-1, 1] index_dims [0] : tensor<50x8xf32>, tensor<3xi32>
  %l = grad.reduce_mean %0 dims [0, 1] : tensor<3x8xf32>
  return %l : tensor<f32>
}

// CHECK-LABEL: func.func @averaged(
// CHECK-NOT: grad.set_rows
// CHECK: return
func.func @averaged(%i: tensor<3xi32>, %lr: tensor<f32> {grad.role = "learning_rate"}, %t: tensor<f32> {grad.role = "step"}) -> tensor<f32> attributes {
    grad.optimizer = {name = "adagrad", epsilon = 1.0e-10}, grad.average = 0.9} {
  %a = grad.read @a : tensor<50x8xf32>
  %0 = grad.gather %a[%i] dims [-1, 1] index_dims [0] : tensor<50x8xf32>, tensor<3xi32>
  %l = grad.reduce_mean %0 dims [0, 1] : tensor<3x8xf32>
  return %l : tensor<f32>
}

// -----

// Micro-batches stack the indices and gradients that they read; duplicate rows are merged after the last one.

grad.state parameter @table : tensor<50x8xf32> = dense<0.5> : tensor<50x8xf32> {grad.lazy}

// CHECK-LABEL: func.func @parts(
func.func @parts(%i: tensor<3xi32> {grad.batched}, %lr: tensor<f32> {grad.role = "learning_rate"})
    -> (tensor<f32>, tensor<f32> {grad.role = "loss_numerator"}, tensor<f32> {grad.role = "loss_denominator"}) attributes {
    grad.optimizer = {name = "sgd"}, grad.micro_batches = 2, grad.batch = 3} {
  // CHECK: %[[TABLE:.*]] = grad.read @table
  // CHECK: grad.scan 2 {{.*}} -> ({{.*}}tensor<2x3x8xf32>, tensor<2x3xi32>)
  // CHECK: %[[READ:.*]] = grad.gather
  // CHECK: %[[G:.*]] = grad.gradient %{{.*}} wrt %[[READ]]
  // CHECK: grad.yield {{.*}}, %[[G]], %{{.*}} :
  // CHECK: grad.reduce_min %{{.*}} dims [2, 3] : tensor<2x3x2x3xi32>
  // CHECK: grad.sgd {{.*}} : tensor<6x8xf32>
  // CHECK: grad.set_rows %[[TABLE]]
  %w = grad.read @table : tensor<50x8xf32>
  %x = grad.gather %w[%i] dims [-1, 1] index_dims [0] : tensor<50x8xf32>, tensor<3xi32>
  %s = grad.reduce_sum %x dims [0, 1] : tensor<3x8xf32>
  %n = grad.constant dense<24.0> : tensor<f32>
  %l = grad.div %s, %n : tensor<f32>
  return %l, %s, %n : tensor<f32>, tensor<f32>, tensor<f32>
}

// -----

// Rows of bf16 are updated in f32; their slots are tables of f32.

grad.state parameter @table : tensor<50x8xbf16> = dense<0.5> : tensor<50x8xbf16> {grad.lazy}
// CHECK: grad.state {{ ?}}slot @table.velocity : tensor<50x8xf32>

// CHECK-LABEL: func.func @short(
func.func @short(%i: tensor<3xi32>, %lr: tensor<f32> {grad.role = "learning_rate"},
    %t: tensor<f32> {grad.role = "step"}) -> tensor<f32> attributes {
    grad.optimizer = {name = "momentum", momentum = 0.9}} {
  // CHECK: %[[TABLE:.*]] = grad.read @table :
  %w = grad.read @table : tensor<50x8xbf16>
  %x = grad.gather %w[%i] dims [-1, 1] index_dims [0] : tensor<50x8xbf16>, tensor<3xi32>
  %y = grad.cast %x : tensor<3x8xbf16> -> tensor<3x8xf32>
  %l = grad.reduce_mean %y dims [0, 1] : tensor<3x8xf32>
  // CHECK: %[[LIST:.*]] = grad.scatter %{{.*}} replace
  // CHECK: grad.scatter %{{.*}} add %{{.*}} : tensor<3x8xf32>
  // CHECK: %[[OLD:.*]] = grad.gather %[[TABLE]][%[[LIST]]] dims [-1, 1] index_dims [0] : tensor<50x8xbf16>
  // CHECK-DAG: %[[WIDE:.*]] = grad.cast %[[OLD]] : tensor<3x8xbf16> -> tensor<3x8xf32>
  // CHECK-DAG: %[[SLOT:.*]] = grad.read @table.velocity
  // CHECK-DAG: %[[OLD_SLOT:.*]] = grad.gather %[[SLOT]][%[[LIST]]]
  // CHECK: %[[NEW:.*]], %[[NEW_SLOT:.*]] = grad.momentum %[[WIDE]], %{{.*}}, %[[OLD_SLOT]],
  // CHECK: %[[ROUNDED:.*]] = grad.cast %[[NEW]] : tensor<3x8xf32> -> tensor<3x8xbf16>
  // CHECK: grad.set_rows %[[TABLE]][%[[LIST]]], %[[ROUNDED]]
  // CHECK: grad.set_rows %[[SLOT]][%[[LIST]]], %[[NEW_SLOT]]
  return %l : tensor<f32>
}

// -----

// Without an index there is no first position of a row.

grad.state parameter @table : tensor<50x8xf32> = dense<0.5> : tensor<50x8xf32>

// CHECK-LABEL: func.func @no_indices(
// CHECK-NOT: grad.reduce_min
// CHECK: grad.set_rows
func.func @no_indices(%i: tensor<3x0xi64>, %lr: tensor<f32> {grad.role = "learning_rate"}) -> tensor<f32> attributes {
    grad.optimizer = {name = "sgd"}} {
  %w = grad.read @table : tensor<50x8xf32>
  %x = grad.gather %w[%i] dims [-1, 2] index_dims [0, 1] : tensor<50x8xf32>, tensor<3x0xi64>
  %l = grad.reduce_mean %x dims [0, 1, 2] : tensor<3x0x8xf32>
  return %l : tensor<f32>
}
