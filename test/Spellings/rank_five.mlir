// Two batch dimensions, and a bias that differs along both and the heads.
// RUN: fa-opt --explain %s | FileCheck %s
// RUN: fa-run %s --in 2x2x3x50x32 --in 2x2x3x70x32 --in 2x2x3x70x32 --in 2x2x3x50x70 --check | FileCheck %s --check-prefix=RAN
// CHECK: fused: softmax(Q Kᵀ) V is one attention
// RAN-NOT: not fused
// RAN: PASS

!q = tensor<?x?x3x?x32xf32>
!s = tensor<?x?x3x?x?xf32>
func.func @f(%q: !q, %k: !q, %v: !q, %b: !s) -> !q {
  %s = tile.dot %q, %k transpose_b : !q, !q -> !s
  %t = arith.addf %s, %b : !s
  %p = tile.softmax %t : !s
  %o = tile.dot %p, %v : !s, !q -> !q
  return %o : !q
}
