// RUN: fa-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(tile-fuse-attention))' --verify-diagnostics | FileCheck %s
// What is refused is left as it was.

!t = tensor<2x4x16x16xf32>

// CHECK-LABEL: func.func @two_readers
// CHECK: tile.softmax
func.func @two_readers(%q: !t, %k: !t, %v: !t) -> (!t, !t) {
  %s = tile.dot %q, %k transpose_b : !t, !t -> !t
  // expected-remark @+1 {{attention is not fused: the probabilities are read by more than one operation}}
  %p = tile.softmax %s : !t
  %o = tile.dot %p, %v : !t, !t -> !t
  return %o, %p : !t, !t
}

// -----

!t = tensor<2x4x16x16xf32>

// CHECK-LABEL: func.func @scores_used
// CHECK: tile.softmax
func.func @scores_used(%q: !t, %k: !t, %v: !t) -> (!t, !t) {
  %s = tile.dot %q, %k transpose_b : !t, !t -> !t
  // expected-remark @+1 {{attention is not fused: the scores are read by another operation than the softmax}}
  %p = tile.softmax %s : !t
  %o = tile.dot %p, %v : !t, !t -> !t
  return %o, %s : !t, !t
}

// -----

!t = tensor<2x4x16x16xf32>

// CHECK-LABEL: func.func @other_dimension
// CHECK: tile.softmax
func.func @other_dimension(%q: !t, %k: !t, %v: !t) -> !t {
  %s = tile.dot %q, %k transpose_b : !t, !t -> !t
  // expected-remark @+1 {{attention is not fused: the softmax is not over the last dimension}}
  %p = tile.softmax %s dim 2 : !t
  %o = tile.dot %p, %v : !t, !t -> !t
  return %o : !t
}

// -----

!t = tensor<2x4x16x16xf32>

// CHECK-LABEL: func.func @no_dot
// CHECK: tile.softmax
func.func @no_dot(%s: !t, %v: !t) -> !t {
  // expected-remark @+1 {{attention is not fused: the scores do not come from a tile.dot through elementwise operations}}
  %p = tile.softmax %s : !t
  %o = tile.dot %p, %v : !t, !t -> !t
  return %o : !t
}

// -----

!t = tensor<4x4x16x16xf32>
!k = tensor<2x4x16x16xf32>

// CHECK-LABEL: func.func @shared_by_batches
// CHECK: tile.softmax
func.func @shared_by_batches(%q: !t, %k: !k, %v: !k) -> !t {
  %s = tile.dot %q, %k transpose_b : !t, !k -> !t
  // expected-remark @+1 {{attention is not fused: K is shared along dimension 0, which is not the heads'}}
  %p = tile.softmax %s : !t
  %o = tile.dot %p, %v : !t, !k -> !t
  return %o : !t
}

// -----

!t = tensor<2x4x16x16xf32>

// CHECK-LABEL: func.func @sink_of_rows
// CHECK: tile.softmax
func.func @sink_of_rows(%q: !t, %k: !t, %v: !t, %x: tensor<2x4x16xf32>) -> !t {
  %s = tile.dot %q, %k transpose_b : !t, !t -> !t
  // expected-remark @+1 {{attention is not fused: the sink is not one number for each head}}
  %p = tile.softmax %s sink %x : !t, tensor<2x4x16xf32>
  %o = tile.dot %p, %v : !t, !t -> !t
  return %o : !t
}

// -----

!t = tensor<2x4x16x16xf32>
!h = tensor<2x4x16x16xf16>

// CHECK-LABEL: func.func @wide_probabilities
// CHECK: tile.softmax
func.func @wide_probabilities(%q: !h, %k: !h, %v: !h) -> !t {
  %s = tile.dot %q, %k transpose_b : !h, !h -> !t
  // expected-remark @+1 {{attention is not fused: the probabilities and V have different element types}}
  %p = tile.softmax %s : !t
  %o = tile.dot %p, %v : !t, !h -> !t
  return %o : !t
}

// -----

!t = tensor<2x4x16x16xf32>

