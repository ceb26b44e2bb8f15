// The pass alone; inline_calls.mlir runs such programs.
// RUN: fa-opt %s --tile-inline-calls | FileCheck %s

// Nothing calls it any more, and nobody else can: it is gone.
// CHECK-NOT: @twice
// CHECK-NOT: call
func.func private @twice(%x: tensor<64xf32>) -> tensor<64xf32> {
  %r = arith.addf %x, %x : tensor<64xf32>
  return %r : tensor<64xf32>
}

// CHECK-LABEL: func.func @program(
// CHECK: %[[TWO:.*]] = arith.addf %[[X:.*]], %[[X]]
// CHECK: %[[FOUR:.*]] = arith.addf %[[TWO]], %[[TWO]]
// CHECK: return %[[FOUR]]
func.func @program(%x: tensor<64xf32>) -> tensor<64xf32> {
  %two = func.call @twice(%x) : (tensor<64xf32>) -> tensor<64xf32>
  %four = func.call @twice(%two) : (tensor<64xf32>) -> tensor<64xf32>
  return %four : tensor<64xf32>
}

// CHECK-LABEL: tile.kernel @kernel(
// CHECK: arith.addf
// CHECK: tile.return
tile.kernel @kernel(%x: memref<64xf32> {tile.access = #tile.access<inout>}) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %0 = tile.load %x[%c0] : memref<64xf32> -> tensor<64xf32>
  %1 = func.call @twice(%0) : (tensor<64xf32>) -> tensor<64xf32>
  tile.store %1, %x[%c0] : tensor<64xf32>, memref<64xf32>
  tile.return
}

// A function that others can call stays.
// CHECK-LABEL: func.func @public(
func.func @public(%x: f32) -> f32 {
  return %x : f32
}
