// Blocks of keys that a capture lists are walked, whole ones first; a mask that is intervals of keys walks those.
// RUN: fa-opt %s --split-input-file --tile-online-softmax --tile-to-kernel='machine=sm_90a constraints="schedule=persistent stages=2"' --canonicalize --cse | FileCheck %s
// RUN: fa-opt %s --split-input-file --tile-online-softmax --tile-to-kernel='machine=sm_90a' | FileCheck %s --check-prefix=LAUNCH

!rows = tensor<?x?x?x64xf16>
!table = tensor<?x?x?x?xi32>

// The kernels of a launch: no rows of several heads, no splits, no clusters.
// LAUNCH: tile.kernel @strips_roles_few(
// LAUNCH-NOT: tile.kernel @strips_{{.*}}_split(
// LAUNCH: tile.kernel @strips_roles_dynamic(
// LAUNCH-NOT: clusters
// LAUNCH: tile.kernel @strips_strided(

// CHECK-LABEL: tile.kernel @strips_roles(
// CHECK-SAME: #tile.size_rule<equal 3[0], 0[0]>, #tile.size_rule<equal 3[1], 0[1]>, #tile.size_rule<equal 0[2], 3[2] * 128>, #tile.size_rule<equal 4[0], 0[0]>, #tile.size_rule<equal 4[1], 0[1]>, #tile.size_rule<equal 0[2], 4[2] * 128>, #tile.size_rule<at_least 3[3], 3[3]>, #tile.size_rule<at_least 4[3], 4[3] * 2>, #tile.size_rule<divisible 1[2], 1[2] * 256>
// CHECK-SAME: tile.shape = array<i64: 128, 128>
// CHECK-DAG: %[[B:.*]] = tile.program_id 2
// CHECK-DAG: %[[H:.*]] = tile.program_id 1
// CHECK: %[[ROW:.*]] = arith.divui %{{.*}}, %c128 : index
// CHECK: memref.load %arg4[%[[B]], %[[H]], %[[ROW]], %c0]
// CHECK: %[[WHOLE:.*]] = arith.muli %{{.*}}, %c256 : index
// CHECK: memref.load %arg4[%[[B]], %[[H]], %[[ROW]], %c1]
// CHECK: %[[EVERY:.*]] = arith.maxsi %[[WHOLE]], %{{.*}} : index
// CHECK: scf.for %[[PLACE:.*]] = %c0 to %[[WHOLE]] step %c128
// CHECK: %[[NUMBER:.*]] = arith.divui %[[PLACE]], %c256 : index
// CHECK: memref.load %arg3[%[[B]], %[[H]], %[[ROW]], %{{.*}}]
// CHECK: %[[FIRST:.*]] = arith.muli %{{.*}}, %c256 : index
// CHECK: %[[INSIDE:.*]] = arith.remui %[[PLACE]], %c256 : index
// CHECK: %[[KEY:.*]] = arith.addi %[[FIRST]], %[[INSIDE]] : index
// CHECK: tile.load %{{.*}}[%[[KEY]], %c0] in_bounds
// CHECK-NOT: arith.select
// CHECK: scf.for %{{.*}} = %[[WHOLE]] to %[[EVERY]] step %c128
// CHECK: tile.load %{{.*}} in_bounds
// CHECK: arith.select
// CHECK-NOT: scf.for
// CHECK: tile.kernel @strips(
func.func @strips(%q: !rows, %k: !rows, %v: !rows, %blocks: !table, %counts: !table, %scale: f32) -> !rows {
  %o = tile.attention %q, %k, %v scale %scale captures(%blocks, %counts : !table, !table) {tile.block_lists = array<i64: 0, 1, 128, 256>} : !rows, !rows, !rows -> !rows score {} mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %l: !table, %c: !table):
    %c3 = arith.constant 3 : index
    %x = arith.remui %i, %c3 : index
    %y = arith.remui %j, %c3 : index
    %seen = arith.cmpi eq, %x, %y : index
    tile.yield %seen : i1
  }
  return %o : !rows
}

// -----

!rows = tensor<?x?x?x64xf16>
!table = tensor<?x?x?x?xi32>

// CHECK-LABEL: tile.kernel @causal_roles(
// CHECK-NOT: memref.load %arg3
// CHECK: tile.return
func.func @causal(%q: !rows, %k: !rows, %v: !rows, %blocks: !table, %counts: !table, %scale: f32) -> !rows {
  %o = tile.attention %q, %k, %v scale %scale captures(%blocks, %counts : !table, !table) {tile.block_lists = array<i64: 0, 1, 128, 128>} : !rows, !rows, !rows -> !rows score {} mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %l: !table, %c: !table):
    %seen = arith.cmpi sle, %j, %i : index
    tile.yield %seen : i1
  }
  return %o : !rows
}