// CHECK-LABEL: func.func @other_block
// CHECK: tile.softmax
func.func @other_block(%c: i1, %q: !t, %k: !t, %v: !t) -> !t {
  %s = tile.dot %q, %k transpose_b : !t, !t -> !t
  // expected-remark @+1 {{attention is not fused: the dot with V is in another block than the softmax}}
  %p = tile.softmax %s : !t
  %r = scf.if %c -> !t {
    %o = tile.dot %p, %v : !t, !t -> !t
    scf.yield %o : !t
  } else {
    scf.yield %q : !t
  }
  return %r : !t
}

// -----

!t = tensor<2x4x16x16xf32>
!r = tensor<2x4x16xf32>

// CHECK-LABEL: func.func @v_from_lse
// CHECK: tile.softmax
func.func @v_from_lse(%q: !t, %k: !t) -> (!t, !r) {
  %s = tile.dot %q, %k transpose_b : !t, !t -> !t
  // expected-remark @+1 {{attention is not fused: V is computed from the log-sum-exp}}
  %p = tile.softmax %s : !t
  %l = tile.log_sum_exp %s : !t -> !r
  %e = tile.expand_dims %l dim 3 : !r -> tensor<2x4x16x1xf32>
  %v = tile.broadcast %e : tensor<2x4x16x1xf32> -> !t
  %o = tile.dot %p, %v : !t, !t -> !t
  return %o, %l : !t, !r
}

// -----

!t = tensor<2x4x16x16xf32>

// CHECK-LABEL: func.func @transposed_scores
// CHECK: tile.softmax
func.func @transposed_scores(%q: !t, %k: !t, %v: !t) -> !t {
  %s = tile.dot %q, %k transpose_b : !t, !t -> !t
  %t = tile.transpose %s [0, 1, 3, 2] : !t -> !t
  %u = arith.addf %s, %t : !t
  // expected-remark @+1 {{attention is not fused: 'tile.dot' between the dot and the softmax is not elementwise}}
  %p = tile.softmax %u : !t
  %o = tile.dot %p, %v : !t, !t -> !t
  return %o : !t
}

// -----

!t = tensor<2x4x16x16xf32>

// CHECK-LABEL: func.func @two_precisions
// CHECK: tile.softmax
func.func @two_precisions(%q: !t, %k: !t, %v: !t) -> !t {
  %s = tile.dot %q, %k transpose_b precision tf32 : !t, !t -> !t
  // expected-remark @+1 {{attention is not fused: its dots are of different precision, tf32 and ieee}}
  %p = tile.softmax %s : !t
  %o = tile.dot %p, %v : !t, !t -> !t
  return %o : !t
}

// -----

!t = tensor<2x4x16x16xf32>

// A mask of the probabilities that is given is no dropout that is known.
// CHECK-LABEL: func.func @dropout_by_hand
// CHECK: tile.softmax
func.func @dropout_by_hand(%q: !t, %k: !t, %v: !t, %kept: !t) -> !t {
  %s = tile.dot %q, %k transpose_b : !t, !t -> !t
  // expected-remark @+1 {{attention is not fused: the probabilities are not the left operand of a tile.dot}}
  %p = tile.softmax %s : !t
  %z = arith.mulf %p, %kept : !t
  %o = tile.dot %z, %v : !t, !t -> !t
  return %o : !t
}

// -----

!t = tensor<2x4x16x16xf32>

// CHECK-LABEL: func.func @dropout_read_twice
// CHECK: tile.softmax
func.func @dropout_read_twice(%q: !t, %k: !t, %v: !t, %rng: tensor<2xi64>) -> (!t, !t) {
  %s = tile.dot %q, %k transpose_b : !t, !t -> !t
  // expected-remark @+1 {{attention is not fused: the probabilities are read by more than one operation}}
  %p = tile.softmax %s : !t
  %z = tile.dropout %p rng %rng probability 0.1 : !t, tensor<2xi64>
  %o = tile.dot %z, %v : !t, !t -> !t
  return %o, %z : !t, !t
}
