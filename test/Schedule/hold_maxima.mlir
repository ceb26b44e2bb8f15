// Maxima that only softmaxes and a finalize read need not be the maxima.
// RUN: fa-opt %s --pass-pipeline='builtin.module(tile.kernel(tgpu-hold-maxima))' | FileCheck %s

!rows = tensor<64xf32>
!tile = tensor<64x64xf32>

// CHECK-LABEL: tile.kernel @held
// CHECK: tile.online_softmax {{.*}} {tgpu.held_maxima}
// CHECK: arith.mulf %{{.*}}, %{{.*}} {tgpu.rescale}
tile.kernel @held(%end: index) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : !tile
  %none = arith.constant dense<0xFF800000> : !rows
  %zeros = arith.constant dense<0.0> : !rows
  %a:3 = scf.for %i = %c0 to %end step %c64 iter_args(%o = %zero, %m = %none, %l = %zeros) -> (!tile, !rows, !rows) {
    %p, %alpha, %max, %sum = tile.online_softmax %zero, %m, %l : !tile, !rows
    %column = tile.expand_dims %alpha dim 1 : !rows -> tensor<64x1xf32>
    %spread = tile.broadcast %column : tensor<64x1xf32> -> !tile
    %scaled = arith.mulf %o, %spread : !tile
    %next = arith.addf %scaled, %p : !tile
    scf.yield %next, %max, %sum : !tile, !rows, !rows
  }
  %output, %lse = tile.online_finalize %a#0, %a#1, %a#2 : !tile, !rows
  tile.return
}

// What reads a maximum otherwise reads the maximum.
// CHECK-LABEL: tile.kernel @read
// CHECK-NOT: tgpu.held_maxima
// CHECK-NOT: tgpu.rescale
tile.kernel @read(%end: index, %view: memref<64xf32> {tile.access = #tile.access<out>}) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : !tile
  %none = arith.constant dense<0xFF800000> : !rows
  %zeros = arith.constant dense<0.0> : !rows
  %p, %alpha, %max, %sum = tile.online_softmax %zero, %none, %zeros : !tile, !rows
  %column = tile.expand_dims %alpha dim 1 : !rows -> tensor<64x1xf32>
  %spread = tile.broadcast %column : tensor<64x1xf32> -> !tile
  %scaled = arith.mulf %p, %spread : !tile
  %output, %lse = tile.online_finalize %scaled, %max, %sum : !tile, !rows
  tile.store %max, %view[%c0] : !rows, memref<64xf32>
  tile.return
}
