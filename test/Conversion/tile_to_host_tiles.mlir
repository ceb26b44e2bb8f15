// RUN: fa-opt %s --convert-tile-to-host="pair-dots=true tile-dots=true" --canonicalize --cse | FileCheck %s
// RUN: fa-opt %s --convert-tile-to-host="pair-dots=true" --canonicalize --cse | FileCheck %s --check-prefix=PAIRS
// RUN: fa-opt %s --convert-tile-to-host="tile-dots=true" --canonicalize --cse | FileCheck %s --check-prefix=PAIRS --check-prefix=WIDE

// Products of tiles of bf16. Queries: pairs, as for products of pairs, in rows
// of one line more than needed. Keys: tiles of what lies in memory. Two tiles by
// two of sums, twice for 64 rows.
// PAIRS-NOT: amx.
// WIDE-NOT: x86vector
// CHECK-LABEL: func.func @scores
// CHECK: %[[Q:.*]] = memref.view %{{.*}} to memref<32x80xi32>
// CHECK: %[[R:.*]] = memref.view %{{.*}} to memref<128x80xf32>
// CHECK-COUNT-4: amx.tile_zero : !amx.tile<16x16xf32>
// CHECK: scf.for {{.*}} step %c32
// CHECK-COUNT-2: amx.tile_load %[[Q]]{{.*}} : memref<32x80xi32> into !amx.tile<16x32xbf16>
// CHECK: amx.tile_load %{{.*}} : memref<?x64xbf16> into !amx.tile<16x32xbf16>
// CHECK-COUNT-2: amx.tile_mulf
// CHECK: amx.tile_load %{{.*}} : memref<?x64xbf16> into !amx.tile<16x32xbf16>
// CHECK-COUNT-2: amx.tile_mulf
// CHECK: scf.yield
// CHECK-COUNT-4: amx.tile_store %[[R]]
// CHECK-COUNT-4: amx.tile_zero
// CHECK-NOT: x86vector
tile.kernel @scores(%q: memref<?x64xbf16> {tile.access = #tile.access<in>},
                    %k: memref<?x64xbf16> {tile.access = #tile.access<in>},
                    %s: memref<?x128xf32> {tile.access = #tile.access<out>})
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %a = tile.load %q[%c0, %c0] : memref<?x64xbf16> -> tensor<64x64xbf16>
  %b = tile.load %k[%c0, %c0] in_bounds : memref<?x64xbf16> -> tensor<128x64xbf16>
  %r = tile.dot %a, %b transpose_b : tensor<64x64xbf16>, tensor<128x64xbf16> -> tensor<64x128xf32>
  tile.store %r, %s[%c0, %c0] : tensor<64x128xf32>, memref<?x128xf32>
  tile.return
}

// The right operand as it is: transposed, two of its rows side by side.
// CHECK-LABEL: func.func @output
// CHECK: %[[V:.*]] = memref.view %{{.*}} to memref<64x32xi32>
// CHECK: %[[EVEN:.*]] = vector.load %{{.*}} : memref<?x64xbf16>, vector<16xbf16>
// CHECK: %[[ODD:.*]] = vector.load %{{.*}} : memref<?x64xbf16>, vector<16xbf16>
// CHECK: vector.interleave %[[EVEN]], %[[ODD]]
// CHECK-COUNT-64: vector.shuffle
// CHECK-COUNT-16: vector.store %{{.*}}, %[[V]]
// CHECK: amx.tile_load %[[V]]
// CHECK: amx.tile_mulf
tile.kernel @output(%p: memref<?x64xbf16> {tile.access = #tile.access<in>},
                    %v: memref<?x64xbf16> {tile.access = #tile.access<in>},
                    %o: memref<?x64xbf16> {tile.access = #tile.access<out>})
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %a = tile.load %p[%c0, %c0] in_bounds : memref<?x64xbf16> -> tensor<64x64xbf16>
  %b = tile.load %v[%c0, %c0] in_bounds : memref<?x64xbf16> -> tensor<64x64xbf16>
  %r = tile.dot %a, %b : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
  %n = arith.truncf %r : tensor<64x64xf32> to tensor<64x64xbf16>
  tile.store %n, %o[%c0, %c0] : tensor<64x64xbf16>, memref<?x64xbf16>
  tile.return
}

// A contraction that fills no whole tiles: keys are copied and both operands
// padded by zeros, 72 to 96.
// CHECK-LABEL: func.func @padded
// CHECK-DAG: memref.view %{{.*}} to memref<48x80xi32>
// CHECK-DAG: %[[K:.*]] = memref.view %{{.*}} to memref<64x96xbf16>
// CHECK: amx.tile_load %[[K]]
tile.kernel @padded(%q: memref<?x72xbf16> {tile.access = #tile.access<in>},
                    %k: memref<?x72xbf16> {tile.access = #tile.access<in>},
                    %s: memref<?x64xf32> {tile.access = #tile.access<out>})
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %a = tile.load %q[%c0, %c0] : memref<?x72xbf16> -> tensor<64x72xbf16>
  %b = tile.load %k[%c0, %c0] in_bounds : memref<?x72xbf16> -> tensor<64x72xbf16>
  %r = tile.dot %a, %b transpose_b : tensor<64x72xbf16>, tensor<64x72xbf16> -> tensor<64x64xf32>
  tile.store %r, %s[%c0, %c0] : tensor<64x64xf32>, memref<?x64xf32>
  tile.return
}

// Rows or keys that fill no block go by pairs.
// CHECK-LABEL: func.func @short
// CHECK-NOT: amx.
// CHECK: x86vector.avx512.dot
tile.kernel @short(%q: memref<?x64xbf16> {tile.access = #tile.access<in>},
                   %k: memref<?x64xbf16> {tile.access = #tile.access<in>},
                   %s: memref<?x48xf32> {tile.access = #tile.access<out>})
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %a = tile.load %q[%c0, %c0] : memref<?x64xbf16> -> tensor<64x64xbf16>
  %b = tile.load %k[%c0, %c0] in_bounds : memref<?x64xbf16> -> tensor<48x64xbf16>
  %r = tile.dot %a, %b transpose_b : tensor<64x64xbf16>, tensor<48x64xbf16> -> tensor<64x48xf32>
  tile.store %r, %s[%c0, %c0] : tensor<64x48xf32>, memref<?x48xf32>
  tile.return
}

// Blocks of 64 rows that are not there are left out where no row of a result
// depends on another one: the loop ends with the rows of the view.
// CHECK-LABEL: func.func @kept
// CHECK: %[[ROWS:.*]] = arith.minsi %{{.*}}, %c256
// CHECK: %[[END:.*]] = arith.minsi %[[ROWS]], %c256
// CHECK: scf.for %{{.*}} = %c0 to %[[END]] step %c64
// CHECK: amx.tile_mulf
tile.kernel @kept(%q: memref<?x?x64xbf16> {tile.access = #tile.access<in>},
                  %k: memref<?x64xbf16> {tile.access = #tile.access<in>},
                  %s: memref<?x?x128xf32> {tile.access = #tile.access<out>})
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %q, %c1 : memref<?x?x64xbf16>
  %qv = memref.subview %q[0, 0, 0] [1, %n, 64] [1, 1, 1] : memref<?x?x64xbf16> to memref<?x64xbf16, strided<[64, 1]>>
  %sv = memref.subview %s[0, 0, 0] [1, %n, 128] [1, 1, 1] : memref<?x?x128xf32> to memref<?x128xf32, strided<[128, 1]>>
  %a = tile.load %qv[%c0, %c0] : memref<?x64xbf16, strided<[64, 1]>> -> tensor<256x64xbf16>
  %b = tile.load %k[%c0, %c0] in_bounds : memref<?x64xbf16> -> tensor<128x64xbf16>
  %r = tile.dot %a, %b transpose_b : tensor<256x64xbf16>, tensor<128x64xbf16> -> tensor<256x128xf32>
  tile.store %r, %sv[%c0, %c0] : tensor<256x128xf32>, memref<?x128xf32, strided<[128, 1]>>
  tile.return
}

// All rows may be needed: the result is a right operand itself.
// CHECK-LABEL: func.func @mixed
// CHECK: scf.for %{{.*}} = %c0 to %c128 step %c64
// CHECK: amx.tile_mulf
tile.kernel @mixed(%q: memref<?x?x64xbf16> {tile.access = #tile.access<in>},
                   %k: memref<?x64xbf16> {tile.access = #tile.access<in>},
                   %s: memref<?x?x128xf32> {tile.access = #tile.access<out>})
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %q, %c1 : memref<?x?x64xbf16>
  %qv = memref.subview %q[0, 0, 0] [1, %n, 64] [1, 1, 1] : memref<?x?x64xbf16> to memref<?x64xbf16, strided<[64, 1]>>
  %sv = memref.subview %s[0, 0, 0] [1, %n, 128] [1, 1, 1] : memref<?x?x128xf32> to memref<?x128xf32, strided<[128, 1]>>
  %a = tile.load %qv[%c0, %c0] : memref<?x64xbf16, strided<[64, 1]>> -> tensor<128x64xbf16>
  %b = tile.load %k[%c0, %c0] in_bounds : memref<?x64xbf16> -> tensor<128x64xbf16>
  %r = tile.dot %a, %b transpose_b : tensor<128x64xbf16>, tensor<128x64xbf16> -> tensor<128x128xf32>
  %t = tile.dot %r, %r : tensor<128x128xf32>, tensor<128x128xf32> -> tensor<128x128xf32>
  tile.store %t, %sv[%c0, %c0] : tensor<128x128xf32>, memref<?x128xf32, strided<[128, 1]>>
  tile.return
}
