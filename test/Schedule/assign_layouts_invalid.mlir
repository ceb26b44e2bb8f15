// Dots that the units of the target do not compute.
// RUN: fa-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(tgpu-plan-kernels,tile.kernel(tgpu-assign-layouts))'

tile.kernel @f64() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %a = arith.constant dense<0.0> : tensor<16x16xf64>
  // expected-error @below {{expects f16, bf16 or f32 tiles with f32 results on a GPU}}
  %0 = tile.dot %a, %a : tensor<16x16xf64>, tensor<16x16xf64> -> tensor<16x16xf64>
  tile.return
}
// -----
tile.kernel @depth() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %a = arith.constant dense<0.0> : tensor<16x8xf16>
  %b = arith.constant dense<0.0> : tensor<8x16xf16>
  // expected-error @below {{depth in steps of 16}}
  %0 = tile.dot %a, %b : tensor<16x8xf16>, tensor<8x16xf16> -> tensor<16x16xf32>
  tile.return
}
// -----
tile.kernel @rows() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  // expected-error @below {{expected a tile with rows that are a power of two}}
  %a = arith.constant dense<0.0> : tensor<48x16xf16>
  tile.return
}
// -----
// expected-error @below {{a kernel on whole tensors runs on the host alone}}
tile.kernel @whole() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, unfused} {
  tile.return
}
