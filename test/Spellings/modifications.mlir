// Softcap, ALiBi and a bias that is broadcast along queries, in one score
// region.
// RUN: fa-opt --explain %s | FileCheck %s
// RUN: fa-run %s --in 2x3x50x32 --in 2x3x70x32 --in 2x3x70x32 --in 3 --in 2x3x1x70 --check | FileCheck %s --check-prefix=RAN
// CHECK: fused: softmax(Q Kᵀ) V is one attention
// RAN-NOT: not fused
// RAN: PASS

!q = tensor<2x3x50x32xf32>
!k = tensor<2x3x70x32xf32>
!s = tensor<2x3x50x70xf32>
!r = tensor<2x3x50xf32>

func.func @f(%q: !q, %k: !k, %v: !k, %slopes: tensor<3xf32>, %b: tensor<2x3x1x70xf32>) -> !q {
  %s = tile.dot %q, %k transpose_b : !q, !k -> !s
  %cap = arith.constant dense<15.0> : !s
  %d = arith.divf %s, %cap : !s
  %t = math.tanh %d : !s
  %c = arith.mulf %t, %cap : !s
  %i = tile.iota dim 2 : tensor<2x3x50x70xi32>
  %j = tile.iota dim 3 : tensor<2x3x50x70xi32>
  %ij = arith.subi %i, %j : tensor<2x3x50x70xi32>
  %f = arith.sitofp %ij : tensor<2x3x50x70xi32> to !s
  %a = math.absf %f : !s
  %s1 = tile.expand_dims %slopes dim 1 : tensor<3xf32> -> tensor<3x1xf32>
  %s2 = tile.expand_dims %s1 dim 2 : tensor<3x1xf32> -> tensor<3x1x1xf32>
  %s3 = tile.expand_dims %s2 dim 0 : tensor<3x1x1xf32> -> tensor<1x3x1x1xf32>
  %s4 = tile.broadcast %s3 : tensor<1x3x1x1xf32> -> !s
  %al = arith.mulf %s4, %a : !s
  %u = arith.subf %c, %al : !s
  %bb = tile.broadcast %b : tensor<2x3x1x70xf32> -> !s
  %w = arith.addf %u, %bb : !s
  %p = tile.softmax %w : !s
  %o = tile.dot %p, %v : !s, !k -> !q
  return %o : !q
}
