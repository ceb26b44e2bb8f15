// Gradients along listed blocks: programs of queries walk the blocks of keys of their list, those of keys the blocks of queries
// of theirs, in which the heads of a group lie one behind the other. What is intervals of keys, or of queries, walks those.
// RUN: fa-opt %s --split-input-file --tile-differentiate --canonicalize --tile-to-kernel='machine=sm_80' --canonicalize --cse | FileCheck %s

!rows = tensor<?x?x?x64xf16>
!table = tensor<?x?x?x?xi32>

// The lists go from the attention to its gradients, and both have rules.
// CHECK-LABEL: tile.kernel @strips_dq(
// CHECK-SAME: #tile.size_rule<equal 0[2], 3[2] * 128>
// CHECK-SAME: #tile.size_rule<divisible 1[2], 1[2] * 256>
// CHECK-SAME: #tile.size_rule<equal 5[1], 1[1]>
// CHECK-SAME: #tile.size_rule<equal 1[2], 5[2] * 256>
// CHECK-SAME: #tile.size_rule<divisible 0[2], 0[2] * 128>
// CHECK: %[[ROW:.*]] = arith.divui %{{.*}}, %c128 : index
// CHECK: memref.load %arg4[%{{.*}}, %{{.*}}, %[[ROW]], %c0]
// CHECK: %[[WHOLE:.*]] = arith.muli %{{.*}}, %c256 : index
// CHECK: scf.for %[[PLACE:.*]] = %c0 to %[[WHOLE]] step %c64
// CHECK: arith.divui %[[PLACE]], %c256 : index
// CHECK: memref.load %arg3[%{{.*}}, %{{.*}}, %[[ROW]], %{{.*}}]
// CHECK: tile.load %{{.*}} in_bounds
// CHECK-NOT: arith.remui %{{.*}} : tensor
// CHECK: scf.for %{{.*}} = %[[WHOLE]] to
// CHECK: arith.remui %{{.*}} : tensor
// CHECK-NOT: scf.for
// CHECK-LABEL: tile.kernel @strips_dkv(
// CHECK: %[[COLUMN:.*]] = arith.divui %{{.*}}, %c256 : index
// CHECK: %[[OFHEAD:.*]] = arith.divui %{{.*}}, %c128 : index
// CHECK: memref.load %arg6[%{{.*}}, %{{.*}}, %[[COLUMN]], %c0]
// CHECK: %[[SEEN:.*]] = arith.muli %{{.*}}, %c128 : index
// CHECK: scf.for %{{.*}} = %c0 to %[[SEEN]] step %c64
// CHECK: memref.load %arg5[%{{.*}}, %{{.*}}, %[[COLUMN]], %{{.*}}]
// CHECK: %[[EACH:.*]] = arith.index_cast %[[OFHEAD]] : index to i32
// CHECK: %[[MEMBER:.*]] = arith.divui %{{.*}}, %[[EACH]] : i32
// CHECK-NOT: arith.remui %{{.*}} : tensor
// CHECK: scf.for %{{.*}} = %[[SEEN]] to
// CHECK: arith.remui %{{.*}} : tensor
// CHECK-NOT: scf.for
// CHECK: tile.return
func.func @strips(%q: !rows, %k: !rows, %v: !rows, %blocks: !table, %counts: !table, %qblocks: !table, %qcounts: !table, %scale: f32) -> (!rows, tensor<?x?x?xf32>)
    attributes {tile.vjp_wrt = array<i64: 0, 1, 2>, tile.vjp_of = array<i64: 0>} {
  %o, %lse = tile.attention %q, %k, %v scale %scale captures(%blocks, %counts, %qblocks, %qcounts : !table, !table, !table, !table) {tile.block_lists = array<i64: 0, 1, 128, 256>, tile.query_lists = array<i64: 2, 3, 128, 256>} : !rows, !rows, !rows -> !rows lse tensor<?x?x?xf32> score {} mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %l: !table, %c: !table, %m: !table, %d: !table):
    %c3 = arith.constant 3 : index
    %x = arith.remui %i, %c3 : index
    %y = arith.remui %j, %c3 : index
    %seen = arith.cmpi eq, %x, %y : index
    tile.yield %seen : i1
  }
  return %o, %lse : !rows, tensor<?x?x?xf32>
}

// -----

!rows = tensor<?x?x?x64xf16>
!table = tensor<?x?x?x?xi32>

// CHECK-LABEL: tile.kernel @causal_dq(
// CHECK-NOT: memref.load
// CHECK-LABEL: tile.kernel @causal_dkv(
// CHECK-NOT: memref.load
// CHECK: tile.return
func.func @causal(%q: !rows, %k: !rows, %v: !rows, %blocks: !table, %counts: !table, %scale: f32) -> (!rows, tensor<?x?x?xf32>)
    attributes {tile.vjp_wrt = array<i64: 0, 1, 2>, tile.vjp_of = array<i64: 0>} {
  %o, %lse = tile.attention %q, %k, %v scale %scale captures(%blocks, %counts : !table, !table) {tile.block_lists = array<i64: 0, 1, 128, 128>, tile.query_lists = array<i64: 0, 1, 128, 128>} : !rows, !rows, !rows -> !rows lse tensor<?x?x?xf32> score {} mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %l: !table, %c: !table):
    %seen = arith.cmpi sle, %j, %i : index
    tile.yield %seen : i1
  }
  return %o, %lse : !rows, tensor<?x?x?xf32>
}

// -----

!rows = tensor<?x?x?x64xf16>
!table = tensor<?x?x?x?xi32>
!starts = tensor<?xi32>

// Where a bound is read for each query there are intervals of keys, but none of queries.
// CHECK-LABEL: tile.kernel @rows_dq(
// CHECK-NOT: memref.load %arg4
// CHECK-LABEL: tile.kernel @rows_dkv(
// CHECK: memref.load %arg5
// CHECK: memref.load %arg4
// CHECK: tile.return
func.func @rows(%q: !rows, %k: !rows, %v: !rows, %starts: !starts, %blocks: !table, %counts: !table, %scale: f32) -> (!rows, tensor<?x?x?xf32>)
    attributes {tile.vjp_wrt = array<i64: 0, 1, 2>, tile.vjp_of = array<i64: 0>} {
  %o, %lse = tile.attention %q, %k, %v scale %scale captures(%starts, %blocks, %counts : !starts, !table, !table) {tile.query_lists = array<i64: 1, 2, 128, 128>} : !rows, !rows, !rows -> !rows lse tensor<?x?x?xf32> score {} mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %s: !starts, %l: !table, %c: !table):
    %start = tensor.extract %s[%i] : !starts
    %first = arith.index_cast %start : i32 to index
    %seen = arith.cmpi sge, %j, %first : index
    tile.yield %seen : i1
  }
  return %o, %lse : !rows, tensor<?x?x?xf32>
}
