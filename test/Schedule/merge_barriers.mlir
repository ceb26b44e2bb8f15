// Of barriers one behind the other the first stays; numbers and loads from
// global memory may stand between. What touches shared memory, or waits for
// copies, keeps them apart, and so does the start of a block.
// RUN: fa-opt %s --pass-pipeline='builtin.module(tile.kernel(tgpu-merge-barriers))' | FileCheck %s

!view = memref<?x16xf16, strided<[?, 1]>>
#swizzled = #tgpu.layout<swizzled 16x16 bytes 2>
#blocked = #tgpu.layout<blocked 16x16 vector 1 warps 1>
!buffer = !tgpu.buffer<1 x 16x16xf16, #swizzled>

// CHECK-LABEL: tile.kernel @barriers
// CHECK: tgpu.barrier
// CHECK-NEXT: arith.addi
// CHECK-NEXT: tile.load
// CHECK-NEXT: tgpu.write
// CHECK-NEXT: tgpu.barrier
// CHECK-NEXT: tgpu.read
// CHECK-NEXT: tgpu.barrier
// CHECK-NEXT: tgpu.wait 0
// CHECK-NEXT: tgpu.barrier
// CHECK-NEXT: scf.for
// CHECK-NEXT: tgpu.barrier
// CHECK-NEXT: tile.store
// CHECK: tile.return
tile.kernel @barriers(%x: !view {tile.access = #tile.access<in>}, %y: !view {tile.access = #tile.access<out>}, %n: index)
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %0 = tgpu.alloc : !buffer
  tgpu.barrier
  %m = arith.addi %n, %c16 : index
  tgpu.barrier
  %1 = tile.load %x[%m, %c0] : !view -> tensor<16x16xf16, #blocked>
  tgpu.barrier
  tgpu.write %1, %0[%c0] : tensor<16x16xf16, #blocked>, !buffer
  tgpu.barrier
  tgpu.barrier
  %2 = tgpu.read %0[%c0] : !buffer -> tensor<16x16xf16, #blocked>
  tgpu.barrier
  tgpu.wait 0
  tgpu.barrier
  scf.for %i = %c0 to %n step %c16 {
    tgpu.barrier
    tile.store %2, %y[%i, %c0] : tensor<16x16xf16, #blocked>, !view
  }
  tile.return
}
