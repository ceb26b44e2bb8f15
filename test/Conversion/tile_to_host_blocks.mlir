// Blocks of rows of products: registers of 16 lanes, of nearly equal width where
// all rows are no multiple of the widest. 64 rows are 2 + 2, where 3 + 1 would
// read the right operand for a single register of rows. Products of tiles have
// two registers of rows a trip: 96 rows are 4 + 2, and no trip goes beyond.
// RUN: fa-opt %s --convert-tile-to-host --canonicalize --cse | FileCheck %s
// RUN: sed s/64x32x/96x32x/g %s | fa-opt --convert-tile-to-host="pair-dots=true tile-dots=true" --canonicalize --cse | FileCheck %s --check-prefix=TILES

// CHECK-LABEL: func.func @scores
// CHECK: scf.for %[[ROW:.*]] = %c0 to %c64 step %c32
// CHECK: scf.for %{{.*}} = %c0 to %c32 step %c8
// CHECK-COUNT-16: vector.fma

// TILES-LABEL: func.func @scores
// TILES-NOT: scf.for {{.*}} step %c48
// TILES: scf.for %{{.*}} = %c0 to %c64 step %c32
// TILES-COUNT-4: amx.tile_mulf
// TILES-NOT: scf.for
// TILES-COUNT-4: amx.tile_mulf
tile.kernel @scores(%q: memref<?x32xbf16> {tile.access = #tile.access<in>},
                    %k: memref<?x32xbf16> {tile.access = #tile.access<in>},
                    %s: memref<?x32xf32> {tile.access = #tile.access<out>})
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %a = tile.load %q[%c0, %c0] : memref<?x32xbf16> -> tensor<64x32xbf16>
  %b = tile.load %k[%c0, %c0] in_bounds : memref<?x32xbf16> -> tensor<32x32xbf16>
  %r = tile.dot %a, %b transpose_b : tensor<64x32xbf16>, tensor<32x32xbf16> -> tensor<64x32xf32>
  tile.store %r, %s[%c0, %c0] : tensor<64x32xf32>, memref<?x32xf32>
  tile.return
}
