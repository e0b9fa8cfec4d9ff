// RUN: gradc-opt %s -split-input-file -verify-diagnostics | FileCheck %s

// Defaults: 1, and 0 for low and high. The printed form is the shortest one.

// CHECK-LABEL: @text
// CHECK-SAME: a = #grad.window<[3, 3]>
// CHECK-SAME: b = #grad.window<[3, 3] stride [2, 1] low [-1, 1] high [0, 2] base [1, 3] dilation [2, 2] reversed>
// CHECK-SAME: c = #grad.window<[2] reversed>
// CHECK-SAME: d = #grad.window<[]>
func.func private @text() attributes {
  a = #grad.window<[3, 3] stride [1, 1] low [0, 0] high [0, 0] base [1, 1] dilation [1, 1]>,
  b = #grad.window<[3, 3] stride [2, 1] low [-1, 1] high [0, 2] base [1, 3] dilation [2, 2] reversed>,
  c = #grad.window<[2] reversed>,
  d = #grad.window<[]>}

// -----

// expected-error @+1 {{expected one stride a dim (2), found [1]}}
func.func private @ranks() attributes {a = #grad.window<[3, 3] stride [1]>}

// -----

// expected-error @+1 {{expected one high a dim (1), found [1, 2]}}
func.func private @more_ranks() attributes {a = #grad.window<[3] high [1, 2]>}

// -----

// expected-error @+1 {{expected size of 1 or more, found [3, 0]}}
func.func private @size() attributes {a = #grad.window<[3, 0]>}

// -----

// expected-error @+1 {{expected stride of 1 or more, found [0, 1]}}
func.func private @stride() attributes {a = #grad.window<[3, 3] stride [0, 1]>}

// -----

// expected-error @+1 {{expected base of 1 or more, found [-1]}}
func.func private @base() attributes {a = #grad.window<[3] base [-1]>}

// -----

// expected-error @+1 {{expected dilation of 1 or more, found [0]}}
func.func private @dilation() attributes {a = #grad.window<[3] dilation [0]>}

// -----

// expected-error @+1 {{expected '>'}}
func.func private @keyword() attributes {a = #grad.window<[3] dilated [2]>}
