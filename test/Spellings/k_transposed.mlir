// K comes as [d, s]: its view is transposed, nothing is moved.
// RUN: fa-opt --explain %s | FileCheck %s
// RUN: fa-run %s --in 2x3x50x32 --in 2x3x32x70 --in 2x3x70x32 --check | FileCheck %s --check-prefix=RAN
// CHECK: fused: softmax(Q Kᵀ) V is one attention
// RAN-NOT: not fused
// RAN: PASS

!q = tensor<2x3x50x32xf32>
!k = tensor<2x3x70x32xf32>
!s = tensor<2x3x50x70xf32>
!r = tensor<2x3x50xf32>

!kt = tensor<2x3x32x70xf32>
func.func @f(%q: !q, %k: !kt, %v: !k) -> !q {
  %s = tile.dot %q, %k : !q, !kt -> !s
  %p = tile.softmax %s : !s
  %o = tile.dot %p, %v : !s, !k -> !q
  return %o : !q
}
