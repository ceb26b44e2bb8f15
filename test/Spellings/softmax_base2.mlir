// The softmax in base 2, of scores multiplied by log2 e.
// RUN: fa-opt --explain %s | FileCheck %s
// RUN: fa-run %s --in 2x3x50x32 --in 2x3x70x32 --in 2x3x70x32 --check | FileCheck %s --check-prefix=RAN
// CHECK: fused: softmax(Q Kᵀ) V is one attention
// CHECK: scale: 1.0
// RAN-NOT: not fused
// RAN: PASS

!q = tensor<2x3x50x32xf32>
!k = tensor<2x3x70x32xf32>
!s = tensor<2x3x50x70xf32>
!r = tensor<2x3x50xf32>

func.func @f(%q: !q, %k: !k, %v: !k) -> !q {
  %s = tile.dot %q, %k transpose_b : !q, !k -> !s
  %c = arith.constant dense<1.44269502> : !s
  %s2 = arith.mulf %s, %c : !s
  %m = tile.reduce max %s2 dim 3 : !s -> !r
  %m1 = tile.expand_dims %m dim 3 : !r -> tensor<2x3x50x1xf32>
  %mb = tile.broadcast %m1 : tensor<2x3x50x1xf32> -> !s
  %x = arith.subf %s2, %mb : !s
  %e = math.exp2 %x : !s
  %l = tile.reduce add %e dim 3 : !s -> !r
  %l1 = tile.expand_dims %l dim 3 : !r -> tensor<2x3x50x1xf32>
  %lb = tile.broadcast %l1 : tensor<2x3x50x1xf32> -> !s
  %p = arith.divf %e, %lb : !s
  %o = tile.dot %p, %v : !s, !k -> !q
  return %o : !q
}
