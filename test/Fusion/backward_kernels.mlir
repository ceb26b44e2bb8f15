// The kernels of gradients: a chain whose first kernel makes row statistics.
// RUN: fa-opt %s --tile-to-kernel=machine=sm_80 --canonicalize --cse -split-input-file | FileCheck %s
// RUN: fa-opt %s --tile-to-kernel=machine=sm_90a --canonicalize --cse -split-input-file | FileCheck %s --check-prefix=HOPPER
// RUN: fa-opt %s "--tile-to-kernel=machine=cpu-256x16 variants=false" --canonicalize --cse -split-input-file | FileCheck %s --check-prefix=ONE

!t = tensor<?x?x?x64xf16>
!l = tensor<?x?x?xf32>
// Each kernel has all arguments, then two tensors of workspace; the first
// writes these, the others read them.
// CHECK-LABEL: tile.kernel @f_delta(
// CHECK-SAME: memref<?x?x?x64xf16, strided<[?, ?, ?, 1]>> {tile.access = #tile.access<out>, tile.alignment = 16 : i64},
// CHECK-SAME: memref<?x?x?x?xf32, strided<[?, ?, ?, 1]>> {tile.access = #tile.access<out>, tile.alignment = 16 : i64, tile.workspace = affine_map<
// CHECK-SAME: entry = "f"
// CHECK-SAME: tile.splits = 1
// delta is the rows' sum, and a row without keys has a log-sum-exp of +inf.
// CHECK: %[[P:.*]] = arith.mulf %{{.*}}, %{{.*}} : tensor<64x64xf32>
// CHECK: tile.reduce {{ *}}add %[[P]] dim 1
// CHECK: arith.cmpf oeq
// CHECK-COUNT-2: tile.store
// CHECK: tile.return
// Programs of queries walk the keys: those that all queries see, then the edge.
// CHECK-LABEL: tile.kernel @f_dq(
// CHECK-SAME: memref<?x?x?x?xf32, strided<[?, ?, ?, 1]>> {tile.access = #tile.access<in>, tile.alignment = 16 : i64, tile.workspace = affine_map<
// CHECK-SAME: tile.follows = @f_delta
// CHECK: scf.for
// CHECK-COUNT-2: tile.load {{.*}} in_bounds
// CHECK: tile.dot {{.*}} transpose_b
// CHECK-NOT: arith.select
// CHECK: math.exp2
// CHECK: tile.dot {{.*}} transpose_b
// CHECK: tile.dot {{.*}} acc
// CHECK: scf.for
// CHECK: arith.select {{.*}}tensor<64x64xf32>
// CHECK: math.exp2
// CHECK: arith.select {{.*}}tensor<64x64xf32>
// CHECK: tile.dot {{.*}} acc
// CHECK: tile.store
// Programs of keys walk the queries of all heads of their group, from the first
// that sees one of them: the edge, then those that see all. No tile is cut at
// the end, where queries are zeros.
// CHECK-LABEL: tile.kernel @f_dkv(
// CHECK-SAME: tile.follows = @f_delta
// CHECK: scf.for
// CHECK: arith.divui %{{.*}} : i32
// CHECK: tile.dot {{.*}} transpose_b
// CHECK: arith.select {{.*}}tensor<64x64xf32>
// CHECK: tile.dot {{.*}} acc
// CHECK: tile.dot {{.*}} acc
// CHECK: scf.for
// CHECK-NOT: arith.select {{.*}}tensor<64x64xf32>
// CHECK: tile.dot {{.*}} acc
// CHECK: tile.dot {{.*}} acc
// CHECK-NOT: scf.for
// CHECK-COUNT-2: tile.store
// CHECK: tile.kernel @f_strided_delta(
// CHECK-SAME: memref<?x?x?x64xf16, strided<[?, ?, ?, ?]>> {tile.access = #tile.access<out>}
// CHECK: tile.kernel @f_strided_dq(
// CHECK: tile.kernel @f_strided_dkv(

