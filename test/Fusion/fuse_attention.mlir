// RUN: fa-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(tile-fuse-attention))' | FileCheck %s

!rows = tensor<?x?x?x64xf16>
!scores = tensor<?x?x?x?xf32>

// The canonical spelling: the scale goes into the operation, softcap, a bias
// broadcast over batches and a causal mask into the regions.
// CHECK-LABEL: func.func @everything
// CHECK: %[[OFF:.*]] = arith.subi
// CHECK: %[[SCALE:.*]] = arith.mulf %arg4, %{{.*}} : f32
// CHECK: %[[O:.*]], %[[L:.*]] = tile.attention %arg0, %arg1, %arg2 scale %[[SCALE]] captures(%arg3, %[[OFF]] : tensor<1x?x?x?xf16>, index)
// CHECK-SAME: -> tensor<?x?x?x64xf16> lse tensor<?x?x?xf32> score {
// CHECK-NEXT: ^bb0(%[[S:.*]]: f32, %{{.*}}: index, %[[H:.*]]: index, %[[I:.*]]: index, %[[J:.*]]: index, %[[BIAS:.*]]: tensor<1x?x?x?xf16>, %{{.*}}: index):
// CHECK: %[[T:.*]] = math.tanh %[[S]] : f32
// CHECK: %[[C:.*]] = arith.mulf %[[T]]
// CHECK: %[[ZERO:.*]] = arith.constant 0 : index
// CHECK: %[[E:.*]] = tensor.extract %[[BIAS]][%[[ZERO]], %[[H]], %[[I]], %[[J]]]
// CHECK: %[[W:.*]] = arith.extf %[[E]] : f16 to f32
// CHECK: %[[A:.*]] = arith.addf %[[C]], %[[W]]
// CHECK: tile.yield %[[A]] : f32
// CHECK: mask {
// CHECK-NEXT: ^bb0(%{{.*}}: index, %{{.*}}: index, %[[MI:.*]]: index, %[[MJ:.*]]: index, %{{.*}}: tensor<1x?x?x?xf16>, %[[MO:.*]]: index):
// CHECK: %[[LIM:.*]] = arith.addi %[[MI]], %[[MO]] : index
// CHECK: %[[M:.*]] = arith.cmpi sle, %[[MJ]], %[[LIM]] : index
// CHECK: tile.yield %[[M]] : i1
// CHECK: return %[[O]], %[[L]]
func.func @everything(%q: !rows, %k: !rows, %v: !rows, %bias: tensor<1x?x?x?xf16>, %scale: f32) -> (!rows, tensor<?x?x?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : !rows
  %h = tensor.dim %q, %c1 : !rows
  %m = tensor.dim %q, %c2 : !rows
  %n = tensor.dim %k, %c2 : !rows
  %s0 = tile.dot %q, %k transpose_b : !rows, !rows -> !scores
  %sc = tile.broadcast %scale sizes %b, %h, %m, %n : f32 -> !scores
  %s1 = arith.mulf %sc, %s0 : !scores
  %cap = arith.constant 15.0 : f32
  %caps = tile.broadcast %cap sizes %b, %h, %m, %n : f32 -> !scores
  %s2 = arith.divf %s1, %caps : !scores
  %s3 = math.tanh %s2 : !scores
  %s4 = arith.mulf %s3, %caps : !scores
  %bw = tile.broadcast %bias sizes %b, %h, %m, %n : tensor<1x?x?x?xf16> -> tensor<?x?x?x?xf16>
  %bf = arith.extf %bw : tensor<?x?x?x?xf16> to !scores
  %s5 = arith.addf %s4, %bf : !scores
  %i = tile.iota dim 2 sizes %b, %h, %m, %n : tensor<?x?x?x?xindex>
  %j = tile.iota dim 3 sizes %b, %h, %m, %n : tensor<?x?x?x?xindex>
  %off = arith.subi %n, %m : index
  %offs = tile.broadcast %off sizes %b, %h, %m, %n : index -> tensor<?x?x?x?xindex>
  %lim = arith.addi %i, %offs : tensor<?x?x?x?xindex>
  %mask = arith.cmpi sle, %j, %lim : tensor<?x?x?x?xindex>
  %ninf = arith.constant 0xFF800000 : f32
  %ninfs = tile.broadcast %ninf sizes %b, %h, %m, %n : f32 -> !scores
  %s6 = arith.select %mask, %s5, %ninfs : tensor<?x?x?x?xi1>, !scores
  %p = tile.softmax %s6 : !scores
  %pt = arith.truncf %p : !scores to tensor<?x?x?x?xf16>
  %o = tile.dot %pt, %v : tensor<?x?x?x?xf16>, !rows -> tensor<?x?x?x64xf32>
  %ot = arith.truncf %o : tensor<?x?x?x64xf32> to !rows
  %lse = tile.log_sum_exp %s6 : !scores -> tensor<?x?x?xf32>
  return %ot, %lse : !rows, tensor<?x?x?xf32>
}

