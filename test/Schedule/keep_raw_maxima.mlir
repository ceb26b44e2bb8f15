// Maxima that only softmaxes of one scale and a finalize read are those of the scores before it.
// RUN: fa-opt %s --pass-pipeline='builtin.module(tile.kernel(tgpu-keep-raw-maxima))' | FileCheck %s

!rows = tensor<64xf32>
!tile = tensor<64x64xf32>

// What they begin with is divided by the scale, what ends them is multiplied.
// CHECK-LABEL: tile.kernel @scaled(
// CHECK-SAME: %[[SCALE:[a-z0-9]+]]: f32
// CHECK: %[[NONE:.*]] = arith.constant dense<0xFF800000>
// CHECK: %[[SPREAD:.*]] = tile.broadcast %[[SCALE]] : f32 -> tensor<64xf32>
// CHECK: %[[FIRST:.*]] = arith.divf %[[NONE]], %[[SPREAD]]
// CHECK: %[[A:.*]]:2 = scf.for {{.*}} iter_args(%{{.*}} = %[[FIRST]],
// CHECK: tile.online_softmax {{.*}} {tgpu.raw_maxima}
// CHECK: %[[AGAIN:.*]] = tile.broadcast %[[SCALE]] : f32 -> tensor<64xf32>
// CHECK: %[[MAX:.*]] = arith.mulf %[[A]]#0, %[[AGAIN]]
// CHECK: tile.online_finalize %{{.*}}, %[[MAX]], %[[A]]#1
tile.kernel @scaled(%end: index, %scale: f32) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : !tile
  %none = arith.constant dense<0xFF800000> : !rows
  %zeros = arith.constant dense<0.0> : !rows
  %a:2 = scf.for %i = %c0 to %end step %c64 iter_args(%m = %none, %l = %zeros) -> (!rows, !rows) {
    %p, %alpha, %max, %sum = tile.online_softmax %zero, %m, %l scale %scale : !tile, !rows
    scf.yield %max, %sum : !rows, !rows
  }
  %output, %lse = tile.online_finalize %zero, %a#0, %a#1 : !tile, !rows
  tile.return
}

// Without a scale the scores are raw as they are.
// CHECK-LABEL: tile.kernel @plain(
// CHECK-NOT: arith.divf
// CHECK: tile.online_softmax {{.*}} {tgpu.raw_maxima}
// CHECK-NOT: arith.mulf
// CHECK: tile.return
tile.kernel @plain() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %zero = arith.constant dense<0.0> : !tile
  %none = arith.constant dense<0xFF800000> : !rows
  %zeros = arith.constant dense<0.0> : !rows
  %p, %alpha, %max, %sum = tile.online_softmax %zero, %none, %zeros : !tile, !rows
  %output, %lse = tile.online_finalize %p, %max, %sum : !tile, !rows
  tile.return
}

// Two scales have no maxima in common, and what is stored of a maximum is scaled.
// CHECK-LABEL: tile.kernel @two(
// CHECK-NOT: tgpu.raw_maxima
// CHECK-LABEL: tile.kernel @read(
// CHECK-NOT: tgpu.raw_maxima
tile.kernel @two(%one: f32, %other: f32) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %zero = arith.constant dense<0.0> : !tile
  %none = arith.constant dense<0xFF800000> : !rows
  %zeros = arith.constant dense<0.0> : !rows
  %p, %alpha, %max, %sum = tile.online_softmax %zero, %none, %zeros scale %one : !tile, !rows
  %p2, %alpha2, %max2, %sum2 = tile.online_softmax %zero, %max, %sum scale %other : !tile, !rows
  %output, %lse = tile.online_finalize %p2, %max2, %sum2 : !tile, !rows
  tile.return
}
tile.kernel @read(%scale: f32, %view: memref<64xf32> {tile.access = #tile.access<out>}) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : !tile
  %none = arith.constant dense<0xFF800000> : !rows
  %zeros = arith.constant dense<0.0> : !rows
  %p, %alpha, %max, %sum = tile.online_softmax %zero, %none, %zeros scale %scale : !tile, !rows
  %output, %lse = tile.online_finalize %p, %max, %sum : !tile, !rows
  tile.store %max, %view[%c0] : !rows, memref<64xf32>
  tile.return
}
