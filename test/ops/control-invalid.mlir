// RUN: gradc-opt %s --split-input-file --verify-diagnostics

func.func @if_arguments(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{expected else to take arguments of ('tensor<4xf32>'), found ('tensor<5xf32>')}}
  %y = grad.if %c with (%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    grad.yield %a : tensor<4xf32>
  } else {
  ^bb0(%a: tensor<5xf32>):
    %0 = grad.constant dense<0.0> : tensor<4xf32>
    grad.yield %0 : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----

func.func @if_results(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{expected body to yield values of ('tensor<4xf32>'), found ()}}
  %y = grad.if %c with (%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    grad.yield
  } else {
  ^bb0(%a: tensor<4xf32>):
    grad.yield %a : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----

func.func @trips(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{expected 0 or more trips, found -1}}
  %y = grad.scan -1 from (%x) over () with () : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    grad.yield %a : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----

func.func @steps(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{expected stacks of 3 steps, found 'tensor<4xf32>'}}
  %y = grad.scan 3 from (%x) over (%x) with () : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>, %b: tensor<f32>):
    grad.yield %a : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----

func.func @scan_arguments(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{expected a body to take arguments of ('tensor<4xf32>'), found ()}}
  %y = grad.scan 3 from (%x) over () with () : (tensor<4xf32>) -> tensor<4xf32> {
    %0 = grad.constant dense<0.0> : tensor<4xf32>
    grad.yield %0 : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----

func.func @carried(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{expected a body to yield carried values of ('tensor<4xf32>'), found ('tensor<5xf32>')}}
  %y = grad.scan 3 from (%x) over () with () : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %0 = grad.constant dense<0.0> : tensor<5xf32>
    grad.yield %0 : tensor<5xf32>
  }
  return %y : tensor<4xf32>
}

// -----

func.func @stacked(%x: tensor<4xf32>) -> tensor<2x4xf32> {
  // expected-error @+1 {{expected results for what its body yields of ('tensor<4xf32>', 'tensor<3x4xf32>'), found ('tensor<4xf32>', 'tensor<2x4xf32>')}}
  %y:2 = grad.scan 3 from (%x) over () with () : (tensor<4xf32>) -> (tensor<4xf32>, tensor<2x4xf32>) {
  ^bb0(%a: tensor<4xf32>):
    grad.yield %a, %a : tensor<4xf32>, tensor<4xf32>
  }
  return %y#1 : tensor<2x4xf32>
}

// -----

func.func @saved(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{expected 0 to 0 saved results, found 1}}
  %y = grad.scan 3 from (%x) over () with () saved 1 : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    grad.yield %a : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----

func.func @condition(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{expected a condition that is a carried bool, found number 0}}
  %y = grad.scan 3 while 0 from (%x) over () with () : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    grad.yield %a : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----

func.func @condition_number(%x: tensor<4xf32>, %c: tensor<i1>) -> tensor<4xf32> {
  // expected-error @+1 {{expected a condition that is a carried bool, found number 1}}
  %y = grad.scan 3 while 1 from (%x) over () with (%c) : (tensor<4xf32>, tensor<i1>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>, %b: tensor<i1>):
    grad.yield %a : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----

func.func @condition_and_stack(%c: tensor<i1>) -> tensor<3xi1> {
  // expected-error @+1 {{expected no stacks beside a condition}}
  %y:2 = grad.scan 3 while 0 from (%c) over () with () : (tensor<i1>) -> (tensor<i1>, tensor<3xi1>) {
  ^bb0(%a: tensor<i1>):
    grad.yield %a, %a : tensor<i1>, tensor<i1>
  }
  return %y#1 : tensor<3xi1>
}
