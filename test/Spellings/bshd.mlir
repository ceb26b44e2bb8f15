// [B, S, H, D] with transposes around, dynamic sizes.
// RUN: fa-opt --explain %s | FileCheck %s
// RUN: fa-run %s --in 2x50x3x32 --in 2x70x3x32 --in 2x70x3x32 --check | FileCheck %s --check-prefix=RAN
// CHECK: fused: softmax(Q Kᵀ) V is one attention
// RAN-NOT: not fused
// RAN: PASS

!in = tensor<?x?x?x32xf32>
!s = tensor<?x?x?x?xf32>
func.func @f(%q0: !in, %k0: !in, %v0: !in) -> !in {
  %q = tile.transpose %q0 [0, 2, 1, 3] : !in -> !in
  %k = tile.transpose %k0 [0, 2, 1, 3] : !in -> !in
  %v = tile.transpose %v0 [0, 2, 1, 3] : !in -> !in
  %s = tile.dot %q, %k transpose_b : !in, !in -> !s
  %p = tile.softmax %s : !s
  %o = tile.dot %p, %v : !s, !in -> !in
  %ot = tile.transpose %o [0, 2, 1, 3] : !in -> !in
  return %ot : !in
}
