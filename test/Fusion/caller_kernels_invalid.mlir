// Functions that call others, as tile-split-function writes them: what is not of that form is refused.
// RUN: fa-opt %s --tile-to-kernel --split-input-file --verify-diagnostics

!t = tensor<4xf32>
func.func private @part(%x: !t) -> !t {
  return %x : !t
}
func.func @computes(%x: !t) -> !t {
  %y = call @part(%x) : (!t) -> !t
  // expected-error @+1 {{'arith.addf' op expected a function of calls alone, each of a private function with a body, called one time}}
  %z = arith.addf %y, %y : !t
  return %z : !t
}

// -----

!t = tensor<4xf32>
func.func private @part(%x: !t) -> !t {
  return %x : !t
}
func.func @twice(%x: !t) -> !t {
  %y = call @part(%x) : (!t) -> !t
  // expected-error @+1 {{called one time}}
  %z = call @part(%y) : (!t) -> !t
  return %z : !t
}

// -----

!t = tensor<4xf32>
func.func private @elsewhere(%x: !t) -> !t
func.func @declared(%x: !t) -> !t {
  // expected-error @+1 {{each of a private function with a body}}
  %y = call @elsewhere(%x) : (!t) -> !t
  return %y : !t
}

// -----

!t = tensor<4xf32>
func.func private @part(%x: !t) -> !t {
  return %x : !t
}
func.func @returns(%x: !t) -> (!t, !t) {
  %y = call @part(%x) : (!t) -> !t
  // expected-error @+1 {{expected results of calls, each read by nothing else}}
  return %y, %y : !t, !t
}
