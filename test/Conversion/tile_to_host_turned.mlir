// Tiles of transposed views lie in memory as kernels hold them: whole vectors of
// their columns are copied, those that there are, and no element by itself.
// RUN: fa-opt %s --convert-tile-to-host --canonicalize --cse | FileCheck %s
// The twin: where columns are no neighbours in memory.
// RUN: sed 's/strided<\[1, ?\]>/strided<[?, ?]>/g' %s | fa-opt --convert-tile-to-host --canonicalize --cse | not FileCheck %s

// CHECK-LABEL: func.func @add
// CHECK-NOT: memref.load
// CHECK-NOT: memref.store
// CHECK: %[[SOURCE:.*]] = memref.transpose %{{.*}} (d0, d1) -> (d1, d0)
// CHECK: scf.for %[[COLUMN:.*]] = %{{.*}} to %{{.*}} step %c1
// CHECK: vector.load %[[SOURCE]][%{{.*}}, %c0]
// CHECK: vector.load %[[SOURCE]][%{{.*}}, %c16]
// The last vector of 40 rows overlaps the one before.
// CHECK: vector.load %[[SOURCE]][%{{.*}}, %c24]
// CHECK-NOT: memref.load
// CHECK: scf.for
// CHECK-COUNT-3: vector.store %{{.*}} : memref<?x40xf32
// CHECK-NOT: memref.store
tile.kernel @add(%m: memref<40x?xf32, strided<[1, ?]>> {tile.access = #tile.access<inout>})
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %one = arith.constant dense<1.0> : tensor<40x8xf32>
  %x = tile.load %m[%c0, %c0] : memref<40x?xf32, strided<[1, ?]>> -> tensor<40x8xf32>
  %y = arith.addf %x, %one : tensor<40x8xf32>
  tile.store %y, %m[%c0, %c0] : tensor<40x8xf32>, memref<40x?xf32, strided<[1, ?]>>
  tile.return
}
