// RUN: fa-opt %s --convert-tile-to-host --canonicalize --cse | FileCheck %s

// Row i of a tile sees the columns up to first + i: 48 rows at `row` have no
// score, exponential or product from first + row + 48 on, rounded up to 8.
// CHECK-LABEL: func.func @edge
// CHECK: scf.for %[[ROW:.*]] = %{{.*}} to %c96 step %c48
// CHECK: %[[START:.*]] = arith.addi %{{.*}}, %c1 :
// CHECK: %[[LAST:.*]] = arith.addi %[[ROW]], %c47 :
// CHECK: %[[END:.*]] = arith.addi %[[START]], %[[LAST]] :
// CHECK: %[[LOW:.*]] = arith.minsi %[[END]], %c64 :
// CHECK: %[[HIGH:.*]] = arith.maxsi %[[LOW]], %c0 :
// CHECK: %[[UP:.*]] = arith.addi %[[HIGH]], %c7 :
// CHECK: %[[BLOCKS:.*]] = arith.divui %[[UP]], %c8 :
// CHECK: %[[SEEN:.*]] = arith.muli %[[BLOCKS]], %c8 :
// CHECK: scf.for %{{.*}} = %c0 to %[[SEEN]] step %c8
// CHECK: scf.for %{{.*}} = %c0 to %[[SEEN]] step %c1
// CHECK: scf.for %{{.*}} = %{{.*}} to %c96 step %c48
// CHECK: scf.for %{{.*}} = %c0 to %c64 step %c8
// CHECK: scf.for %{{.*}} = %c0 to %{{[0-9]+}} step %c2
tile.kernel @edge(%q: memref<?x64xf32> {tile.access = #tile.access<in>}, %k: memref<?x64xf32> {tile.access = #tile.access<in>},
                  %v: memref<?x64xf32> {tile.access = #tile.access<in>}, %o: memref<?x64xf32> {tile.access = #tile.access<out>}, %first: index)
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %none = arith.constant dense<0xFF800000> : tensor<96x64xf32>
  %max = arith.constant dense<0xFF800000> : tensor<96xf32>
  %sum = arith.constant dense<0.0> : tensor<96xf32>
  %a = tile.load %q[%c0, %c0] : memref<?x64xf32> -> tensor<96x64xf32>
  %b = tile.load %k[%c0, %c0] in_bounds : memref<?x64xf32> -> tensor<64x64xf32>
  %c = tile.load %v[%c0, %c0] in_bounds : memref<?x64xf32> -> tensor<64x64xf32>
  %s = tile.dot %a, %b transpose_b : tensor<96x64xf32>, tensor<64x64xf32> -> tensor<96x64xf32>
  %i = tile.iota dim 0 : tensor<96x64xindex>
  %j = tile.iota dim 1 : tensor<96x64xindex>
  %start = tile.broadcast %first : index -> tensor<96x64xindex>
  %last = arith.addi %i, %start : tensor<96x64xindex>
  %mask = arith.cmpi sle, %j, %last : tensor<96x64xindex>
  %t = arith.select %mask, %s, %none : tensor<96x64xi1>, tensor<96x64xf32>
  %p, %alpha, %max_out, %sum_out = tile.online_softmax %t, %max, %sum : tensor<96x64xf32>, tensor<96xf32>
  %r = tile.dot %p, %c : tensor<96x64xf32>, tensor<64x64xf32> -> tensor<96x64xf32>
  tile.store %r, %o[%c0, %c0] : tensor<96x64xf32>, memref<?x64xf32>
  tile.return
}

// Whoever else reads the exponentials reads all of them.
// CHECK-LABEL: func.func @read_twice
// CHECK: scf.for %{{.*}} = %c0 to %c64 step %c8 iter_args
// CHECK: scf.for %{{.*}} = %c0 to %c64 step %c2 iter_args
tile.kernel @read_twice(%q: memref<?x64xf32> {tile.access = #tile.access<in>}, %k: memref<?x64xf32> {tile.access = #tile.access<in>},
                  %v: memref<?x64xf32> {tile.access = #tile.access<in>}, %o: memref<?x64xf32> {tile.access = #tile.access<out>}, %first: index)
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %none = arith.constant dense<0xFF800000> : tensor<96x64xf32>
  %max = arith.constant dense<0xFF800000> : tensor<96xf32>
  %sum = arith.constant dense<0.0> : tensor<96xf32>
  %a = tile.load %q[%c0, %c0] : memref<?x64xf32> -> tensor<96x64xf32>
  %b = tile.load %k[%c0, %c0] in_bounds : memref<?x64xf32> -> tensor<64x64xf32>
  %c = tile.load %v[%c0, %c0] in_bounds : memref<?x64xf32> -> tensor<64x64xf32>
  %s = tile.dot %a, %b transpose_b : tensor<96x64xf32>, tensor<64x64xf32> -> tensor<96x64xf32>
  %i = tile.iota dim 0 : tensor<96x64xindex>
  %j = tile.iota dim 1 : tensor<96x64xindex>
  %start = tile.broadcast %first : index -> tensor<96x64xindex>
  %last = arith.addi %i, %start : tensor<96x64xindex>
  %mask = arith.cmpi sle, %j, %last : tensor<96x64xindex>
  %t = arith.select %mask, %s, %none : tensor<96x64xi1>, tensor<96x64xf32>
  %p, %alpha, %max_out, %sum_out = tile.online_softmax %t, %max, %sum : tensor<96x64xf32>, tensor<96xf32>
  %r = tile.dot %p, %c : tensor<96x64xf32>, tensor<64x64xf32> -> tensor<96x64xf32>
  tile.store %r, %o[%c0, %c0] : tensor<96x64xf32>, memref<?x64xf32>
  tile.store %p, %o[%c0, %c0] : tensor<96x64xf32>, memref<?x64xf32>
  tile.return
}
