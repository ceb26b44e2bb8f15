// Query heads as [hkv, g]; K and V have a dimension of 1 in their place.
// RUN: fa-opt --explain %s | FileCheck %s
// RUN: fa-run %s --in 2x3x4x50x32 --in 2x3x1x70x32 --in 2x3x1x70x32 --check | FileCheck %s --check-prefix=RAN
// CHECK: fused: softmax(Q Kᵀ) V is one attention
// RAN-NOT: not fused
// RAN: PASS

!q = tensor<?x?x?x?x32xf32>
!k = tensor<?x?x1x?x32xf32>
!s = tensor<?x?x?x?x?xf32>
func.func @f(%q: !q, %k: !k, %v: !k) -> !q {
  %s = tile.dot %q, %k transpose_b : !q, !k -> !s
  %p = tile.softmax %s : !s
  %o = tile.dot %p, %v : !s, !k -> !q
  return %o : !q
}
