// What is computed as the gradient of a softmax between two dots becomes the gradients of an attention, where that is proved; what looks like it stays.
// RUN: fa-opt %s --tile-raise-gradients --canonicalize --split-input-file --verify-diagnostics | FileCheck %s

!q = tensor<2x40x16xf32>
!k = tensor<2x24x16xf32>
!s = tensor<2x40x24xf32>
!st = tensor<2x24x40xf32>
// CHECK-LABEL: func.func @gradients(
// CHECK-SAME: %[[Q:.*]]: tensor<2x40x16xf32>, %[[K:.*]]: tensor<2x24x16xf32>, %[[V:.*]]: tensor<2x24x16xf32>, %[[DO:.*]]: tensor<2x40x16xf32>)
// CHECK: %[[O:.*]], %[[LSE:.*]] = tile.attention
// CHECK: tile.attention_backward
// CHECK-NOT: tile.softmax
// CHECK-NOT: tile.dot
// CHECK: return
func.func @gradients(%q: !q, %k: !k, %v: !k, %do: !q) -> (!q, !k, !k) {
  %s = tile.dot %q, %k transpose_b : !q, !k -> !s
  %p = tile.softmax %s : !s
  %dp = tile.dot %do, %v transpose_b : !q, !k -> !s
  %x = arith.mulf %dp, %p : !s
  %r0 = tile.reduce add %x dim 2 : !s -> tensor<2x40xf32>
  %r1 = tile.expand_dims %r0 dim 2 : tensor<2x40xf32> -> tensor<2x40x1xf32>
  %r = tile.broadcast %r1 : tensor<2x40x1xf32> -> !s
  %d = arith.subf %dp, %r : !s
  %ds = arith.mulf %p, %d : !s
  %dq = tile.dot %ds, %k : !s, !k -> !q
  %dst = tile.transpose %ds [0, 2, 1] : !s -> !st
  %dk = tile.dot %dst, %q : !st, !q -> !k
  %pt = tile.transpose %p [0, 2, 1] : !s -> !st
  %dv = tile.dot %pt, %do : !st, !q -> !k
  return %dq, %dk, %dv : !q, !k, !k
}

// -----

!q = tensor<2x40x16xf32>
!k = tensor<2x24x16xf32>
!s = tensor<2x40x24xf32>
// The rows' sums have another sign: no gradient, of which nothing is said.
// CHECK-LABEL: func.func @other_sign(
// CHECK-NOT: tile.attention
// CHECK: return
func.func @other_sign(%q: !q, %k: !k, %v: !k, %do: !q) -> !q {
  %s = tile.dot %q, %k transpose_b : !q, !k -> !s
  %p = tile.softmax %s : !s
  %dp = tile.dot %do, %v transpose_b : !q, !k -> !s
  %x = arith.mulf %dp, %p : !s
  %r0 = tile.reduce add %x dim 2 : !s -> tensor<2x40xf32>
  %r1 = tile.expand_dims %r0 dim 2 : tensor<2x40xf32> -> tensor<2x40x1xf32>
  %r = tile.broadcast %r1 : tensor<2x40x1xf32> -> !s
  %d = arith.addf %dp, %r : !s
  %ds = arith.mulf %p, %d : !s
  %dq = tile.dot %ds, %k : !s, !k -> !q
  return %dq : !q
}

// -----

!q = tensor<2x40x16xf32>
!s = tensor<2x40x40xf32>
// Sums of columns, which a square matrix has as many of.
// CHECK-LABEL: func.func @columns(
// CHECK-NOT: tile.attention
// CHECK: return
func.func @columns(%q: !q, %k: !q, %v: !q, %do: !q) -> !q {
  %s = tile.dot %q, %k transpose_b : !q, !q -> !s
  %p = tile.softmax %s : !s
  %dp = tile.dot %do, %v transpose_b : !q, !q -> !s
  %x = arith.mulf %dp, %p : !s
  %r0 = tile.reduce add %x dim 1 : !s -> tensor<2x40xf32>
  %r1 = tile.expand_dims %r0 dim 2 : tensor<2x40xf32> -> tensor<2x40x1xf32>
  %r = tile.broadcast %r1 : tensor<2x40x1xf32> -> !s
  %d = arith.subf %dp, %r : !s
  %ds = arith.mulf %p, %d : !s
  %dq = tile.dot %ds, %k : !s, !q -> !q
  return %dq : !q
}

