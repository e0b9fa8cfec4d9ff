// Filters that a step computes, here from a state and an input, are transformed for Winograd's convolutions like weights: for the
// forward and, with as many channels as the other has filters, for the data gradient. Each kernel computes what the evaluator does.

// RUN: gradc verify %s --target=cpu:x86-64-v3 | FileCheck %s
// CHECK-COUNT-2: kernel pack{{.*}} ok
// CHECK: 5 checks, 0 wrong
// RUN: gradc plan %s --target=cpu:x86-64-v3 --dump-after-each %t
// RUN: cat %t/*-gradc-schedule.mlir | FileCheck %s --check-prefix=PLAN
// PLAN-DAG: exec.kernel @{{.*}}tensor<16x16x4x32xf32>{{.*}}layouts = [unit, #exec.panel<dim = 3, width = 16, winograd4x4>, unit]
// PLAN-DAG: exec.kernel @{{.*}}tensor<16x16x4x64xf32>{{.*}}layouts = [unit, #exec.panel<dim = 2, width = 16, winograd4x4>, unit]
grad.state parameter @w : tensor<3x3x32x64xf32> = dense<0.5> : tensor<3x3x32x64xf32>
func.func @forward(%x: tensor<16x16x4x32xf32> {grad.name = "x", grad.role = "input"}, %d: tensor<16x16x4x64xf32> {grad.name = "d", grad.role = "input"},
    %scale: tensor<3x3x32x64xf32> {grad.name = "scale", grad.role = "input"})
    -> (tensor<16x16x4x64xf32> {grad.name = "y", grad.role = "output"}, tensor<16x16x4x32xf32> {grad.name = "dx", grad.role = "output"}) attributes {grad.entry = "forward"} {
  %w = grad.read @w : tensor<3x3x32x64xf32>
  %scaled = grad.mul %w, %scale : tensor<3x3x32x64xf32>
  %y = grad.convolution %x, %scaled dims "nc,co->no" window <[3, 3] low [1, 1] high [1, 1]> : tensor<16x16x4x32xf32>, tensor<3x3x32x64xf32>
  %dx = grad.convolution %d, %scaled dims "no,co->nc" window <[3, 3] low [1, 1] high [1, 1] reversed> : tensor<16x16x4x64xf32>, tensor<3x3x32x64xf32>
  return %y, %dx : tensor<16x16x4x64xf32>, tensor<16x16x4x32xf32>
}
