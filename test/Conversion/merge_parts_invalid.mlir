// Of accumulators of more than two rows of a thread there is no merge.
// RUN: fa-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(tgpu-plan-kernels,tile.kernel(tgpu-assign-layouts,tgpu-allocate-shared,tgpu-place-buffers),convert-tgpu-to-nvvm)'

tile.kernel @tall(%o: memref<?x64xf32> {tile.access = #tile.access<inout>}, %m: memref<?xf32> {tile.access = #tile.access<inout>})
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, tile.parts = 4 : i64} {
  %c0 = arith.constant 0 : index
  %acc = tile.load %o[%c0, %c0] : memref<?x64xf32> -> tensor<32x64xf32>
  %max = tile.load %m[%c0] : memref<?xf32> -> tensor<32xf32>
  // expected-error @+1 {{expects each part to be left with some of the columns of its accumulators and two rows of a thread, found}}
  %a, %n, %s = tile.merge_parts %acc, %max, %max : (tensor<32x64xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<32x64xf32>, tensor<32xf32>, tensor<32xf32>)
  tile.store %a, %o[%c0, %c0] : tensor<32x64xf32>, memref<?x64xf32>
  tile.return
}

// -----

// A program has one merge: before a second one parts would still be apart.
tile.kernel @again(%o: memref<?x64xf32> {tile.access = #tile.access<inout>}, %m: memref<?xf32> {tile.access = #tile.access<inout>})
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, tile.parts = 4 : i64} {
  %c0 = arith.constant 0 : index
  %acc = tile.load %o[%c0, %c0] : memref<?x64xf32> -> tensor<16x64xf32>
  %max = tile.load %m[%c0] : memref<?xf32> -> tensor<16xf32>
  %a, %n, %s = tile.merge_parts %acc, %max, %max : (tensor<16x64xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<16x64xf32>, tensor<16xf32>, tensor<16xf32>)
  // expected-error @+1 {{expects each part to be left with}}
  %a1, %n1, %s1 = tile.merge_parts %a, %n, %s : (tensor<16x64xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<16x64xf32>, tensor<16xf32>, tensor<16xf32>)
  tile.store %a1, %o[%c0, %c0] : tensor<16x64xf32>, memref<?x64xf32>
  tile.return
}
