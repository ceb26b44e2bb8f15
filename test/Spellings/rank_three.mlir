// [B·H, S, D], with the log-sum-exp as a second result.
// RUN: fa-opt --explain %s | FileCheck %s
// RUN: fa-run %s --in 6x50x32 --in 6x70x32 --in 6x70x32 --check | FileCheck %s --check-prefix=RAN
// CHECK: fused: softmax(Q Kᵀ) V is one attention
// CHECK: also gives the log-sum-exp
// RAN-NOT: not fused
// RAN: PASS

func.func @f(%q: tensor<6x?x32xf16>, %k: tensor<6x?x32xf16>, %v: tensor<6x?x32xf16>) -> (tensor<6x?x32xf16>, tensor<6x?xf32>) {
  %s = tile.dot %q, %k transpose_b : tensor<6x?x32xf16>, tensor<6x?x32xf16> -> tensor<6x?x?xf32>
  %p = tile.softmax %s : tensor<6x?x?xf32>
  %l = tile.log_sum_exp %s : tensor<6x?x?xf32> -> tensor<6x?xf32>
  %pt = arith.truncf %p : tensor<6x?x?xf32> to tensor<6x?x?xf16>
  %o = tile.dot %pt, %v : tensor<6x?x?xf16>, tensor<6x?x32xf16> -> tensor<6x?x32xf32>
  %ot = arith.truncf %o : tensor<6x?x32xf32> to tensor<6x?x32xf16>
  return %ot, %l : tensor<6x?x32xf16>, tensor<6x?xf32>
}
