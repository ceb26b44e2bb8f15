// RUN: fa-opt %s --convert-tile-to-host --canonicalize --cse | FileCheck %s

// Rows of f32 that may not all exist are read where they lie if they do, else
// from a copy with zeros.
// CHECK-LABEL: func.func @edge
// CHECK: %[[COPY:.*]] = memref.view %{{.*}} : memref<?xi8> to memref<64x64xf32>
// CHECK: %[[LOW:.*]] = arith.cmpi ne, %{{.*}}, %c0
// CHECK: %[[HIGH:.*]] = arith.cmpi ne, %{{.*}}, %c64
// CHECK: %[[PARTIAL:.*]] = arith.ori
// CHECK: %[[ROWS:.*]] = scf.if %[[PARTIAL]] -> (memref<?x?xf32, strided<[?, 1], offset: ?>>) {
// CHECK: vector.store %cst, %[[COPY]]
// CHECK: vector.load %[[V:[a-z0-9]+]][
// CHECK: %[[CAST:.*]] = memref.cast %[[COPY]]
// CHECK: scf.yield %[[CAST]]
// CHECK: } else {
// CHECK-NEXT: %[[VIEW:.*]] = memref.subview %[[V]][%{{.*}}, 0] [64, 64] [1, 1]
// CHECK-NEXT: %[[SEEN:.*]] = memref.cast %[[VIEW]]
// CHECK-NEXT: scf.yield %[[SEEN]]
// CHECK: memref.load %[[ROWS]][
// CHECK-NOT: memref.load %[[COPY]]
tile.kernel @edge(%p: memref<?x64xf32, strided<[?, 1]>> {tile.access = #tile.access<in>},
                  %v: memref<?x64xf32, strided<[?, 1]>> {tile.access = #tile.access<in>},
                  %o: memref<48x64xf32> {tile.access = #tile.access<out>}, %n: index)
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %a = tile.load %p[%c0, %c0] in_bounds : memref<?x64xf32, strided<[?, 1]>> -> tensor<48x64xf32>
  %b = tile.load %v[%n, %c0] : memref<?x64xf32, strided<[?, 1]>> -> tensor<64x64xf32>
  %d = tile.dot %a, %b : tensor<48x64xf32>, tensor<64x64xf32> -> tensor<48x64xf32>
  tile.store %d, %o[%c0, %c0] : tensor<48x64xf32>, memref<48x64xf32>
  tile.return
}

// A step later than what is viewed: see tile_to_host_next_keys.mlir.
// CHECK-LABEL: func.func @steps
// CHECK: scf.for %[[STEP:.*]] = %c0 to %{{.*}} step %c64
// CHECK: %[[ROWS:.*]] = scf.if {{.*}} -> (memref
// CHECK: scf.for %[[COL:.*]] = %c0 to %c64 step %c8
// CHECK: scf.for %[[KEY:.*]] = %c0 to %c64 step %c2
// CHECK: memref.load %[[ROWS]][%[[KEY]], %[[COL]]]
// CHECK: %[[FROM:.*]] = arith.addi %{{.*}}, %c64
// CHECK: %[[NEXT:.*]] = memref.subview %[[ROWS]][%[[FROM]], 0]
// CHECK: memref.prefetch %[[NEXT]][%[[KEY]], %[[COL]]]
// CHECK-NEXT: scf.yield
tile.kernel @steps(%p: memref<?x64xf32> {tile.access = #tile.access<in>},
                   %v: memref<?x64xf32> {tile.access = #tile.access<in>},
                   %o: memref<48x64xf32> {tile.access = #tile.access<out>}, %n: index)
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %z = arith.constant dense<0.0> : tensor<48x64xf32>
  %a = tile.load %p[%c0, %c0] in_bounds : memref<?x64xf32> -> tensor<48x64xf32>
  %r = scf.for %i = %c0 to %n step %c64 iter_args(%acc = %z) -> tensor<48x64xf32> {
    %b = tile.load %v[%i, %c0] : memref<?x64xf32> -> tensor<64x64xf32>
    %d = tile.dot %a, %b acc %acc : tensor<48x64xf32>, tensor<64x64xf32> -> tensor<48x64xf32>
    scf.yield %d : tensor<48x64xf32>
  }
  tile.store %r, %o[%c0, %c0] : tensor<48x64xf32>, memref<48x64xf32>
  tile.return
}

// Not where they are widened, where columns may be missing, and where the kernel
// writes to what it reads.
// CHECK-LABEL: func.func @copies
// CHECK-NOT: scf.if {{.*}} -> (memref
tile.kernel @copies(%p: memref<?x64xf32> {tile.access = #tile.access<in>},
                    %ph: memref<?x64xf16> {tile.access = #tile.access<in>},
                    %h: memref<?x64xf16> {tile.access = #tile.access<in>},
                    %w: memref<?x?xf32> {tile.access = #tile.access<in>},
                    %o: memref<?x64xf32> {tile.access = #tile.access<inout>}, %n: index)
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %a = tile.load %p[%c0, %c0] in_bounds : memref<?x64xf32> -> tensor<48x64xf32>
  %ah = tile.load %ph[%c0, %c0] in_bounds : memref<?x64xf16> -> tensor<48x64xf16>
  %b = tile.load %h[%n, %c0] : memref<?x64xf16> -> tensor<64x64xf16>
  %d = tile.dot %ah, %b : tensor<48x64xf16>, tensor<64x64xf16> -> tensor<48x64xf32>
  %c = tile.load %w[%n, %c0] : memref<?x?xf32> -> tensor<64x64xf32>
  %e = tile.dot %a, %c acc %d : tensor<48x64xf32>, tensor<64x64xf32> -> tensor<48x64xf32>
  %r = tile.load %o[%n, %c0] : memref<?x64xf32> -> tensor<64x64xf32>
  %f = tile.dot %a, %r acc %e : tensor<48x64xf32>, tensor<64x64xf32> -> tensor<48x64xf32>
  tile.store %f, %o[%c0, %c0] : tensor<48x64xf32>, memref<?x64xf32>
  tile.return
}
