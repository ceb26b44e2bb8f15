// Of memory that a program reads and writes, barriers keep the order.
// RUN: fa-opt %s --pass-pipeline='builtin.module(tile.kernel(tgpu-order-memory))' | FileCheck %s

!view = memref<?x16xf32, strided<[?, 1]>>
!part = memref<?x8xf32, strided<[?, 1], offset: ?>>
#whole = #tgpu.layout<blocked 16x16 vector 1 warps 1>
#half = #tgpu.layout<blocked 16x8 vector 1 warps 1>
!tile = tensor<16x16xf32, #whole>

// A thread meets its own elements alone, in each place.
// CHECK-LABEL: tile.kernel @own
// CHECK-NOT: tgpu.barrier
// CHECK: tile.return
tile.kernel @own(%x: !view {tile.access = #tile.access<inout>}) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %0 = tile.load %x[%c0, %c0] : !view -> !tile
  %1 = arith.addf %0, %0 : !tile
  tile.store %1, %x[%c0, %c0] : !tile, !view
  tile.return
}

// Other places.
// CHECK-LABEL: tile.kernel @shifted
// CHECK: tile.load
// CHECK-NEXT: arith.addf
// CHECK-NEXT: tgpu.barrier global
// CHECK-NEXT: tile.store
// CHECK-NEXT: tile.return
tile.kernel @shifted(%x: !view {tile.access = #tile.access<inout>}) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = tile.load %x[%c1, %c0] : !view -> !tile
  %1 = arith.addf %0, %0 : !tile
  tile.store %1, %x[%c0, %c0] : !tile, !view
  tile.return
}

// What is stored is read behind it; one barrier serves the next store, too.
// CHECK-LABEL: tile.kernel @behind
// CHECK: tile.load
// CHECK-NEXT: tile.store
// CHECK-NEXT: tgpu.barrier global
// CHECK-NEXT: tile.load
// CHECK-NEXT: tgpu.barrier global
// CHECK-NEXT: tile.store
// CHECK-NEXT: tile.return
tile.kernel @behind(%x: !view {tile.access = #tile.access<inout>}) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = tile.load %x[%c0, %c0] : !view -> !tile
  tile.store %0, %x[%c0, %c0] : !tile, !view
  %1 = tile.load %x[%c1, %c0] : !view -> !tile
  tile.store %1, %x[%c0, %c0] : !tile, !view
  tile.return
}

// In a loop each comes behind the other, at places that change.
// CHECK-LABEL: tile.kernel @loop
// CHECK: scf.for
// CHECK-NEXT: tile.load
// CHECK-NEXT: tgpu.barrier global
// CHECK-NEXT: tile.store
// CHECK-NEXT: tgpu.barrier global
tile.kernel @loop(%x: !view {tile.access = #tile.access<inout>}, %n: index) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %0 = tile.load %x[%i, %c0] : !view -> !tile
    tile.store %0, %x[%i, %c0] : !tile, !view
  }
  tile.return
}

// Columns that are apart; what is only written; sums beside sums.
// CHECK-LABEL: tile.kernel @apart
// CHECK-NOT: tgpu.barrier
// CHECK: tile.return
tile.kernel @apart(%x: !view {tile.access = #tile.access<inout>}, %y: !view {tile.access = #tile.access<out>},
                   %z: !view {tile.access = #tile.access<inout>}, %n: index) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %left = memref.subview %x[%n, 0] [%n, 8] [1, 1] : !view to !part
  %right = memref.subview %x[0, 8] [%n, 8] [1, 1] : !view to memref<?x8xf32, strided<[?, 1], offset: 8>>
  %0 = tile.load %left[%c0, %c0] : !part -> tensor<16x8xf32, #half>
  tile.store %0, %right[%c0, %c0] : tensor<16x8xf32, #half>, memref<?x8xf32, strided<[?, 1], offset: 8>>
  %1 = arith.constant dense<1.0> : !tile
  tile.store %1, %y[%c0, %c0] : !tile, !view
  tile.store %1, %y[%c1, %c0] : !tile, !view
  tile.atomic_add %1, %z[%c0, %c0] : !tile, !view
  tile.atomic_add %1, %z[%c1, %c0] : !tile, !view
  tile.return
}

// A sum, and what it adds to.
// CHECK-LABEL: tile.kernel @sum
// CHECK: tile.store
// CHECK-NEXT: tgpu.barrier global
// CHECK-NEXT: tile.atomic_add
// CHECK-NEXT: tgpu.barrier global
// CHECK-NEXT: tile.load
tile.kernel @sum(%x: !view {tile.access = #tile.access<inout>}, %y: !view {tile.access = #tile.access<out>}) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = arith.constant dense<1.0> : !tile
  tile.store %0, %x[%c0, %c0] : !tile, !view
  tile.atomic_add %0, %x[%c1, %c0] : !tile, !view
  %1 = tile.load %x[%c0, %c0] : !view -> !tile
  tile.store %1, %y[%c0, %c0] : !tile, !view
  tile.return
}

// Nobody knows where the elements of a scatter go: those of other threads may
// have one place with what is stored around it.
// CHECK-LABEL: tile.kernel @places
// CHECK: tile.store
// CHECK-NEXT: tgpu.barrier global
// CHECK-NEXT: tile.scatter
tile.kernel @places(%x: !view {tile.access = #tile.access<out>}) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %0 = arith.constant dense<1.0> : !tile
  %at = arith.constant dense<1> : tensor<16x16xindex, #whole>
  tile.store %0, %x[%c0, %c0] : !tile, !view
  tile.scatter %0, %x[%at, %at] : !tile, !view, (tensor<16x16xindex, #whole>, tensor<16x16xindex, #whole>)
  tile.return
}

// And with its own of the next turn.
// CHECK-LABEL: tile.kernel @turns
// CHECK: scf.for
// CHECK-NEXT: tgpu.barrier global
// CHECK-NEXT: tile.scatter
// CHECK-NEXT: tgpu.barrier global
tile.kernel @turns(%x: !view {tile.access = #tile.access<out>}, %i: index) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = arith.constant dense<1.0> : !tile
  %at = arith.constant dense<1> : tensor<16x16xindex, #whole>
  scf.for %k = %c0 to %i step %c1 {
    tile.scatter %0, %x[%at, %at] : !tile, !view, (tensor<16x16xindex, #whole>, tensor<16x16xindex, #whole>)
  }
  tile.return
}

// In a loop that ends by its condition, which reads what the body writes.
// CHECK-LABEL: tile.kernel @until
// CHECK: scf.while
// CHECK: memref.load
// CHECK: } do {
// CHECK-NEXT: tgpu.barrier global
// CHECK-NEXT: tile.store
// CHECK-NEXT: tgpu.barrier global
// CHECK-NEXT: scf.yield
tile.kernel @until(%x: !view {tile.access = #tile.access<inout>}, %some: f32) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %0 = arith.constant dense<1.0> : !tile
  scf.while : () -> () {
    %1 = memref.load %x[%c0, %c0] : !view
    %2 = arith.cmpf olt, %1, %some : f32
    scf.condition(%2)
  } do {
    tile.store %0, %x[%c0, %c0] : !tile, !view
    scf.yield
  }
  tile.return
}

// Alone, there is nothing that it could meet.
// CHECK-LABEL: tile.kernel @one_scatter
// CHECK-NOT: tgpu.barrier
// CHECK: tile.return
tile.kernel @one_scatter(%x: !view {tile.access = #tile.access<out>}) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %0 = arith.constant dense<1.0> : !tile
  %at = arith.constant dense<1> : tensor<16x16xindex, #whole>
  tile.scatter %0, %x[%at, %at] : !tile, !view, (tensor<16x16xindex, #whole>, tensor<16x16xindex, #whole>)
  tile.return
}

// Sums have no order among each other, wherever they go; what reads them has.
// CHECK-LABEL: tile.kernel @scattered_sums
// CHECK: tile.scatter
// CHECK-NEXT: tile.scatter
// CHECK-NEXT: tile.atomic_add
// CHECK-NEXT: tile.scatter
// CHECK-NEXT: tgpu.barrier global
// CHECK-NEXT: tile.load
tile.kernel @scattered_sums(%x: !view {tile.access = #tile.access<inout>}, %y: !view {tile.access = #tile.access<inout>},
                            %z: !view {tile.access = #tile.access<out>}) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %0 = arith.constant dense<1.0> : !tile
  %at = arith.constant dense<1> : tensor<16x16xindex, #whole>
  tile.scatter %0, %x[%at, %at] add : !tile, !view, (tensor<16x16xindex, #whole>, tensor<16x16xindex, #whole>)
  tile.scatter %0, %x[%at, %at] add : !tile, !view, (tensor<16x16xindex, #whole>, tensor<16x16xindex, #whole>)
  tile.atomic_add %0, %x[%c0, %c0] : !tile, !view
  tile.scatter %0, %y[%at, %at] add : !tile, !view, (tensor<16x16xindex, #whole>, tensor<16x16xindex, #whole>)
  %1 = tile.load %y[%c0, %c0] : !view -> !tile
  tile.store %1, %z[%c0, %c0] : !tile, !view
  tile.return
}
