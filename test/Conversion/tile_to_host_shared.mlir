// What several read of many operations, as of a random number of dropout, is
// computed once, in memory of its own; what takes few is computed again.
// RUN: fa-opt %s --convert-tile-to-host --canonicalize --cse | FileCheck %s

// CHECK-LABEL: func.func @many
// CHECK: %[[SHARED:.*]] = memref.view %{{.*}} to memref<16x16xf32>
// CHECK: arith.sitofp %{{.*}} : vector<16xi32> to vector<16xf32>
// CHECK: vector.store %{{.*}}, %[[SHARED]]
// CHECK-NOT: arith.sitofp
// CHECK-LABEL: func.func @few
// CHECK-NOT: memref.view %{{.*}} to memref<16x16xf32>
// CHECK: arith.sitofp
// CHECK: arith.sitofp
tile.kernel @many(%q: memref<16x16xi32> {tile.access = #tile.access<in>}, %x: memref<16x16xf32> {tile.access = #tile.access<out>},
                 %y: memref<16x16xf32> {tile.access = #tile.access<out>})
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %v0 = tile.load %q[%c0, %c0] in_bounds : memref<16x16xi32> -> tensor<16x16xi32>
  %v1 = arith.muli %v0, %v0 : tensor<16x16xi32>
  %v2 = arith.muli %v1, %v0 : tensor<16x16xi32>
  %v3 = arith.muli %v2, %v1 : tensor<16x16xi32>
  %v4 = arith.muli %v3, %v2 : tensor<16x16xi32>
  %v5 = arith.muli %v4, %v3 : tensor<16x16xi32>
  %v6 = arith.muli %v5, %v4 : tensor<16x16xi32>
  %v7 = arith.muli %v6, %v5 : tensor<16x16xi32>
  %v8 = arith.muli %v7, %v6 : tensor<16x16xi32>
  %v9 = arith.muli %v8, %v7 : tensor<16x16xi32>
  %v10 = arith.muli %v9, %v8 : tensor<16x16xi32>
  %v11 = arith.muli %v10, %v9 : tensor<16x16xi32>
  %v12 = arith.muli %v11, %v10 : tensor<16x16xi32>
  %v13 = arith.muli %v12, %v11 : tensor<16x16xi32>
  %v14 = arith.muli %v13, %v12 : tensor<16x16xi32>
  %v15 = arith.muli %v14, %v13 : tensor<16x16xi32>
  %v16 = arith.muli %v15, %v14 : tensor<16x16xi32>
  %v17 = arith.muli %v16, %v15 : tensor<16x16xi32>
  %v18 = arith.muli %v17, %v16 : tensor<16x16xi32>
  %v19 = arith.muli %v18, %v17 : tensor<16x16xi32>
  %v20 = arith.muli %v19, %v18 : tensor<16x16xi32>
  %v21 = arith.muli %v20, %v19 : tensor<16x16xi32>
  %v22 = arith.muli %v21, %v20 : tensor<16x16xi32>
  %v23 = arith.muli %v22, %v21 : tensor<16x16xi32>
  %v24 = arith.muli %v23, %v22 : tensor<16x16xi32>
  %f = arith.sitofp %v24 : tensor<16x16xi32> to tensor<16x16xf32>
  %a = arith.addf %f, %f : tensor<16x16xf32>
  %b = arith.mulf %f, %f : tensor<16x16xf32>
  tile.store %a, %x[%c0, %c0] : tensor<16x16xf32>, memref<16x16xf32>
  tile.store %b, %y[%c0, %c0] : tensor<16x16xf32>, memref<16x16xf32>
  tile.return
}

tile.kernel @few(%q: memref<16x16xi32> {tile.access = #tile.access<in>}, %x: memref<16x16xf32> {tile.access = #tile.access<out>},
                 %y: memref<16x16xf32> {tile.access = #tile.access<out>})
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %v0 = tile.load %q[%c0, %c0] in_bounds : memref<16x16xi32> -> tensor<16x16xi32>
  %v1 = arith.muli %v0, %v0 : tensor<16x16xi32>
  %v2 = arith.muli %v1, %v0 : tensor<16x16xi32>
  %v3 = arith.muli %v2, %v1 : tensor<16x16xi32>
  %f = arith.sitofp %v3 : tensor<16x16xi32> to tensor<16x16xf32>
  %a = arith.addf %f, %f : tensor<16x16xf32>
  %b = arith.mulf %f, %f : tensor<16x16xf32>
  tile.store %a, %x[%c0, %c0] : tensor<16x16xf32>, memref<16x16xf32>
  tile.store %b, %y[%c0, %c0] : tensor<16x16xf32>, memref<16x16xf32>
  tile.return
}
