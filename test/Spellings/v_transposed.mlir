// V comes as [d, s].
// RUN: fa-opt --explain %s | FileCheck %s
// RUN: fa-run %s --in 2x3x50x32 --in 2x3x70x32 --in 2x3x32x70 --check | FileCheck %s --check-prefix=RAN
// CHECK: fused: softmax(Q Kᵀ) V is one attention
// RAN-NOT: not fused
// RAN: PASS

!q = tensor<2x3x50x32xf32>
!k = tensor<2x3x70x32xf32>
!s = tensor<2x3x50x70xf32>
!r = tensor<2x3x50xf32>

!vt = tensor<2x3x32x70xf32>
func.func @f(%q: !q, %k: !k, %v: !vt) -> !q {
  %s = tile.dot %q, %k transpose_b : !q, !k -> !s
  %p = tile.softmax %s : !s
  %o = tile.dot %p, %v transpose_b : !s, !vt -> !q
  return %o : !q
}
