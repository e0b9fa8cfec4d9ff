// A schedule with an if, nested loops and slices that move, written in planned form: it runs on the host and on a simulated GPU,
// and every tool shows it.

// RUN: %python %S/control_flow.py inputs %t
// RUN: gradc run %s --target=cpu --input x=%t/x.npy --input count=%t/2.npy --output-dir %t/host
// RUN: %python %S/control_flow.py check %t/host 2
// RUN: gradc run %s --target=cpu --input x=%t/x.npy --input count=%t/below.npy --output-dir %t/none
// RUN: %python %S/control_flow.py check %t/none 0
// RUN: not %python %S/control_flow.py check %t/none 1

// RUN: gradc compile %s --target=cpu,cuda:sm_90 --llvm-image -o %t/both
// RUN: env GRADC_LIBCUDA=%build/test/gradc-simulated-cuda.so gradc run %t/both --input x=%t/x.npy --input count=%t/3.npy --output-dir %t/gpu
// RUN: %python %S/control_flow.py check %t/gpu 3
// RUN: env GRADC_LIBCUDA=libnone.so gradc run %t/both --input x=%t/x.npy --input count=%t/3.npy --output-dir %t/fallback
// RUN: %python %S/control_flow.py check %t/fallback 3

// RUN: not gradc run %s --target=cpu --input x=%t/x.npy --input count=%t/4.npy --output-dir %t/over 2>&1 | FileCheck %s --check-prefix=OVER
// RUN: not env GRADC_LIBCUDA=%build/test/gradc-simulated-cuda.so gradc run %t/both --input x=%t/x.npy --input count=%t/4.npy --output-dir %t/over 2>&1 | FileCheck %s --check-prefix=OVER
// OVER: the loop of node inner counts 4 iterations, expected at most 3

// RUN: gradc verify %s --target=cpu | FileCheck %s --check-prefix=VERIFY
// VERIFY-DAG: kernel add {{.*}} ok
// VERIFY-DAG: kernel sign {{.*}} ok
// VERIFY-DAG: kernel double {{.*}} ok
// VERIFY-DAG: kernel copy {{.*}} ok
// VERIFY-DAG: kernel never NOT LAUNCHED
// VERIFY: 4 checks, 0 wrong, 1 not launched
// RUN: not gradc verify %s --target=cpu --corrupt-kernel double | FileCheck %s --check-prefix=WRONG
// WRONG: kernel double {{.*}} MISMATCH in entry forward, node twice

// The accumulator is there throughout the outer loop, and in no more memory for being changed in place.
// RUN: gradc plan %s --target=cpu | FileCheck %s --check-prefix=PLAN --strict-whitespace
// PLAN: forward: 9 launches, {{[0-9]+}} flops, arena 128 B
// PLAN: {{^ +}}0                                   loop of 4 {{ +}}outer
// PLAN-NEXT: {{^ +1 +128 B}}           copy {{ +}}first
// PLAN-NEXT: {{^ +}}2                                     loop of at most 3 {{ +}}inner
// PLAN-NEXT: {{^ +3 +0 +1}}      add {{ +}}sum
// PLAN-NEXT: {{^ +4 +128 B}}             copy {{ +}}keep
// PLAN-NEXT: {{^ +5 +0 +1}}    sign {{ +}}flag
// PLAN-NEXT: {{^ +}}6                                     if {{ +}}branch
// PLAN-NEXT: {{^ +7 +128 B}}             copy
// PLAN-NEXT: {{^}}                                          else
// PLAN-NEXT: {{^ +8 +0 +1}}      double {{ +}}twice
// PLAN-NEXT: {{^ +9 +0 +1}}    add {{ +}}total
// PLAN: peak 65 B during launch 5:
// PLAN-DAG: {{^ +}}64 B  tensor<16xf32> {{ +}}sum
// PLAN-DAG: {{^ +}}1 B  tensor<i1> {{ +}}flag

// RUN: gradc inspect %t/both | FileCheck %s --check-prefix=INSPECT
// INSPECT: entry forward: 9 launches, arena 128 B
// INSPECT: loop of 4: outer
// INSPECT-NEXT: {{^ +}}copy: first
// INSPECT-NEXT: {{^ +}}loop of at most 3: inner
// INSPECT-NEXT: {{^ +}}add: sum

// RUN: gradc bench %t/both --input x=%t/x.npy --input count=%t/1.npy --seconds 0.05 --threads 1 --trace %t/trace.json
// RUN: FileCheck %s --check-prefix=TRACE < %t/trace.json
// TRACE: "name":"add: sum",{{.*}}"iteration":[1,0]}

