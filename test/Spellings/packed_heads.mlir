// Heads are packed in the last dimension, [B, S, H·D], as projections leave
// them.
// RUN: fa-opt --explain %s | FileCheck %s
// RUN: fa-run %s --in 2x50x96 --in 2x70x96 --in 2x70x96 --check | FileCheck %s --check-prefix=RAN
// CHECK: fused: softmax(Q Kᵀ) V is one attention
// RAN-NOT: not fused
// RAN: PASS

!in = tensor<2x?x96xf32>
!split = tensor<2x?x3x32xf32>
!head = tensor<2x3x?x32xf32>
!s = tensor<2x3x?x?xf32>
func.func @f(%q0: !in, %k0: !in, %v0: !in) -> !in {
  %c1 = arith.constant 1 : index
  %m = tensor.dim %q0, %c1 : !in
  %n = tensor.dim %k0, %c1 : !in
  %q1 = tensor.expand_shape %q0 [[0], [1], [2, 3]] output_shape [2, %m, 3, 32] : !in into !split
  %k1 = tensor.expand_shape %k0 [[0], [1], [2, 3]] output_shape [2, %n, 3, 32] : !in into !split
  %v1 = tensor.expand_shape %v0 [[0], [1], [2, 3]] output_shape [2, %n, 3, 32] : !in into !split
  %q = tile.transpose %q1 [0, 2, 1, 3] : !split -> !head
  %k = tile.transpose %k1 [0, 2, 1, 3] : !split -> !head
  %v = tile.transpose %v1 [0, 2, 1, 3] : !split -> !head
  %s = tile.dot %q, %k transpose_b : !head, !head -> !s
  %p = tile.softmax %s : !s
  %o = tile.dot %p, %v : !s, !head -> !head
  %ot = tile.transpose %o [0, 2, 1, 3] : !head -> !split
  %oc = tensor.collapse_shape %ot [[0], [1], [2, 3]] : !split into !in
  return %oc : !in
}
