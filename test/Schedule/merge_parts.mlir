// Behind the merge of a program's parts their warps are those of one block: each has the columns of its part of the registers, and all of them the rows. The state goes
// through a buffer of each part, and the block has the buffers of all.
// RUN: fa-opt %s --pass-pipeline='builtin.module(tgpu-plan-kernels,tile.kernel(tgpu-assign-layouts,tgpu-allocate-shared,tgpu-place-buffers))' | FileCheck %s

// CHECK-LABEL: tile.kernel @parts
// CHECK-SAME: tgpu.shared_bytes = 32768 : i64, tgpu.warps = 1 : i64, tile.parts = 4 : i64
// CHECK: %[[BUFFER:.*]] = tgpu.alloc at 0 : <2 x 16x64xf32, #tgpu.layout<16x64 offset = {{\[\[}}0, 1], [8, 0], [0, 2], [0, 4], [1, 0], [2, 0], [4, 0], [0, 8], [0, 16], [0, 32]]>>
// CHECK: tgpu.barrier
// CHECK-NEXT: %[[ACC:.*]], %[[MAX:.*]], %[[SUM:.*]] = tgpu.merge_parts {{.*}} by %[[BUFFER]] : (tensor<16x64xf32, #tgpu.layout<accumulator 16x64 warps 1>>,
// CHECK-SAME: -> (tensor<16x64xf32, #tgpu.layout<16x64 register = {{\[\[}}0, 1], [8, 0], [0, 8]], lane = {{\[\[}}0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = {{\[\[}}0, 16], [0, 32]]>>, tensor<16xf32, #tgpu.layout<16 register = {{\[\[}}8]], lane = {{\[\[}}0], [0], [1], [2], [4]], warp = {{\[\[}}0], [0]]>>,
// CHECK: tile.online_finalize %[[ACC]], %[[MAX]], %[[SUM]] : tensor<16x64xf32, #tgpu.layout<16x64 register
// CHECK: tile.store
// CHECK-SAME: warp = {{\[\[}}0, 16], [0, 32]]
tile.kernel @parts(%o: memref<?x64xf32> {tile.access = #tile.access<inout>}, %m: memref<?xf32> {tile.access = #tile.access<inout>})
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, tile.parts = 4 : i64} {
  %c0 = arith.constant 0 : index
  %acc = tile.load %o[%c0, %c0] : memref<?x64xf32> -> tensor<16x64xf32>
  %max = tile.load %m[%c0] : memref<?xf32> -> tensor<16xf32>
  %a, %n, %s = tile.merge_parts %acc, %max, %max : (tensor<16x64xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<16x64xf32>, tensor<16xf32>, tensor<16xf32>)
  %out, %lse = tile.online_finalize %a, %n, %s : tensor<16x64xf32>, tensor<16xf32>
  tile.store %out, %o[%c0, %c0] : tensor<16x64xf32>, memref<?x64xf32>
  tile.store %lse, %m[%c0] : tensor<16xf32>, memref<?xf32>
  tile.return
}

// Of 80 columns, five copies of 16, two parts each have the upper and the lower half of every copy.
// CHECK-LABEL: tile.kernel @d80
// CHECK: tgpu.alloc {{.*}} : <2 x 16x80xf32, #tgpu.layout<16x80 offset = {{\[\[}}0, 1], [8, 0], [0, 2], [0, 4], [1, 0], [2, 0], [4, 0], [0, 8]] repeat 5>>
// CHECK: tgpu.merge_parts
// CHECK-SAME: -> (tensor<16x80xf32, #tgpu.layout<16x80 register = {{\[\[}}0, 1], [8, 0]], lane = {{\[\[}}0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = {{\[\[}}0, 8], [0, 0]] repeat 5>>
tile.kernel @d80(%o: memref<?x80xf32> {tile.access = #tile.access<inout>}, %m: memref<?xf32> {tile.access = #tile.access<inout>})
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, tile.parts = 4 : i64} {
  %c0 = arith.constant 0 : index
  %acc = tile.load %o[%c0, %c0] : memref<?x80xf32> -> tensor<16x80xf32>
  %max = tile.load %m[%c0] : memref<?xf32> -> tensor<16xf32>
  %a, %n, %s = tile.merge_parts %acc, %max, %max : (tensor<16x80xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<16x80xf32>, tensor<16xf32>, tensor<16xf32>)
  tile.store %a, %o[%c0, %c0] : tensor<16x80xf32>, memref<?x80xf32>
  tile.return
}

// Of 96, three copies of 32, each has a quarter of every copy.
// CHECK-LABEL: tile.kernel @d96
// CHECK: tgpu.merge_parts
// CHECK-SAME: -> (tensor<16x96xf32, #tgpu.layout<16x96 register = {{\[\[}}0, 1], [8, 0]], lane = {{\[\[}}0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = {{\[\[}}0, 8], [0, 16]] repeat 3>>
tile.kernel @d96(%o: memref<?x96xf32> {tile.access = #tile.access<inout>}, %m: memref<?xf32> {tile.access = #tile.access<inout>})
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, tile.parts = 4 : i64} {
  %c0 = arith.constant 0 : index
  %acc = tile.load %o[%c0, %c0] : memref<?x96xf32> -> tensor<16x96xf32>
  %max = tile.load %m[%c0] : memref<?xf32> -> tensor<16xf32>
  %a, %n, %s = tile.merge_parts %acc, %max, %max : (tensor<16x96xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<16x96xf32>, tensor<16xf32>, tensor<16xf32>)
  tile.store %a, %o[%c0, %c0] : tensor<16x96xf32>, memref<?x96xf32>
  tile.return
}
