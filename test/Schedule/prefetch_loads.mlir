// Tiles of the next iteration are loaded to registers and written at the end.
// RUN: fa-opt %s --pass-pipeline='builtin.module(tile.kernel(tgpu-prefetch-loads{limit=1024}))' | FileCheck %s --check-prefixes=CHECK,TWO
// RUN: fa-opt %s --pass-pipeline='builtin.module(tile.kernel(tgpu-prefetch-loads{limit=1023}))' | FileCheck %s --check-prefixes=CHECK,ONE

!view = memref<?x16xf16, strided<[?, 1]>>
#swizzled = #tgpu.layout<swizzled 16x16 bytes 2>
#blocked = #tgpu.layout<blocked 16x16 vector 4 warps 1 lanes 64>
!tile = tensor<16x16xf16, #blocked>
!buffer = !tgpu.buffer<1 x 16x16xf16, #swizzled>

// The first load may be outside of the view; behind the last tile comes the last
// again.
// CHECK-LABEL: tile.kernel @ahead
// TWO: %[[BUFFER:.*]] = tgpu.alloc : <2 x 16x16xf16
// ONE: %[[BUFFER:.*]] = tgpu.alloc : <1 x 16x16xf16
// CHECK: %[[FIRST:.*]] = tile.load %{{[^ ]*}}[%c0{{.*}}, %c0{{.*}}] :
// CHECK-NEXT: tgpu.barrier
// CHECK: tgpu.write %[[FIRST]], %[[BUFFER]]
// CHECK: scf.for %[[I:.*]] = {{.*}} iter_args(%[[SLOT:.*]] = %
// CHECK-NEXT: tgpu.barrier
// CHECK-NEXT: %[[AFTER:.*]] = arith.addi %[[I]], %
// CHECK-NEXT: %[[EXISTS:.*]] = arith.cmpi slt, %[[AFTER]], %
// CHECK-NEXT: %[[AHEAD:.*]] = arith.select %[[EXISTS]], %[[AFTER]], %[[I]]
// CHECK-NEXT: %[[NEXT:.*]] = tile.load %{{[^ ]*}}[%[[AHEAD]], {{.*}} in_bounds
// CHECK: tgpu.read %[[BUFFER]][%[[SLOT]]]
// CHECK: tile.store
// ONE: tgpu.barrier
// TWO-NOT: tgpu.barrier
// CHECK: tgpu.write %[[NEXT]], %[[BUFFER]]
// CHECK-NEXT: scf.yield
// CHECK: tgpu.barrier
// CHECK-NEXT: tile.return
tile.kernel @ahead(%x: !view {tile.access = #tile.access<in>}, %y: !view {tile.access = #tile.access<out>}, %n: index)
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %0 = tgpu.alloc : !buffer
  scf.for %i = %c0 to %n step %c16 {
    %t = tile.load %x[%i, %c0] in_bounds : !view -> !tile
    tgpu.write %t, %0[%c0] : !tile, !buffer
    tgpu.barrier
    %1 = tgpu.read %0[%c0] : !buffer -> !tile
    tile.store %1, %y[%i, %c0] : !tile, !view
    tgpu.barrier
  }
  tile.return
}

// What depends on what the loop carries stays.
// CHECK-LABEL: tile.kernel @carried
// CHECK: tgpu.alloc : <1 x 16x16xf16
// CHECK-NEXT: scf.for
// CHECK-NEXT: tile.load
// CHECK-NEXT: tgpu.write
tile.kernel @carried(%x: !view {tile.access = #tile.access<in>}, %y: !view {tile.access = #tile.access<out>}, %n: index)
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %0 = tgpu.alloc : !buffer
  %end = scf.for %i = %c0 to %n step %c16 iter_args(%at = %c0) -> index {
    %t = tile.load %x[%at, %c0] : !view -> !tile
    tgpu.write %t, %0[%c0] : !tile, !buffer
    tgpu.barrier
    %1 = tgpu.read %0[%c0] : !buffer -> !tile
    tile.store %1, %y[%i, %c0] : !tile, !view
    tgpu.barrier
    %next = arith.addi %at, %c16 : index
    scf.yield %next : index
  }
  tile.return
}

// What the inner loop loads first is no load of the loop around it: each step
// of the outer one begins anew.
// CHECK-LABEL: tile.kernel @nested
// TWO: %[[BUFFER:.*]] = tgpu.alloc : <2 x 16x16xf16
// CHECK-NOT: tile.load
// CHECK: scf.for %[[J:[^ ]*]] = %{{[^ ]*}} to %{{[^ ]*}} step %{{[^ ]*}} {
// CHECK: tile.load
// CHECK: scf.for {{.*}} iter_args(%[[SLOT:.*]] = %
// CHECK: tgpu.read %{{.*}}[%[[SLOT]]]
// CHECK-NOT: tile.load
// CHECK: tile.return
tile.kernel @nested(%x: !view {tile.access = #tile.access<in>}, %y: !view {tile.access = #tile.access<out>}, %n: index)
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %0 = tgpu.alloc : !buffer
  scf.for %j = %c0 to %n step %c1 {
    scf.for %i = %c0 to %n step %c16 {
      %t = tile.load %x[%i, %c0] in_bounds : !view -> !tile
      tgpu.write %t, %0[%c0] : !tile, !buffer
      tgpu.barrier
      %1 = tgpu.read %0[%c0] : !buffer -> !tile
      tile.store %1, %y[%i, %c0] : !tile, !view
      tgpu.barrier
    }
  }
  tile.return
}
