// A GPU has no library: functions become polynomials, those without one what has one, and what the machine knows stays.
// RUN: fa-opt %s --approximate-gpu-math | FileCheck %s

// CHECK-LABEL: @functions
// CHECK-NOT: math.{{powf|cosh|log|tanh}}
// CHECK: math.fma
// CHECK: math.sqrt
// CHECK-NOT: math.{{powf|cosh|log|tanh}}
func.func @functions(%x: f32, %y: f32) -> (f32, f32, f32, f32) {
  %p = math.powf %x, %y : f32
  %c = math.cosh %x : f32
  %t = math.tanh %y : f32
  %s = math.sqrt %y : f32
  return %p, %c, %t, %s : f32, f32, f32, f32
}

// Nothing else is looked at, not even what a folder would take.
// CHECK-LABEL: @others
// CHECK: arith.addi
func.func @others() -> i32 {
  %one = arith.constant 1 : i32
  %two = arith.addi %one, %one : i32
  return %two : i32
}
