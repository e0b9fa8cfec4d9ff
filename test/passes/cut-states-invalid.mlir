// RUN: gradc-opt %s -split-input-file -verify-diagnostics -gradc-cut-states

func.func @unknown(%g: tensor<96xf32>) -> tensor<96xf32> {
  // expected-error @+1 {{expected @w to be a state with as many elements as 'tensor<96xf32>'}}
  %0 = grad.reduce_scatter %g of [@w] : tensor<96xf32>
  return %0 : tensor<96xf32>
}

// -----

grad.state parameter @w : tensor<95xf32> = dense<0.0> : tensor<95xf32>
func.func @other(%g: tensor<96xf32>) -> tensor<96xf32> {
  // expected-error @+1 {{expected @w to be a state with as many elements as 'tensor<96xf32>'}}
  %0 = grad.all_gather %g of [@w] : tensor<96xf32>
  return %0 : tensor<96xf32>
}
