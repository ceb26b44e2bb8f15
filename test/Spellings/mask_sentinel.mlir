// A finite sentinel is a mask here: every row keeps key 0.
// RUN: fa-opt --explain %s | FileCheck %s
// RUN: fa-run %s --in 2x3x50x32 --in 2x3x70x32 --in 2x3x70x32 --check | FileCheck %s --check-prefix=RAN
// CHECK: fused: softmax(Q Kᵀ) V is one attention
// CHECK: mask region: arith.cmpi
// RAN-NOT: not fused
// RAN: PASS

!q = tensor<2x3x50x32xf32>
!k = tensor<2x3x70x32xf32>
!s = tensor<2x3x50x70xf32>
!r = tensor<2x3x50xf32>

func.func @f(%q: !q, %k: !k, %v: !k) -> !q {
  %s = tile.dot %q, %k transpose_b : !q, !k -> !s
  %i = tile.iota dim 2 : tensor<2x3x50x70xindex>
  %j = tile.iota dim 3 : tensor<2x3x50x70xindex>
  %c = arith.cmpi sle, %j, %i : tensor<2x3x50x70xindex>
  %low = arith.constant dense<-1.0e+30> : !s
  %t = arith.select %c, %s, %low : tensor<2x3x50x70xi1>, !s
  %p = tile.softmax %t : !s
  %o = tile.dot %p, %v : !s, !k -> !q
  return %o : !q
}
