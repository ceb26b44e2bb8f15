// Functions of vectors become polynomials, of scalars they stay calls; clamps become arith.
// RUN: fa-opt %s --pass-pipeline='builtin.module(func.func(approximate-host-math))' | FileCheck %s

// CHECK-LABEL: @vectors
// CHECK-NOT: math.{{tanh|log|sin}}
// CHECK: math.fma {{.*}} : vector<8xf32>
// CHECK-NOT: math.{{tanh|log|sin}}
// CHECK: return
func.func @vectors(%x: vector<8xf32>) -> (vector<8xf32>, vector<8xf32>, vector<8xf32>) {
  %t = math.tanh %x : vector<8xf32>
  %l = math.log %x : vector<8xf32>
  %s = math.sin %x : vector<8xf32>
  return %t, %l, %s : vector<8xf32>, vector<8xf32>, vector<8xf32>
}

// CHECK-LABEL: @clamped
// CHECK-NOT: math.clampf
// CHECK: arith.{{minimumf|minnumf}}
func.func @clamped(%x: f32, %low: f32, %high: f32) -> f32 {
  %c = math.clampf %x to [%low, %high] : f32
  return %c : f32
}

// A scalar is a call of libm's, and what a machine has stays; nothing else is looked at, not even what a folder would take.
// CHECK-LABEL: @others
// CHECK: math.tanh %{{.*}} : f32
// CHECK: math.sqrt %{{.*}} : vector<8xf32>
// CHECK: arith.addi
func.func @others(%x: f32, %y: vector<8xf32>) -> (f32, vector<8xf32>, i32) {
  %t = math.tanh %x : f32
  %s = math.sqrt %y : vector<8xf32>
  %one = arith.constant 1 : i32
  %two = arith.addi %one, %one : i32
  return %t, %s, %two : f32, vector<8xf32>, i32
}
