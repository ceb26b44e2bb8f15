// Sums that only softmaxes and a finalize read are each thread's until the end.
// RUN: fa-opt %s --pass-pipeline='builtin.module(tile.kernel(tgpu-defer-sums))' | FileCheck %s

#tile = #tgpu.layout<accumulator 64x64 warps 4>
#row = #tgpu.layout<64 register = [[8]], lane = [[0], [0], [1], [2], [4]], warp = [[16], [32]]>
!tile = tensor<64x64xf32, #tile>
!rows = tensor<64xf32, #row>

// Four threads hold a row, each begins with a quarter of what there was.
// CHECK-LABEL: tile.kernel @deferred
// CHECK: %[[ZEROS:.*]] = arith.constant dense<0.000000e+00> : tensor<64xf32,
// CHECK: %[[QUARTER:.*]] = arith.constant dense<2.500000e-01> : tensor<64xf32,
// CHECK: %[[SHARE:.*]] = arith.mulf %[[ZEROS]], %[[QUARTER]]
// CHECK: scf.for {{.*}} = %[[SHARE]])
// CHECK: tile.online_softmax {{.*}} {tgpu.thread_sums}
// CHECK: tile.online_finalize {{.*}} {tgpu.thread_sums}
tile.kernel @deferred(%end: index) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : !tile
  %none = arith.constant dense<0xFF800000> : !rows
  %zeros = arith.constant dense<0.0> : !rows
  %a:2 = scf.for %i = %c0 to %end step %c64 iter_args(%m = %none, %l = %zeros) -> (!rows, !rows) {
    %p, %alpha, %max, %sum = tile.online_softmax %zero, %m, %l : !tile, !rows
    scf.yield %max, %sum : !rows, !rows
  }
  %output, %lse = tile.online_finalize %zero, %a#0, %a#1 : !tile, !rows
  tile.return
}

// What is stored of a sum is the whole of it.
// CHECK-LABEL: tile.kernel @read
// CHECK-NOT: tgpu.thread_sums
// CHECK-NOT: arith.mulf
tile.kernel @read(%view: memref<64xf32> {tile.access = #tile.access<out>}) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : !tile
  %none = arith.constant dense<0xFF800000> : !rows
  %zeros = arith.constant dense<0.0> : !rows
  %p, %alpha, %max, %sum = tile.online_softmax %zero, %none, %zeros : !tile, !rows
  %output, %lse = tile.online_finalize %p, %max, %sum : !tile, !rows
  tile.store %sum, %view[%c0] : !rows, memref<64xf32>
  tile.return
}

// A state that no softmax made, such as one that is loaded, holds whole sums.
// CHECK-LABEL: tile.kernel @loaded
// CHECK-NOT: tgpu.thread_sums
// CHECK: tile.return
tile.kernel @loaded(%view: memref<64xf32> {tile.access = #tile.access<in>}) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : !tile
  %m = tile.load %view[%c0] : memref<64xf32> -> !rows
  %l = tile.load %view[%c0] : memref<64xf32> -> !rows
  %output, %lse = tile.online_finalize %zero, %m, %l : !tile, !rows
  tile.return
}
