// The twin of all tests that say which errors and remarks they expect: one that
// does not come, and one that nobody expects, fail.
// RUN: split-file %s %t
// RUN: not fa-opt %t/none.mlir -verify-diagnostics 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: expected error "no such error" was not produced
// RUN: not fa-opt %t/other.mlir -verify-diagnostics 2>&1 | FileCheck %s --check-prefix=OTHER
// OTHER: unexpected error: custom op 'tile.nothing' is unknown

//--- none.mlir
func.func @f() {
  // expected-error @+1 {{no such error}}
  return
}

//--- other.mlir
func.func @f() {
  tile.nothing
  return
}
