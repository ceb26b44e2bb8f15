// RUN: fa-opt %s --convert-tile-to-host --canonicalize --cse | FileCheck %s
// RUN: fa-opt %s --convert-tile-to-host='vector-bits=256 vector-registers=16' --canonicalize --cse | FileCheck %s --check-prefix=AVX2

// A dot of rows that are read where they lie: two blocks of 2 registers of
// rows, each with 16 accumulators of 16 lanes; 2 loads of the left operand and
// 8 broadcasts a step of k, 4 steps unrolled.
// CHECK-LABEL: func.func @dot
// CHECK-SAME: fa.scratch_bytes
// CHECK: scf.for {{.*}} iter_args({{.*}}) -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>)
// CHECK-COUNT-2: vector.load %{{.*}} : memref<64x64xf32>, vector<16xf32>
// CHECK: memref.load %{{.*}} : memref<?x64xf32
// CHECK: vector.broadcast
// CHECK-COUNT-2: vector.fma
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

// As many sums as there are steps, and 2^40 paths from the last to the first.
// CHECK-LABEL: func.func @many_paths
tile.kernel @many_paths(%a: memref<?x16xf32> {tile.access = #tile.access<in>}, %b: memref<16x16xf32> {tile.access = #tile.access<in>},
                        %o: memref<8x16xf32> {tile.access = #tile.access<out>}, %n: index)
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %z = arith.constant dense<0.0> : tensor<8x16xf32>
  %y = tile.load %b[%c0, %c0] in_bounds : memref<16x16xf32> -> tensor<16x16xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %z) -> tensor<8x16xf32> {
    %x0 = tile.load %a[%i, %c0] : memref<?x16xf32> -> tensor<8x16xf32>
    %x1 = arith.addf %x0, %x0 : tensor<8x16xf32>
    %x2 = arith.addf %x1, %x1 : tensor<8x16xf32>
    %x3 = arith.addf %x2, %x2 : tensor<8x16xf32>
    %x4 = arith.addf %x3, %x3 : tensor<8x16xf32>
    %x5 = arith.addf %x4, %x4 : tensor<8x16xf32>
    %x6 = arith.addf %x5, %x5 : tensor<8x16xf32>
    %x7 = arith.addf %x6, %x6 : tensor<8x16xf32>
    %x8 = arith.addf %x7, %x7 : tensor<8x16xf32>
    %x9 = arith.addf %x8, %x8 : tensor<8x16xf32>
    %x10 = arith.addf %x9, %x9 : tensor<8x16xf32>
    %x11 = arith.addf %x10, %x10 : tensor<8x16xf32>
    %x12 = arith.addf %x11, %x11 : tensor<8x16xf32>
    %x13 = arith.addf %x12, %x12 : tensor<8x16xf32>
    %x14 = arith.addf %x13, %x13 : tensor<8x16xf32>
    %x15 = arith.addf %x14, %x14 : tensor<8x16xf32>
    %x16 = arith.addf %x15, %x15 : tensor<8x16xf32>
    %x17 = arith.addf %x16, %x16 : tensor<8x16xf32>
    %x18 = arith.addf %x17, %x17 : tensor<8x16xf32>
    %x19 = arith.addf %x18, %x18 : tensor<8x16xf32>
    %x20 = arith.addf %x19, %x19 : tensor<8x16xf32>
    %x21 = arith.addf %x20, %x20 : tensor<8x16xf32>
    %x22 = arith.addf %x21, %x21 : tensor<8x16xf32>
    %x23 = arith.addf %x22, %x22 : tensor<8x16xf32>
    %x24 = arith.addf %x23, %x23 : tensor<8x16xf32>
    %x25 = arith.addf %x24, %x24 : tensor<8x16xf32>
    %x26 = arith.addf %x25, %x25 : tensor<8x16xf32>
    %x27 = arith.addf %x26, %x26 : tensor<8x16xf32>
    %x28 = arith.addf %x27, %x27 : tensor<8x16xf32>
    %x29 = arith.addf %x28, %x28 : tensor<8x16xf32>
    %x30 = arith.addf %x29, %x29 : tensor<8x16xf32>
    %x31 = arith.addf %x30, %x30 : tensor<8x16xf32>
    %x32 = arith.addf %x31, %x31 : tensor<8x16xf32>
    %x33 = arith.addf %x32, %x32 : tensor<8x16xf32>
    %x34 = arith.addf %x33, %x33 : tensor<8x16xf32>
    %x35 = arith.addf %x34, %x34 : tensor<8x16xf32>
    %x36 = arith.addf %x35, %x35 : tensor<8x16xf32>
    %x37 = arith.addf %x36, %x36 : tensor<8x16xf32>
    %x38 = arith.addf %x37, %x37 : tensor<8x16xf32>
    %x39 = arith.addf %x38, %x38 : tensor<8x16xf32>
    %x40 = arith.addf %x39, %x39 : tensor<8x16xf32>
    %d = tile.dot %x40, %y acc %acc : tensor<8x16xf32>, tensor<16x16xf32> -> tensor<8x16xf32>
    scf.yield %d : tensor<8x16xf32>
  }
  tile.store %r, %o[%c0, %c0] : tensor<8x16xf32>, memref<8x16xf32>
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
