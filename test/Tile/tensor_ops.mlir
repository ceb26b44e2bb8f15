// RUN: fa-opt %s | fa-opt | FileCheck %s
// RUN: fa-opt %s --emit-bytecode | fa-opt | FileCheck %s
// RUN: fa-opt %s --mlir-print-op-generic | fa-opt | FileCheck %s

// CHECK-LABEL: func.func @precision
// CHECK: tile.dot %{{.*}}, %{{.*}} transpose_b precision tf32 : tensor<4x8xf32>
// CHECK: tile.dot %{{.*}}, %{{.*}} acc %{{.*}} precision tf32 {name = 1 : i64} : tensor<4x16xf32>
// CHECK-NOT: precision
// CHECK: tile.dot %{{.*}}, %{{.*}} transpose_b : tensor<4x8xf32>
func.func @precision(%a: tensor<4x8xf32>, %b: tensor<16x8xf32>) -> tensor<4x8xf32> {
  %s = tile.dot %a, %b transpose_b precision tf32 : tensor<4x8xf32>, tensor<16x8xf32> -> tensor<4x16xf32>
  %o = tile.dot %s, %b acc %a precision tf32 {name = 1 : i64} : tensor<4x16xf32>, tensor<16x8xf32> -> tensor<4x8xf32>
  %t = tile.dot %o, %b transpose_b precision ieee : tensor<4x8xf32>, tensor<16x8xf32> -> tensor<4x16xf32>
  %r = tile.dot %t, %b : tensor<4x16xf32>, tensor<16x8xf32> -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @tensor_ops
// CHECK: tile.dot %{{.*}}, %{{.*}} transpose_b : tensor<?x8x?x64xf16>, tensor<?x2x?x64xf16> -> tensor<?x8x?x?xf32>
// CHECK: tile.softmax %{{.*}} : tensor<?x8x?x?xf32>
// CHECK: tile.softmax %{{.*}} dim 2 : tensor<?x8x?x?xf32>
// CHECK: tile.dropout %{{.*}} rng %{{.*}} probability 1.000000e-01 : tensor<?x8x?x?xf32>, tensor<2xi64>
// CHECK: tile.log_sum_exp %{{.*}} : tensor<?x8x?x?xf32> -> tensor<?x8x?xf32>
// CHECK: tile.reduce max %{{.*}} dim 3 : tensor<?x8x?x?xf32> -> tensor<?x8x?xf32>
// CHECK: tile.transpose %{{.*}} [0, 1, 3, 2] : tensor<?x8x?x?xf32> -> tensor<?x8x?x?xf32>
// CHECK: tile.expand_dims %{{.*}} dim 3 : tensor<?x8x?xf32> -> tensor<?x8x?x1xf32>
// CHECK: tile.broadcast %{{.*}} sizes %{{.*}}, %{{.*}}, %{{.*}} : tensor<?x8x?x1xf32> -> tensor<?x8x?x?xf32>
// CHECK: tile.broadcast %{{.*}} : f32 -> tensor<4x4xf32>
// CHECK: tile.repeat %{{.*}} times 32 sizes %{{.*}}, %{{.*}} : tensor<?x8x?xf32> -> tensor<?x8x?xf32>
// CHECK: tile.repeat %{{.*}} times 3 : tensor<4x8xf32> -> tensor<4x22xf32>
// CHECK: tile.iota dim 1 : tensor<4x4xi32>
// CHECK: tile.ramp %{{.*}} from %{{.*}}, %{{.*}} : tensor<4x8xf32>
func.func @tensor_ops(%q: tensor<?x8x?x64xf16>, %k: tensor<?x2x?x64xf16>, %b: index, %m: index, %n: index, %x: f32) {
  %s = tile.dot %q, %k transpose_b : tensor<?x8x?x64xf16>, tensor<?x2x?x64xf16> -> tensor<?x8x?x?xf32>
  %p = tile.softmax %s : tensor<?x8x?x?xf32>
  %p2 = tile.softmax %s dim 2 : tensor<?x8x?x?xf32>
  %rng = arith.constant dense<[7, 0]> : tensor<2xi64>
  %z = tile.dropout %p rng %rng probability 0.1 : tensor<?x8x?x?xf32>, tensor<2xi64>
  %l = tile.log_sum_exp %s : tensor<?x8x?x?xf32> -> tensor<?x8x?xf32>
  %r = tile.reduce max %s dim 3 : tensor<?x8x?x?xf32> -> tensor<?x8x?xf32>
  %t = tile.transpose %s [0, 1, 3, 2] : tensor<?x8x?x?xf32> -> tensor<?x8x?x?xf32>
  %e = tile.expand_dims %l dim 3 : tensor<?x8x?xf32> -> tensor<?x8x?x1xf32>
  %w = tile.broadcast %e sizes %b, %m, %n : tensor<?x8x?x1xf32> -> tensor<?x8x?x?xf32>
  %c = tile.broadcast %x : f32 -> tensor<4x4xf32>
  %u = tile.repeat %l times 32 sizes %b, %n : tensor<?x8x?xf32> -> tensor<?x8x?xf32>
  %y = tile.ramp %x from %m, %n : tensor<4x8xf32>
  %v = tile.repeat %y times 3 : tensor<4x8xf32> -> tensor<4x22xf32>
  %i = tile.iota dim 1 : tensor<4x4xi32>
  %a = tile.ramp %x from %m, %n : tensor<4x8xf32>
  return
}

// fp8 types are part of the dialect; targets refuse them by name.
// CHECK-LABEL: func.func @fp8
// CHECK: tile.dot {{.*}} tensor<16x32xf8E4M3FN>
func.func @fp8(%a: tensor<16x32xf8E4M3FN>, %b: tensor<8x32xf8E5M2>) -> tensor<16x8xf32> {
  %s = tile.dot %a, %b transpose_b : tensor<16x32xf8E4M3FN>, tensor<8x32xf8E5M2> -> tensor<16x8xf32>
  return %s : tensor<16x8xf32>
}
