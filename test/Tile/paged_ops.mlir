// RUN: fa-opt %s | fa-opt | FileCheck %s
// RUN: fa-opt %s --emit-bytecode | fa-opt | FileCheck %s

// CHECK: #[[ROWS:[a-z0-9]+]] = affine_map<(d0, d1)[s0] -> (d0 floordiv s0, d0 mod s0, d1)>

// CHECK-LABEL: func.func @paged
// CHECK: tile.paged %{{.*}} through %{{.*}} limit %{{.*}} : tensor<?x8x?x128xbf16>, tensor<?x?xi32>, tensor<?xi32> -> tensor<?x8x?x128xbf16>
// CHECK: tile.paged %{{.*}} : tensor<9x8x16x128xbf16>, tensor<3x4xi32>, tensor<3xi32> -> tensor<3x8x64x128xbf16>
func.func @paged(%pages: tensor<?x8x?x128xbf16>, %table: tensor<?x?xi32>, %lengths: tensor<?xi32>, %p: tensor<9x8x16x128xbf16>, %t: tensor<3x4xi32>, %l: tensor<3xi32>) {
  %0 = tile.paged %pages through %table limit %lengths : tensor<?x8x?x128xbf16>, tensor<?x?xi32>, tensor<?xi32> -> tensor<?x8x?x128xbf16>
  %1 = tile.paged %p through %t limit %l : tensor<9x8x16x128xbf16>, tensor<3x4xi32>, tensor<3xi32> -> tensor<3x8x64x128xbf16>
  return
}

// CHECK-LABEL: tile.kernel @view
// CHECK: tile.paged_view %{{.*}}[%{{.*}}] through %{{.*}}[%{{.*}}] limit %{{.*}} : memref<?x8x?x128xbf16, strided<[?, ?, ?, 1]>>, memref<?x?xi32, strided<[?, ?]>> -> memref<?x128xbf16, #[[ROWS]]>
tile.kernel @view(%pages: memref<?x8x?x128xbf16, strided<[?, ?, ?, 1]>> {tile.access = #tile.access<in>}, %table: memref<?x?xi32, strided<[?, ?]>> {tile.access = #tile.access<in>}, %head: index, %length: index) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %0 = tile.paged_view %pages[%head] through %table[%c0] limit %length : memref<?x8x?x128xbf16, strided<[?, ?, ?, 1]>>, memref<?x?xi32, strided<[?, ?]>> -> memref<?x128xbf16, affine_map<(d0, d1)[s0] -> (d0 floordiv s0, d0 mod s0, d1)>>
  %1 = tile.load %0[%c0, %c0] : memref<?x128xbf16, affine_map<(d0, d1)[s0] -> (d0 floordiv s0, d0 mod s0, d1)>> -> tensor<64x128xbf16>
  tile.return
}

// CHECK-LABEL: tile.kernel @slot
// CHECK: tile.slot_view %{{.*}} at %{{.*}} : memref<?x?x?x128xbf16, strided<[?, ?, ?, 2]>> -> memref<?x128xbf16, strided<[?, 2], offset: ?>>
tile.kernel @slot(%pages: memref<?x?x?x128xbf16, strided<[?, ?, ?, 2]>> {tile.access = #tile.access<inout>}, %slot: index) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %zeros = arith.constant dense<0.0> : tensor<8x128xbf16>
  %0 = tile.slot_view %pages at %slot : memref<?x?x?x128xbf16, strided<[?, ?, ?, 2]>> -> memref<?x128xbf16, strided<[?, 2], offset: ?>>
  tile.store %zeros, %0[%c0, %c0] : tensor<8x128xbf16>, memref<?x128xbf16, strided<[?, 2], offset: ?>>
  tile.return
}
