// RUN: fa-opt %s --tile-online-softmax --tile-to-kernel='machine=sm_80 constraints="splits=0"' --canonicalize --cse | FileCheck %s
// RUN: fa-opt %s --tile-online-softmax --tile-to-kernel='constraints="splits=7"' --canonicalize --cse | FileCheck %s --check-prefix=SAID
// RUN: fa-opt %s --tile-online-softmax --tile-to-kernel='constraints="splits=1"' --canonicalize --cse | FileCheck %s --check-prefix=ONE

// Programs of a split find theirs in axis 0 of the grid, whose extent is a multiple of the number of splits.
// CHECK-DAG: #[[SPLITS:.*]] = affine_map<()[s0, s1, s2, s3, s4, s5] -> (((s0 floordiv s1) ceildiv 16) * s2, s1, s3)>
// CHECK-DAG: #[[KEYS:.*]] = affine_map<()[s0, s1, s2, s3, s4, s5] -> (s5)>
// CHECK-DAG: #[[ROWS:.*]] = affine_map<()[s0, s1, s2, s3, s4] -> (s0 floordiv s1, s1, s2)>

// CHECK: tile.kernel @attention_decode_split(%[[Q:[a-z0-9]+]]: memref<?x?x1x64xf16
// CHECK-SAME: %[[O:[a-z0-9]+]]: memref<?x?x?x?x64xf32, strided<[?, ?, ?, 64, 1]>> {tile.access = #tile.access<out>, tile.alignment = 16 : i64, tile.workspace = affine_map<()[s0, s1, s2, s3, s4, s5] -> (s3, s0, s4, 64)>}
// CHECK-SAME: %[[L:[a-z0-9]+]]: memref<?x?x?x?xf32, strided<[?, ?, ?, 1]>> {tile.access = #tile.access<out>, tile.workspace
// CHECK-SAME: grid = #[[SPLITS]]
// CHECK-SAME: tile.split_keys = #[[KEYS]]
// CHECK: %[[N:.*]] = memref.dim %[[O]], %c0
// CHECK: %[[SPLIT:.*]] = arith.remui %{{.*}}, %[[N]]
// CHECK: tile.online_finalize {{.*}} apart tensor<16xf32>
// CHECK: memref.subview %[[O]][%[[SPLIT]],
// CHECK: tile.store
// CHECK: memref.subview %[[L]][%[[SPLIT]],
// CHECK: tile.store
// CHECK: memref.subview %{{.*}}[%[[SPLIT]],
// CHECK: tile.store
// CHECK-NOT: tile.store
// CHECK: tile.return

// The merge has a row for each program. It asks for 32 splits before it merges the first, then for sixteen, eight, four, two and one of those that are left.
// CHECK: tile.kernel @attention_decode_merge(
// CHECK-SAME: {tile.access = #tile.access<in>, tile.workspace
// CHECK-SAME: grid = #[[ROWS]]
// CHECK-SAME: tile.follows = @attention_decode_split
// CHECK: scf.for
// CHECK-COUNT-96: tile.load %{{.*}} in_bounds
// CHECK-NOT: tile.load
// CHECK-COUNT-32: tile.online_merge
// CHECK: scf.for
// CHECK-COUNT-48: tile.load
// CHECK-NOT: tile.load
// CHECK-COUNT-16: tile.online_merge
// CHECK: scf.for
// CHECK-COUNT-24: tile.load
// CHECK-NOT: tile.load
// CHECK-COUNT-8: tile.online_merge
// CHECK: scf.for
// CHECK-COUNT-12: tile.load
// CHECK-NOT: tile.load
// CHECK-COUNT-4: tile.online_merge
// CHECK: scf.for
// CHECK-COUNT-6: tile.load
// CHECK-NOT: tile.load
// CHECK-COUNT-2: tile.online_merge
// CHECK: scf.for
// CHECK-COUNT-3: tile.load
// CHECK: tile.online_merge
// CHECK-NOT: tile.online_merge
// CHECK: tile.online_finalize
// CHECK: arith.truncf
// CHECK: tile.store

// Behind them what a launch without workspace takes.
// CHECK: tile.kernel @attention_decode(

// Packed queries: the queries of all heads of a group, where they are few.
// CHECK: tile.kernel @attention_packed_split(
// CHECK-SAME: tile.at_most = array<i64: 0, 2, 64>
// CHECK-DAG: tile.iota dim 0 : tensor<64xindex>
// CHECK-DAG: arith.divui %{{.*}} : tensor<64xindex>
// CHECK-DAG: tile.grouped_view %{{.*}} : memref<?x?x64xf{{.*}}
// CHECK: tile.kernel @attention_packed_merge(
// CHECK: tile.kernel @attention_packed(
// CHECK: tile.kernel @attention(
// CHECK-NOT: tile.workspace
// CHECK: tile.kernel @attention_strided(

// SAID: tile.kernel @attention_decode_split(
// SAID-SAME: tile.splits = 7
// ONE-NOT: tile.workspace
!rows = tensor<?x?x?x64xf16>
func.func @attention(%q: !rows, %k: !rows, %v: !rows, %scale: f32) -> !rows {
  %o = tile.attention %q, %k, %v scale %scale : !rows, !rows, !rows -> !rows score {} mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %m = arith.cmpi sle, %j, %i : index
    tile.yield %m : i1
  }
  return %o : !rows
}
