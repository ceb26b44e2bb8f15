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

// -----

// Loops one after the other into the same buffer are one sequence: the first
// copies of the second stand behind the last of the first, in its iterations,
// and the slots go on.
!view = memref<?x16xf16, strided<[?, 1]>>
#swizzled = #tgpu.layout<swizzled 16x16 bytes 2>
#blocked = #tgpu.layout<blocked 16x16 vector 1 warps 1>
!buffer = !tgpu.buffer<1 x 16x16xf16, #swizzled>

// CHECK-LABEL: tile.kernel @sequence
// CHECK-SAME: %[[N:[a-z0-9]*]]: index, %[[M:[a-z0-9]*]]: index
// CHECK: tgpu.barrier
// CHECK: arith.cmpi slt, %[[FIRST:.*]], %[[N]]
// CHECK-NEXT: scf.if
// CHECK-NEXT: tgpu.copy {{.*}} in_bounds
// CHECK-NEXT: } else {
// CHECK: arith.cmpi slt, %{{.*}}, %[[M]]
// CHECK-NEXT: scf.if
// CHECK-NEXT: tgpu.copy
// CHECK-NOT: in_bounds
// CHECK: tgpu.commit
// CHECK: %[[SLOT:.*]] = scf.for {{.*}} to %[[N]] {{.*}} iter_args({{.*}} = %c0
// CHECK-NEXT: tgpu.wait 0
// CHECK-NEXT: tgpu.barrier
// CHECK: arith.cmpi slt, %{{.*}}, %[[N]]
// CHECK-NEXT: scf.if
// CHECK-NEXT: tgpu.copy {{.*}} in_bounds
// CHECK-NEXT: } else {
// CHECK: arith.cmpi slt, %{{.*}}, %[[M]]
// CHECK-NEXT: scf.if
// CHECK-NEXT: tgpu.copy
// CHECK: tgpu.commit
// CHECK: scf.yield
// CHECK-NEXT: }
// CHECK-NEXT: scf.for {{.*}} to %[[M]] {{.*}} iter_args({{.*}} = %[[SLOT]]
// CHECK-NEXT: tgpu.wait 0
// CHECK-NEXT: tgpu.barrier
// CHECK: arith.cmpi slt, %{{.*}}, %[[M]]
// CHECK-NEXT: scf.if
// CHECK-NEXT: tgpu.copy
// CHECK-NOT: else
// CHECK: tgpu.commit
// CHECK: scf.yield
// CHECK-NEXT: }
// CHECK-NEXT: tgpu.wait 0
// CHECK-NEXT: tgpu.barrier
// CHECK-NEXT: tile.return
tile.kernel @sequence(%x: !view {tile.access = #tile.access<in>}, %y: !view {tile.access = #tile.access<out>}, %n: index, %m: index)
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %0 = tgpu.alloc : !buffer
  scf.for %i = %c0 to %n step %c16 {
    tgpu.copy %x[%i, %c0] to %0[%c0] bytes 16 in_bounds : !view, !buffer
    tgpu.commit
    tgpu.wait 0
    tgpu.barrier
    %1 = tgpu.read %0[%c0] : !buffer -> tensor<16x16xf16, #blocked>
    tile.store %1, %y[%i, %c0] : tensor<16x16xf16, #blocked>, !view
    tgpu.barrier
  }
  scf.for %i = %n to %m step %c16 {
    tgpu.copy %x[%i, %c0] to %0[%c0] bytes 16 : !view, !buffer
    tgpu.commit
    tgpu.wait 0
    tgpu.barrier
    %1 = tgpu.read %0[%c0] : !buffer -> tensor<16x16xf16, #blocked>
    tile.store %1, %y[%i, %c0] : tensor<16x16xf16, #blocked>, !view
    tgpu.barrier
  }
  tile.return
}

// -----

// The twin: what writes memory between them, or bounds that are known behind
// the first alone, keep them apart.
!view = memref<?x16xf16, strided<[?, 1]>>
#swizzled = #tgpu.layout<swizzled 16x16 bytes 2>
#blocked = #tgpu.layout<blocked 16x16 vector 1 warps 1>
!buffer = !tgpu.buffer<1 x 16x16xf16, #swizzled>

// CHECK-LABEL: tile.kernel @apart
// CHECK-NOT: else
// CHECK: scf.for
// CHECK-NOT: else
// CHECK: tgpu.wait 0
// CHECK-NEXT: tgpu.barrier
// CHECK: scf.for {{.*}} iter_args({{.*}} = %c0
// CHECK-NOT: else
// CHECK: tgpu.wait 0
// CHECK-NEXT: tgpu.barrier
// CHECK: tile.store
// CHECK: scf.for {{.*}} iter_args({{.*}} = %c0
// CHECK-NOT: else
// CHECK: tile.return
tile.kernel @apart(%x: !view {tile.access = #tile.access<in>}, %y: !view {tile.access = #tile.access<out>}, %n: index)
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %t = arith.constant dense<0.0> : tensor<16x16xf16, #blocked>
  %0 = tgpu.alloc : !buffer
  %end = scf.for %i = %c0 to %n step %c16 iter_args(%at = %n) -> index {
    tgpu.copy %x[%i, %c0] to %0[%c0] bytes 16 : !view, !buffer
    tgpu.commit
    tgpu.wait 0
    tgpu.barrier
    %1 = tgpu.read %0[%c0] : !buffer -> tensor<16x16xf16, #blocked>
    tile.store %1, %y[%i, %c0] : tensor<16x16xf16, #blocked>, !view
    tgpu.barrier
    %next = arith.addi %at, %c16 : index
    scf.yield %next : index
  }
  scf.for %i = %c0 to %end step %c16 {
    tgpu.copy %x[%i, %c0] to %0[%c0] bytes 16 : !view, !buffer
    tgpu.commit
    tgpu.wait 0
    tgpu.barrier
    %1 = tgpu.read %0[%c0] : !buffer -> tensor<16x16xf16, #blocked>
    tile.store %1, %y[%i, %c0] : tensor<16x16xf16, #blocked>, !view
    tgpu.barrier
  }
  tile.store %t, %y[%c0, %c0] : tensor<16x16xf16, #blocked>, !view
  scf.for %i = %c0 to %n step %c16 {
    tgpu.copy %x[%i, %c0] to %0[%c0] bytes 16 : !view, !buffer
    tgpu.commit
    tgpu.wait 0
    tgpu.barrier
    %1 = tgpu.read %0[%c0] : !buffer -> tensor<16x16xf16, #blocked>
    tile.store %1, %y[%i, %c0] : tensor<16x16xf16, #blocked>, !view
    tgpu.barrier
  }
  tile.return
}
