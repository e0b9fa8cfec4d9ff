// RUN: gradc-opt %s -split-input-file -verify-diagnostics -gradc-choose-layouts
// RUN: gradc-opt %s -split-input-file -verify-diagnostics -gradc-schedule

// expected-error @+1 {{expected `exec.level` to name a level}}
module attributes {exec.level = "x86-64-v2"} {
}
