// A boolean tensor as an argument, broadcast over heads.
// RUN: fa-opt --explain %s | FileCheck %s
// RUN: fa-run %s --in 2x3x50x32 --in 2x3x70x32 --in 2x3x70x32 --in 2x1x50x70 --check | FileCheck %s --check-prefix=RAN
// CHECK: fused: softmax(Q Kᵀ) V is one attention
// CHECK: the rest is evaluated for each element
// RAN-NOT: not fused
// RAN: PASS

!q = tensor<2x3x50x32xf32>
!k = tensor<2x3x70x32xf32>
!s = tensor<2x3x50x70xf32>
!r = tensor<2x3x50xf32>

func.func @f(%q: !q, %k: !k, %v: !k, %c0: tensor<2x1x50x70xi1>) -> !q {
  %s = tile.dot %q, %k transpose_b : !q, !k -> !s
  %c = tile.broadcast %c0 : tensor<2x1x50x70xi1> -> tensor<2x3x50x70xi1>
  %inf = arith.constant dense<0xFF800000> : !s
  %t = arith.select %c, %s, %inf : tensor<2x3x50x70xi1>, !s
  %p = tile.softmax %t : !s
  %o = tile.dot %p, %v : !s, !k -> !q
  return %o : !q
}
