// RUN: gradc-opt %s -split-input-file -verify-diagnostics

func.func @sum_c1(%x: tensor<8xf32>) {
  // expected-error @+1 {{expected rank 2 or more for the window's dims, found 'tensor<8xf32>'}}
  %0 = grad.window_sum %x window <[2, 2]> : tensor<8xf32>
}

// -----

func.func @sum_c2(%x: tensor<8x2xf32>) {
  // expected-error @+1 {{expected a window in dim 1, found 3 positions of taps over 2}}
  %0 = grad.window_sum %x window <[2, 3]> : tensor<8x2xf32>
}

// -----

func.func @max_c1(%x: tensor<8xf32>) {
  // expected-error @+1 {{expected rank 2 or more for the window's dims, found 'tensor<8xf32>'}}
  %0, %index = grad.window_max %x window <[2, 2]> : tensor<8xf32>
}

// -----

func.func @max_c2(%x: tensor<8x2xf32>) {
  // expected-error @+1 {{expected a window in dim 0, found 9 positions of taps over 8}}
  %0, %index = grad.window_max %x window <[5] dilation [2]> : tensor<8x2xf32>
}

// -----

func.func @max_c3_base(%x: tensor<8x2xf32>) {
  // expected-error @+1 {{expected a window of base 1 that is not reversed, found #grad.window<[2] base [2]>}}
  %0, %index = grad.window_max %x window <[2] base [2]> : tensor<8x2xf32>
}

// -----

func.func @max_c3_reversed(%x: tensor<8x2xf32>) {
  // expected-error @+1 {{expected a window of base 1 that is not reversed, found #grad.window<[2] reversed>}}
  %0, %index = grad.window_max %x window <[2] reversed> : tensor<8x2xf32>
}

// -----

func.func @gather_c1(%x: tensor<8xf32>, %index: tensor<4xi8>) {
  // expected-error @+1 {{expected rank 2 or more for the window's dims, found 'tensor<8xf32>'}}
  %0 = grad.window_gather %x, %index window <[2, 2]> : tensor<8xf32>, tensor<4xi8>
}

// -----

func.func @gather_c1_fit(%x: tensor<1x2xf32>, %index: tensor<1x2xi8>) {
  // expected-error @+1 {{expected a window in dim 0, found 2 positions of taps over 1}}
  %0 = grad.window_gather %x, %index window <[2]> : tensor<1x2xf32>, tensor<1x2xi8>
}

// -----

func.func @gather_c2(%x: tensor<8x2xf32>, %index: tensor<8x2xi8>) {
  // expected-error @+1 {{expected index 'tensor<4x2xi8>', found 'tensor<8x2xi8>'}}
  %0 = grad.window_gather %x, %index window <[2] stride [2]> : tensor<8x2xf32>, tensor<8x2xi8>
}

// -----

func.func @gather_c3(%x: tensor<8x2xf32>, %index: tensor<4x2xi64>) {
  // expected-error @+1 {{expected index 'tensor<4x2xi8>', found 'tensor<4x2xi64>'}}
  %0 = grad.window_gather %x, %index window <[2] stride [2]> : tensor<8x2xf32>, tensor<4x2xi64>
}

// -----

func.func @scatter_c1(%x: tensor<5x2xf32>, %index: tensor<5x2xi8>) {
  // expected-error @+1 {{expected operand 'tensor<4x2xf32>', found 'tensor<5x2xf32>'}}
  %0 = grad.window_scatter %x, %index size [8] window <[2] stride [2]> : tensor<5x2xf32>, tensor<5x2xi8>
}

// -----

func.func @scatter_c1_rank(%x: tensor<4xf32>, %index: tensor<4xi8>) {
  // expected-error @+1 {{expected rank 2 or more for the window's dims, found 'tensor<4xf32>'}}
  %0 = grad.window_scatter %x, %index size [8, 8] window <[2, 2]> : tensor<4xf32>, tensor<4xi8>
}

// -----

func.func @scatter_c1_index(%x: tensor<4x2xf32>, %index: tensor<4xi8>) {
  // expected-error @+1 {{expected index 'tensor<4x2xi8>', found 'tensor<4xi8>'}}
  %0 = grad.window_scatter %x, %index size [8] window <[2] stride [2]> : tensor<4x2xf32>, tensor<4xi8>
}

// -----

func.func @scatter_c2(%x: tensor<4x2xf32>, %index: tensor<4x2xi8>) {
  // expected-error @+1 {{expected 1 sizes of 1 or more, found [8, 2]}}
  %0 = grad.window_scatter %x, %index size [8, 2] window <[2] stride [2]> : tensor<4x2xf32>, tensor<4x2xi8>
}

// -----

func.func @scatter_c2_zero(%x: tensor<4x2xf32>, %index: tensor<4x2xi8>) {
  // expected-error @+1 {{expected 1 sizes of 1 or more, found [0]}}
  %0 = grad.window_scatter %x, %index size [0] window <[2] stride [2]> : tensor<4x2xf32>, tensor<4x2xi8>
}

// -----

func.func @scatter_c3(%x: tensor<1x2xf32>, %index: tensor<1x2xi8>) {
  // expected-error @+1 {{expected index 'tensor<1x2xi32>', found 'tensor<1x2xi8>'}}
  %0 = grad.window_scatter %x, %index size [200] window <[200]> : tensor<1x2xf32>, tensor<1x2xi8>
}
