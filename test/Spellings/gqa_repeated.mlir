// K and V are repeated for each query head of a group: expand, broadcast,
// collapse.
// RUN: fa-opt --explain %s | FileCheck %s
// RUN: fa-run %s --in 2x6x50x32 --in 2x3x70x32 --in 2x3x70x32 --check | FileCheck %s --check-prefix=RAN
// CHECK: fused: softmax(Q Kᵀ) V is one attention
// CHECK: K tensor<2x3x70x32xf32>
// RAN-NOT: not fused
// RAN: PASS

!q = tensor<2x6x50x32xf32>
!k = tensor<2x3x70x32xf32>
!e = tensor<2x3x1x70x32xf32>
!w = tensor<2x3x2x70x32xf32>
!kr = tensor<2x6x70x32xf32>
!s = tensor<2x6x50x70xf32>
func.func @f(%q: !q, %k0: !k, %v0: !k) -> !q {
  %k1 = tile.expand_dims %k0 dim 2 : !k -> !e
  %k2 = tile.broadcast %k1 : !e -> !w
  %k = tensor.collapse_shape %k2 [[0], [1, 2], [3], [4]] : !w into !kr
  %v1 = tensor.expand_shape %v0 [[0], [1, 2], [3], [4]] output_shape [2, 3, 1, 70, 32] : !k into !e
  %v2 = tile.broadcast %v1 : !e -> !w
  %v = tensor.collapse_shape %v2 [[0], [1, 2], [3], [4]] : !w into !kr
  %s = tile.dot %q, %k transpose_b : !q, !kr -> !s
  %p = tile.softmax %s : !s
  %o = tile.dot %p, %v : !s, !kr -> !q
  return %o : !q
}
