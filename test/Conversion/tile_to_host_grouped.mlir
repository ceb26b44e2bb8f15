// RUN: fa-opt %s --split-input-file --verify-diagnostics --convert-tile-to-host | FileCheck %s

// The queries of several heads: rows of a copy, which are copied back.
!heads = memref<?x?x8xf32, strided<[?, ?, 1]>>
!rows = memref<?x8xf32, affine_map<(d0, d1)[s0] -> (d0 mod s0, d0 floordiv s0, d1)>>
// CHECK-LABEL: func.func @copied
// CHECK: scf.for
// CHECK: memref.copy
// CHECK: scf.for
// CHECK: memref.copy
tile.kernel @copied(%x: !heads {tile.access = #tile.access<in>}, %o: !heads {tile.access = #tile.access<out>}) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %from = tile.grouped_view %x : !heads -> !rows
  %to = tile.grouped_view %o : !heads -> !rows
  %0 = tile.load %from[%c0, %c0] : !rows -> tensor<16x8xf32>
  %1 = arith.addf %0, %0 : tensor<16x8xf32>
  tile.store %1, %to[%c0, %c0] : tensor<16x8xf32>, !rows
  tile.return
}
// -----
!heads = memref<?x?x8xf32, strided<[?, ?, 1]>>
!rows = memref<?x8xf32, affine_map<(d0, d1)[s0] -> (d0 mod s0, d0 floordiv s0, d1)>>
tile.kernel @blocks(%x: !heads {tile.access = #tile.access<in>}, %o: memref<?x8xf32> {tile.access = #tile.access<out>}) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  // expected-error @below {{expects rows without blocks on a CPU, found blocks of 16}}
  %from = tile.grouped_view %x block 16 : !heads -> !rows
  %0 = tile.load %from[%c0, %c0] : !rows -> tensor<16x8xf32>
  tile.store %0, %o[%c0, %c0] : tensor<16x8xf32>, memref<?x8xf32>
  tile.return
}
