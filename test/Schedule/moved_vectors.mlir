// Vectors that are reduced or scanned are moved to where a warp has all of them: through shared memory, as tiles of one row.
// RUN: fa-opt %s --split-input-file --pass-pipeline='builtin.module(tgpu-plan-kernels,tile.kernel(tgpu-assign-layouts))' | FileCheck %s
// RUN: fa-opt %s --split-input-file --pass-pipeline='builtin.module(tgpu-plan-kernels,tile.kernel(tgpu-assign-layouts,tgpu-allocate-shared))' | FileCheck %s --check-prefix=MOVED

// CHECK-LABEL: tile.kernel @ends
// CHECK: %[[SUMS:.*]] = tile.reduce add
// CHECK: %[[HERE:.*]] = tgpu.convert %[[SUMS]] : {{.*}} -> tensor<64xf32, #tgpu.layout<64 register = {{\[\[}}32]], lane = {{\[\[}}1], [2], [4], [8], [16]], warp = {{\[\[}}0], [0]]>>
// CHECK: tile.scan add %[[HERE]] dim 0 : tensor<64xf32, #tgpu.layout<64 register = {{\[\[}}32]], lane = {{\[\[}}1], [2], [4], [8], [16]], warp = {{\[\[}}0], [0]]>>
// MOVED-LABEL: tile.kernel @ends
// MOVED: %[[SUMS:.*]] = tile.reduce add
// MOVED: %[[ROW:.*]] = tile.expand_dims %[[SUMS]] dim 0
// MOVED: tgpu.write %[[ROW]], %[[BUFFER:.*]][%{{.*}}]
// MOVED: tgpu.barrier
// MOVED: %[[READ:.*]] = tgpu.read %[[BUFFER]][%{{.*}}]
// MOVED: %[[HERE:.*]] = tile.reduce add %[[READ]] dim 0
// MOVED: tile.scan add %[[HERE]]
tile.kernel @ends(%x: memref<64x32xf32> {tile.access = #tile.access<in>}, %y: memref<64xf32> {tile.access = #tile.access<out>})
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%c0, %c0] in_bounds : memref<64x32xf32> -> tensor<64x32xf32>
  %r = tile.reduce add %a dim 1 : tensor<64x32xf32> -> tensor<64xf32>
  %s = tile.scan add %r dim 0 : tensor<64xf32>
  tile.store %s, %y[%c0] : tensor<64xf32>, memref<64xf32>
  tile.return
}
// -----

// A vector of one element, which is reduced, is in all threads.
// CHECK-LABEL: tile.kernel @one
// CHECK: tile.load {{.*}} -> tensor<1xi32, #tgpu.layout<1 lane = {{\[\[}}0], [0], [0], [0], [0]]>>
// CHECK-NOT: tgpu.convert
tile.kernel @one(%x: memref<1xi32> {tile.access = #tile.access<in>}, %y: memref<1xi32> {tile.access = #tile.access<out>})
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%c0] in_bounds : memref<1xi32> -> tensor<1xi32>
  %row = tile.expand_dims %a dim 0 : tensor<1xi32> -> tensor<1x1xi32>
  %r = tile.reduce add %row dim 1 : tensor<1x1xi32> -> tensor<1xi32>
  tile.store %r, %y[%c0] : tensor<1xi32>, memref<1xi32>
  tile.return
}
