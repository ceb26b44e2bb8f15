// RUN: fa-opt %s | fa-opt | FileCheck %s
// RUN: fa-opt %s --emit-bytecode | fa-opt | FileCheck %s

// CHECK-LABEL: tile.kernel @copy
// CHECK-SAME: tile.access = #tile.access<in>
// CHECK-SAME: tile.access = #tile.access<out>
// CHECK: tile.program_id 0
// CHECK: tile.num_programs 0
// CHECK: %{{.*}}, %{{.*}} = tile.own_rows of 64
// CHECK: tile.load %{{.*}}[%{{.*}}] : memref<?xf32, strided<[?]>> -> tensor<64xf32>
// CHECK: tile.load %{{.*}}[%{{.*}}] in_bounds : memref<?xf32, strided<[?]>> -> tensor<64xf32>
// CHECK: tile.gather %{{.*}}[%{{.*}}] : memref<?xf32, strided<[?]>>, (tensor<64xindex>) -> tensor<64xf32>
// CHECK: tile.store %{{.*}}, %{{.*}}[%{{.*}}] : tensor<64xf32>, memref<?xf32, strided<[?]>>
// CHECK: tile.return
tile.kernel @copy(%x: memref<?xf32, strided<[?]>> {tile.access = #tile.access<in>},
                  %y: memref<?xf32, strided<[?]>> {tile.access = #tile.access<out>}, %n: index)
    attributes {grid = affine_map<()[s0] -> (s0 ceildiv 64)>, grid_sizes = array<i64: 0, 0>} {
  %pid = tile.program_id 0
  %num = tile.num_programs 0
  %offset, %count = tile.own_rows of 64
  %c64 = arith.constant 64 : index
  %at = arith.muli %pid, %c64 : index
  %t = tile.load %x[%at] : memref<?xf32, strided<[?]>> -> tensor<64xf32>
  %u = tile.load %x[%at] in_bounds : memref<?xf32, strided<[?]>> -> tensor<64xf32>
  %i = tile.iota dim 0 : tensor<64xindex>
  %g = tile.gather %x[%i] : memref<?xf32, strided<[?]>>, (tensor<64xindex>) -> tensor<64xf32>
  tile.store %g, %y[%at] : tensor<64xf32>, memref<?xf32, strided<[?]>>
  tile.return
}

// CHECK-LABEL: tile.kernel @places
// CHECK: tile.gather %{{.*}}[%{{.*}}] mask %{{.*}} in_bounds : memref<?xf32, strided<[?]>>, (tensor<64xindex>) -> tensor<64xf32>
// CHECK: tile.scatter %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}] : tensor<64xf32>, memref<?x?xf32>, (tensor<64xindex>, tensor<64xindex>)
// CHECK: tile.scatter %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}] mask %{{.*}} in_bounds : tensor<64xf32>, memref<?x?xf32>, (tensor<64xindex>, tensor<64xindex>)
// CHECK: tile.scatter %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}] mask %{{.*}} in_bounds add : tensor<64xf32>, memref<?x?xf32>, (tensor<64xindex>, tensor<64xindex>)
tile.kernel @places(%x: memref<?xf32, strided<[?]>> {tile.access = #tile.access<in>}, %y: memref<?x?xf32> {tile.access = #tile.access<out>})
    attributes {grid = affine_map<()[s0] -> (s0 ceildiv 64)>, grid_sizes = array<i64: 0, 0>} {
  %m = arith.constant dense<true> : tensor<64xi1>
  %i = tile.iota dim 0 : tensor<64xindex>
  %g = tile.gather %x[%i] mask %m in_bounds : memref<?xf32, strided<[?]>>, (tensor<64xindex>) -> tensor<64xf32>
  tile.scatter %g, %y[%i, %i] : tensor<64xf32>, memref<?x?xf32>, (tensor<64xindex>, tensor<64xindex>)
  tile.scatter %g, %y[%i, %i] mask %m in_bounds : tensor<64xf32>, memref<?x?xf32>, (tensor<64xindex>, tensor<64xindex>)
  tile.scatter %g, %y[%i, %i] mask %m in_bounds add : tensor<64xf32>, memref<?x?xf32>, (tensor<64xindex>, tensor<64xindex>)
  tile.return
}

// CHECK-LABEL: tile.kernel @sums
// CHECK: tile.assert %{{.*}}, "a row" : i1
// CHECK: tile.assert %{{.*}}, "x is above 0" promise : tensor<64xi1>
// CHECK: tile.atomic_add %{{.*}}, %{{.*}}[%{{.*}}] : tensor<64xf32>, memref<?xf32, strided<[?]>>
tile.kernel @sums(%y: memref<?xf32, strided<[?]>> {tile.access = #tile.access<inout>}, %row: i1)
    attributes {grid = affine_map<()[s0] -> (s0 ceildiv 64)>, grid_sizes = array<i64: 0, 0>} {
  %c0 = arith.constant 0 : index
  %x = arith.constant dense<1.0> : tensor<64xf32>
  %holds = arith.constant dense<true> : tensor<64xi1>
  tile.assert %row, "a row" : i1
  tile.assert %holds, "x is above 0" promise : tensor<64xi1>
  tile.atomic_add %x, %y[%c0] : tensor<64xf32>, memref<?xf32, strided<[?]>>
  tile.return
}

// CHECK-LABEL: tile.kernel @scans
// CHECK: tile.scan add %{{.*}} dim 0 : tensor<64xi64>
// CHECK: tile.scan max %{{.*}} dim 1 reverse : tensor<4x64xf32>
tile.kernel @scans() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %n = arith.constant dense<1> : tensor<64xi64>
  %x = arith.constant dense<1.0> : tensor<4x64xf32>
  %ends = tile.scan add %n dim 0 : tensor<64xi64>
  %most = tile.scan max %x dim 1 reverse : tensor<4x64xf32>
  tile.return
}
