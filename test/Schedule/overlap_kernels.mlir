// A kernel that follows another one and that other one begin early: they wait before they touch memory, and then let the next one begin.
// RUN: fa-opt %s --tgpu-overlap-kernels | FileCheck %s

!view = memref<?x16xf32, strided<[?, 1]>>

// CHECK-LABEL: tile.kernel @split
// CHECK: tgpu.alloc
// CHECK: memref.dim
// CHECK-NEXT: arith.divui
// CHECK-NEXT: tgpu.await_kernel
// CHECK-NEXT: tgpu.begin_next
// CHECK-NEXT: memref.load
// CHECK-NEXT: arith.addi
// CHECK-NEXT: tile.broadcast
// CHECK-NEXT: tile.store
// CHECK-NOT: tgpu.
tile.kernel @split(%x: !view {tile.access = #tile.access<out>}, %n: memref<?xindex> {tile.access = #tile.access<in>})
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, entry = "f"} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %zero = arith.constant 0.0 : f32
  // No memory that another kernel has.
  %alloc = tgpu.alloc : <1 x 16x16xf32, #tgpu.layout<swizzled 16x16 bytes 4>>
  %row = memref.load %n[%c0] : memref<?xindex>
  // Numbers are computed during the wait, but for those that memory has, and no tiles, which take registers.
  %size = memref.dim %x, %c0 : !view
  %half = arith.divui %size, %c16 : index
  %at = arith.addi %row, %half : index
  %tile = tile.broadcast %zero : f32 -> tensor<16x16xf32>
  tile.store %tile, %x[%at, %c0] : tensor<16x16xf32>, !view
  tile.return
}

// A loop that touches memory is behind the wait.
// CHECK-LABEL: tile.kernel @merge
// CHECK: memref.dim
// CHECK-NEXT: tgpu.await_kernel
// CHECK-NEXT: tgpu.begin_next
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

// A kernel without a loop ends soon, and the next one may take its place.
// CHECK-LABEL: tile.kernel @brief
// CHECK: tgpu.await_kernel
// CHECK-NEXT: tgpu.begin_next
// CHECK-NEXT: tile.load
tile.kernel @brief(%x: !view {tile.access = #tile.access<inout>})
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, entry = "g"} {
  %c0 = arith.constant 0 : index
  %tile = tile.load %x[%c0, %c0] : !view -> tensor<16x16xf32>
  tile.store %tile, %x[%c0, %c0] : tensor<16x16xf32>, !view
  tile.return
}

// One that walks tiles, and follows none, is left as it is.
// CHECK-LABEL: tile.kernel @alone
// CHECK-NOT: tgpu.
tile.kernel @alone(%x: !view {tile.access = #tile.access<inout>})
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, entry = "f"} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %n = memref.dim %x, %c0 : !view
  scf.for %i = %c0 to %n step %c16 {
    %tile = tile.load %x[%i, %c0] : !view -> tensor<16x16xf32>
    tile.store %tile, %x[%i, %c0] : tensor<16x16xf32>, !view
  }
  tile.return
}
