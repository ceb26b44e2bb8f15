// Functions become their vector-Jacobian products.
// RUN: fa-opt %s --split-input-file --verify-diagnostics --tile-differentiate --canonicalize --cse | FileCheck %s

!t = tensor<?x?x?x64xf16>
!l = tensor<?x?x?xf32>
// The arguments, the results as they were computed, the cotangents; gradients
// in the order that was asked for.
// CHECK-LABEL: func.func @all
// CHECK-SAME: (%[[Q:[^:]*]]: [[T:[^,]*]], %[[K:[^:]*]]: [[T]], %[[V:[^:]*]]: [[T]], %[[C:[^:]*]]: f32, %[[O:[^:]*]]: [[T]], %[[L:[^:]*]]: tensor<?x?x?xf32>, %[[DO:[^:]*]]: [[T]])
// CHECK-SAME: -> ([[T]], [[T]], [[T]]) {
// CHECK-NOT: tile.attention %
// CHECK: %[[DQ:.*]], %[[DK:.*]], %[[DV:.*]] = tile.attention_backward %[[Q]], %[[K]], %[[V]], %[[O]], %[[L]], %[[DO]] scale %[[C]]
// CHECK: score {
// CHECK: } mask {
// CHECK: } derivative {
// CHECK: return %[[DV]], %[[DQ]], %[[DK]]
func.func @all(%q: !t, %k: !t, %v: !t, %c: f32) -> (!t, !l)
    attributes {tile.vjp_wrt = array<i64: 2, 0, 1>, tile.vjp_of = array<i64: 0>} {
  %o, %lse = tile.attention %q, %k, %v scale %c : !t, !t, !t -> !t lse !l score {} mask {}
  return %o, %lse : !t, !l
}
// -----
!t = tensor<?x?x?x64xf16>
!l = tensor<?x?x?xf32>
// What is not wanted is not computed; the log-sum-exp has a gradient, too.
// CHECK-LABEL: func.func @keys
// CHECK-SAME: %[[DO:[^:]*]]: tensor<?x?x?x64xf16>, %[[DL:[^:]*]]: tensor<?x?x?xf32>)
// CHECK: %[[DK:.*]] = tile.attention_backward
// CHECK-SAME: %[[DO]] dlse %[[DL]] : tensor<?x?x?xf32> scale
// CHECK-SAME: dk tensor<?x?x?x64xf16> score
// CHECK: return %[[DK]]
func.func @keys(%q: !t, %k: !t, %v: !t, %c: f32) -> (!t, !l)
    attributes {tile.vjp_wrt = array<i64: 1>} {
  %o, %lse = tile.attention %q, %k, %v scale %c : !t, !t, !t -> !t lse !l score {} mask {}
  return %o, %lse : !t, !l
}
// -----
!t = tensor<?x?x?x64xf32>
!b = tensor<?x?x64x?xf32>
!l = tensor<?x?x?xf32>
// Transposes of the arguments and of the results are undone.
// CHECK-LABEL: func.func @views
// CHECK-SAME: %[[O:[^:]*]]: tensor<?x?x?x64xf32>, %[[L:[^:]*]]: tensor<?x?x?xf32>, %[[DO:[^:]*]]: tensor<?x?x?x64xf32>)
// CHECK-DAG: %[[OT:.*]] = tile.transpose %[[O]] [0, 2, 1, 3]
// CHECK-DAG: %[[DOT:.*]] = tile.transpose %[[DO]] [0, 2, 1, 3]
// CHECK: %[[DQ:.*]] = tile.attention_backward {{.*}} %[[OT]], %[[L]], %[[DOT]]
// CHECK: %[[R:.*]] = tile.transpose %[[DQ]] [0, 2, 1, 3]
// CHECK: return %[[R]]
func.func @views(%q: !t, %k: !t, %v: !t, %c: f32) -> (!t, !l)
    attributes {tile.vjp_wrt = array<i64: 0>, tile.vjp_of = array<i64: 0>} {
  %qt = tile.transpose %q [0, 2, 1, 3] : !t -> !t
  %kt = tile.transpose %k [0, 2, 1, 3] : !t -> !t
  %vt = tile.transpose %v [0, 2, 1, 3] : !t -> !t
  %o, %lse = tile.attention %qt, %kt, %vt scale %c : !t, !t, !t -> !t lse !l score {} mask {}
  %ot = tile.transpose %o [0, 2, 1, 3] : !t -> !t
  return %ot, %lse : !t, !l
}
// -----
!t = tensor<?x?x?x64xf16>
!l = tensor<?x?x?xf32>
// The derivative of a cap; an added bias and a mask have 1, so that no region is left.
// CHECK-LABEL: func.func @cap
// CHECK: derivative {
// CHECK: %[[Y:.*]] = math.tanh
// CHECK: %[[Y2:.*]] = arith.mulf %[[Y]], %[[Y]]
// CHECK: arith.subf %{{.*}}, %[[Y2]]
func.func @cap(%q: !t, %k: !t, %v: !t, %c: f32) -> (!t, !l)
    attributes {tile.vjp_wrt = array<i64: 0>, tile.vjp_of = array<i64: 0>} {
  %o, %lse = tile.attention %q, %k, %v scale %c : !t, !t, !t -> !t lse !l score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
    %cap = arith.constant 20.0 : f32
    %d = arith.divf %s, %cap : f32
    %t = math.tanh %d : f32
    %m = arith.mulf %t, %cap : f32
    tile.yield %m : f32
  } mask {}
  return %o, %lse : !t, !l
}
// CHECK-LABEL: func.func @bias
// CHECK: tile.attention_backward {{.*}} captures(
// CHECK: derivative {
// CHECK-NEXT: }
func.func @bias(%q: !t, %k: !t, %v: !t, %c: f32, %bias: tensor<?x?xf32>) -> (!t, !l)
    attributes {tile.vjp_wrt = array<i64: 0>, tile.vjp_of = array<i64: 0>} {
  %o, %lse = tile.attention %q, %k, %v scale %c captures(%bias : tensor<?x?xf32>) : !t, !t, !t -> !t lse !l score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %x: tensor<?x?xf32>):
    %e = tensor.extract %x[%i, %j] : tensor<?x?xf32>
    %m = arith.addf %s, %e : f32
    tile.yield %m : f32
  } mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %x: tensor<?x?xf32>):
    %m = arith.cmpi sle, %j, %i : index
    tile.yield %m : i1
  }
  return %o, %lse : !t, !l
}
// -----
!t = tensor<?x?x?x64xf16>
// Without the log-sum-exp the attention is computed again.
// CHECK-LABEL: func.func @again
// CHECK: %[[O:.*]], %[[L:.*]] = tile.attention
// CHECK: tile.attention_backward {{.*}}, %[[O]], %[[L]],
func.func @again(%q: !t, %k: !t, %v: !t, %c: f32) -> !t
    attributes {tile.vjp_wrt = array<i64: 0>} {
  // expected-remark @below {{the attention is computed again for its gradients: expected its output and its log-sum-exp to be results of the function, found the output alone}}
  %o = tile.attention %q, %k, %v scale %c : !t, !t, !t -> !t score {} mask {}
  return %o : !t
}
// -----
// Functions without attention differentiate, too; others stay as they are.
// CHECK-LABEL: func.func @square
// CHECK-SAME: (%[[X:[^:]*]]: tensor<8xf32>, %{{[^:]*}}: tensor<8xf32>, %[[D:[^:]*]]: tensor<8xf32>)
// CHECK: %[[P:.*]] = arith.mulf %[[D]], %[[X]]
// CHECK: %[[R:.*]] = arith.addf %[[P]], %[[P]]
// CHECK: return %[[R]]
func.func @square(%x: tensor<8xf32>) -> tensor<8xf32> attributes {tile.vjp_wrt = array<i64: 0>} {
  %r = arith.mulf %x, %x : tensor<8xf32>
  return %r : tensor<8xf32>
}
// CHECK-LABEL: func.func @other
// CHECK-SAME: (%{{[^:]*}}: tensor<8xf32>) -> tensor<8xf32>
func.func @other(%x: tensor<8xf32>) -> tensor<8xf32> {
  %r = arith.mulf %x, %x : tensor<8xf32>
  return %r : tensor<8xf32>
}
// -----
!t = tensor<?x?x?x64xf16>
!l = tensor<?x?x?xf32>
// The gradient of what scores read: how a score changes with the element.
// CHECK-LABEL: func.func @learned
// CHECK: %[[DQ:.*]], %[[DB:.*]] = tile.attention_backward {{.*}} dq tensor<?x?x?x64xf16> dcaptures [0](tensor<1x?xf16>) score {
// CHECK: } derivative {
// CHECK-NEXT: } effects {
// CHECK: tile.yield %{{.*}} : f32
// CHECK: return %[[DQ]], %[[DB]]
func.func @learned(%q: !t, %k: !t, %v: !t, %c: f32, %bias: tensor<1x?xf16>) -> (!t, !l)
    attributes {tile.vjp_wrt = array<i64: 0, 4>, tile.vjp_of = array<i64: 0>} {
  %o, %lse = tile.attention %q, %k, %v scale %c captures(%bias : tensor<1x?xf16>) : !t, !t, !t -> !t lse !l score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %x: tensor<1x?xf16>):
    %c0 = arith.constant 0 : index
    %two = arith.constant 2.0 : f32
    %e = tensor.extract %x[%c0, %j] : tensor<1x?xf16>
    %f = arith.extf %e : f16 to f32
    %g = arith.mulf %f, %two : f32
    %m = arith.addf %s, %g : f32
    tile.yield %m : f32
  } mask {}
  return %o, %lse : !t, !l
}
// -----
!t = tensor<?x?x?x64xf16>
!l = tensor<?x?x?xf32>
// Several of them, in their order, and a sink, which is an operand for its
// gradient alone.
// CHECK-LABEL: func.func @several
// CHECK: %[[DS:.*]], %[[DC:.*]]:2 = tile.attention_backward {{.*}} sink %{{.*}} : tensor<?xf32> captures({{.*}} dsink tensor<?xf32> dcaptures [1, 2](tensor<?xf32>, tensor<?xf32>) score {
// CHECK: } effects {
// CHECK: tile.yield
// CHECK-NEXT: }, {
// CHECK: tile.yield
// CHECK: return %[[DC]]#0, %[[DC]]#1, %[[DS]]
func.func @several(%q: !t, %k: !t, %v: !t, %c: f32, %x: tensor<?xf32>, %y: tensor<?xf32>, %z: tensor<?xf32>, %sink: tensor<?xf32>) -> (!t, !l)
    attributes {tile.vjp_wrt = array<i64: 5, 6, 7>, tile.vjp_of = array<i64: 0>} {
  %o, %lse = tile.attention %q, %k, %v scale %c sink %sink : tensor<?xf32> captures(%x, %y, %z : tensor<?xf32>, tensor<?xf32>, tensor<?xf32>) : !t, !t, !t -> !t lse !l score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %cx: tensor<?xf32>, %cy: tensor<?xf32>, %cz: tensor<?xf32>):
    %ex = tensor.extract %cx[%j] : tensor<?xf32>
    %ey = tensor.extract %cy[%h] : tensor<?xf32>
    %ez = tensor.extract %cz[%i] : tensor<?xf32>
    %m = arith.mulf %ex, %ey : f32
    %n = arith.addf %m, %ez : f32
    %r = arith.addf %s, %n : f32
    tile.yield %r : f32
  } mask {}
  return %o, %lse : !t, !l
}
// -----
!t = tensor<?x?x?x64xf16>
!l = tensor<?x?x?xf32>
// A number that scores read, and an element of a table at a place that is computed.
// CHECK-LABEL: func.func @number
// CHECK: %[[DC:.*]]:2 = tile.attention_backward {{.*}} dcaptures [0, 1](f32, tensor<?xf32>) score {
// CHECK: return %[[DC]]#0, %[[DC]]#1 : f32, tensor<?xf32>
func.func @number(%q: !t, %k: !t, %v: !t, %c: f32, %x: f32, %table: tensor<?xf32>) -> (!t, !l)
    attributes {tile.vjp_wrt = array<i64: 4, 5>, tile.vjp_of = array<i64: 0>} {
  %o, %lse = tile.attention %q, %k, %v scale %c captures(%x, %table : f32, tensor<?xf32>) : !t, !t, !t -> !t lse !l score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %y: f32, %z: tensor<?xf32>):
    %d = arith.subi %i, %j : index
    %e = tensor.extract %z[%d] : tensor<?xf32>
    %m = arith.mulf %s, %y : f32
    %n = arith.addf %m, %e : f32
    tile.yield %n : f32
  } mask {}
  return %o, %lse : !t, !l
}
// -----
!t = tensor<?x?x?x64xf16>
!l = tensor<?x?x?xf32>
// The scale is one more number that is captured: the score changes with it as with the product, which the scaled one
// over the scale is. Without a score region, and with one and a mask.
// CHECK-LABEL: func.func @scale
// CHECK: %[[DC:.*]] = tile.attention_backward {{.*}} scale %[[C:.*]] captures(%[[C]] : f32) {{.*}} dcaptures [0](f32) score {
// CHECK-NEXT: } mask {
// CHECK-NEXT: } derivative {
// CHECK-NEXT: } effects {
// CHECK-NEXT: ^bb0(%[[X:.*]]: f32, %{{.*}}: index, %{{.*}}: index, %{{.*}}: index, %{{.*}}: index, %[[S:.*]]: f32):
// CHECK-NEXT: %[[P:.*]] = arith.divf %[[X]], %[[S]] : f32
// CHECK-NEXT: tile.yield %[[P]] : f32
// CHECK: return %[[DC]] : f32
func.func @scale(%q: !t, %k: !t, %v: !t, %c: f32) -> (!t, !l)
    attributes {tile.vjp_wrt = array<i64: 3>, tile.vjp_of = array<i64: 0>} {
  %o, %lse = tile.attention %q, %k, %v scale %c : !t, !t, !t -> !t lse !l score {} mask {}
  return %o, %lse : !t, !l
}
// With respect to what the scale is a multiple of, the same: the result is the attention's own.
// CHECK-LABEL: func.func @scale_by_constants
// CHECK-SAME: %[[G:[a-z0-9]+]]: f32,
// CHECK: %[[DC:.*]] = tile.attention_backward {{.*}} scale %{{.*}} captures(%[[G]] : f32) {{.*}} dcaptures [0](f32) score {
// CHECK: } effects {
// CHECK-NEXT: ^bb0(%[[X:.*]]: f32, %{{.*}}: index, %{{.*}}: index, %{{.*}}: index, %{{.*}}: index, %[[S:.*]]: f32):
// CHECK-NEXT: %[[P:.*]] = arith.divf %[[X]], %[[S]] : f32
// CHECK-NEXT: tile.yield %[[P]] : f32
// CHECK: return %[[DC]] : f32
func.func @scale_by_constants(%q: !t, %k: !t, %v: !t, %c: f32) -> (!t, !l)
    attributes {tile.vjp_wrt = array<i64: 3>, tile.vjp_of = array<i64: 0>} {
  %cap = arith.constant 20.0 : f32
  %log2e = arith.constant 1.5 : f32
  %part = arith.divf %c, %cap : f32
  %scale = arith.mulf %log2e, %part : f32
  %o, %lse = tile.attention %q, %k, %v scale %scale : !t, !t, !t -> !t lse !l score {} mask {}
  return %o, %lse : !t, !l
}
// CHECK-LABEL: func.func @scale_of_squares
// CHECK: mask {
// CHECK-NEXT: ^bb0(%{{.*}}: index, %[[I:.*]]: index, %[[J:.*]]: index, %{{[^,]*}}: f32):
// CHECK: } effects {
// CHECK: %[[P:.*]] = arith.divf
// CHECK: arith.mulf %{{.*}}, %[[P]]
func.func @scale_of_squares(%q: !t, %k: !t, %v: !t, %c: f32) -> (!t, !l)
    attributes {tile.vjp_wrt = array<i64: 3>, tile.vjp_of = array<i64: 0>} {
  %o, %lse = tile.attention %q, %k, %v scale %c : !t, !t, !t -> !t lse !l score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
    %m = arith.mulf %s, %s : f32
    tile.yield %m : f32
  } mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %m = arith.cmpi sle, %j, %i : index
    tile.yield %m : i1
  }
  return %o, %lse : !t, !l
}
// -----
!t = tensor<2x4x16x16xf32>
// The derivative of dropout drops the same elements.
// CHECK-LABEL: func.func @dropout
// CHECK-SAME: %[[RNG:arg[0-9]+]]: tensor<2xi64>
// CHECK: %[[DP:.*]] = tile.dropout %[[DZ:.*]] rng %[[RNG]] probability 3.000000e-01 : tensor<2x4x16x16xf32>, tensor<2xi64>
// CHECK: return %[[DP]]
func.func @dropout(%p: !t, %rng: tensor<2xi64>) -> !t
    attributes {tile.vjp_wrt = array<i64: 0>} {
  %z = tile.dropout %p rng %rng probability 0.3 : !t, tensor<2xi64>
  return %z : !t
}
// -----
!rows = tensor<8x?x64xf16>
!keys = tensor<2x?x64xf16>
!numbers = tensor<8x?xf32>
!q = tensor<?x8x?x64xf16>
!k = tensor<?x2x?x64xf16>
!l = tensor<?x8x?xf32>
// Packed sequences: what is packed is taken apart, what was taken apart packed.
// CHECK-LABEL: func.func @packed
// CHECK-SAME: (%[[Q:[^:]*]]: {{[^,]*}}, %[[K:[^:]*]]: {{[^,]*}}, %[[V:[^:]*]]: {{[^,]*}}, %[[X:[^:]*]]: tensor<?xi32>, %[[Y:[^:]*]]: tensor<?xi32>, %{{[^:]*}}: f32, %[[O:[^:]*]]: {{[^,]*}}, %[[L:[^:]*]]: tensor<8x?xf32>, %[[DO:[^:]*]]: {{[^,]*}}, %[[DL:[^:]*]]: tensor<8x?xf32>)
// CHECK-NOT: tile.attention %
// CHECK-DAG: %[[LB:.*]] = tile.ragged %[[L]] by %[[X]]
// CHECK-DAG: %[[OB:.*]] = tile.ragged %[[O]] by %[[X]]
// CHECK-DAG: %[[QB:.*]] = tile.ragged %[[Q]] by %[[X]]
// CHECK-DAG: %[[KB:.*]] = tile.ragged %[[K]] by %[[Y]]
// CHECK-DAG: %[[VB:.*]] = tile.ragged %[[V]] by %[[Y]]
// CHECK-DAG: %[[DOB:.*]] = tile.ragged %[[DO]] by %[[X]]
// CHECK-DAG: %[[DLB:.*]] = tile.ragged %[[DL]] by %[[X]]
// CHECK: %[[DQ:.*]], %[[DK:.*]], %[[DV:.*]] = tile.attention_backward %[[QB]], %[[KB]], %[[VB]], %[[OB]], %[[LB]], %[[DOB]] dlse %[[DLB]]
// CHECK-DAG: %[[RQ:.*]] = tile.pack %[[DQ]] by %[[X]]
// CHECK-DAG: %[[RK:.*]] = tile.pack %[[DK]] by %[[Y]]
// CHECK-DAG: %[[RV:.*]] = tile.pack %[[DV]] by %[[Y]]
// CHECK: return %[[RQ]], %[[RK]], %[[RV]]
func.func @packed(%q: !rows, %k: !keys, %v: !keys, %x: tensor<?xi32>, %y: tensor<?xi32>, %c: f32) -> (!rows, !numbers)
    attributes {tile.vjp_wrt = array<i64: 0, 1, 2>} {
  %qs = tile.ragged %q by %x : !rows, tensor<?xi32> -> !q
  %ks = tile.ragged %k by %y : !keys, tensor<?xi32> -> !k
  %vs = tile.ragged %v by %y : !keys, tensor<?xi32> -> !k
  %o, %lse = tile.attention %qs, %ks, %vs scale %c : !q, !k, !k -> !q lse !l score {} mask {}
  %r = tile.pack %o by %x : !q, tensor<?xi32> -> !rows
  %n = tile.pack %lse by %x : !l, tensor<?xi32> -> !numbers
  return %r, %n : !rows, !numbers
}
// -----
!rows = tensor<8x?x64xf16>
!q = tensor<?x8x?x64xf16>
!l = tensor<?x8x?xf32>
// An output that is used in another way, too, has gradients of rows that its
// packed form does not have: it is computed again.
// CHECK-LABEL: func.func @packed_and_padded
// CHECK: tile.attention %
// CHECK: tile.attention_backward
func.func @packed_and_padded(%q: !rows, %k: !q, %v: !q, %x: tensor<?xi32>, %c: f32) -> (!rows, !l, !q)
    attributes {tile.vjp_wrt = array<i64: 0>, tile.vjp_of = array<i64: 0, 2>} {
  %qs = tile.ragged %q by %x : !rows, tensor<?xi32> -> !q
  // expected-remark @below {{expected its output and its log-sum-exp to be results of the function, found the log-sum-exp alone}}
  %o, %lse = tile.attention %qs, %k, %v scale %c : !q, !q, !q -> !q lse !l score {} mask {}
  %r = tile.pack %o by %x : !q, tensor<?xi32> -> !rows
  %square = arith.mulf %o, %o : !q
  return %r, %lse, %square : !rows, !l, !q
}
// -----
!t = tensor<1x2x40x64xf16>
// Whose output is read by what is differentiated, too, is computed once, with its log-sum-exp.
// CHECK-LABEL: func.func @behind
// CHECK: %[[O:.*]], %[[LSE:.*]] = tile.attention %
// CHECK-NOT: tile.attention %
// CHECK-DAG: tile.attention_backward %{{.*}}, %{{.*}}, %{{.*}}, %[[O]], %[[LSE]],
// CHECK-DAG: tile.transpose %[[O]]
// CHECK-NOT: tile.attention %
// CHECK: return
func.func @behind(%q: !t, %k: !t, %v: !t, %w: tensor<1x2x64x64xf16>, %c: f32) -> !t
    attributes {tile.vjp_wrt = array<i64: 0, 3>} {
  // expected-remark @below {{expected its output and its log-sum-exp to be results of the function, found neither}}
  %o = tile.attention %q, %k, %v scale %c : !t, !t, !t -> !t score {} mask {}
  %y = tile.dot %o, %w : !t, tensor<1x2x64x64xf16> -> !t
  return %y : !t
}