// -----

!q = tensor<2x40x16xf32>
!s = tensor<2x40x40xf32>
// The gradient of P is transposed, which the sizes do not show.
// CHECK-LABEL: func.func @turned(
// CHECK-NOT: tile.attention
// CHECK: return
func.func @turned(%q: !q, %k: !q, %v: !q, %do: !q) -> !q {
  %s = tile.dot %q, %k transpose_b : !q, !q -> !s
  %p = tile.softmax %s : !s
  %dp0 = tile.dot %do, %v transpose_b : !q, !q -> !s
  %dp = tile.transpose %dp0 [0, 2, 1] : !s -> !s
  %x0 = arith.mulf %dp0, %p : !s
  %r0 = tile.reduce add %x0 dim 2 : !s -> tensor<2x40xf32>
  %r1 = tile.expand_dims %r0 dim 2 : tensor<2x40xf32> -> tensor<2x40x1xf32>
  %r = tile.broadcast %r1 : tensor<2x40x1xf32> -> !s
  %d = arith.subf %dp, %r : !s
  %ds = arith.mulf %p, %d : !s
  %dq = tile.dot %ds, %k : !s, !q -> !q
  return %dq : !q
}

// -----

!q = tensor<2x40x16xf32>
!s = tensor<2x40x40xf32>
// A gradient is multiplied with other keys than the scores are computed from.
// CHECK-LABEL: func.func @other_keys(
// CHECK-NOT: tile.attention
// CHECK: return
func.func @other_keys(%q: !q, %k: !q, %v: !q, %do: !q) -> !q {
  %s = tile.dot %q, %k transpose_b : !q, !q -> !s
  // expected-remark @+1 {{gradients are computed as they are written: something else is computed from the probabilities, or from their gradient}}
  %p = tile.softmax %s : !s
  %dp = tile.dot %do, %v transpose_b : !q, !q -> !s
  %x = arith.mulf %dp, %p : !s
  %r0 = tile.reduce add %x dim 2 : !s -> tensor<2x40xf32>
  %r1 = tile.expand_dims %r0 dim 2 : tensor<2x40xf32> -> tensor<2x40x1xf32>
  %r = tile.broadcast %r1 : tensor<2x40x1xf32> -> !s
  %d = arith.subf %dp, %r : !s
  %ds = arith.mulf %p, %d : !s
  %dq = tile.dot %ds, %v : !s, !q -> !q
  return %dq : !q
}

// -----

!q = tensor<2x40x16xf32>
!k = tensor<2x24x16xf32>
!s = tensor<2x40x24xf32>
// The scores are modified, and the gradient is one of those after that.
// CHECK-LABEL: func.func @capped(
// CHECK-NOT: tile.attention
// CHECK: return
func.func @capped(%q: !q, %k: !k, %v: !k, %do: !q) -> !q {
  %s0 = tile.dot %q, %k transpose_b : !q, !k -> !s
  %s = math.tanh %s0 : !s
  // expected-remark @+1 {{gradients are computed as they are written: the scores are not a dot of queries and keys, times a constant, masked, with a bias}}
  %p = tile.softmax %s : !s
  %dp = tile.dot %do, %v transpose_b : !q, !k -> !s
  %x = arith.mulf %dp, %p : !s
  %r0 = tile.reduce add %x dim 2 : !s -> tensor<2x40xf32>
  %r1 = tile.expand_dims %r0 dim 2 : tensor<2x40xf32> -> tensor<2x40x1xf32>
  %r = tile.broadcast %r1 : tensor<2x40x1xf32> -> !s
  %d = arith.subf %dp, %r : !s
  %ds = arith.mulf %p, %d : !s
  %dq = tile.dot %ds, %k : !s, !k -> !q
  return %dq : !q
}

// -----

