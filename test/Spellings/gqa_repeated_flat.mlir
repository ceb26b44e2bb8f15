// K and V are repeated for each query head of a group, and batches and heads
// are one dimension: as batch_matmul wants them. Both at once, or one after the
// other.
// RUN: fa-opt --explain %s | FileCheck %s
// RUN: fa-run %s --entry=at_once --in 2x6x50x32 --in 2x3x70x32 --in 2x3x70x32 --check | FileCheck %s --check-prefix=RAN
// RUN: fa-run %s --entry=in_turn --in 2x6x50x32 --in 2x3x70x32 --in 2x3x70x32 --check | FileCheck %s --check-prefix=RAN
// CHECK-COUNT-2: K tensor<1x6x70x32xf32>
// RAN-NOT: not fused
// RAN: PASS

!q = tensor<2x6x50x32xf32>
!k = tensor<2x3x70x32xf32>
!e = tensor<2x3x1x70x32xf32>
!w = tensor<2x3x2x70x32xf32>
!kr = tensor<2x6x70x32xf32>
!qf = tensor<12x50x32xf32>
!kf = tensor<12x70x32xf32>
!s = tensor<12x50x70xf32>
func.func @at_once(%q0: !q, %k0: !k, %v0: !k) -> !q {
  %k1 = tile.expand_dims %k0 dim 2 : !k -> !e
  %k2 = tile.broadcast %k1 : !e -> !w
  %k = tensor.collapse_shape %k2 [[0, 1, 2], [3], [4]] : !w into !kf
  %v1 = tensor.expand_shape %v0 [[0], [1, 2], [3], [4]] output_shape [2, 3, 1, 70, 32] : !k into !e
  %v2 = tile.broadcast %v1 : !e -> !w
  %v = tensor.collapse_shape %v2 [[0, 1, 2], [3], [4]] : !w into !kf
  %q = tensor.collapse_shape %q0 [[0, 1], [2], [3]] : !q into !qf
  %s = tile.dot %q, %k transpose_b : !qf, !kf -> !s
  %p = tile.softmax %s : !s
  %o = tile.dot %p, %v : !s, !kf -> !qf
  %r = tensor.expand_shape %o [[0, 1], [2], [3]] output_shape [2, 6, 50, 32] : !qf into !q
  return %r : !q
}

func.func @in_turn(%q0: !q, %k0: !k, %v0: !k) -> !q {
  %k1 = tile.expand_dims %k0 dim 2 : !k -> !e
  %k2 = tile.broadcast %k1 : !e -> !w
  %k3 = tensor.collapse_shape %k2 [[0], [1, 2], [3], [4]] : !w into !kr
  %k = tensor.collapse_shape %k3 [[0, 1], [2], [3]] : !kr into !kf
  %v1 = tile.expand_dims %v0 dim 2 : !k -> !e
  %v2 = tile.broadcast %v1 : !e -> !w
  %v3 = tensor.collapse_shape %v2 [[0], [1, 2], [3], [4]] : !w into !kr
  %v = tensor.collapse_shape %v3 [[0, 1], [2], [3]] : !kr into !kf
  %q = tensor.collapse_shape %q0 [[0, 1], [2], [3]] : !q into !qf
  %s = tile.dot %q, %k transpose_b : !qf, !kf -> !s
  %p = tile.softmax %s : !s
  %o = tile.dot %p, %v : !s, !kf -> !qf
  %r = tensor.expand_shape %o [[0, 1], [2], [3]] output_shape [2, 6, 50, 32] : !qf into !q
  return %r : !q
}

// Batches repeated among heads that are not the last of their dimension are no
// groups of heads: the repetition is a kernel of its own, and what is computed is right.
// RUN: fa-run %s --entry=other --in 2x6x50x32 --in 3x70x32 --in 3x70x32 --check | FileCheck %s --check-prefix=OTHER
// OTHER: kernel   @other_rest
// OTHER: PASS
func.func @other(%q0: !q, %k0: tensor<3x70x32xf32>, %v0: tensor<3x70x32xf32>) -> !q {
  %k1 = tile.expand_dims %k0 dim 0 : tensor<3x70x32xf32> -> tensor<1x3x70x32xf32>
  %k2 = tile.broadcast %k1 : tensor<1x3x70x32xf32> -> tensor<4x3x70x32xf32>
  %k = tensor.collapse_shape %k2 [[0, 1], [2], [3]] : tensor<4x3x70x32xf32> into !kf
  %v1 = tile.expand_dims %v0 dim 0 : tensor<3x70x32xf32> -> tensor<1x3x70x32xf32>
  %v2 = tile.broadcast %v1 : tensor<1x3x70x32xf32> -> tensor<4x3x70x32xf32>
  %v = tensor.collapse_shape %v2 [[0, 1], [2], [3]] : tensor<4x3x70x32xf32> into !kf
  %q = tensor.collapse_shape %q0 [[0, 1], [2], [3]] : !q into !qf
  %s = tile.dot %q, %k transpose_b : !qf, !kf -> !s
  %p = tile.softmax %s : !s
  %o = tile.dot %p, %v : !s, !kf -> !qf
  %r = tensor.expand_shape %o [[0, 1], [2], [3]] output_shape [2, 6, 50, 32] : !qf into !q
  return %r : !q
}
