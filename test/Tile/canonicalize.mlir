// RUN: fa-opt %s --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @fold
// CHECK-NEXT: %[[C:.*]] = arith.constant dense<2.000000e+00> : tensor<4x8xf32>
// CHECK-NEXT: return %arg0, %arg1, %[[C]]
func.func @fold(%a: tensor<4x8xf32>, %b: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  %0 = tile.transpose %a [0, 1] : tensor<4x8xf32> -> tensor<4x8xf32>
  %1 = tile.broadcast %b : tensor<4x8xf32> -> tensor<4x8xf32>
  %c = arith.constant 2.0 : f32
  %2 = tile.broadcast %c : f32 -> tensor<4x8xf32>
  return %0, %1, %2 : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}

// A broadcast to dynamic sizes is kept: the sizes are known at run time only.
// CHECK-LABEL: func.func @keep
// CHECK: tile.broadcast
func.func @keep(%n: index) -> tensor<?x8xf32> {
  %c = arith.constant 2.0 : f32
  %0 = tile.broadcast %c sizes %n : f32 -> tensor<?x8xf32>
  return %0 : tensor<?x8xf32>
}
