// linalg's named operations: [B·H, S, D], linalg.softmax, dynamic sizes.
// RUN: fa-opt --explain %s | FileCheck %s
// RUN: fa-run %s --in 6x50x32 --in 6x70x32 --in 6x70x32 --check | FileCheck %s --check-prefix=RAN
// CHECK: fused: softmax(Q Kᵀ) V is one attention
// RAN-NOT: not fused
// RAN: PASS

func.func @f(%q: tensor<6x?x32xf32>, %k: tensor<6x?x32xf32>, %v: tensor<6x?x32xf32>) -> tensor<6x?x32xf32> {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %m = tensor.dim %q, %c1 : tensor<6x?x32xf32>
  %n = tensor.dim %k, %c1 : tensor<6x?x32xf32>
  %te = tensor.empty(%n) : tensor<6x32x?xf32>
  %kt = linalg.transpose ins(%k : tensor<6x?x32xf32>) outs(%te : tensor<6x32x?xf32>) permutation = [0, 2, 1]
  %se = tensor.empty(%m, %n) : tensor<6x?x?xf32>
  %s0 = linalg.fill ins(%zero : f32) outs(%se : tensor<6x?x?xf32>) -> tensor<6x?x?xf32>
  %s = linalg.batch_matmul ins(%q, %kt : tensor<6x?x32xf32>, tensor<6x32x?xf32>) outs(%s0 : tensor<6x?x?xf32>) -> tensor<6x?x?xf32>
  %p = linalg.softmax dimension(2) ins(%s : tensor<6x?x?xf32>) outs(%se : tensor<6x?x?xf32>) -> tensor<6x?x?xf32>
  %oe = tensor.empty(%m) : tensor<6x?x32xf32>
  %o0 = linalg.fill ins(%zero : f32) outs(%oe : tensor<6x?x32xf32>) -> tensor<6x?x32xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<6x?x?xf32>, tensor<6x?x32xf32>) outs(%o0 : tensor<6x?x32xf32>) -> tensor<6x?x32xf32>
  return %o : tensor<6x?x32xf32>
}
