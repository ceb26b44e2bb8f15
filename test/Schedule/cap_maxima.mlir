// Maxima of capped scores are above nearly all of them.
// RUN: fa-opt %s --pass-pipeline='builtin.module(tile.kernel(tgpu-hold-maxima,tgpu-cap-maxima))' | FileCheck %s

!rows = tensor<64xf32>
!tile = tensor<64x64xf32>

// Masked scores are capped as well.
// CHECK-LABEL: tile.kernel @capped
// CHECK: tile.online_softmax {{.*}} {tgpu.capped_scores = 1.718750e-01 : f32, tgpu.held_maxima}
// CHECK: tile.online_softmax {{.*}} {tgpu.capped_scores = 1.718750e-01 : f32, tgpu.held_maxima}
tile.kernel @capped(%end: index) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %cap = arith.constant 40.0 : f32
  %scores = arith.constant dense<0.5> : !tile
  %none = arith.constant dense<0xFF800000> : !rows
  %mask = arith.constant dense<true> : tensor<64x64xi1>
  %masked = arith.constant dense<0xFF800000> : !tile
  %zeros = arith.constant dense<0.0> : !rows
  %a:2 = scf.for %i = %c0 to %end step %c64 iter_args(%m = %none, %l = %zeros) -> (!rows, !rows) {
    %t = math.tanh %scores : !tile
    %p, %alpha, %max, %sum = tile.online_softmax %t, %m, %l scale %cap : !tile, !rows
    %16 = arith.truncf %p : !tile to tensor<64x64xbf16>
    scf.yield %max, %sum : !rows, !rows
  }
  %t = math.tanh %scores : !tile
  %s = arith.select %mask, %t, %masked : tensor<64x64xi1>, !tile
  %p, %alpha, %max, %sum = tile.online_softmax %s, %a#0, %a#1 scale %cap : !tile, !rows
  %16 = arith.truncf %p : !tile to tensor<64x64xbf16>
  %output, %lse = tile.online_finalize %scores, %max, %sum : !tile, !rows
  tile.return
}

// P of f16 needs a maximum that is near.
// CHECK-LABEL: tile.kernel @halves
// CHECK-NOT: tgpu.capped_scores
tile.kernel @halves() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %cap = arith.constant 40.0 : f32
  %scores = arith.constant dense<0.5> : !tile
  %none = arith.constant dense<0xFF800000> : !rows
  %zeros = arith.constant dense<0.0> : !rows
  %t = math.tanh %scores : !tile
  %p, %alpha, %max, %sum = tile.online_softmax %t, %none, %zeros scale %cap : !tile, !rows
  %16 = arith.truncf %p : !tile to tensor<64x64xf16>
  %output, %lse = tile.online_finalize %scores, %max, %sum : !tile, !rows
  tile.return
}

// Under a larger cap p could be no normal number.
// CHECK-LABEL: tile.kernel @large
// CHECK-NOT: tgpu.capped_scores
tile.kernel @large() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %cap = arith.constant 60.0 : f32
  %scores = arith.constant dense<0.5> : !tile
  %none = arith.constant dense<0xFF800000> : !rows
  %zeros = arith.constant dense<0.0> : !rows
  %t = math.tanh %scores : !tile
  %p, %alpha, %max, %sum = tile.online_softmax %t, %none, %zeros scale %cap : !tile, !rows
  %16 = arith.truncf %p : !tile to tensor<64x64xbf16>
  %output, %lse = tile.online_finalize %scores, %max, %sum : !tile, !rows
  tile.return
}

// Scores that a bias is added to have no bound.
// CHECK-LABEL: tile.kernel @biased
// CHECK-NOT: tgpu.capped_scores
tile.kernel @biased() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %cap = arith.constant 40.0 : f32
  %scores = arith.constant dense<0.5> : !tile
  %none = arith.constant dense<0xFF800000> : !rows
  %zeros = arith.constant dense<0.0> : !rows
  %t = math.tanh %scores : !tile
  %s = arith.addf %t, %scores : !tile
  %p, %alpha, %max, %sum = tile.online_softmax %s, %none, %zeros scale %cap : !tile, !rows
  %16 = arith.truncf %p : !tile to tensor<64x64xbf16>
  %output, %lse = tile.online_finalize %scores, %max, %sum : !tile, !rows
  tile.return
}
