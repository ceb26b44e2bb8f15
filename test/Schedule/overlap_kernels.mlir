// A kernel that follows another one begins early and waits before it touches memory; the one before lets it begin.
// RUN: fa-opt %s --tgpu-overlap-kernels | FileCheck %s

!view = memref<?x16xf32, strided<[?, 1]>>

// CHECK-LABEL: tile.kernel @split
// CHECK-NEXT: tgpu.begin_next
// CHECK-NOT: tgpu.
tile.kernel @split(%x: !view {tile.access = #tile.access<out>})
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, entry = "f"} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : tensor<16x16xf32>
  tile.store %zero, %x[%c0, %c0] : tensor<16x16xf32>, !view
  tile.return
}

// What does not touch memory stays before the wait; a loop that does is behind it.
// CHECK-LABEL: tile.kernel @merge
// CHECK: memref.dim
// CHECK-NEXT: tgpu.await_kernel
// CHECK-NEXT: scf.for
// CHECK: tile.load
// CHECK-NOT: tgpu.
tile.kernel @merge(%x: !view {tile.access = #tile.access<inout>})
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, entry = "f", tile.follows = @split} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %n = memref.dim %x, %c0 : !view
  scf.for %i = %c0 to %n step %c16 {
    %tile = tile.load %x[%i, %c0] : !view -> tensor<16x16xf32>
    tile.store %tile, %x[%i, %c0] : tensor<16x16xf32>, !view
  }
  tile.return
}

// CHECK-LABEL: tile.kernel @alone
// CHECK-NOT: tgpu.
tile.kernel @alone(%x: !view {tile.access = #tile.access<out>})
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, entry = "f"} {
  tile.return
}
