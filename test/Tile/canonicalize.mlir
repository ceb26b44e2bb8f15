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

// A transposed right operand is the dot's other form; a left one is not.
// CHECK-LABEL: func.func @transposed
// CHECK: %[[A:.*]] = tile.transpose %arg1
// CHECK: tile.dot %arg0, %arg1 : tensor<16x32xf16>, tensor<32x8xf16> -> tensor<16x8xf32>
// CHECK: tile.dot %arg0, %arg2 transpose_b : tensor<16x32xf16>, tensor<8x32xf16> -> tensor<16x8xf32>
// CHECK: tile.dot %[[A]], %arg2 transpose_b
func.func @transposed(%a: tensor<16x32xf16>, %b: tensor<32x8xf16>, %c: tensor<8x32xf16>)
    -> (tensor<16x8xf32>, tensor<16x8xf32>, tensor<8x8xf32>) {
  %bt = tile.transpose %b [1, 0] : tensor<32x8xf16> -> tensor<8x32xf16>
  %0 = tile.dot %a, %bt transpose_b : tensor<16x32xf16>, tensor<8x32xf16> -> tensor<16x8xf32>
  %ct = tile.transpose %c [1, 0] : tensor<8x32xf16> -> tensor<32x8xf16>
  %1 = tile.dot %a, %ct : tensor<16x32xf16>, tensor<32x8xf16> -> tensor<16x8xf32>
  %2 = tile.dot %bt, %c transpose_b : tensor<8x32xf16>, tensor<8x32xf16> -> tensor<8x8xf32>
  return %0, %1, %2 : tensor<16x8xf32>, tensor<16x8xf32>, tensor<8x8xf32>
}

// Batches stay where they are.
// CHECK-LABEL: func.func @batched
// CHECK: tile.dot %arg0, %arg1 transpose_b
// CHECK: tile.dot %{{.*}}, %{{[0-9]+}} :
func.func @batched(%a: tensor<2x4x8xf16>, %b: tensor<2x16x8xf16>, %c: tensor<8x2x16xf16>)
    -> (tensor<2x4x16xf32>, tensor<2x4x16xf32>) {
  %bt = tile.transpose %b [0, 2, 1] : tensor<2x16x8xf16> -> tensor<2x8x16xf16>
  %0 = tile.dot %a, %bt : tensor<2x4x8xf16>, tensor<2x8x16xf16> -> tensor<2x4x16xf32>
  %ct = tile.transpose %c [1, 0, 2] : tensor<8x2x16xf16> -> tensor<2x8x16xf16>
  %1 = tile.dot %a, %ct : tensor<2x4x8xf16>, tensor<2x8x16xf16> -> tensor<2x4x16xf32>
  return %0, %1 : tensor<2x4x16xf32>, tensor<2x4x16xf32>
}
