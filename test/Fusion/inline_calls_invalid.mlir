// A call that stays is an error.
// RUN: fa-opt %s --split-input-file --verify-diagnostics --tile-inline-calls

func.func private @elsewhere(%x: f32) -> f32
func.func @program(%x: f32) -> f32 {
  // expected-error @below {{'func.call' op expected @elsewhere to be inlined, found a function that has no body or calls itself}}
  %y = func.call @elsewhere(%x) : (f32) -> f32
  return %y : f32
}
// -----
func.func @forever(%x: f32) -> f32 {
  // expected-error @below {{'func.call' op expected @forever to be inlined, found a function that has no body or calls itself}}
  %y = func.call @forever(%x) : (f32) -> f32
  return %y : f32
}
