// Views between dots and exponentials go to the operands of the dots, or behind them; what a dot cannot say stays.
// RUN: fa-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(tile-move-views))' | FileCheck %s
// Then these are attention, but for the last three.
// RUN: fa-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(tile-move-views),canonicalize,func.func(tile-raise-softmax,tile-fuse-attention))' | FileCheck %s --check-prefix=FUSED
// FUSED-COUNT-5: tile.attention
// FUSED-NOT: tile.attention

!s = tensor<2x24x4x40xf32>
!t = tensor<2x4x24x40xf32>
!r = tensor<2x4x24xf32>

// The rows change places with the heads; the maximum is of the transposed scores.
// CHECK-LABEL: func.func @transposed
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<2x24x4x16xf32>, %[[K:[a-z0-9]+]]: tensor<2x1x40x16xf32>
// CHECK-DAG: %[[QT:.*]] = tile.transpose %[[Q]] [0, 2, 1, 3]
// CHECK: %[[S:.*]] = tile.dot %[[QT]], %[[K]] transpose_b : {{.*}} -> tensor<2x4x24x40xf32>
// CHECK: %[[X:.*]] = arith.mulf %[[S]]
// CHECK: tile.reduce max %[[X]] dim 3
// CHECK-NOT: tile.transpose
// CHECK: return
func.func @transposed(%q: tensor<2x24x4x16xf32>, %k: tensor<2x1x40x16xf32>, %v: tensor<2x1x40x16xf32>) -> tensor<2x4x24x16xf32> {
  %s = tile.dot %q, %k transpose_b : tensor<2x24x4x16xf32>, tensor<2x1x40x16xf32> -> !s
  %half = arith.constant dense<0.5> : !s
  %x = arith.mulf %s, %half : !s
  %m = tile.reduce max %x dim 3 : !s -> tensor<2x24x4xf32>
  %mt = tile.transpose %m [0, 2, 1] : tensor<2x24x4xf32> -> !r
  %m1 = tile.expand_dims %mt dim 3 : !r -> tensor<2x4x24x1xf32>
  %mb = tile.broadcast %m1 : tensor<2x4x24x1xf32> -> !t
  %xt = tile.transpose %x [0, 2, 1, 3] : !s -> !t
  %d = arith.subf %xt, %mb : !t
  %e = math.exp %d : !t
  %l = tile.reduce add %e dim 3 : !t -> !r
  %l1 = tile.expand_dims %l dim 3 : !r -> tensor<2x4x24x1xf32>
  %lb = tile.broadcast %l1 : tensor<2x4x24x1xf32> -> !t
  %p = arith.divf %e, %lb : !t
  %o = tile.dot %p, %v : !t, tensor<2x1x40x16xf32> -> tensor<2x4x24x16xf32>
  return %o : tensor<2x4x24x16xf32>
}

// -----

// Probabilities are transposed back, and converted, before the dot with V.
// CHECK-LABEL: func.func @moved_behind
// CHECK: %[[P:.*]] = tile.softmax
// CHECK: %[[PH:.*]] = arith.truncf %[[P]] : tensor<3x2x24x40xf32> to tensor<3x2x24x40xbf16>
// CHECK: %[[O:.*]] = tile.dot %[[PH]], %{{.*}} : tensor<3x2x24x40xbf16>, tensor<3x2x40x16xbf16> -> tensor<3x2x24x16xf32>
// CHECK: tile.transpose %[[O]] [1, 0, 2, 3]
func.func @moved_behind(%q: tensor<3x2x24x16xbf16>, %k: tensor<3x2x40x16xbf16>, %v: tensor<2x3x40x16xbf16>) -> tensor<2x3x24x16xf32> {
  %s = tile.dot %q, %k transpose_b : tensor<3x2x24x16xbf16>, tensor<3x2x40x16xbf16> -> tensor<3x2x24x40xf32>
  %p = tile.softmax %s : tensor<3x2x24x40xf32>
  %t = tile.transpose %p [1, 0, 2, 3] : tensor<3x2x24x40xf32> -> tensor<2x3x24x40xf32>
  %h = arith.truncf %t : tensor<2x3x24x40xf32> to tensor<2x3x24x40xbf16>
  %o = tile.dot %h, %v : tensor<2x3x24x40xbf16>, tensor<2x3x40x16xbf16> -> tensor<2x3x24x16xf32>
  return %o : tensor<2x3x24x16xf32>
}

