// RUN: fa-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(tile.kernel(tgpu-allocate-shared))'

#a = #tgpu.layout<16 register = [[8]], lane = [[0], [0], [1], [2], [4]]>
#b = #tgpu.layout<16 register = [[8]], lane = [[1], [2], [4], [0], [0]]>
tile.kernel @line(%x: i1) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, tgpu.warps = 1 : i64} {
  %0 = tile.broadcast %x : i1 -> tensor<16xi1, #a>
  // expected-error @below {{expects numbers of 8 bits or more, of at most two dimensions, to move them between threads, found 'tensor<16xi1, }}
  %1 = tgpu.convert %0 : tensor<16xi1, #a> -> tensor<16xi1, #b>
  tile.return
}
// -----
#a = #tgpu.layout<16x1 register = [[8, 0]], lane = [[0, 0], [0, 0], [1, 0], [2, 0], [4, 0]]>
#b = #tgpu.layout<16x1 register = [[8, 0]], lane = [[1, 0], [2, 0], [4, 0], [0, 0], [0, 0]]>
tile.kernel @index(%x: index) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, tgpu.warps = 1 : i64} {
  %0 = tile.broadcast %x : index -> tensor<16x1xindex, #a>
  // expected-error @below {{expects numbers of 8 bits or more, of at most two dimensions, to move them between threads, found 'tensor<16x1xindex, }}
  %1 = tgpu.convert %0 : tensor<16x1xindex, #a> -> tensor<16x1xindex, #b>
  tile.return
}
// -----
tile.kernel @no_layout(%x: f32) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, tile.parts = 2 : i64, tgpu.warps = 1 : i64} {
  %acc = tile.broadcast %x : f32 -> tensor<16x64xf32>
  %max = tile.broadcast %x : f32 -> tensor<16xf32>
  // expected-error @below {{expected a kernel at stage S4, found a tile without a layout}}
  %a, %n, %s = tile.merge_parts %acc, %max, %max : (tensor<16x64xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<16x64xf32>, tensor<16xf32>, tensor<16xf32>)
  tile.return
}
