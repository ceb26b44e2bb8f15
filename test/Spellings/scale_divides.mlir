// The scores are divided by the root of the head dimension.
// RUN: fa-opt --explain %s | FileCheck %s
// RUN: fa-run %s --in 2x3x50x32 --in 2x3x70x32 --in 2x3x70x32 --check | FileCheck %s --check-prefix=RAN
// CHECK: fused: softmax(Q Kᵀ) V is one attention
// CHECK: scale: 1.76
// RAN-NOT: not fused
// RAN: PASS

!q = tensor<2x3x50x32xf32>
!k = tensor<2x3x70x32xf32>
!s = tensor<2x3x50x70xf32>
!r = tensor<2x3x50xf32>

func.func @f(%q: !q, %k: !k, %v: !k) -> !q {
  %c = arith.constant dense<5.65685415> : !s
  %s = tile.dot %q, %k transpose_b : !q, !k -> !s
  %t = arith.divf %s, %c : !s
  %p = tile.softmax %t : !s
  %o = tile.dot %p, %v : !s, !k -> !q
  return %o : !q
}