// -----

!q = tensor<2x24x16xf32>
!k = tensor<2x40x16xf32>
!s = tensor<2x24x40xf32>

// CHECK-LABEL: func.func @on_the_right
// CHECK-SAME: %{{.*}}: tensor<2x24x16xf32>, %{{.*}}: tensor<2x40x16xf32>, %[[V:[a-z0-9]+]]: tensor<2x16x40xf32>
// CHECK: %[[P:.*]] = tile.softmax
// CHECK: %[[O:.*]] = tile.dot %[[P]], %[[V]] transpose_b : {{.*}} -> tensor<2x24x16xf32>
// CHECK: tile.transpose %[[O]] [0, 2, 1]
func.func @on_the_right(%q: !q, %k: !k, %v: tensor<2x16x40xf32>) -> tensor<2x16x24xf32> {
  %s = tile.dot %q, %k transpose_b : !q, !k -> !s
  %p = tile.softmax %s : !s
  %o = tile.dot %v, %p transpose_b : tensor<2x16x40xf32>, !s -> tensor<2x16x24xf32>
  return %o : tensor<2x16x24xf32>
}

// -----

!q = tensor<2x24x16xf32>
!k = tensor<2x40x16xf32>

// K Qᵀ, transposed.
// CHECK-LABEL: func.func @keys_first
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<2x24x16xf32>, %[[K:[a-z0-9]+]]: tensor<2x40x16xf32>, %
// CHECK: %[[S:.*]] = tile.dot %[[Q]], %[[K]] transpose_b : {{.*}} -> tensor<2x24x40xf32>
// CHECK: tile.softmax %[[S]]
func.func @keys_first(%q: !q, %k: !k, %v: !k) -> !q {
  %s = tile.dot %k, %q transpose_b : !k, !q -> tensor<2x40x24xf32>
  %t = tile.transpose %s [0, 2, 1] : tensor<2x40x24xf32> -> tensor<2x24x40xf32>
  %p = tile.softmax %t : tensor<2x24x40xf32>
  %o = tile.dot %p, %v : tensor<2x24x40xf32>, !k -> !q
  return %o : !q
}

// -----

!q = tensor<2x4x24x16xf32>
!k = tensor<2x4x40x16xf32>

// Heads are collapsed for each dot alone.
// CHECK-LABEL: func.func @collapsed
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<2x4x24x16xf32>, %[[K:[a-z0-9]+]]: tensor<2x4x40x16xf32>, %[[V:[a-z0-9]+]]: tensor<2x4x40x16xf32>
// CHECK: tile.dot %[[Q]], %[[K]] transpose_b : {{.*}} -> tensor<2x4x24x40xf32>
// CHECK: %[[P:.*]] = tile.softmax
// CHECK: %[[O:.*]] = tile.dot %[[P]], %[[V]] : {{.*}} -> tensor<2x4x24x16xf32>
// CHECK: %[[C:.*]] = tensor.collapse_shape %[[O]]
// CHECK: tensor.expand_shape %[[C]]
func.func @collapsed(%q: !q, %k: !k, %v: !k) -> !q {
  %qc = tensor.collapse_shape %q [[0, 1], [2], [3]] : !q into tensor<8x24x16xf32>
  %kc = tensor.collapse_shape %k [[0, 1], [2], [3]] : !k into tensor<8x40x16xf32>
  %s = tile.dot %qc, %kc transpose_b : tensor<8x24x16xf32>, tensor<8x40x16xf32> -> tensor<8x24x40xf32>
  %h = arith.truncf %s : tensor<8x24x40xf32> to tensor<8x24x40xbf16>
  %e = tensor.expand_shape %h [[0, 1], [2], [3]] output_shape [2, 4, 24, 40] : tensor<8x24x40xbf16> into tensor<2x4x24x40xbf16>
  %w = arith.extf %e : tensor<2x4x24x40xbf16> to tensor<2x4x24x40xf32>
  %p = tile.softmax %w : tensor<2x4x24x40xf32>
  %pc = tensor.collapse_shape %p [[0, 1], [2], [3]] : tensor<2x4x24x40xf32> into tensor<8x24x40xf32>
  %vc = tensor.collapse_shape %v [[0, 1], [2], [3]] : !k into tensor<8x40x16xf32>
  %o = tile.dot %pc, %vc : tensor<8x24x40xf32>, tensor<8x40x16xf32> -> tensor<8x24x16xf32>
  %r = tensor.expand_shape %o [[0, 1], [2], [3]] output_shape [2, 4, 24, 16] : tensor<8x24x16xf32> into !q
  return %r : !q
}

