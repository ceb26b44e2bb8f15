// What does not belong to a stage is an error at its place.
// RUN: fa-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(tgpu-verify-stage{stage=S7})'

tile.kernel @plain() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  // expected-error @below {{not at stage S7 (schedule): expected a tile with a layout}}
  %0 = arith.constant dense<0.0> : tensor<16x16xf32>
  tile.return
}
// -----
#acc = #tgpu.layout<accumulator 16x16 warps 1>
#b = #tgpu.layout<operand_b 16x16 warps 1>
tile.kernel @crosses() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %0 = arith.constant dense<0.0> : tensor<16x16xf16, #acc>
  // expected-error @below {{not at stage S7 (schedule): expected a conversion inside each thread}}
  %1 = tgpu.convert %0 : tensor<16x16xf16, #acc> -> tensor<16x16xf16, #b>
  tile.return
}
// -----
tile.kernel @offset() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  // expected-error @below {{not at stage S7 (schedule): expected a buffer with an offset}}
  %0 = tgpu.alloc : <1 x 16x16xf16, #tgpu.layout<swizzled 16x16 bytes 2>>
  tile.return
}
// -----
!view = memref<?x16xf16, strided<[?, 1]>>
tile.kernel @late(%x: !view {tile.access = #tile.access<in>}) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = tgpu.alloc at 0 : <1 x 16x16xf16, #tgpu.layout<swizzled 16x16 bytes 2>>
  scf.for %i = %c0 to %c1 step %c1 {
    // expected-error @below {{not at stage S7 (schedule): expected this copy to begin an iteration earlier}}
    tgpu.copy %x[%i, %c0] to %0[%c0] bytes 16 : !view, <1 x 16x16xf16, #tgpu.layout<swizzled 16x16 bytes 2>>
  }
  tile.return
}
