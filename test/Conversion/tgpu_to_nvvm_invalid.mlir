// RUN: fa-opt %s --convert-tgpu-to-nvvm --split-input-file --verify-diagnostics

// expected-error @+1 {{expects tgpu.warp_specialize where it is persistent}}
tile.kernel @persistent() attributes {tgpu.shared_bytes = 0, tgpu.warps = 1, tgpu.persistent, grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  tile.return
}

// -----

#acc = #tgpu.layout<accumulator 16x16 warps 1>
tile.kernel @operands(%x: f32) attributes {tgpu.shared_bytes = 0, tgpu.warps = 1, grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %0 = tile.broadcast %x : f32 -> tensor<16x16xf32, #acc>
  // expected-error @+1 {{expects operands of f32 in shared memory}}
  %1 = tile.dot %0, %0 : tensor<16x16xf32, #acc>, tensor<16x16xf32, #acc> -> tensor<16x16xf32, #acc>
  tile.return
}
