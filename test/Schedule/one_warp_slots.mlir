// A block of one warp gets a slot more than the others, where three of them take no more bytes than they may.
// RUN: fa-opt %s --pass-pipeline='builtin.module(tile.kernel(tgpu-pipeline-copies{stages=2 one-warp-bytes=1536}))' | FileCheck %s --check-prefixes=CHECK,MORE
// RUN: fa-opt %s --pass-pipeline='builtin.module(tile.kernel(tgpu-pipeline-copies{stages=2 one-warp-bytes=1535}))' | FileCheck %s --check-prefixes=CHECK,SAME

!view = memref<?x16xf16, strided<[?, 1]>>
!buffer = !tgpu.buffer<1 x 16x16xf16, #tgpu.layout<swizzled 16x16 bytes 2>>

// CHECK-LABEL: tile.kernel @one
// MORE: tgpu.alloc : <3 x 16x16xf16
// MORE: tgpu.wait 1
// SAME: tgpu.alloc : <2 x 16x16xf16
// SAME: tgpu.wait 0
tile.kernel @one(%x: !view {tile.access = #tile.access<in>}, %n: index)
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, tgpu.warps = 1 : i64} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %0 = tgpu.alloc : !buffer
  scf.for %i = %c0 to %n step %c16 {
    tgpu.copy %x[%i, %c0] to %0[%c0] bytes 16 : !view, !buffer
    tgpu.commit
    tgpu.wait 0
    tgpu.barrier
    %1 = tgpu.read %0[%c0] : !buffer -> tensor<16x16xf16, #tgpu.layout<blocked 16x16 vector 1 warps 1>>
    tgpu.barrier
  }
  tile.return
}

// CHECK-LABEL: tile.kernel @four
// CHECK: tgpu.alloc : <2 x 16x16xf16
tile.kernel @four(%x: !view {tile.access = #tile.access<in>}, %n: index)
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, tgpu.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %0 = tgpu.alloc : !buffer
  scf.for %i = %c0 to %n step %c16 {
    tgpu.copy %x[%i, %c0] to %0[%c0] bytes 16 : !view, !buffer
    tgpu.commit
    tgpu.wait 0
    tgpu.barrier
    %1 = tgpu.read %0[%c0] : !buffer -> tensor<16x16xf16, #tgpu.layout<blocked 16x16 vector 1 warps 4>>
    tgpu.barrier
  }
  tile.return
}
