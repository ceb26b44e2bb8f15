// RUN: fa-opt %s --convert-tile-to-host --canonicalize --cse | FileCheck %s

// Rows of a tile that lie behind the view's last row are stored nowhere: blocks
// of 48 of them are not computed.
// CHECK-LABEL: func.func @rows
// CHECK: %[[LEFT:.*]] = arith.subi %{{.*}}, %{{.*}} : index
// CHECK: %[[LIVE:.*]] = arith.minsi %[[LEFT]], %c96 : index
// CHECK: %[[END:.*]] = arith.minsi %[[LIVE]], %c96 : index
// CHECK: scf.for %{{.*}} = %c0 to %[[END]] step %c48
// CHECK: vector.fma
tile.kernel @rows(%q: memref<?x64xf32> {tile.access = #tile.access<in>}, %k: memref<?x64xf32> {tile.access = #tile.access<in>},
                  %o: memref<?x96xf32> {tile.access = #tile.access<out>}, %first: index)
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %n = memref.dim %q, %c0 : memref<?x64xf32>
  %rows = memref.subview %q[0, 0] [%n, 64] [1, 1] : memref<?x64xf32> to memref<?x64xf32, strided<[64, 1]>>
  %out = memref.subview %o[0, 0] [%n, 96] [1, 1] : memref<?x96xf32> to memref<?x96xf32, strided<[96, 1]>>
  %a = tile.load %rows[%first, %c0] : memref<?x64xf32, strided<[64, 1]>> -> tensor<96x64xf32>
  %b = tile.load %k[%c0, %c0] in_bounds : memref<?x64xf32> -> tensor<96x64xf32>
  %s = tile.dot %a, %b transpose_b : tensor<96x64xf32>, tensor<96x64xf32> -> tensor<96x96xf32>
  tile.store %s, %out[%first, %c0] : tensor<96x96xf32>, memref<?x96xf32, strided<[96, 1]>>
  tile.return
}

// What other rows read has to be there.
// CHECK-LABEL: func.func @crossed
// CHECK-NOT: to %{{[0-9]+}} step %c48
// CHECK: scf.for %{{.*}} = %c0 to %c96 step %c48
// CHECK-NOT: to %{{[0-9]+}} step %c48
tile.kernel @crossed(%q: memref<?x64xf32> {tile.access = #tile.access<in>}, %k: memref<?x64xf32> {tile.access = #tile.access<in>},
                     %o: memref<?x96xf32> {tile.access = #tile.access<out>}, %first: index)
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %n = memref.dim %q, %c0 : memref<?x64xf32>
  %rows = memref.subview %q[0, 0] [%n, 64] [1, 1] : memref<?x64xf32> to memref<?x64xf32, strided<[64, 1]>>
  %out = memref.subview %o[0, 0] [%n, 96] [1, 1] : memref<?x96xf32> to memref<?x96xf32, strided<[96, 1]>>
  %a = tile.load %rows[%first, %c0] : memref<?x64xf32, strided<[64, 1]>> -> tensor<96x64xf32>
  %b = tile.load %k[%c0, %c0] in_bounds : memref<?x64xf32> -> tensor<96x64xf32>
  %s = tile.dot %a, %b transpose_b : tensor<96x64xf32>, tensor<96x64xf32> -> tensor<96x96xf32>
  %m = tile.reduce max %s dim 1 : tensor<96x96xf32> -> tensor<96xf32>
  %e = tile.expand_dims %m dim 0 : tensor<96xf32> -> tensor<1x96xf32>
  %all = tile.broadcast %e : tensor<1x96xf32> -> tensor<96x96xf32>
  %r = arith.addf %s, %all : tensor<96x96xf32>
  tile.store %r, %out[%first, %c0] : tensor<96x96xf32>, memref<?x96xf32, strided<[96, 1]>>
  tile.return
}
