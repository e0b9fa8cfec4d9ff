// RUN: gradc-opt %s -split-input-file -verify-diagnostics -canonicalize -cse | FileCheck %s

// CHECK-LABEL: func.func @halves
// CHECK: grad.send %arg0 to 1 number 0 turn 2 : tensor<4xf16>
// CHECK: grad.send %arg0 to 1 number 1 turn 2 : tensor<4xf16>
// Neither half is removed, even if the received value has no readers.
// CHECK: grad.receive from 1 after(%arg0) number 2 turn 3 : (tensor<4xf16>) -> tensor<4xi8>
func.func @halves(%x: tensor<4xf16>) {
  grad.send %x to 1 number 0 turn 2 : tensor<4xf16>
  grad.send %x to 1 number 1 turn 2 : tensor<4xf16>
  %0 = grad.receive from 1 after(%x) number 2 turn 3 : (tensor<4xf16>) -> tensor<4xi8>
  return
}

// CHECK-LABEL: exec.entry @planned
// CHECK: exec.transfer <arena 0 at 0 : tensor<4xi8>> peer 1 number 2{{$}}
// CHECK: exec.transfer <arena 0 at 0 : tensor<4xi8>> peer 1 number 3 send
exec.entry @planned arena 64 inputs [] outputs [] {
  exec.transfer <arena 0 at 0 : tensor<4xi8>> peer 1 number 2
  exec.transfer <arena 0 at 0 : tensor<4xi8>> peer 1 number 3 send
}

// -----

func.func @f(%x: tensor<4xf16>) {
  // expected-error @+1 {{attribute 'peer' failed to satisfy constraint}}
  grad.send %x to -1 number 0 turn 2 : tensor<4xf16>
  return
}

// -----

func.func @f(%x: tensor<4xf16>) {
  // expected-error @+1 {{attribute 'turn' failed to satisfy constraint}}
  %0 = grad.receive from 1 after() number 0 turn -2 : () -> tensor<4xf16>
  return
}

// -----

exec.entry @f arena 64 inputs [] outputs [] {
  // expected-error @+1 {{attribute 'number' failed to satisfy constraint}}
  exec.transfer <arena 0 at 0 : tensor<4xi8>> peer 1 number -2
}
