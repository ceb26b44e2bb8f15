// RUN: fa-opt %s --convert-tile-to-host --canonicalize --cse | FileCheck %s

// Behind two keys of a product with V, a request for one that lies a step later:
// of the two blocks of 8 columns that read a line each asks for it at another
// key. In a view that begins there the request has the index of a read.
// CHECK-LABEL: func.func @next_keys
// CHECK: scf.for %[[STEP:.*]] = %c0 to %{{.*}} step %c64
// CHECK: scf.for %[[COL:.*]] = %c0 to %c64 step %c8
// CHECK: scf.for %[[KEY:.*]] = %c0 to %c64 step %c2
// CHECK: %[[ROW:.*]] = arith.addi %[[STEP]], %[[KEY]]
// CHECK: memref.load %[[V:.*]][%[[ROW]], %[[COL]]] : memref<?x64xf32>
// CHECK-COUNT-48: vector.fma
// CHECK-NOT: memref.load
// CHECK: %[[BLOCK:.*]] = arith.divui %[[COL]], %c8
// CHECK: %[[SHARE:.*]] = arith.remui %[[BLOCK]], %c2
// CHECK: %[[FROM:.*]] = arith.addi %[[SHARE]], %c64
// CHECK: %[[NEXT:.*]] = memref.subview %[[V]][%[[FROM]], 0]
// CHECK: memref.prefetch %[[NEXT]][%[[ROW]], %[[COL]]], read, locality<2>, data
// CHECK-NEXT: scf.yield
// CHECK-NOT: memref.prefetch
tile.kernel @next_keys(%p: memref<?x64xf32> {tile.access = #tile.access<in>},
                       %v: memref<?x64xf32> {tile.access = #tile.access<in>},
                       %o: memref<48x64xf32> {tile.access = #tile.access<out>}, %n: index)
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %z = arith.constant dense<0.0> : tensor<48x64xf32>
  %a = tile.load %p[%c0, %c0] in_bounds : memref<?x64xf32> -> tensor<48x64xf32>
  %r = scf.for %i = %c0 to %n step %c64 iter_args(%acc = %z) -> tensor<48x64xf32> {
    %b = tile.load %v[%i, %c0] in_bounds : memref<?x64xf32> -> tensor<64x64xf32>
    %d = tile.dot %a, %b acc %acc : tensor<48x64xf32>, tensor<64x64xf32> -> tensor<48x64xf32>
    scf.yield %d : tensor<48x64xf32>
  }
  tile.store %r, %o[%c0, %c0] : tensor<48x64xf32>, memref<48x64xf32>
  tile.return
}

// Nothing is asked for where the rows do not follow the loop, where they are
// widened first, and where it is a column that they are read along.
// CHECK-LABEL: func.func @other_keys
// CHECK-COUNT-2: vector.fma
// CHECK-NOT: memref.prefetch
tile.kernel @other_keys(%p: memref<?x64xf32> {tile.access = #tile.access<in>},
                        %ph: memref<?x64xf16> {tile.access = #tile.access<in>},
                        %v: memref<?x64xf32> {tile.access = #tile.access<in>},
                        %vh: memref<?x64xf16> {tile.access = #tile.access<in>},
                        %o: memref<48x64xf32> {tile.access = #tile.access<out>}, %n: index)
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %z = arith.constant dense<0.0> : tensor<48x64xf32>
  %a = tile.load %p[%c0, %c0] in_bounds : memref<?x64xf32> -> tensor<48x64xf32>
  %ah = tile.load %ph[%c0, %c0] in_bounds : memref<?x64xf16> -> tensor<48x64xf16>
  %r = scf.for %i = %c0 to %n step %c64 iter_args(%acc = %z) -> tensor<48x64xf32> {
    %b = tile.load %v[%c64, %c0] in_bounds : memref<?x64xf32> -> tensor<64x64xf32>
    %d = tile.dot %a, %b acc %acc : tensor<48x64xf32>, tensor<64x64xf32> -> tensor<48x64xf32>
    %bh = tile.load %vh[%i, %c0] in_bounds : memref<?x64xf16> -> tensor<64x64xf16>
    %e = tile.dot %ah, %bh acc %d : tensor<48x64xf16>, tensor<64x64xf16> -> tensor<48x64xf32>
    %k = tile.load %v[%i, %c0] in_bounds : memref<?x64xf32> -> tensor<64x64xf32>
    %f = tile.dot %a, %k transpose_b acc %e : tensor<48x64xf32>, tensor<64x64xf32> -> tensor<48x64xf32>
    scf.yield %f : tensor<48x64xf32>
  }
  tile.store %r, %o[%c0, %c0] : tensor<48x64xf32>, memref<48x64xf32>
  tile.return
}
