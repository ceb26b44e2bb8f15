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

// Where each row's document begins: a limit of each row as well.
// CHECK-LABEL: tile.kernel @documents
// CHECK: %[[STARTS:.*]] = tile.load {{.*}} tensor<64xi32>
// CHECK: %[[WIDE:.*]] = arith.index_cast %[[STARTS]] : tensor<64xi32> to tensor<64xindex>
// CHECK: %[[BEHIND:.*]] = arith.addi %{{.*}}, %[[WIDE]] : tensor<64xindex>
// CHECK: arith.maxsi %[[BEHIND]], %{{.*}} : tensor<64xindex>
// CHECK: %[[NEAR:.*]] = arith.minsi {{.*}} : tensor<64xindex>
// CHECK: %[[ROWS:.*]] = arith.index_cast %[[NEAR]] : tensor<64xindex> to tensor<64xi32>
// CHECK: %[[COLUMN:.*]] = tile.expand_dims %[[ROWS]] dim 1
// CHECK: %[[LIMIT:.*]] = tile.broadcast %[[COLUMN]]
// CHECK: %[[MASK:.*]] = arith.cmpi sge, %{{.*}}, %[[LIMIT]] : tensor<64x128xi32>
// CHECK: tile.store %[[MASK]]
tile.kernel @documents(%starts: memref<?xi32> {tile.access = #tile.access<in>}, %j0: index, %i0: index, %o: !out {tile.access = #tile.access<out>}) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %j = tile.iota dim 1 : !tile
  %j0t = tile.broadcast %j0 : index -> !tile
  %key = arith.addi %j, %j0t : !tile
  %rows = tile.load %starts[%i0] : memref<?xi32> -> tensor<64xi32>
  %column = tile.expand_dims %rows dim 1 : tensor<64xi32> -> tensor<64x1xi32>
  %limits = tile.broadcast %column : tensor<64x1xi32> -> tensor<64x128xi32>
  %first = arith.index_cast %limits : tensor<64x128xi32> to !tile
  %m = arith.cmpi sge, %key, %first : !tile
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

// A limit that 1 more would wrap is left as it is, and so is a sum of too many terms: 2^40 ways lead to %i.
// CHECK-LABEL: tile.kernel @left
// CHECK: arith.cmpi sle, %{{.*}}, %{{.*}} : tensor<64x128xindex>
// CHECK: arith.cmpi sle, %{{.*}}, %{{.*}} : tensor<64x128xindex>
tile.kernel @left(%o: !out {tile.access = #tile.access<out>}) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %j = tile.iota dim 1 : !tile
  %i0 = tile.iota dim 0 : !tile
  %most = arith.constant dense<9223372036854775807> : !tile
  %a = arith.cmpi sle, %j, %most : !tile
  tile.store %a, %o[%c0, %c0] : !mask, !out
  %i1 = arith.addi %i0, %i0 : !tile
  %i2 = arith.addi %i1, %i1 : !tile
  %i3 = arith.addi %i2, %i2 : !tile
  %i4 = arith.addi %i3, %i3 : !tile
  %i5 = arith.addi %i4, %i4 : !tile
  %i6 = arith.addi %i5, %i5 : !tile
  %i7 = arith.addi %i6, %i6 : !tile
  %i8 = arith.addi %i7, %i7 : !tile
  %i9 = arith.addi %i8, %i8 : !tile
  %i10 = arith.addi %i9, %i9 : !tile
  %i11 = arith.addi %i10, %i10 : !tile
  %i12 = arith.addi %i11, %i11 : !tile
  %i13 = arith.addi %i12, %i12 : !tile
  %i14 = arith.addi %i13, %i13 : !tile
  %i15 = arith.addi %i14, %i14 : !tile
  %i16 = arith.addi %i15, %i15 : !tile
  %i17 = arith.addi %i16, %i16 : !tile
  %i18 = arith.addi %i17, %i17 : !tile
  %i19 = arith.addi %i18, %i18 : !tile
  %i20 = arith.addi %i19, %i19 : !tile
  %i21 = arith.addi %i20, %i20 : !tile
  %i22 = arith.addi %i21, %i21 : !tile
  %i23 = arith.addi %i22, %i22 : !tile
  %i24 = arith.addi %i23, %i23 : !tile
  %i25 = arith.addi %i24, %i24 : !tile
  %i26 = arith.addi %i25, %i25 : !tile
  %i27 = arith.addi %i26, %i26 : !tile
  %i28 = arith.addi %i27, %i27 : !tile
  %i29 = arith.addi %i28, %i28 : !tile
  %i30 = arith.addi %i29, %i29 : !tile
  %i31 = arith.addi %i30, %i30 : !tile
  %i32 = arith.addi %i31, %i31 : !tile
  %i33 = arith.addi %i32, %i32 : !tile
  %i34 = arith.addi %i33, %i33 : !tile
  %i35 = arith.addi %i34, %i34 : !tile
  %i36 = arith.addi %i35, %i35 : !tile
  %i37 = arith.addi %i36, %i36 : !tile
  %i38 = arith.addi %i37, %i37 : !tile
  %i39 = arith.addi %i38, %i38 : !tile
  %i40 = arith.addi %i39, %i39 : !tile
  %b = arith.cmpi sle, %j, %i40 : !tile
  tile.store %b, %o[%c0, %c0] : !mask, !out
  tile.return
}