!q = tensor<2x40x16xf32>
!k = tensor<2x24x16xf32>
!s = tensor<2x40x24xf32>
!b = tensor<2x40x24xi1>
// Another mask than that of the scores.
// CHECK-LABEL: func.func @other_mask(
// CHECK-NOT: tile.attention
// CHECK: return
func.func @other_mask(%q: !q, %k: !k, %v: !k, %do: !q, %m: !b, %n: !b) -> !q {
  %low = arith.constant dense<-2.0e+38> : !s
  %none = arith.constant dense<0.0> : !s
  %s0 = tile.dot %q, %k transpose_b : !q, !k -> !s
  %s = arith.select %m, %s0, %low : !b, !s
  // expected-remark @+1 {{gradients are computed as they are written: the scores are not a dot of queries and keys}}
  %p = tile.softmax %s : !s
  %dp = tile.dot %do, %v transpose_b : !q, !k -> !s
  %x = arith.mulf %dp, %p : !s
  %r0 = tile.reduce add %x dim 2 : !s -> tensor<2x40xf32>
  %r1 = tile.expand_dims %r0 dim 2 : tensor<2x40xf32> -> tensor<2x40x1xf32>
  %r = tile.broadcast %r1 : tensor<2x40x1xf32> -> !s
  %d = arith.subf %dp, %r : !s
  %ds0 = arith.mulf %p, %d : !s
  %ds = arith.select %n, %ds0, %none : !b, !s
  %dq = tile.dot %ds, %k : !s, !k -> !q
  return %dq : !q
}

// -----

!q = tensor<2x40x16xf32>
!k = tensor<2x24x16xf32>
!s = tensor<2x40x24xf32>
// Scores times 1/4, and their gradient times 1/2: twice the gradient that the attention has.
// CHECK-LABEL: func.func @twice(
// CHECK: %[[TWO:.*]] = arith.constant dense<2.000000e+00> : tensor<2x40x16xf32>
// CHECK: tile.attention_backward
// CHECK: %[[TWICE:.*]] = arith.mulf %{{.*}}, %[[TWO]] :
// CHECK: return %[[TWICE]]
func.func @twice(%q: !q, %k: !k, %v: !k, %do: !q) -> !q {
  %quarter = arith.constant dense<0.25> : !s
  %half = arith.constant dense<0.5> : !s
  %dot = tile.dot %q, %k transpose_b : !q, !k -> !s
  %s = arith.mulf %dot, %quarter : !s
  %p = tile.softmax %s : !s
  %dp = tile.dot %do, %v transpose_b : !q, !k -> !s
  %x = arith.mulf %dp, %p : !s
  %r0 = tile.reduce add %x dim 2 : !s -> tensor<2x40xf32>
  %r1 = tile.expand_dims %r0 dim 2 : tensor<2x40xf32> -> tensor<2x40x1xf32>
  %r = tile.broadcast %r1 : tensor<2x40x1xf32> -> !s
  %d = arith.subf %dp, %r : !s
  %ds = arith.mulf %p, %d : !s
  %dx = arith.mulf %ds, %half : !s
  %dq = tile.dot %dx, %k : !s, !k -> !q
  return %dq : !q
}

// -----

!q = tensor<2x40x16xf32>
!k = tensor<2x24x16xf32>
!s = tensor<2x40x24xf32>
// The probabilities are a result, too: they are computed in any case.
// CHECK-LABEL: func.func @probabilities(
// CHECK-NOT: tile.attention
// CHECK: return
func.func @probabilities(%q: !q, %k: !k, %v: !k, %do: !q) -> (!q, !s) {
  %s = tile.dot %q, %k transpose_b : !q, !k -> !s
  // expected-remark @below {{gradients are computed as they are written: something else is computed from the probabilities, or from their gradient}}
  %p = tile.softmax %s : !s
  %dp = tile.dot %do, %v transpose_b : !q, !k -> !s
  %x = arith.mulf %dp, %p : !s
  %r0 = tile.reduce add %x dim 2 : !s -> tensor<2x40xf32>
  %r1 = tile.expand_dims %r0 dim 2 : tensor<2x40xf32> -> tensor<2x40x1xf32>
  %r = tile.broadcast %r1 : tensor<2x40x1xf32> -> !s
  %d = arith.subf %dp, %r : !s
  %ds = arith.mulf %p, %d : !s
  %dq = tile.dot %ds, %k : !s, !k -> !q
  return %dq, %p : !q, !s
}
