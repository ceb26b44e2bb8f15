// The tile that is there once is waited for when the first copies of the loop are under way, and read behind them.
// RUN: fa-opt %s --split-input-file --pass-pipeline='builtin.module(tile.kernel(tgpu-defer-waits{limit=4096}))' | FileCheck %s
// With less memory a multiprocessor would hold one block instead of two.
// RUN: fa-opt %s --split-input-file --pass-pipeline='builtin.module(tile.kernel(tgpu-defer-waits{limit=3584}))' | FileCheck %s --check-prefix=FULL

!view = memref<?x16xf16, strided<[?, 1]>>
#swizzled = #tgpu.layout<swizzled 16x16 bytes 2>
#blocked = #tgpu.layout<blocked 16x16 vector 1 warps 1>
!once = !tgpu.buffer<1 x 16x16xf16, #swizzled>
!buffer = !tgpu.buffer<2 x 16x16xf16, #swizzled>

// CHECK-LABEL: tile.kernel @first
// CHECK: tgpu.copy
// CHECK-NEXT: tgpu.commit
// CHECK-NEXT: tgpu.barrier
// CHECK-NEXT: scf.if
// CHECK: tgpu.commit
// CHECK-NEXT: tgpu.wait 1
// CHECK-NEXT: tgpu.barrier
// CHECK-NEXT: %[[Q:.*]] = tgpu.read
// CHECK-NEXT: arith.extf %[[Q]]
// CHECK-NEXT: scf.for
// FULL: tgpu.commit
// FULL-NEXT: tgpu.wait 0
tile.kernel @first(%x: !view {tile.access = #tile.access<in>}, %y: !view {tile.access = #tile.access<out>}, %n: index, %c: i1)
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %0 = tgpu.alloc : !once
  %1 = tgpu.alloc : !buffer
  tgpu.copy %x[%c0, %c0] to %0[%c0] bytes 16 : !view, !once
  tgpu.commit
  tgpu.wait 0
  tgpu.barrier
  %q = tgpu.read %0[%c0] : !once -> tensor<16x16xf16, #blocked>
  %wide = arith.extf %q : tensor<16x16xf16, #blocked> to tensor<16x16xf32, #blocked>
  tgpu.barrier
  scf.if %c {
    tgpu.copy %x[%c16, %c0] to %1[%c0] bytes 16 : !view, !buffer
  }
  tgpu.commit
  scf.for %i = %c0 to %n step %c16 {
    tgpu.wait 0
    tgpu.barrier
    %k = tgpu.read %1[%c0] : !buffer -> tensor<16x16xf16, #blocked>
    tile.store %k, %y[%i, %c0] : tensor<16x16xf16, #blocked>, !view
  }
  tile.return
}

// -----

!view = memref<?x16xf16, strided<[?, 1]>>
#swizzled = #tgpu.layout<swizzled 16x16 bytes 2>
#blocked = #tgpu.layout<blocked 16x16 vector 1 warps 1>
!buffer = !tgpu.buffer<2 x 16x16xf16, #swizzled>

// What the copies overwrite is read before, and what is stored is read when it was.
// CHECK-LABEL: tile.kernel @same
// CHECK: tgpu.wait 0
// CHECK-NEXT: tgpu.barrier
// CHECK-NEXT: tgpu.read
tile.kernel @same(%x: !view {tile.access = #tile.access<in>}, %y: !view {tile.access = #tile.access<out>}, %n: index)
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %1 = tgpu.alloc : !buffer
  tgpu.copy %x[%c0, %c0] to %1[%c0] bytes 16 : !view, !buffer
  tgpu.commit
  tgpu.wait 0
  tgpu.barrier
  %q = tgpu.read %1[%c0] : !buffer -> tensor<16x16xf16, #blocked>
  tgpu.barrier
  tgpu.copy %x[%c16, %c0] to %1[%c0] bytes 16 : !view, !buffer
  tgpu.commit
  scf.for %i = %c0 to %n step %c16 {
    tgpu.wait 0
    tgpu.barrier
    %k = tgpu.read %1[%c0] : !buffer -> tensor<16x16xf16, #blocked>
    %sum = arith.addf %k, %q : tensor<16x16xf16, #blocked>
    tile.store %sum, %y[%i, %c0] : tensor<16x16xf16, #blocked>, !view
  }
  tile.return
}

// -----

!view = memref<?x16xf16, strided<[?, 1]>>
#swizzled = #tgpu.layout<swizzled 16x16 bytes 2>
#blocked = #tgpu.layout<blocked 16x16 vector 1 warps 1>
!once = !tgpu.buffer<1 x 16x16xf16, #swizzled>

// What a branch reads is there.
// CHECK-LABEL: tile.kernel @branch
// CHECK: tgpu.wait 0
// CHECK-NEXT: tgpu.barrier
// CHECK: scf.if
tile.kernel @branch(%x: !view {tile.access = #tile.access<in>}, %y: !view {tile.access = #tile.access<out>}, %n: index, %c: i1)
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %0 = tgpu.alloc : !once
  tgpu.copy %x[%c0, %c0] to %0[%c0] bytes 16 : !view, !once
  tgpu.commit
  tgpu.wait 0
  tgpu.barrier
  %q = tgpu.read %0[%c0] : !once -> tensor<16x16xf16, #blocked>
  scf.if %c {
    %again = tgpu.read %0[%c0] : !once -> tensor<16x16xf16, #blocked>
    tile.store %again, %y[%c0, %c0] : tensor<16x16xf16, #blocked>, !view
  }
  tgpu.commit
  scf.for %i = %c0 to %n step %c16 {
    tile.store %q, %y[%i, %c0] : tensor<16x16xf16, #blocked>, !view
  }
  tile.return
}

// -----

!view = memref<?x16xf16, strided<[?, 1]>>
#swizzled = #tgpu.layout<swizzled 16x16 bytes 2>
#blocked = #tgpu.layout<blocked 16x16 vector 1 warps 1>
!once = !tgpu.buffer<1 x 16x16xf16, #swizzled>
!buffer = !tgpu.buffer<2 x 16x16xf16, #swizzled>

// Where the loop reads the tile, nothing moves but the wait: no buffer lives longer, whatever the memory.
// CHECK-LABEL: tile.kernel @in_loop
// CHECK: tgpu.copy
// CHECK-NEXT: tgpu.commit
// CHECK-NEXT: tgpu.copy
// CHECK-NEXT: tgpu.commit
// CHECK-NEXT: tgpu.wait 1
// CHECK-NEXT: tgpu.barrier
// CHECK-NEXT: scf.for
// FULL-LABEL: tile.kernel @in_loop
// FULL: tgpu.wait 1
tile.kernel @in_loop(%x: !view {tile.access = #tile.access<in>}, %y: !view {tile.access = #tile.access<out>}, %n: index)
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %0 = tgpu.alloc : !once
  %1 = tgpu.alloc : !buffer
  tgpu.copy %x[%c0, %c0] to %0[%c0] bytes 16 : !view, !once
  tgpu.commit
  tgpu.wait 0
  tgpu.barrier
  tgpu.copy %x[%c16, %c0] to %1[%c0] bytes 16 : !view, !buffer
  tgpu.commit
  scf.for %i = %c0 to %n step %c16 {
    tgpu.wait 0
    tgpu.barrier
    %q = tgpu.read %0[%c0] : !once -> tensor<16x16xf16, #blocked>
    %k = tgpu.read %1[%c0] : !buffer -> tensor<16x16xf16, #blocked>
    %sum = arith.addf %k, %q : tensor<16x16xf16, #blocked>
    tile.store %sum, %y[%i, %c0] : tensor<16x16xf16, #blocked>, !view
  }
  tile.return
}

// -----

!view = memref<?x16xf16, strided<[?, 1]>>
#swizzled = #tgpu.layout<swizzled 16x16 bytes 2>
#blocked = #tgpu.layout<blocked 16x16 vector 1 warps 1>
!buffer = !tgpu.buffer<2 x 16x16xf16, #swizzled>

// Copies of the loop to the buffer that is waited for come behind the wait.
// CHECK-LABEL: tile.kernel @same_in_loop
// CHECK: tgpu.wait 0
// CHECK-NEXT: tgpu.barrier
// CHECK-NEXT: tgpu.copy
tile.kernel @same_in_loop(%x: !view {tile.access = #tile.access<in>}, %y: !view {tile.access = #tile.access<out>}, %n: index)
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %1 = tgpu.alloc : !buffer
  tgpu.copy %x[%c0, %c0] to %1[%c0] bytes 16 : !view, !buffer
  tgpu.commit
  tgpu.wait 0
  tgpu.barrier
  tgpu.copy %x[%c16, %c0] to %1[%c1] bytes 16 : !view, !buffer
  tgpu.commit
  scf.for %i = %c0 to %n step %c16 {
    tgpu.wait 0
    tgpu.barrier
    %k = tgpu.read %1[%c0] : !buffer -> tensor<16x16xf16, #blocked>
    tile.store %k, %y[%i, %c0] : tensor<16x16xf16, #blocked>, !view
  }
  tile.return
}
