// How many threads hold a row is what its layout says.
// RUN: fa-opt %s --verify-diagnostics --pass-pipeline='builtin.module(tile.kernel(tgpu-defer-sums))'

!tile = tensor<64x64xf32>
!rows = tensor<64xf32>
tile.kernel @no_layout() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %zero = arith.constant dense<0.0> : !tile
  %none = arith.constant dense<0xFF800000> : !rows
  %zeros = arith.constant dense<0.0> : !rows
  %p, %alpha, %max, %sum = tile.online_softmax %zero, %none, %zeros : !tile, !rows
  // expected-error @below {{expected sums at stage S4, found some without a layout}}
  %output, %lse = tile.online_finalize %p, %max, %sum : !tile, !rows
  tile.return
}