// HOPPER: tile.kernel @f_delta(
// HOPPER: tile.kernel @f_dq_roles(
// HOPPER-SAME: tile.alternative = @f_dq, tile.follows = @f_delta, tile.shape = array<i64: 128, 112>
// HOPPER: tile.kernel @f_dq(
// HOPPER: tile.kernel @f_dkv_roles(
// HOPPER-SAME: tile.alternative = @f_dkv, tile.follows = @f_delta, tile.shape = array<i64: 128, 128>
// HOPPER: tile.kernel @f_dkv(
// HOPPER: tile.kernel @f_strided_delta(
// HOPPER-NOT: f_strided_dq_roles

// On a host a first chain's programs own a KV head with all of its queries:
// statistics and zeros, then keys, for each of them the queries of all heads,
// whose dQᵀ has Kᵀ dSᵀ added in workspace, then dQ.
// ONE-LABEL: tile.kernel @f_whole_dqkv(
// ONE-SAME: memref<?x?x?x?x64xf32, strided<[?, ?, ?, ?, 1]>> {tile.access = #tile.access<inout>
// ONE-SAME: tile.least_busy = 72
// ONE-SAME: tile.splits = 1
// ONE-COUNT-3: tile.store
// ONE: %[[TURNED:.*]] = memref.transpose
// ONE: %[[KT:.*]] = tile.load %[[TURNED]]{{.*}} -> tensor<64x72xf16>
// ONE: scf.for {{.*}} iter_args(
// ONE: %[[SUMS:.*]] = memref.transpose {{.*}} to memref<64x?xf32, strided<[1, ?], offset: ?>>
// ONE: %[[BEFORE:.*]] = tile.load %[[SUMS]]
// ONE: %[[AFTER:.*]] = tile.dot %[[KT]], %{{.*}} acc %[[BEFORE]] : tensor<64x72xf16>, tensor<72x64xf16> -> tensor<64x64xf32>
// ONE: tile.store %[[AFTER]], %[[SUMS]]
// ONE: tile.return
// ONE: tile.kernel @f_delta(
// ONE-NOT: strided_
func.func @f(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !l, %do: !t, %c: f32) -> (!t, !t, !t) {
  %dq, %dk, %dv = tile.attention_backward %q, %k, %v, %o, %lse, %do scale %c
      : !t, !t, !t, !t, !l, !t dq !t dk !t dv !t
  score {}
  mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %m = arith.cmpi sle, %j, %i : index
    tile.yield %m : i1
  }
  derivative {}
  return %dq, %dk, %dv : !t, !t, !t
}
// -----
!t = tensor<?x?x?x64xf16>
!l = tensor<?x?x?xf32>
// What is not wanted has no kernel: dK alone needs no dV.
// CHECK-LABEL: tile.kernel @keys_delta
// CHECK-NOT: tile.kernel @keys_dq
// CHECK: tile.kernel @keys_dkv(
// CHECK: scf.for
// CHECK-COUNT-3: tile.dot
// CHECK-NOT: tile.dot
// CHECK: tile.return
func.func @keys(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !l, %do: !t, %c: f32) -> !t {
  %dk = tile.attention_backward %q, %k, %v, %o, %lse, %do scale %c
      : !t, !t, !t, !t, !l, !t dk !t
  score {} mask {} derivative {}
  return %dk : !t
}
// -----
!t = tensor<?x?x?x64xf16>
!l = tensor<?x?x?xf32>
// dV alone takes two dots.
// CHECK-LABEL: tile.kernel @values_delta
// CHECK: tile.kernel @values_dkv(
// CHECK: scf.for
// CHECK-COUNT-2: tile.dot
// CHECK-NOT: tile.dot
// CHECK: tile.return
func.func @values(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !l, %do: !t, %c: f32) -> !t {
  %dv = tile.attention_backward %q, %k, %v, %o, %lse, %do scale %c
      : !t, !t, !t, !t, !l, !t dv !t
  score {} mask {} derivative {}
  return %dv : !t
}
// -----
!t = tensor<?x?x?x64xf16>
!l = tensor<?x?x?xf32>
// A window: three loops of queries. Lengths leave out a program's keys, or not.
// CHECK-LABEL: tile.kernel @window_delta
// CHECK: tile.kernel @window_dkv(
// CHECK-COUNT-3: scf.for
// CHECK: tile.return
func.func @window(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !l, %do: !t, %c: f32, %n: tensor<?xi32>) -> !t {
  %dv = tile.attention_backward %q, %k, %v, %o, %lse, %do scale %c captures(%n : tensor<?xi32>)
      : !t, !t, !t, !t, !l, !t dv !t
  score {}
  mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %lengths: tensor<?xi32>):
    %c100 = arith.constant 100 : index
    %low = arith.subi %i, %c100 : index
    %m0 = arith.cmpi sle, %j, %i : index
    %m1 = arith.cmpi sge, %j, %low : index
    %length = tensor.extract %lengths[%b] : tensor<?xi32>
    %end = arith.index_cast %length : i32 to index
    %m2 = arith.cmpi slt, %j, %end : index
    %m3 = arith.andi %m0, %m1 : i1
    %m = arith.andi %m3, %m2 : i1
    tile.yield %m : i1
  }
  derivative {}
  return %dv : !t
}
// -----
!t = tensor<?x?x?x64xf16>
!l = tensor<?x?x?xf32>
// A bias of heads, queries and keys: programs own a tile of it and walk the batches.
// CHECK-LABEL: tile.kernel @bias_delta
// CHECK: tile.kernel @bias_dcapture(
// CHECK-SAME: tile.follows = @bias_delta
// CHECK: %[[SUM:.*]] = scf.for {{.*}} -> (tensor<64x64xf32>)
// CHECK-COUNT-2: tile.dot
// CHECK-NOT: tile.dot
// CHECK: %[[R:.*]] = arith.truncf %[[SUM]]
// CHECK: tile.store %[[R]], %{{.*}} : tensor<64x64xf16>
func.func @bias(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !l, %do: !t, %c: f32, %bias: tensor<1x?x?x?xf16>) -> tensor<1x?x?x?xf16> {
  %db = tile.attention_backward %q, %k, %v, %o, %lse, %do scale %c captures(%bias : tensor<1x?x?x?xf16>)
      : !t, !t, !t, !t, !l, !t dcaptures [0] (tensor<1x?x?x?xf16>)
  score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %x: tensor<1x?x?x?xf16>):
    %c0 = arith.constant 0 : index
    %e = tensor.extract %x[%c0, %h, %i, %j] : tensor<1x?x?x?xf16>
    %f = arith.extf %e : f16 to f32
    %m = arith.addf %s, %f : f32
    tile.yield %m : f32
  }
  mask {} derivative {}
  effects {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %x: tensor<1x?x?x?xf16>):
    %one = arith.constant 1.0 : f32
    tile.yield %one : f32
  }
  return %db : tensor<1x?x?x?xf16>
}
// -----
!t = tensor<?x?x?x64xf16>
!l = tensor<?x?x?xf32>
// Numbers of heads: their terms are summed over the keys where queries are
// walked, though dQ is not wanted, and over the queries by a kernel of their
// own. A sink's are made from the row statistics.
// CHECK-LABEL: tile.kernel @heads_delta
// CHECK: tile.kernel @heads_dq(
// CHECK: %[[WHOLE:.*]] = scf.for {{.*}} -> (tensor<64xf32>)
// CHECK: tile.reduce {{ *}}add
// CHECK: %[[SUMS:.*]] = scf.for {{.*}} iter_args(%{{.*}} = %[[WHOLE]]) -> (tensor<64xf32>)
// CHECK: tile.reduce {{ *}}add
// CHECK: tile.store %[[SUMS]]
// CHECK-NEXT: tile.return
// CHECK: tile.kernel @heads_dheads(
// CHECK-SAME: tile.follows = @heads_delta
// CHECK: math.exp2
// CHECK: %[[SINK:.*]] = tile.reduce {{ *}}add
// CHECK: tile.store %[[SINK]], %{{.*}} : tensor<64xf32>
// CHECK: tile.kernel @heads_dheads_0(
// CHECK-NOT: exp2
// CHECK: %[[SLOPES:.*]] = tile.reduce {{ *}}add
// CHECK: tile.store %[[SLOPES]], %{{.*}} : tensor<64xf32>
func.func @heads(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !l, %do: !t, %c: f32, %slopes: tensor<?xf32>, %sink: tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>) {
  %dsink, %dslopes = tile.attention_backward %q, %k, %v, %o, %lse, %do scale %c sink %sink : tensor<?xf32> captures(%slopes : tensor<?xf32>)
      : !t, !t, !t, !t, !l, !t dsink tensor<?xf32> dcaptures [0] (tensor<?xf32>)
  score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %x: tensor<?xf32>):
    %e = tensor.extract %x[%h] : tensor<?xf32>
    %m = arith.mulf %s, %e : f32
    tile.yield %m : f32
  }
  mask {} derivative {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %x: tensor<?xf32>):
    %e = tensor.extract %x[%h] : tensor<?xf32>
    tile.yield %e : f32
  }
  effects {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %x: tensor<?xf32>):
    tile.yield %s : f32
  }
  return %dsink, %dslopes : tensor<?xf32>, tensor<?xf32>
}
// -----
!t = tensor<?x?x?x64xf16>
!l = tensor<?x?x?xf32>
// With dropout dP is multiplied by its factors in both kernels, P by the same
// where dV is made of it.
// CHECK-LABEL: tile.kernel @dropped_dq(
// CHECK: memref.load
// CHECK: memref.load
// CHECK: math.exp2
// CHECK: %[[DP:.*]] = tile.dot {{.*}} transpose_b
// CHECK: %[[Z:.*]] = arith.select {{.*}} : tensor<64x64xi1>, tensor<64x64xf32>
// CHECK: arith.mulf %[[DP]], %[[Z]]
// CHECK-LABEL: tile.kernel @dropped_dkv(
// CHECK: %[[P:.*]] = math.exp2
// CHECK: %[[Z:.*]] = arith.select {{.*}} : tensor<64x64xi1>, tensor<64x64xf32>
// CHECK: %[[PZ:.*]] = arith.mulf %[[P]], %[[Z]]
// CHECK: %[[DP:.*]] = tile.dot {{.*}} transpose_b
// CHECK: arith.truncf %[[PZ]]
// CHECK: arith.mulf %[[DP]], %[[Z]]
func.func @dropped(%q: !t, %k: !t, %v: !t, %rng: tensor<2xi64>, %c: f32, %o: !t, %lse: !l, %do: !t) -> (!t, !t, !t) {
  %dq, %dk, %dv = tile.attention_backward %q, %k, %v, %o, %lse, %do scale %c dropout %rng : tensor<2xi64> probability 0.1
      : !t, !t, !t, !t, !l, !t dq !t dk !t dv !t score {} mask {} derivative {}
  return %dq, %dk, %dv : !t, !t, !t
}
// -----
!t = tensor<?x?x?x64xf16>
!l = tensor<?x?x?xf32>
// A table that is read at distances: programs own a tile of them, and walk the scores of their head in all batches, of each
// tile of queries three tiles of keys. Scores go to the sum of their place, for each query apart.
// CHECK-LABEL: tile.kernel @table_delta
// CHECK: tile.kernel @table_dtable(
// CHECK-SAME: tile.follows = @table_delta
// CHECK: scf.for {{.*}} -> (tensor<64x64xf32>)
// CHECK-COUNT-2: tile.dot
// CHECK-NOT: tile.dot
// CHECK: scf.for {{.*}} -> (tensor<64x64xf32>)
// CHECK: arith.cmpi eq
// CHECK: tile.reduce {{ *}}add
// CHECK: %[[TURNED:.*]] = tile.transpose {{.*}} [1, 0]
// CHECK: %[[SUMS:.*]] = tile.reduce {{ *}}add %[[TURNED]]
// CHECK: tile.store %[[SUMS]], %{{.*}} : tensor<64xf32>
func.func @table(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !l, %do: !t, %c: f32, %table: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %dt = tile.attention_backward %q, %k, %v, %o, %lse, %do scale %c captures(%table : tensor<?x?xf32>)
      : !t, !t, !t, !t, !l, !t dcaptures [0] (tensor<?x?xf32>)
  score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %x: tensor<?x?xf32>):
    %c99 = arith.constant 99 : index
    %d = arith.subi %i, %j : index
    %at = arith.addi %d, %c99 : index
    %e = tensor.extract %x[%h, %at] : tensor<?x?xf32>
    %m = arith.addf %s, %e : f32
    tile.yield %m : f32
  }
  mask {} derivative {}
  effects {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %x: tensor<?x?xf32>):
    %one = arith.constant 1.0 : f32
    tile.yield %one : f32
  }
  return %dt : tensor<?x?xf32>
}
// -----
!t = tensor<?x?x?x64xf16>
!l = tensor<?x?x?xf32>
// A number that all scores read: terms of rows beside dQ, which one program adds. It goes through all heads; sums of rows are
// in a column, whose sum is stored.
// CHECK-LABEL: tile.kernel @number_dq(
// CHECK: tile.kernel @number_dheads(
// CHECK-SAME: memref<1xf32, strided<[?]>> {tile.access = #tile.access<out>}
// CHECK: %[[SUM:.*]] = tile.reduce {{ *}}add
// CHECK: %[[LINE:.*]] = tile.expand_dims %[[SUM]] dim 1
// CHECK: arith.select %{{.*}}, %{{.*}}, %{{.*}} : tensor<64x64xi1>, tensor<64x64xf32>
// CHECK: %[[TURNED:.*]] = tile.transpose {{.*}} [1, 0]
// CHECK: %[[TOTAL:.*]] = tile.reduce {{ *}}add %[[TURNED]]
// CHECK: tile.store %[[TOTAL]]
func.func @number(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !l, %do: !t, %c: f32, %x: f32) -> f32 {
  %dx = tile.attention_backward %q, %k, %v, %o, %lse, %do scale %c captures(%x : f32)
      : !t, !t, !t, !t, !l, !t dcaptures [0] (f32)
  score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %y: f32):
    %m = arith.mulf %s, %y : f32
    tile.yield %m : f32
  }
  mask {} derivative {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %y: f32):
    tile.yield %y : f32
  }
  effects {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %y: f32):
    tile.yield %s : f32
  }
  return %dx : f32
}
// -----
!rows = tensor<8x?x64xf16>
!keys = tensor<2x?x64xf16>
!numbers = tensor<8x?xf32>
!q = tensor<?x8x?x64xf16>
!k = tensor<?x2x?x64xf16>
!l = tensor<?x8x?xf32>
// Packed sequences: programs are slots of sequences, of queries or of keys, and
// views begin and end where the sequence does. Its row statistics begin at a
// multiple of 16 bytes.
// CHECK: #[[SLOTS:.*]] = affine_map<()[s0, s1, s2] -> (s0 floordiv 64 + s1 - 1, s2, 1)>
// CHECK-LABEL: tile.kernel @packed_delta(
// CHECK-SAME: tile.workspace = affine_map<()[s0, s1, s2] -> (1, s2, (s0 floordiv 4 + s1 - 1) * 4)>
// CHECK-SAME: grid = #[[SLOTS]]
// CHECK-SAME: #tile.size_rule<at_least 3[0], 3[0] * 2>
// CHECK-SAME: #tile.size_rule<at_least 4[0], 4[0] * 2>
// CHECK-SAME: tile.packed_rows
// CHECK-LABEL: tile.kernel @packed_dq(
// CHECK: %[[C4:.*]] = arith.constant 4 : index
// CHECK: %[[SEQUENCE:[a-z0-9]+]], %{{.*}} = tile.sequence_of %{{.*}} in %[[X:arg3]] rows 64
// CHECK: memref.load %[[X]][%[[SEQUENCE]]]
// CHECK: memref.load %arg4[%[[SEQUENCE]]]
// CHECK: memref.subview %arg0[%{{.*}}, %[[FIRST:.*]], 0] [1, %[[COUNT:.*]], 64]
// CHECK: %[[BEFORE:.*]] = arith.divui %[[FIRST]], %[[C4]]
// CHECK: %[[GROUP:.*]] = arith.addi %[[BEFORE]], %[[SEQUENCE]]
// CHECK: %[[AT:.*]] = arith.muli %[[GROUP]], %[[C4]]
// CHECK: memref.subview %arg13[0, 0, %{{.*}}, %[[AT]]] [1, 1, 1, %[[COUNT]]]
// CHECK: memref.subview %arg9[%{{.*}}, %[[FIRST]]] [1, %[[COUNT]]]
// CHECK: memref.subview %arg1[%{{.*}}, %{{.*}}, 0] [1, %{{.*}}, 64]
// CHECK: tile.store %{{.*}}, %{{.*}} : tensor<64x64xf16>
// CHECK-LABEL: tile.kernel @packed_dkv(
// CHECK: tile.sequence_of %{{.*}} in %arg4 rows 64
// CHECK: memref.subview %arg1[%{{.*}}, %[[FIRST:.*]], 0] [1, %[[COUNT:.*]], 64]
// CHECK: scf.for
// CHECK: memref.subview %arg0[%{{.*}}, %{{.*}}, 0] [1, %{{.*}}, 64]
// CHECK: memref.subview %arg11[%{{.*}}, %[[FIRST]], 0] [1, %[[COUNT]], 64]
// CHECK: tile.store