// The report says where the host has to wait within a step.
// RUN: env GRADC_LIBCUDA=%build/test/gradc-simulated-cuda.so GRADC_SIMULATED=version=12030 gradc bench %t/both --input x=%t/x.npy --input count=%t/1.npy --seconds 0.01 > %t/bench
// RUN: FileCheck %s --check-prefix=PIECES < %t/bench
// PIECES: device    runs on simulated device (cuda:sm_90, driver for CUDA 12.3); the host reads conditions and counts of loops within a step: conditions in graphs need a driver for CUDA 12.4 or newer, found 12.3

exec.kernel @add(%a: tensor<16xf32>, %x: tensor<16xf32>) attributes {inplace = array<i64: 0>} {
  %0 = grad.add %a, %x : tensor<16xf32>
  exec.yield %0 : tensor<16xf32>
}
exec.kernel @sign(%a: tensor<16xf32>) { // of the even columns minus the odd ones
  %s = grad.constant dense<[1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0]> : tensor<16xf32>
  %t = grad.mul %a, %s : tensor<16xf32>
  %0 = grad.reduce_sum %t dims [0] : tensor<16xf32>
  %1 = grad.constant dense<0.0> : tensor<f32>
  %2 = grad.compare gt %0, %1 : tensor<f32>
  exec.yield %2 : tensor<i1>
}
exec.kernel @double(%a: tensor<16xf32>) {
  %0 = grad.add %a, %a : tensor<16xf32>
  exec.yield %0 : tensor<16xf32>
}
exec.kernel @never(%a: tensor<16xf32>) {
  %0 = grad.exp %a : tensor<16xf32>
  exec.yield %0 : tensor<16xf32>
}

grad.state parameter @total : tensor<16xf32> = dense<1.0> : tensor<16xf32>
exec.buffer primary @total.primary of @total : 64

exec.entry @forward arena 128
    inputs [{name = "x", type = tensor<4x16xf32>, role = "data"}, {name = "count", type = tensor<i32>, role = "data"}]
    outputs [{name = "y", type = tensor<4x16xf32>, role = "output", slice = #exec.slice<output 0 at 0 : tensor<4x16xf32>>},
             {name = "last", type = tensor<16xf32>, role = "output", slice = #exec.slice<output 1 at 0 : tensor<16xf32>>},
             {name = "history", type = tensor<4x3x16xf32>, role = "output", slice = #exec.slice<output 2 at 0 : tensor<4x3x16xf32>>},
             {name = "sum", type = tensor<16xf32>, role = "output", slice = #exec.slice<buffer 0 at 0 of @total.primary : tensor<16xf32>>}] {
  exec.loop 4 attributes {nodes = ["outer"]} {
    exec.copy <input 0 at 0 by [64] : tensor<16xf32>> -> <arena 0 at 0 : tensor<16xf32>> {nodes = ["first"]}
    exec.loop 3 count <input 1 at 0 : tensor<i32>> attributes {nodes = ["inner"]} {
      exec.dispatch @add [#exec.slice<arena 0 at 0 : tensor<16xf32>>, #exec.slice<input 0 at 0 by [64] : tensor<16xf32>>]
          -> [#exec.slice<arena 0 at 0 : tensor<16xf32>>] {nodes = ["sum"]}
      exec.copy <arena 0 at 0 : tensor<16xf32>> -> <output 2 at 0 by [192, 64] : tensor<16xf32>> {nodes = ["keep"]}
    }
    exec.dispatch @sign [#exec.slice<arena 0 at 0 : tensor<16xf32>>] -> [#exec.slice<arena 0 at 64 : tensor<i1>>] {nodes = ["flag"]}
    exec.if <arena 0 at 64 : tensor<i1>> attributes {nodes = ["branch"]} {
      exec.copy <arena 0 at 0 : tensor<16xf32>> -> <output 0 at 0 by [64] : tensor<16xf32>>
    } else {
      exec.dispatch @double [#exec.slice<arena 0 at 0 : tensor<16xf32>>] -> [#exec.slice<output 0 at 0 by [64] : tensor<16xf32>>] {nodes = ["twice"]}
    }
    exec.dispatch @add [#exec.slice<buffer 0 at 0 of @total.primary : tensor<16xf32>>, #exec.slice<output 0 at 0 by [64] : tensor<16xf32>>]
        -> [#exec.slice<buffer 0 at 0 of @total.primary : tensor<16xf32>>] {nodes = ["total"]}
  }
  exec.copy <output 0 at 192 : tensor<16xf32>> -> <output 1 at 0 : tensor<16xf32>>
  exec.loop 0 {
    exec.dispatch @never [#exec.slice<arena 0 at 0 : tensor<16xf32>>] -> [#exec.slice<arena 0 at 0 : tensor<16xf32>>]
  }
}
