// RUN: fa-opt %s --convert-tile-to-host=pair-dots=true --canonicalize --cse | FileCheck %s
// RUN: fa-opt %s --convert-tile-to-host --canonicalize --cse | FileCheck %s --check-prefix=WIDE

// Products of bf16 pairs. Queries: rows of 32 elements become squares of 16 x 16
// pairs, transposed in registers by four times 16 shuffles. Keys: read where
// they lie, 32 bits at a time. Scores leave as they came: squares, transposed,
// each row stored if it exists.
// CHECK-LABEL: func.func @scores
// CHECK: %[[Q:.*]] = memref.view %{{.*}} to memref<32x64xi32>
// CHECK: vector.load %{{.*}} : memref<?x64xbf16>, vector<32xbf16>
// CHECK: vector.bitcast %{{.*}} : vector<32xbf16> to vector<16xi32>
// CHECK-COUNT-64: vector.shuffle
// CHECK-COUNT-16: vector.store %{{.*}}, %[[Q]]
// CHECK-NOT: vector.shuffle
// CHECK: scf.for
// CHECK: vector.load %[[Q]]
// CHECK: %[[PAIR:.*]] = vector.load %{{.*}} : memref<?x64xbf16>, vector<2xbf16>
// CHECK: %[[BITS:.*]] = vector.bitcast %[[PAIR]] : vector<2xbf16> to vector<1xi32>
// CHECK: vector.extract %[[BITS]][0]
// CHECK-COUNT-4: x86vector.avx512.dot
// CHECK-NOT: vector.fma
// CHECK-COUNT-64: vector.shuffle
// CHECK: scf.if
// CHECK-NEXT: vector.store %{{.*}} : memref<?x128xf32>, vector<16xf32>

// Without the instruction: f32.
// WIDE-LABEL: func.func @scores
// WIDE-NOT: x86vector
// WIDE: arith.extf %{{.*}} : vector<16xbf16> to vector<16xf32>
// WIDE: vector.fma
// WIDE-NOT: x86vector
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

// The right operand as it is: two rows of it side by side.
// CHECK-LABEL: func.func @output
// CHECK: %[[BOTH:.*]] = vector.shuffle %{{.*}}, %{{.*}} [0, 32, 1, 33, {{.*}} : vector<32xbf16>, vector<32xbf16>
// CHECK: %[[WORDS:.*]] = vector.bitcast %[[BOTH]]
// CHECK: vector.store %[[WORDS]], %[[V:[a-z0-9_]+]]
// CHECK: memref.load %[[V]]
// CHECK: x86vector.avx512.dot
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

// A contraction over an odd number that is not copied has no pair for the last.
// CHECK-LABEL: func.func @odd
// CHECK-NOT: x86vector
// CHECK: vector.fma
tile.kernel @odd(%p: memref<?x33xbf16> {tile.access = #tile.access<in>},
                 %v: memref<?x64xbf16> {tile.access = #tile.access<in>},
                 %o: memref<?x64xf32> {tile.access = #tile.access<out>})
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %a = tile.load %p[%c0, %c0] in_bounds : memref<?x33xbf16> -> tensor<64x33xbf16>
  %b = tile.load %v[%c0, %c0] in_bounds : memref<?x64xbf16> -> tensor<33x64xbf16>
  %r = tile.dot %a, %b : tensor<64x33xbf16>, tensor<33x64xbf16> -> tensor<64x64xf32>
  tile.store %r, %o[%c0, %c0] : tensor<64x64xf32>, memref<?x64xf32>
  tile.return
}

// Few rows: the loop of P V takes four pairs at a time, and six have the other form: a last trip would read beyond them.
// CHECK-LABEL: func.func @ragged_pairs
// CHECK-NOT: to %c6 step %c4
// CHECK: x86vector.avx512.dot
// CHECK-NOT: to %c6 step %c4
// CHECK: return
tile.kernel @ragged_pairs(%a: memref<4x12xbf16> {tile.access = #tile.access<in>},
                          %b: memref<12x16xbf16> {tile.access = #tile.access<in>},
                          %o: memref<4x16xf32> {tile.access = #tile.access<out>})
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %x = tile.load %a[%c0, %c0] in_bounds : memref<4x12xbf16> -> tensor<4x12xbf16>
  %y = tile.load %b[%c0, %c0] in_bounds : memref<12x16xbf16> -> tensor<12x16xbf16>
  %d = tile.dot %x, %y : tensor<4x12xbf16>, tensor<12x16xbf16> -> tensor<4x16xf32>
  tile.store %d, %o[%c0, %c0] : tensor<4x16xf32>, memref<4x16xf32>
  tile.return
}

// Keys that gradients read twice: as rows of scores in pairs, where they lie,
// and again as what scores are multiplied with, rows side by side.
// CHECK-LABEL: func.func @both_ways
// CHECK: memref.view %{{.*}} to memref<32x64xi32>
// CHECK: %[[ROWS:.*]] = memref.view %{{.*}} to memref<32x64xi32>
// CHECK: vector.store %{{.*}}, %[[ROWS]]
// CHECK: vector.load %{{.*}} : memref<?x64xbf16>, vector<2xbf16>
// CHECK: x86vector.avx512.dot
// CHECK: memref.load %[[ROWS]]
// CHECK: x86vector.avx512.dot
// CHECK-NOT: vector.fma
// WIDE-LABEL: func.func @both_ways
// WIDE-NOT: x86vector
tile.kernel @both_ways(%q: memref<?x64xbf16> {tile.access = #tile.access<in>},
                   %k: memref<?x64xbf16> {tile.access = #tile.access<in>},
                   %dq: memref<?x64xf32> {tile.access = #tile.access<out>})
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %a = tile.load %q[%c0, %c0] in_bounds : memref<?x64xbf16> -> tensor<64x64xbf16>
  %b = tile.load %k[%c0, %c0] in_bounds : memref<?x64xbf16> -> tensor<64x64xbf16>
  %s = tile.dot %a, %b transpose_b : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
  %n = arith.truncf %s : tensor<64x64xf32> to tensor<64x64xbf16>
  %r = tile.dot %n, %b : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
  tile.store %r, %dq[%c0, %c0] : tensor<64x64xf32>, memref<?x64xf32>
  tile.return
}