// HOPPER: tile.kernel @packed_delta(
// HOPPER: tile.kernel @packed_dq_roles(
// HOPPER-SAME: tile.packed_rows, tile.shape = array<i64: 128, 112>
// HOPPER: tile.sequence_of %{{.*}} rows 128
// HOPPER: tile.kernel @packed_dkv_roles(
// HOPPER-SAME: tile.packed_rows, tile.shape = array<i64: 128, 64>
// HOPPER: tile.sequence_of %{{.*}} rows 128
// HOPPER: tile.kernel @packed_strided_delta(
func.func @packed(%q: !rows, %k: !keys, %v: !keys, %x: tensor<?xi32>, %y: tensor<?xi32>, %c: f32, %o: !rows, %lse: !numbers, %do: !rows, %dlse: !numbers) -> (!rows, !keys, !keys) {
  %qs = tile.ragged %q by %x : !rows, tensor<?xi32> -> !q
  %ks = tile.ragged %k by %y : !keys, tensor<?xi32> -> !k
  %vs = tile.ragged %v by %y : !keys, tensor<?xi32> -> !k
  %os = tile.ragged %o by %x : !rows, tensor<?xi32> -> !q
  %ls = tile.ragged %lse by %x : !numbers, tensor<?xi32> -> !l
  %dos = tile.ragged %do by %x : !rows, tensor<?xi32> -> !q
  %dls = tile.ragged %dlse by %x : !numbers, tensor<?xi32> -> !l
  %dq, %dk, %dv = tile.attention_backward %qs, %ks, %vs, %os, %ls, %dos dlse %dls : !l scale %c
      : !q, !k, !k, !q, !l, !q dq !q dk !k dv !k
  score {}
  mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %m = arith.cmpi sle, %j, %i : index
    tile.yield %m : i1
  }
  derivative {}
  %rq = tile.pack %dq by %x : !q, tensor<?xi32> -> !rows
  %rk = tile.pack %dk by %y : !k, tensor<?xi32> -> !keys
  %rv = tile.pack %dv by %y : !k, tensor<?xi32> -> !keys
  return %rq, %rk, %rv : !rows, !keys, !keys
}