// -----

// K is not shared along the dimension that the rows come from: each of its four heads meets all rows.
// CHECK-LABEL: func.func @not_shared
// CHECK: %[[S:.*]] = tile.dot %{{.*}}, %{{.*}} transpose_b : tensor<2x4x24x16xf32>, tensor<2x4x40x16xf32>
// CHECK: %[[T:.*]] = tile.transpose %[[S]] [0, 2, 1, 3]
// CHECK: tile.softmax %[[T]]
func.func @not_shared(%q: tensor<2x4x24x16xf32>, %k: tensor<2x4x40x16xf32>, %v: tensor<2x24x40x16xf32>) -> tensor<2x24x4x16xf32> {
  %s = tile.dot %q, %k transpose_b : tensor<2x4x24x16xf32>, tensor<2x4x40x16xf32> -> tensor<2x4x24x40xf32>
  %t = tile.transpose %s [0, 2, 1, 3] : tensor<2x4x24x40xf32> -> tensor<2x24x4x40xf32>
  %p = tile.softmax %t : tensor<2x24x4x40xf32>
  %o = tile.dot %p, %v : tensor<2x24x4x40xf32>, tensor<2x24x40x16xf32> -> tensor<2x24x4x16xf32>
  return %o : tensor<2x24x4x16xf32>
}

// -----

// A head of K is shared by two: as the left operand it would have to be repeated.
// CHECK-LABEL: func.func @shared_on_the_right
// CHECK: %[[S:.*]] = tile.dot %{{.*}}, %{{.*}} transpose_b : tensor<4x24x16xf32>, tensor<2x40x16xf32>
// CHECK: tile.transpose %[[S]] [0, 2, 1]
func.func @shared_on_the_right(%q: tensor<4x24x16xf32>, %k: tensor<2x40x16xf32>, %v: tensor<4x24x16xf32>) -> tensor<4x40x16xf32> {
  %s = tile.dot %q, %k transpose_b : tensor<4x24x16xf32>, tensor<2x40x16xf32> -> tensor<4x24x40xf32>
  %t = tile.transpose %s [0, 2, 1] : tensor<4x24x40xf32> -> tensor<4x40x24xf32>
  %p = tile.softmax %t : tensor<4x40x24xf32>
  %o = tile.dot %p, %v : tensor<4x40x24xf32>, tensor<4x24x16xf32> -> tensor<4x40x16xf32>
  return %o : tensor<4x40x16xf32>
}

// -----

// Nothing here is exponentiated: a projection's transpose stays where it is.
// CHECK-LABEL: func.func @no_scores
// CHECK: %[[S:.*]] = tile.dot
// CHECK: tile.transpose %[[S]] [1, 0]
func.func @no_scores(%x: tensor<24x16xf32>, %w: tensor<16x8xf32>) -> tensor<8x24xf32> {
  %s = tile.dot %x, %w : tensor<24x16xf32>, tensor<16x8xf32> -> tensor<24x8xf32>
  %t = tile.transpose %s [1, 0] : tensor<24x8xf32> -> tensor<8x24xf32>
  return %t : tensor<8x24xf32>
}
