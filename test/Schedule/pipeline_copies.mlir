// Copies begin iterations earlier; every read of the loop, in whatever block,
// is of the iteration's slot, and the loop ends with a barrier.
// RUN: fa-opt %s --split-input-file --pass-pipeline='builtin.module(tile.kernel(tgpu-pipeline-copies{stages=2}))' | FileCheck %s

!view = memref<?x16xf16, strided<[?, 1]>>
#swizzled = #tgpu.layout<swizzled 16x16 bytes 2>
#blocked = #tgpu.layout<blocked 16x16 vector 1 warps 1>
!buffer = !tgpu.buffer<1 x 16x16xf16, #swizzled>

// CHECK-LABEL: tile.kernel @nested
// CHECK: %[[BUFFER:.*]] = tgpu.alloc : <2 x 16x16xf16
// CHECK: tgpu.barrier
// CHECK: scf.for {{.*}} iter_args(%[[SLOT:.*]] = %c0
// CHECK-NEXT: tgpu.wait 0
// CHECK-NEXT: tgpu.barrier
// CHECK: tgpu.copy
// CHECK: scf.if
// CHECK-NEXT: tgpu.read %[[BUFFER]][%[[SLOT]]]
// CHECK: scf.for
// CHECK-NEXT: tgpu.read %[[BUFFER]][%[[SLOT]]]
// CHECK: scf.yield
// CHECK: tgpu.wait 0
// CHECK-NEXT: tgpu.barrier
// CHECK-NEXT: tile.return
tile.kernel @nested(%x: !view {tile.access = #tile.access<in>}, %y: !view {tile.access = #tile.access<out>}, %n: index, %c: i1)
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %0 = tgpu.alloc : !buffer
  scf.for %i = %c0 to %n step %c16 {
    tgpu.copy %x[%i, %c0] to %0[%c0] bytes 16 : !view, !buffer
    tgpu.commit
    tgpu.wait 0
    tgpu.barrier
    scf.if %c {
      %1 = tgpu.read %0[%c0] : !buffer -> tensor<16x16xf16, #blocked>
      tile.store %1, %y[%i, %c0] : tensor<16x16xf16, #blocked>, !view
    }
    scf.for %j = %c0 to %c16 step %c1 {
      %1 = tgpu.read %0[%c0] : !buffer -> tensor<16x16xf16, #blocked>
      tile.store %1, %y[%j, %c0] : tensor<16x16xf16, #blocked>, !view
    }
    tgpu.barrier
  }
  tile.return
}
