// What follows from the layouts of operands, and what has to be moved.
// RUN: fa-opt %s --pass-pipeline='builtin.module(tgpu-plan-kernels,tile.kernel(tgpu-assign-layouts))' | FileCheck %s

!view = memref<?x16xf32, strided<[?, 1]>>

// Sixteen rows are too few for four warps: a tile that a dot does not make is
// spread over lanes, and its sums are where its rows are.
// CHECK-LABEL: tile.kernel @sums
// CHECK: %[[X:.*]] = tile.load {{.*}} -> tensor<16x16xf32, #tgpu.layout<[[TILE:blocked 16x16 vector 1 warps 4]]>>
// CHECK: tile.reduce add %[[X]] dim 1 {{.*}} -> tensor<16xf32, #tgpu.layout<16 register = {{\[\[}}8]], lane = {{\[\[}}0], [0], [0], [0], [1]], warp = {{\[\[}}2], [4]]>>
// CHECK: tile.expand_dims {{.*}} -> tensor<16x1xf32, #tgpu.layout<16x1 register = {{\[\[}}8, 0]], lane = {{\[\[}}0, 0], [0, 0], [0, 0], [0, 0], [1, 0]], warp = {{\[\[}}2, 0], [4, 0]]>>
// CHECK: tile.broadcast {{.*}} -> tensor<16x16xf32, #tgpu.layout<[[TILE]]>>
tile.kernel @sums(%x: !view {tile.access = #tile.access<in>}, %y: !view {tile.access = #tile.access<out>})
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %0 = tile.load %x[%c0, %c0] : !view -> tensor<16x16xf32>
  %1 = tile.reduce add %0 dim 1 : tensor<16x16xf32> -> tensor<16xf32>
  %2 = tile.expand_dims %1 dim 1 : tensor<16xf32> -> tensor<16x1xf32>
  %3 = tile.broadcast %2 : tensor<16x1xf32> -> tensor<16x16xf32>
  tile.store %3, %y[%c0, %c0] : tensor<16x16xf32>, !view
  tile.return
}

// A vector of columns is where the tile is that it goes to, however few rows that
// one has: the lowering broadcasts in place.
// CHECK-LABEL: tile.kernel @columns
// CHECK: tile.load {{.*}} -> tensor<16xf32, #tgpu.layout<16 lane = {{\[\[}}1], [2], [4], [8], [0]], warp = {{\[\[}}0], [0]]>>
// CHECK: tile.broadcast {{.*}} -> tensor<16x16xf32, #tgpu.layout<[[TILE]]>>
tile.kernel @columns(%x: memref<16xf32> {tile.access = #tile.access<in>}, %y: !view {tile.access = #tile.access<out>})
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %0 = tile.load %x[%c0] in_bounds : memref<16xf32> -> tensor<16xf32>
  %1 = tile.expand_dims %0 dim 0 : tensor<16xf32> -> tensor<1x16xf32>
  %2 = tile.broadcast %1 : tensor<1x16xf32> -> tensor<16x16xf32>
  tile.store %2, %y[%c0, %c0] : tensor<16x16xf32>, !view
  tile.return
}

// Both branches leave their tile where the result is.
// CHECK-LABEL: tile.kernel @branches
// CHECK: scf.if
// CHECK: scf.yield {{.*}} #tgpu.layout<accumulator 64x16 warps 4>
// CHECK: else
// CHECK: scf.yield {{.*}} #tgpu.layout<accumulator 64x16 warps 4>
tile.kernel @branches(%x: memref<?x64xf16, strided<[?, 1]>> {tile.access = #tile.access<in>},
                      %y: memref<?x16xf32, strided<[?, 1]>> {tile.access = #tile.access<out>}, %c: i1)
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %0 = tile.load %x[%c0, %c0] : memref<?x64xf16, strided<[?, 1]>> -> tensor<64x64xf16>
  %1 = tile.load %x[%c0, %c0] : memref<?x64xf16, strided<[?, 1]>> -> tensor<16x64xf16>
  %2 = scf.if %c -> tensor<64x16xf32> {
    %3 = tile.dot %0, %1 transpose_b : tensor<64x64xf16>, tensor<16x64xf16> -> tensor<64x16xf32>
    scf.yield %3 : tensor<64x16xf32>
  } else {
    %z = arith.constant dense<0.0> : tensor<64x16xf32>
    scf.yield %z : tensor<64x16xf32>
  }
  tile.store %2, %y[%c0, %c0] : tensor<64x16xf32>, memref<?x16xf32, strided<[?, 1]>>
  tile.return
}

// Of tf32, operands of a dot from memory are where ldmatrix brings them; a
// result is the next dot's operand where it is, and the right one follows it.
// CHECK-LABEL: tile.kernel @tf32
// CHECK: tile.dot {{.*}} precision tf32 : tensor<64x32xf32, #tgpu.layout<operand_a32 64x32 warps 4>>, tensor<16x32xf32, #tgpu.layout<operand_b32 16x32 warps 4>> -> tensor<64x16xf32, #tgpu.layout<accumulator 64x16 warps 4>>
// CHECK-NOT: tgpu.convert {{.*}}tensor<64x16xf32
// CHECK: tile.dot {{.*}} precision tf32 : tensor<64x16xf32, #tgpu.layout<accumulator 64x16 warps 4>>, tensor<16x32xf32, #tgpu.layout<operand_b 16x32 warps 4>>
tile.kernel @tf32(%x: memref<?x32xf32, strided<[?, 1]>> {tile.access = #tile.access<in>},
                  %y: memref<?x32xf32, strided<[?, 1]>> {tile.access = #tile.access<out>})
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %0 = tile.load %x[%c0, %c0] : memref<?x32xf32, strided<[?, 1]>> -> tensor<64x32xf32>
  %1 = tile.load %x[%c0, %c0] : memref<?x32xf32, strided<[?, 1]>> -> tensor<16x32xf32>
  %2 = tile.dot %0, %1 transpose_b precision tf32 : tensor<64x32xf32>, tensor<16x32xf32> -> tensor<64x16xf32>
  %3 = tile.load %x[%c0, %c0] : memref<?x32xf32, strided<[?, 1]>> -> tensor<16x32xf32>
  %4 = tile.dot %2, %3 precision tf32 : tensor<64x16xf32>, tensor<16x32xf32> -> tensor<64x32xf32>
  tile.store %4, %y[%c0, %c0] : tensor<64x32xf32>, memref<?x32xf32, strided<[?, 1]>>
  tile.return
}

// A merge of one row has its columns across the lanes of as many warps as they fill, and the row's numbers in every lane.
// CHECK-LABEL: tile.kernel @merge_row
// CHECK-NOT: tgpu.convert
// CHECK: tile.online_merge {{.*}} : tensor<1x64xf32, #tgpu.layout<blocked 1x64 vector 1 warps 2>>, tensor<1xf32, #tgpu.layout<1 lane = {{\[\[}}0], [0], [0], [0], [0]], warp = {{\[\[}}0]]>>
// CHECK-NOT: tgpu.convert
// CHECK: tile.return
tile.kernel @merge_row(%o: memref<?x64xf32> {tile.access = #tile.access<inout>}, %m: memref<?xf32> {tile.access = #tile.access<in>})
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %acc = arith.constant dense<0.0> : tensor<1x64xf32>
  %max = arith.constant dense<0xFF800000> : tensor<1xf32>
  %sum = arith.constant dense<0.0> : tensor<1xf32>
  %0 = tile.load %o[%c0, %c0] : memref<?x64xf32> -> tensor<1x64xf32>
  %1 = tile.load %m[%c0] : memref<?xf32> -> tensor<1xf32>
  %a, %n, %s = tile.online_merge %acc, %max, %sum with %0, %1, %1 : tensor<1x64xf32>, tensor<1xf32>
  tile.store %a, %o[%c0, %c0] : tensor<1x64xf32>, memref<?x64xf32>
  tile.return
}
