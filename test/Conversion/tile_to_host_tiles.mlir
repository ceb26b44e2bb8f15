// RUN: fa-opt %s --convert-tile-to-host="pair-dots=true tile-dots=true" --canonicalize --cse | FileCheck %s
// RUN: fa-opt %s --convert-tile-to-host="pair-dots=true" --canonicalize --cse | FileCheck %s --check-prefix=PAIRS
// RUN: fa-opt %s --convert-tile-to-host="tile-dots=true" --canonicalize --cse | FileCheck %s --check-prefix=PAIRS --check-prefix=WIDE

// Products of tiles of bf16. Queries: pairs, as for products of pairs, in rows
// of one line more than needed. Keys: tiles of what lies in memory. Two tiles by
// two of sums, in a loop for 64 rows.
// PAIRS-NOT: amx.
// WIDE-NOT: x86vector
// CHECK-LABEL: func.func @scores
// CHECK: %[[Q:.*]] = memref.view %{{.*}} to memref<32x80xi32>
// CHECK: %[[R:.*]] = memref.view %{{.*}} to memref<128x80xf32>
// CHECK: scf.for %{{.*}} = %c0 to %c64 step %c32
// CHECK-COUNT-4: amx.tile_zero : !amx.tile<16x16xf32>
// CHECK: scf.for {{.*}} step %c32
// CHECK-COUNT-2: amx.tile_load %[[Q]]{{.*}} : memref<32x80xi32> into !amx.tile<16x32xbf16>
// CHECK: amx.tile_load %{{.*}} : memref<?x64xbf16> into !amx.tile<16x32xbf16>
// CHECK-COUNT-2: amx.tile_mulf
// CHECK: amx.tile_load %{{.*}} : memref<?x64xbf16> into !amx.tile<16x32xbf16>
// CHECK-COUNT-2: amx.tile_mulf
// CHECK: scf.yield
// CHECK-COUNT-4: amx.tile_store %[[R]]
// CHECK-NOT: amx.tile_zero
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

// The right operand as it is: transposed, two of its rows side by side, in rows
// of one line more than needed. Two times eight columns of 32 rows, read at once
// and parted: registers of four rows each, exchanged within their groups of eight
// in three steps. What is stored as bf16 leaves as pairs of columns, interleaved
// and then narrowed: squares of 16 for 32 columns, transposed within 128 bits and
// then as these. No exchange takes indices in a register.
// CHECK-LABEL: func.func @output
// CHECK: %[[V:.*]] = memref.view %{{.*}} to memref<64x48xi32>
// CHECK: scf.for %{{.*}} = %c0 to %c64 step %c32
// CHECK: scf.for %{{.*}} = %c0 to %c64 step %c16
// CHECK-COUNT-4: vector.load {{.*}}, vector<16xbf16>
// CHECK: vector.shuffle %{{.*}} [0, 1, 2, {{.*}}, 30, 31] : vector<16xi16>, vector<16xi16>
// CHECK: vector.shuffle %{{.*}} [0, 1, 2, {{.*}}, 30, 31] : vector<16xi16>, vector<16xi16>
// CHECK: vector.shuffle %{{.*}} [0, 1, 2, 3, 4, 5, 6, 7, 16, {{.*}}] : vector<32xi16>, vector<32xi16>
// CHECK: vector.shuffle %{{.*}} [8, 9, 10, 11, 12, 13, 14, 15, 24, {{.*}}] : vector<32xi16>, vector<32xi16>
// CHECK-COUNT-28: vector.load {{.*}}, vector<16xbf16>
// CHECK-NOT: vector.load
// CHECK: vector.shuffle %{{.*}} [0, 32, 1, 33, 2, 34, 3, 35, 8, 40, {{.*}}] : vector<32xi16>, vector<32xi16>
// CHECK: vector.shuffle %{{.*}} [4, 36, 5, 37, 6, 38, 7, 39, 12, 44, {{.*}}] : vector<32xi16>, vector<32xi16>
// CHECK-COUNT-46: vector.shuffle %{{.*}} : vector<32xi16>, vector<32xi16>
// CHECK-NOT: vector<32xi16>, vector<32xi16>
// CHECK-COUNT-16: vector.store %{{.*}}, %[[V]]
// CHECK: amx.tile_load %[[V]]
// CHECK: amx.tile_mulf
// CHECK: scf.for %{{.*}} = %c0 to %c64 step %c16
// CHECK: scf.for %{{.*}} = %c0 to %c32 step %c16
// CHECK: vector.shuffle %{{.*}} [0, 16, 1, 17, 4, 20, {{.*}}] : vector<16xf32>, vector<16xf32>
// CHECK: vector.shuffle %{{.*}} [2, 18, 3, 19, 6, 22, {{.*}}] : vector<16xf32>, vector<16xf32>
// CHECK-COUNT-16: llvm.call_intrinsic "llvm.x86.avx512bf16.cvtne2ps2bf16.512"
// CHECK-NOT: cvtne2ps2bf16
// CHECK-COUNT-32: vector.shuffle %{{.*}} [{{0, 16, 1, 17|2, 18, 3, 19}}, {{.*}}] : vector<16xi32>, vector<16xi32>
// CHECK-COUNT-32: vector.shuffle %{{.*}} [{{0, 1, 2, 3, 8|4, 5, 6, 7, 12}}, {{.*}}] : vector<16xi32>, vector<16xi32>
// CHECK-NOT: vector.shuffle
// CHECK-COUNT-16: vector.store %{{.*}}, %{{.*}} : memref<?x64xbf16>, vector<32xbf16>
// CHECK-NOT: vector.store
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

