// More shared memory than a block may have is an error that says how much.
// RUN: fa-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(tile.kernel(tgpu-place-buffers{limit=4096}))'

!small = !tgpu.buffer<1 x 16x64xf16, #tgpu.layout<swizzled 16x64 bytes 2>>
!buffer = !tgpu.buffer<2 x 32x64xf16, #tgpu.layout<swizzled 32x64 bytes 2>>
// expected-error @below {{needs 8192 bytes of shared memory, where a block may have 4096; a smaller --tile or --stages helps}}
tile.kernel @buffer(%x: memref<?x64xf16, strided<[?, 1]>> {tile.access = #tile.access<in>}) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, tgpu.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %0 = tgpu.alloc : !buffer
  tgpu.copy %x[%c0, %c0] to %0[%c0] bytes 16 : memref<?x64xf16, strided<[?, 1]>>, !buffer
  tile.return
}
// -----
!channel = !tgpu.channel<2 x 32x64xf16, #tgpu.layout<swizzled 32x64 bytes 2>>
// expected-error @below {{bytes of shared memory, where a block may have 4096; a smaller --tile or --stages helps}}
tile.kernel @channel() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, tgpu.warps = 4 : i64} {
  %0 = tgpu.channel : !channel
  tile.return
}
