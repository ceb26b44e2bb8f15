// dQ = dS K and dQᵀ = Kᵀ dSᵀ, of two pieces each, add the products of pieces in
// one order: the second piece of dS times both of K, then the first times both.
// RUN: fa-opt %s --convert-tile-to-host="pair-dots=true tile-dots=true" --canonicalize --cse | FileCheck %s

// dS on the left is held while K changes.
// CHECK-LABEL: func.func @left
// CHECK: amx.tile_load %[[DS:.*]][%c16, %c0] : memref<32x48xi32>
// CHECK: amx.tile_load %[[DS]][%c16, %c16]
// CHECK-COUNT-4: amx.tile_load %{{.*}} : memref<128x32xi32>
// CHECK: amx.tile_load %[[DS]][%c0, %c0]
// CHECK: amx.tile_load %[[DS]][%c0, %c16]
// CHECK-COUNT-4: amx.tile_mulf
// CHECK-COUNT-2: amx.tile_load %{{.*}} : memref<128x32xi32>
// CHECK-NOT: amx.tile_load
tile.kernel @left(%s: memref<32x32xf32> {tile.access = #tile.access<in>}, %k: memref<32x64xf16> {tile.access = #tile.access<in>},
                  %dq: memref<32x64xf32> {tile.access = #tile.access<out>})
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %x = tile.load %s[%c0, %c0] in_bounds : memref<32x32xf32> -> tensor<32x32xf32>
  %ds = arith.truncf %x : tensor<32x32xf32> to tensor<32x32xf16>
  %b = tile.load %k[%c0, %c0] in_bounds : memref<32x64xf16> -> tensor<32x64xf16>
  %r = tile.dot %ds, %b : tensor<32x32xf16>, tensor<32x64xf16> -> tensor<32x64xf32>
  tile.store %r, %dq[%c0, %c0] : tensor<32x64xf32>, memref<32x64xf32>
  tile.return
}

// On the right it is held as well.
// CHECK-LABEL: func.func @right
// CHECK: amx.tile_load %[[K:.*]][%c16, %{{.*}}] : memref<32x80xi32>
// CHECK: amx.tile_load %[[K]][%c16,
// CHECK: amx.tile_load %[[DS:.*]][%c32, %c0] : memref<64x32xi32>
// CHECK: amx.tile_load %[[DS]][%c48, %c0]
// CHECK: amx.tile_load %[[K]][%c0,
// CHECK: amx.tile_load %[[K]][%c0,
// CHECK-COUNT-4: amx.tile_mulf
// CHECK: amx.tile_load %[[DS]][%c0, %c0]
// CHECK: amx.tile_load %[[DS]][%c16, %c0]
// CHECK: amx.tile_load %[[K]][%c16,
// CHECK: amx.tile_load %[[K]][%c16,
// CHECK-NOT: amx.tile_load
tile.kernel @right(%s: memref<32x32xf32> {tile.access = #tile.access<in>}, %k: memref<32x64xf16> {tile.access = #tile.access<in>},
                   %dqt: memref<64x32xf32> {tile.access = #tile.access<out>})
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %x = tile.load %s[%c0, %c0] in_bounds : memref<32x32xf32> -> tensor<32x32xf32>
  %ds = arith.truncf %x : tensor<32x32xf32> to tensor<32x32xf16>
  %t = memref.transpose %k (i, j) -> (j, i) : memref<32x64xf16> to memref<64x32xf16, strided<[1, 64]>>
  %kt = tile.load %t[%c0, %c0] in_bounds : memref<64x32xf16, strided<[1, 64]>> -> tensor<64x32xf16>
  %r = tile.dot %kt, %ds : tensor<64x32xf16>, tensor<32x32xf16> -> tensor<64x32xf32>
  tile.store %r, %dqt[%c0, %c0] : tensor<64x32xf32>, memref<64x32xf32>
  tile.return
}
