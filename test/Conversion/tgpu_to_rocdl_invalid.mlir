// RUN: fa-opt %s --convert-tgpu-to-rocdl='arch=gfx942' --split-input-file --verify-diagnostics
// RUN: not fa-opt %s --convert-tgpu-to-rocdl='arch=gfx1' 2>&1 | FileCheck %s
// CHECK: unknown architecture 'gfx1'

tile.kernel @begin_next() attributes {tgpu.lanes = 64, tgpu.shared_bytes = 0, tgpu.warps = 1, grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  // expected-error @+1 {{has no lowering for this GPU}}
  tgpu.begin_next
  tile.return
}

// -----

#acc = #tgpu.layout<accumulator 16x16 warps 1>
tile.kernel @operands(%x: f32) attributes {tgpu.shared_bytes = 0, tgpu.warps = 1, grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %0 = tile.broadcast %x : f32 -> tensor<16x16xf32, #acc>
  // expected-error @+1 {{expects operands whose lanes agree on the depth}}
  %1 = tile.dot %0, %0 : tensor<16x16xf32, #acc>, tensor<16x16xf32, #acc> -> tensor<16x16xf32, #acc>
  tile.return
}

// -----

tile.kernel @joined() attributes {tgpu.shared_bytes = 5120, tgpu.warps = 1, grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  // expected-error @+1 {{expected a layout whose copies lie one behind the other, found #tgpu.layout<swizzled 32x80 joined bytes 2>}}
  %0 = tgpu.alloc at 0 : <1 x 32x80xf16, #tgpu.layout<swizzled 32x80 joined bytes 2>>
  tile.return
}
