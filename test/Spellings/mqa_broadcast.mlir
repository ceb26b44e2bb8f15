// One KV head, broadcast to all.
// RUN: fa-opt --explain %s | FileCheck %s
// RUN: fa-run %s --in 2x6x50x32 --in 2x1x70x32 --in 2x1x70x32 --check | FileCheck %s --check-prefix=RAN
// CHECK: fused: softmax(Q Kᵀ) V is one attention
// CHECK: K tensor<2x1x70x32xf32>
// RAN-NOT: not fused
// RAN: PASS

!q = tensor<2x6x50x32xf32>
!k = tensor<2x1x70x32xf32>
!kr = tensor<2x6x70x32xf32>
!s = tensor<2x6x50x70xf32>
func.func @f(%q: !q, %k0: !k, %v0: !k) -> !q {
  %k = tile.broadcast %k0 : !k -> !kr
  %v = tile.broadcast %v0 : !k -> !kr
  %s = tile.dot %q, %k transpose_b : !q, !kr -> !s
  %p = tile.softmax %s : !s
  %o = tile.dot %p, %v : !s, !kr -> !q
  return %o : !q
}
