// RUN: fa-opt %s --convert-tile-to-host --canonicalize --cse | FileCheck %s
// RUN: fa-opt %s --convert-tile-to-host='vector-bits=256 vector-registers=16' --canonicalize --cse | FileCheck %s --check-prefix=AVX2

// A dot of rows that are read where they lie: 16 accumulators of 16 lanes, 4
// loads of the left operand and 4 broadcasts a step of k, 4 steps unrolled.
// CHECK-LABEL: func.func @dot
// CHECK-SAME: fa.scratch_bytes
// CHECK: scf.for {{.*}} iter_args({{.*}}) -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>)
// CHECK-COUNT-4: vector.load %{{.*}} : memref<64x64xf32>, vector<16xf32>
// CHECK: memref.load %{{.*}} : memref<?x64xf32
// CHECK: vector.broadcast
// CHECK-COUNT-4: vector.fma
// CHECK-NOT: tile.

// AVX2-LABEL: func.func @dot
// AVX2: iter_args({{.*}}) -> (vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>)
tile.kernel @dot(%q: memref<?x64xf32> {tile.access = #tile.access<in>},
                 %k: memref<?x64xf32> {tile.access = #tile.access<in>},
                 %s: memref<?x?xf32> {tile.access = #tile.access<out>})
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %a = tile.load %q[%c0, %c0] : memref<?x64xf32> -> tensor<64x64xf32>
  %b = tile.load %k[%c0, %c0] in_bounds : memref<?x64xf32> -> tensor<128x64xf32>
  %r = tile.dot %a, %b transpose_b : tensor<64x64xf32>, tensor<128x64xf32> -> tensor<64x128xf32>
  tile.store %r, %s[%c0, %c0] : tensor<64x128xf32>, memref<?x?xf32>
  tile.return
}

// What a split leaves: the maximum, and the logarithm of the sum without it.
// CHECK-LABEL: func.func @partial
// CHECK: %[[LOG:.*]] = math.log %{{.*}} : vector<16xf32>
// CHECK-NEXT: vector.store %[[LOG]],
tile.kernel @partial(%a: memref<16x16xf32> {tile.access = #tile.access<in>}, %m: memref<16xf32> {tile.access = #tile.access<in>},
                     %l: memref<16xf32> {tile.access = #tile.access<in>}, %o: memref<16x16xf32> {tile.access = #tile.access<out>},
                     %om: memref<16xf32> {tile.access = #tile.access<out>}, %s: memref<16xf32> {tile.access = #tile.access<out>})
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %acc = tile.load %a[%c0, %c0] in_bounds : memref<16x16xf32> -> tensor<16x16xf32>
  %max = tile.load %m[%c0] in_bounds : memref<16xf32> -> tensor<16xf32>
  %sum = tile.load %l[%c0] in_bounds : memref<16xf32> -> tensor<16xf32>
  %output, %log, %max_out = tile.online_finalize %acc, %max, %sum : tensor<16x16xf32>, tensor<16xf32> apart tensor<16xf32>
  tile.store %output, %o[%c0, %c0] : tensor<16x16xf32>, memref<16x16xf32>
  tile.store %max_out, %om[%c0] : tensor<16xf32>, memref<16xf32>
  tile.store %log, %s[%c0] : tensor<16xf32>, memref<16xf32>
  tile.return
}