// -----

!t = tensor<2x4x16x16xf32>
!r = tensor<2x4x16xf32>

// What reads the log-sum-exp may come before the second dot.
// CHECK-LABEL: func.func @lse_read_early
// CHECK: %{{.*}}, %[[LSE:.*]] = tile.attention
// CHECK: math.exp %[[LSE]]
func.func @lse_read_early(%q: !t, %k: !t, %v: !t) -> (!t, !r) {
  %s = tile.dot %q, %k transpose_b : !t, !t -> !t
  %p = tile.softmax %s : !t
  %l = tile.log_sum_exp %s : !t -> !r
  %e = math.exp %l : !r
  %o = tile.dot %p, %v : !t, !t -> !t
  return %o, %e : !t, !r
}

// -----

!rows = tensor<2x4x100x32xf32>
!scores = tensor<2x4x100x100xf32>

// Natural variants: K transposed by hand, a constant scale, a select with −inf
// first, static sizes.
// CHECK-LABEL: func.func @variants
// CHECK: %[[SCALE:.*]] = arith.constant 1.250000e-01 : f32
// CHECK: tile.attention %arg0, %arg1, %arg2 scale %[[SCALE]]
// CHECK-SAME: score {
// CHECK-NEXT: } mask {
// CHECK: %[[OUT:.*]] = arith.cmpi sgt, %{{.*}}, %{{.*}} : index
// CHECK: %[[TRUE:.*]] = arith.constant true
// CHECK: %[[IN:.*]] = arith.xori %[[OUT]], %[[TRUE]]
// CHECK: tile.yield %[[IN]] : i1
func.func @variants(%q: !rows, %k: !rows, %v: !rows) -> !rows {
  %kt = tile.transpose %k [0, 1, 3, 2] : !rows -> tensor<2x4x32x100xf32>
  %s0 = tile.dot %q, %kt : !rows, tensor<2x4x32x100xf32> -> !scores
  %sc = arith.constant dense<0.125> : !scores
  %s1 = arith.mulf %s0, %sc : !scores
  %i = tile.iota dim 2 : tensor<2x4x100x100xindex>
  %j = tile.iota dim 3 : tensor<2x4x100x100xindex>
  %mask = arith.cmpi sgt, %j, %i : tensor<2x4x100x100xindex>
  %ninf = arith.constant dense<0xFF800000> : !scores
  %s2 = arith.select %mask, %ninf, %s1 : tensor<2x4x100x100xi1>, !scores
  %p = tile.softmax %s2 : !scores
  %o = tile.dot %p, %v : !scores, !rows -> !rows
  return %o : !rows
}

// -----

!t = tensor<2x4x16x16xf32>

// What the dots may do to f32 is what the attention may.
// CHECK-LABEL: func.func @precision
// CHECK: tile.attention {{.*}} precision tf32 : tensor<2x4x16x16xf32>
func.func @precision(%q: !t, %k: !t, %v: !t) -> !t {
  %s = tile.dot %q, %k transpose_b precision tf32 : !t, !t -> !t
  %p = tile.softmax %s : !t
  %o = tile.dot %p, %v precision tf32 : !t, !t -> !t
  return %o : !t
}

// -----

!t = tensor<2x4x16x16xf32>

// Dropout of the probabilities is a part of the attention.
// CHECK-LABEL: func.func @dropout
// CHECK: tile.attention {{.*}} dropout %arg3 : tensor<2xi64> probability 1.000000e-01 :
// CHECK-NOT: tile.dropout
func.func @dropout(%q: !t, %k: !t, %v: !t, %rng: tensor<2xi64>) -> !t {
  %s = tile.dot %q, %k transpose_b : !t, !t -> !t
  %p = tile.softmax %s : !t
  %z = tile.dropout %p rng %rng probability 0.1 : !t, tensor<2xi64>
  %o = tile.dot %z, %v : !t, !t -> !t
  return %o : !t
}