// Scores that are products times a number: maxima beside the products, which
// stay as they are and are scaled once more for the exponentials. These are
// short, and rounded to pairs by additions.
// CHECK-LABEL: func.func @softmax
// CHECK: scf.for %[[N:.*]] = %c0 to %c64 step %c32 iter_args
// CHECK: amx.tile_store
// CHECK: scf.for %{{.*}} = %[[N]] to %{{.*}} step %c1
// CHECK-NOT: vector.store
// CHECK: arith.mulf
// CHECK-NOT: vector.store
// CHECK: scf.yield
// CHECK: scf.for %{{.*}} = %c0 to %c32 step %c1
// CHECK: arith.mulf
// CHECK: arith.subf
// CHECK: arith.mulf
// CHECK: llvm.call_intrinsic "llvm.x86.avx512.mask.reduce.ps.512"
// CHECK-COUNT-4: vector.fma
// CHECK: llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"
// CHECK-COUNT-4: vector.fma
// CHECK: %[[EVEN:.*]] = arith.addi %{{.*}}, %[[HALF:.*]] : vector<16xi32>
// CHECK: %[[ODD:.*]] = arith.addi %{{.*}}, %[[HALF]] : vector<16xi32>
// CHECK: %[[LOW:.*]] = arith.shrui %[[EVEN]], %{{.*}} : vector<16xi32>
// CHECK: llvm.call_intrinsic "llvm.x86.avx512.pternlog.d.512"(%[[ODD]], %{{.*}}, %[[LOW]], %c234_i32)
// CHECK-NOT: cvtne2ps2bf16
// PAIRS-NOT: llvm.x86.avx512.mask
tile.kernel @softmax(%q: memref<?x64xbf16> {tile.access = #tile.access<in>},
                     %k: memref<?x64xbf16> {tile.access = #tile.access<in>},
                     %v: memref<?x64xbf16> {tile.access = #tile.access<in>},
                     %scale: f32,
                     %o: memref<?x64xf32> {tile.access = #tile.access<out>})
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %low = arith.constant dense<0xFF800000> : tensor<64xf32>
  %zero = arith.constant dense<0.0> : tensor<64xf32>
  %a = tile.load %q[%c0, %c0] in_bounds : memref<?x64xbf16> -> tensor<64x64xbf16>
  %b = tile.load %k[%c0, %c0] in_bounds : memref<?x64xbf16> -> tensor<64x64xbf16>
  %w = tile.load %v[%c0, %c0] in_bounds : memref<?x64xbf16> -> tensor<64x64xbf16>
  %d = tile.dot %a, %b transpose_b : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
  %f = tile.broadcast %scale : f32 -> tensor<64x64xf32>
  %s = arith.mulf %d, %f : tensor<64x64xf32>
  %p, %alpha, %max, %sum = tile.online_softmax %s, %low, %zero : tensor<64x64xf32>, tensor<64xf32>
  %n = arith.truncf %p : tensor<64x64xf32> to tensor<64x64xbf16>
  %r = tile.dot %n, %w : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
  tile.store %r, %o[%c0, %c0] : tensor<64x64xf32>, memref<?x64xf32>
  tile.return
}

// The twin: with a mask they are stored, and read as they are.
// CHECK-LABEL: func.func @masked
// CHECK: scf.for %[[N:.*]] = %c0 to %c64 step %c32 iter_args
// CHECK: amx.tile_store
// CHECK: scf.for %{{.*}} = %[[N]] to %{{.*}} step %c1
// CHECK: arith.mulf
// CHECK: vector.store
// CHECK: scf.yield
// CHECK: scf.for %{{.*}} = %c0 to %c32 step %c1
// CHECK-NOT: arith.mulf
// CHECK: arith.subf
tile.kernel @masked(%q: memref<?x64xbf16> {tile.access = #tile.access<in>},
                    %k: memref<?x64xbf16> {tile.access = #tile.access<in>},
                    %v: memref<?x64xbf16> {tile.access = #tile.access<in>},
                    %scale: f32, %limit: index,
                    %o: memref<?x64xf32> {tile.access = #tile.access<out>})
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %low = arith.constant dense<0xFF800000> : tensor<64xf32>
  %zero = arith.constant dense<0.0> : tensor<64xf32>
  %inf = arith.constant dense<0xFF800000> : tensor<64x64xf32>
  %a = tile.load %q[%c0, %c0] in_bounds : memref<?x64xbf16> -> tensor<64x64xbf16>
  %b = tile.load %k[%c0, %c0] in_bounds : memref<?x64xbf16> -> tensor<64x64xbf16>
  %w = tile.load %v[%c0, %c0] in_bounds : memref<?x64xbf16> -> tensor<64x64xbf16>
  %d = tile.dot %a, %b transpose_b : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
  %f = tile.broadcast %scale : f32 -> tensor<64x64xf32>
  %s = arith.mulf %d, %f : tensor<64x64xf32>
  %i = tile.iota dim 0 : tensor<64x64xindex>
  %l = tile.broadcast %limit : index -> tensor<64x64xindex>
  %m = arith.cmpi ne, %i, %l : tensor<64x64xindex>
  %t = arith.select %m, %s, %inf : tensor<64x64xi1>, tensor<64x64xf32>
  %p, %alpha, %max, %sum = tile.online_softmax %t, %low, %zero : tensor<64x64xf32>, tensor<64xf32>
  %n = arith.truncf %p : tensor<64x64xf32> to tensor<64x64xbf16>
  %r = tile.dot %n, %w : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
  tile.store %r, %o[%c0, %c0] : tensor<64x64xf32>, memref<?x64xf32>
  tile.return
}

// Keys that may end in the tile: read where they lie if all of them are there,
// else copied, and zeros behind. Values: the same for each block of 32 rows up
// to the last one, and zeros. Beside the exponentials V and, of the next step, K are
// asked for: 32 trips for rows 0 to 31 and 32 to 63 of one block of 64.
// CHECK-LABEL: func.func @edge
// CHECK: scf.for %[[I:.*]] = %c0 to %[[KEYS:.*]] step %c64
// CHECK: %[[K:.*]] = scf.if %{{.*}} -> (memref<?x?xbf16, strided<[?, 1], offset: ?>>)
// CHECK: vector.store
// CHECK: memref.cast %{{.*}} : memref<64x64xbf16> to
// CHECK: else
// CHECK: memref.subview %{{.*}}[%[[I]], 0] [64, 64] [1, 1]
// CHECK: amx.tile_load %[[K]]
// CHECK: %[[NEXT:.*]] = arith.addi %[[I]], %c64
// CHECK: %[[MORE:.*]] = arith.cmpi slt, %[[NEXT]], %[[KEYS]]
// CHECK: %[[AHEAD:.*]] = arith.select %[[MORE]], %[[NEXT]], %[[I]]
// CHECK-COUNT-4: memref.prefetch %{{.*}}, read, locality<2>, data : memref<?x64xbf16>
// CHECK-NOT: memref.prefetch
// CHECK: scf.for %[[ROW:.*]] = %c0 to %[[END:.*]] step %c32
// CHECK: %[[V:.*]] = scf.if %{{.*}} -> (memref<?x?xbf16, strided<[?, 1], offset: ?>>)
// CHECK: vector.store
// CHECK: memref.cast %{{.*}} : memref<32x64xbf16> to
// CHECK: else
// CHECK: memref.subview %{{.*}} [32, 64] [1, 1]
// CHECK-COUNT-32: vector.load %[[V]]
// CHECK-NOT: vector.load %[[V]]
// CHECK: scf.for %{{.*}} = %[[END]] to %c64 step %c32
// CHECK: vector.store %cst
// CHECK: amx.tile_load
// PAIRS-NOT: memref.prefetch
tile.kernel @edge(%q: memref<?x64xbf16> {tile.access = #tile.access<in>},
                  %k: memref<?x64xbf16> {tile.access = #tile.access<in>},
                  %v: memref<?x64xbf16> {tile.access = #tile.access<in>},
                  %o: memref<?x64xf32> {tile.access = #tile.access<out>})
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %keys = memref.dim %k, %c0 : memref<?x64xbf16>
  %low = arith.constant dense<0xFF800000> : tensor<64xf32>
  %zero = arith.constant dense<0.0> : tensor<64xf32>
  %none = arith.constant dense<0.0> : tensor<64x64xf32>
  %a = tile.load %q[%c0, %c0] in_bounds : memref<?x64xbf16> -> tensor<64x64xbf16>
  %r:3 = scf.for %i = %c0 to %keys step %c64 iter_args(%acc = %none, %m = %low, %l = %zero) -> (tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>) {
    %b = tile.load %k[%i, %c0] : memref<?x64xbf16> -> tensor<64x64xbf16>
    %d = tile.dot %a, %b transpose_b : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
    %p, %alpha, %max, %sum = tile.online_softmax %d, %m, %l : tensor<64x64xf32>, tensor<64xf32>
    %w = tile.load %v[%i, %c0] : memref<?x64xbf16> -> tensor<64x64xbf16>
    %n = arith.truncf %p : tensor<64x64xf32> to tensor<64x64xbf16>
    %next = tile.dot %n, %w acc %acc : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
    scf.yield %next, %max, %sum : tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>
  }
  tile.store %r#0, %o[%c0, %c0] : tensor<64x64xf32>, memref<?x64xf32>
  tile.return
}
