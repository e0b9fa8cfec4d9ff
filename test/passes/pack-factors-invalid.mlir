// RUN: gradc-opt %s -gradc-pack-factors -verify-diagnostics

// expected-error @+1 {{expected `exec.level` to name a level}}
module attributes {exec.level = "x86-64-v9"} {
}
