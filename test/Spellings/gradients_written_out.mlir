// Gradients of an attention written out are its kernels for gradients, in whatever form the derivative of the softmax is.
// RUN: fa-opt --explain %s | FileCheck %s
// CHECK: fused: softmax(Q Kᵀ) V is one attention
// CHECK: gradients of an attention: dQ dK dV
// CHECK: gradients of an attention: dQ dK dV
// CHECK: gradients of an attention: dQ dK
// CHECK: gradients of an attention: dQ
// CHECK: gradients of an attention: dQ
// CHECK: 5 fused, 0 not
// RUN: fa-run %s --entry=plain --in 1x2x40x16 --in 1x2x24x16 --in 1x2x24x16 --in 1x2x40x16 --check --target=cpu | FileCheck %s --check-prefixes=RAN,KERNELS
// KERNELS: kernel   @plain_attention, grid
// KERNELS: kernel   @plain_attention_0{{.*}}, after the one above
// RUN: fa-run %s --entry=masked --in 1x2x40x16 --in 1x2x40x16 --in 1x2x40x16 --in 1x2x40x16 --check --target=cpu | FileCheck %s --check-prefix=PART
// RUN: fa-run %s --entry=biased --in 2x40x16 --in 2x24x16 --in 2x24x16 --in 2x40x24 --in 2x40x16 --check --target=cpu | FileCheck %s --check-prefix=RAN
// RUN: fa-run %s --entry=queries --in 1x2x40x16 --in 1x2x24x16 --in 1x2x24x8 --in 1x2x40x8 --check --target=cpu | FileCheck %s --check-prefix=RAN
// RUN: fa-run %s --entry=projected --in 40x8 --in 8x16 --in 40x16 --in 40x16 --check --target=cpu | FileCheck %s --check-prefix=PART
// RAN-NOT: not fused
// RAN: PASS
// RAN-NOT: FAIL
// PART-DAG: kernel   @{{masked|projected}}_attention,
// PART-DAG: kernel   @{{masked|projected}}_attention_0
// PART-DAG: kernel   @{{masked|projected}}_rest
// PART-NOT: not fused
// PART: PASS
// PART-NOT: FAIL

!q = tensor<1x2x40x16xf32>
!k = tensor<1x2x24x16xf32>
!s = tensor<1x2x40x24xf32>
!st = tensor<1x2x24x40xf32>
!row = tensor<1x2x40xf32>
!col = tensor<1x2x40x1xf32>
// P ∘ (dP − Σ dP ∘ P), as in a paper.
func.func @plain(%q: !q, %k: !k, %v: !k, %do: !q) -> (!q, !k, !k) {
  %c = arith.constant dense<0.25> : !s
  %s0 = tile.dot %q, %k transpose_b : !q, !k -> !s
  %s = arith.mulf %s0, %c : !s
  %p = tile.softmax %s : !s
  %dp = tile.dot %do, %v transpose_b : !q, !k -> !s
  %x = arith.mulf %dp, %p : !s
  %r0 = tile.reduce add %x dim 3 : !s -> !row
  %r1 = tile.expand_dims %r0 dim 3 : !row -> !col
  %r = tile.broadcast %r1 : !col -> !s
  %d = arith.subf %dp, %r : !s
  %ds = arith.mulf %p, %d : !s
  %dx = arith.mulf %ds, %c : !s
  %dq = tile.dot %dx, %k : !s, !k -> !q
  %dxt = tile.transpose %dx [0, 1, 3, 2] : !s -> !st
  %dk = tile.dot %dxt, %q : !st, !q -> !k
  %pt = tile.transpose %p [0, 1, 3, 2] : !s -> !st
  %dv = tile.dot %pt, %do : !st, !q -> !k
  return %dq, %dk, %dv : !q, !k, !k
}

!qs = tensor<1x2x40x40xf32>
!b = tensor<1x2x40x40xi1>
// With exponentials and their sums, a finite mask, the scale where the gradient is multiplied with keys, and the output beside it, of which the gradients read a copy.
func.func @masked(%q: !q, %k: !q, %v: !q, %do: !q) -> (!q, !q, !q, !q) {
  %c = arith.constant dense<0.25> : !qs
  %i = tile.iota dim 2 : tensor<1x2x40x40xindex>
  %j = tile.iota dim 3 : tensor<1x2x40x40xindex>
  %seen = arith.cmpi sle, %j, %i : tensor<1x2x40x40xindex>
  %low = arith.constant dense<-2.0e+38> : !qs
  %none = arith.constant dense<0.0> : !qs
  %s0 = tile.dot %q, %k transpose_b : !q, !q -> !qs
  %s1 = arith.mulf %s0, %c : !qs
  %s = arith.select %seen, %s1, %low : !b, !qs
  %m0 = tile.reduce max %s dim 3 : !qs -> !row
  %m1 = tile.expand_dims %m0 dim 3 : !row -> !col
  %m = tile.broadcast %m1 : !col -> !qs
  %t = arith.subf %s, %m : !qs
  %e = math.exp %t : !qs
  %l0 = tile.reduce add %e dim 3 : !qs -> !row
  %l1 = tile.expand_dims %l0 dim 3 : !row -> !col
  %l = tile.broadcast %l1 : !col -> !qs
  %p = arith.divf %e, %l : !qs
  %o = tile.dot %p, %v : !qs, !q -> !q
  %dp = tile.dot %do, %v transpose_b : !q, !q -> !qs
  %y = arith.divf %dp, %l : !qs
  %l2 = arith.mulf %l, %l : !qs
  %z0 = arith.mulf %dp, %e : !qs
  %z1 = arith.divf %z0, %l2 : !qs
  %r0 = tile.reduce add %z1 dim 3 : !qs -> !row
  %r1 = arith.negf %r0 : !row
  %r2 = tile.expand_dims %r1 dim 3 : !row -> !col
  %r = tile.broadcast %r2 : !col -> !qs
  %d = arith.addf %y, %r : !qs
  %ds0 = arith.mulf %d, %e : !qs
  %ds = arith.select %seen, %ds0, %none : !b, !qs
  %dq0 = tile.dot %ds, %k : !qs, !q -> !q
  %cq = arith.constant dense<0.25> : !q
  %dq = arith.mulf %dq0, %cq : !q
  %dx = arith.mulf %ds, %c : !qs
  %dxt = tile.transpose %dx [0, 1, 3, 2] : !qs -> !qs
  %dk = tile.dot %dxt, %q : !qs, !q -> !q
  %pt = tile.transpose %p [0, 1, 3, 2] : !qs -> !qs
  %dv = tile.dot %pt, %do : !qs, !q -> !q
  return %o, %dq, %dk, %dv : !q, !q, !q, !q
}

