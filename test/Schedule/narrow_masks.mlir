// RUN: fa-opt %s --pass-pipeline='builtin.module(tile.kernel(tgpu-narrow-masks))' | FileCheck %s

!tile = tensor<64x128xindex>
!mask = tensor<64x128xi1>
!out = memref<64x128xi1>

// j < n and j0 + j <= i0 + i: one limit of each row, min(n, i0 + 1 - j0 + i).
// CHECK-LABEL: tile.kernel @causal
// CHECK-NOT: xindex
// CHECK: %[[N:.*]] = arith.index_cast %{{.*}} : index to i32
// CHECK: %[[A:.*]] = tile.broadcast %[[N]] : i32 -> tensor<64xi32>
// CHECK: %[[FROM:.*]] = arith.subi %c1, %arg1 : index
// CHECK: arith.addi %[[FROM]], %arg2 : index
// CHECK: arith.maxsi %{{.*}}, %c-64
// CHECK: arith.minsi %{{.*}}, %c192
// CHECK: %[[I:.*]] = tile.iota dim 0 : tensor<64xi32>
// CHECK: %[[B:.*]] = arith.addi %{{.*}}, %[[I]] : tensor<64xi32>
// CHECK: %[[MIN:.*]] = arith.minsi %[[A]], %[[B]] : tensor<64xi32>
// CHECK: %[[J:.*]] = tile.iota dim 1 : tensor<64x128xi32>
// CHECK: %[[COLUMN:.*]] = tile.expand_dims %[[MIN]] dim 1
// CHECK: %[[LIMIT:.*]] = tile.broadcast %[[COLUMN]] : tensor<64x1xi32> -> tensor<64x128xi32>
// CHECK: %[[MASK:.*]] = arith.cmpi slt, %[[J]], %[[LIMIT]] : tensor<64x128xi32>
// CHECK-NOT: arith.andi
// CHECK: tile.store %[[MASK]]
tile.kernel @causal(%n: index, %j0: index, %i0: index, %o: !out {tile.access = #tile.access<out>}) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %j = tile.iota dim 1 : !tile
  %i = tile.iota dim 0 : !tile
  %nt = tile.broadcast %n : index -> !tile
  %a = arith.cmpi slt, %j, %nt : !tile
  %j0t = tile.broadcast %j0 : index -> !tile
  %i0t = tile.broadcast %i0 : index -> !tile
  %key = arith.addi %j, %j0t : !tile
  %query = arith.addi %i, %i0t : !tile
  %b = arith.cmpi sle, %key, %query : !tile
  %m = arith.andi %a, %b : !mask
  tile.store %m, %o[%c0, %c0] : !mask, !out
  tile.return
}

// The other side of a window, written the other way round: i - 7 <= j. What is
// no comparison of numbers stays as it is.
// CHECK-LABEL: tile.kernel @window
// CHECK: %[[OTHER:.*]] = tile.load
// CHECK: arith.maxsi %{{.*}}, %c-64
// CHECK: %[[LIMIT:.*]] = tile.broadcast %{{.*}} : tensor<64x1xi32> -> tensor<64x128xi32>
// CHECK: %[[IN:.*]] = arith.cmpi sge, %{{.*}}, %[[LIMIT]] : tensor<64x128xi32>
// CHECK: %[[MASK:.*]] = arith.andi %[[OTHER]], %[[IN]]
// CHECK: tile.store %[[MASK]]
tile.kernel @window(%x: !out {tile.access = #tile.access<in>}, %o: !out {tile.access = #tile.access<out>}) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %c7 = arith.constant dense<7> : !tile
  %j = tile.iota dim 1 : !tile
  %i = tile.iota dim 0 : !tile
  %other = tile.load %x[%c0, %c0] : !out -> !mask
  %first = arith.subi %i, %c7 : !tile
  %in = arith.cmpi sle, %first, %j : !tile
  %m = arith.andi %other, %in : !mask
  tile.store %m, %o[%c0, %c0] : !mask, !out
  tile.return
}

// Equality, rows alone and columns twice are left alone.
// CHECK-LABEL: tile.kernel @others
// CHECK-NOT: i32
// CHECK: tile.return
tile.kernel @others(%o: !out {tile.access = #tile.access<out>}) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %c7 = arith.constant dense<7> : !tile
  %j = tile.iota dim 1 : !tile
  %i = tile.iota dim 0 : !tile
  %twice = arith.addi %j, %j : !tile
  %a = arith.cmpi eq, %j, %i : !tile
  %b = arith.cmpi slt, %i, %c7 : !tile
  %c = arith.cmpi slt, %twice, %c7 : !tile
  %ab = arith.ori %a, %b : !mask
  %m = arith.ori %ab, %c : !mask
  tile.store %m, %o[%c0, %c0] : !mask, !out
  tile.return
}