!q3 = tensor<2x40x16xf32>
!k3 = tensor<2x24x16xf32>
!s3 = tensor<2x40x24xf32>
!st3 = tensor<2x24x40xf32>
// A bias of which no gradient is wanted, and dQ's transpose computed as Kᵀ dSᵀ.
func.func @biased(%q: !q3, %k: !k3, %v: !k3, %bias: !s3, %do: !q3) -> (tensor<2x16x40xf32>, !k3) {
  %s0 = tile.dot %q, %k transpose_b : !q3, !k3 -> !s3
  %s = arith.addf %s0, %bias : !s3
  %p = tile.softmax %s : !s3
  %dp = tile.dot %do, %v transpose_b : !q3, !k3 -> !s3
  %x = arith.mulf %dp, %p : !s3
  %r0 = tile.reduce add %x dim 2 : !s3 -> tensor<2x40xf32>
  %r1 = tile.expand_dims %r0 dim 2 : tensor<2x40xf32> -> tensor<2x40x1xf32>
  %r = tile.broadcast %r1 : tensor<2x40x1xf32> -> !s3
  %pr = arith.mulf %p, %r : !s3
  %ds = arith.subf %x, %pr : !s3
  %kt = tile.transpose %k [0, 2, 1] : !k3 -> tensor<2x16x24xf32>
  %dqt = tile.dot %kt, %ds transpose_b : tensor<2x16x24xf32>, !s3 -> tensor<2x16x40xf32>
  %dst = tile.transpose %ds [0, 2, 1] : !s3 -> !st3
  %dk = tile.dot %dst, %q : !st3, !q3 -> !k3
  return %dqt, %dk : tensor<2x16x40xf32>, !k3
}

!v8 = tensor<1x2x24x8xf32>
!o8 = tensor<1x2x40x8xf32>
// One gradient alone, values of another head dimension.
func.func @queries(%q: !q, %k: !k, %v: !v8, %do: !o8) -> !q {
  %s = tile.dot %q, %k transpose_b : !q, !k -> !s
  %p = tile.softmax %s : !s
  %dp = tile.dot %do, %v transpose_b : !o8, !v8 -> !s
  %x = arith.mulf %dp, %p : !s
  %r0 = tile.reduce add %x dim 3 : !s -> !row
  %r1 = tile.expand_dims %r0 dim 3 : !row -> !col
  %r = tile.broadcast %r1 : !col -> !s
  %d = arith.subf %dp, %r : !s
  %ds = arith.mulf %p, %d : !s
  %dq = tile.dot %ds, %k : !s, !k -> !q
  return %dq : !q
}

!x2 = tensor<40x8xf32>
!w2 = tensor<8x16xf32>
!t2 = tensor<40x16xf32>
!s2 = tensor<40x40xf32>
// The gradient of a weight that the queries are computed with.
func.func @projected(%x: !x2, %w: !w2, %k: !t2, %do: !t2) -> !w2 {
  %q = tile.dot %x, %w : !x2, !w2 -> !t2
  %s = tile.dot %q, %k transpose_b : !t2, !t2 -> !s2
  %scale = arith.constant dense<0.25> : !s2
  %scaled = arith.mulf %s, %scale : !s2
  %p = tile.softmax %scaled : !s2
  %dp = tile.dot %do, %k transpose_b : !t2, !t2 -> !s2
  %y = arith.mulf %dp, %p : !s2
  %r0 = tile.reduce add %y dim 1 : !s2 -> tensor<40xf32>
  %r1 = tile.expand_dims %r0 dim 1 : tensor<40xf32> -> tensor<40x1xf32>
  %r = tile.broadcast %r1 : tensor<40x1xf32> -> !s2
  %d = arith.subf %dp, %r : !s2
  %ds = arith.mulf %p, %d : !s2
  %dx = arith.mulf %ds, %scale : !s2
  %dq = tile.dot %dx, %k : !s2, !t2 -> !t2
  %xt = tile.transpose %x [1, 0] : !x2 -> tensor<8x40xf32>
  %dw = tile.dot %xt, %dq : tensor<8x40xf32>, !t2 -> !w2
  return %dw : !w2
}
