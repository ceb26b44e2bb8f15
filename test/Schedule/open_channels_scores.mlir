// What scores are changed by is fetched, too: each consumer's rows to slots of its own, received into registers.
// RUN: fa-opt %s --pass-pipeline='builtin.module(tgpu-plan-kernels{machine=sm_90a constraints="stages=2 schedule=roles" shared-bytes=99328},tgpu-open-channels)' | FileCheck %s --check-prefixes=CHECK,ROOM
// Two slots for each consumer where there is room, one, none.
// RUN: fa-opt %s --pass-pipeline='builtin.module(tgpu-plan-kernels{machine=sm_90a constraints="stages=2 schedule=roles" shared-bytes=99327},tgpu-open-channels)' | FileCheck %s --check-prefixes=CHECK,ONE
// RUN: fa-opt %s --pass-pipeline='builtin.module(tgpu-plan-kernels{machine=sm_90a constraints="stages=2 schedule=roles" shared-bytes=82944},tgpu-open-channels)' | FileCheck %s --check-prefixes=CHECK,ONE
// RUN: fa-opt %s --pass-pipeline='builtin.module(tgpu-plan-kernels{machine=sm_90a constraints="stages=2 schedule=roles" shared-bytes=82943},tgpu-open-channels)' | FileCheck %s --check-prefix=NONE

!rows = memref<?x64xf16, strided<[?, 1]>>
!bias = memref<?x?x?xf16, strided<[?, ?, 1]>>
!out = memref<?x64xf32, strided<[?, 1]>>

// CHECK-LABEL: tile.kernel @biased(
// CHECK: %[[Q:.*]] = tgpu.channel own : <2 x 64x64xf16,
// CHECK: %[[K:.*]] = tgpu.channel : <2 x 64x64xf16,
// CHECK: %[[V:.*]] = tgpu.channel : <2 x 64x64xf16,
// ROOM: %[[B:.*]] = tgpu.channel own : <4 x 64x64xf16,
// ONE: %[[B:.*]] = tgpu.channel own : <2 x 64x64xf16,
// CHECK: producer {
// CHECK: scf.for %[[I:.*]] = {{.*}} iter_args(%[[N:.*]] = %{{.*}})
// CHECK: tgpu.fetch {{.*}} to %[[V]], %[[N]] :
// CHECK: %[[TWICE:.*]] = arith.muli %[[N]], %c2
// CHECK: %[[FIRST:.*]] = arith.addi %[[TWICE]], %c0
// CHECK: tgpu.acquire %[[B]], %[[FIRST]] :
// CHECK: tgpu.fetch %arg1[%arg3, %{{.*}}, %[[I]]] dims [1, 2] to %[[B]], %[[FIRST]] :
// CHECK: %[[SECOND:.*]] = arith.addi %{{.*}}, %c1
// CHECK: tgpu.acquire %[[B]], %[[SECOND]] :
// CHECK: tgpu.fetch %arg1[%arg3, %{{.*}}, %[[I]]] dims [1, 2] to %[[B]], %[[SECOND]] :
// CHECK: consumer {
// CHECK: scf.for
// CHECK: %[[ALL:.*]] = arith.muli %{{.*}}, %c2{{.*}} : index
// CHECK-NEXT: %[[OWN:.*]] = arith.addi %[[ALL]],
// CHECK: tgpu.await %[[B]], %[[OWN]] :
// CHECK: %[[T:.*]] = tgpu.receive %[[B]], %[[OWN]] : {{.*}} -> tensor<64x64xf16>
// CHECK: tgpu.release %[[B]], %[[OWN]] :
// CHECK: arith.extf %[[T]]
// CHECK-NOT: tile.load

// NONE-LABEL: tile.kernel @biased(
// NONE: tgpu.warp_specialize
// NONE-NOT: tgpu.receive
// NONE: tile.load {{.*}} -> tensor<64x64xf16>
tile.kernel @biased(%x: !rows {tile.access = #tile.access<in>, tile.alignment = 16 : i64}, %t: !bias {tile.access = #tile.access<in>, tile.alignment = 16 : i64}, %o: !out {tile.access = #tile.access<out>}, %h: index, %n: index)
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %q = tile.load %x[%c0, %c0] : !rows -> tensor<128x64xf16>
  %rows = memref.dim %t, %c1 : !bias
  %columns = memref.dim %t, %c2 : !bias
  %of = memref.subview %t[%h, 0, 0] [1, %rows, %columns] [1, 1, 1] : !bias to memref<?x?xf16, strided<[?, 1], offset: ?>>
  %z = arith.constant dense<0.0> : tensor<128x64xf32>
  %r = scf.for %i = %c0 to %n step %c64 iter_args(%acc = %z) -> tensor<128x64xf32> {
    %k = tile.load %x[%i, %c0] : !rows -> tensor<64x64xf16>
    %s = tile.dot %q, %k transpose_b : tensor<128x64xf16>, tensor<64x64xf16> -> tensor<128x64xf32>
    %b = tile.load %of[%c0, %i] : memref<?x?xf16, strided<[?, 1], offset: ?>> -> tensor<128x64xf16>
    %w = arith.extf %b : tensor<128x64xf16> to tensor<128x64xf32>
    %sum = arith.addf %s, %w : tensor<128x64xf32>
    %p = arith.truncf %sum : tensor<128x64xf32> to tensor<128x64xf16>
    %v = tile.load %x[%i, %c0] : !rows -> tensor<64x64xf16>
    %a = tile.dot %p, %v acc %acc : tensor<128x64xf16>, tensor<64x64xf16> -> tensor<128x64xf32>
    scf.yield %a : tensor<128x64xf32>
  }
  tile.store %r, %o[%c0, %c0] : tensor<128x64xf32>, !out
  tile.return
}

// Rows that need not begin at multiples of 16 bytes are no boxes.
// CHECK-LABEL: tile.kernel @anywhere(
// CHECK: tgpu.warp_specialize
// CHECK-NOT: tgpu.receive
// CHECK: tile.load {{.*}} -> tensor<64x64xf16>
tile.kernel @anywhere(%x: !rows {tile.access = #tile.access<in>, tile.alignment = 16 : i64}, %t: !rows {tile.access = #tile.access<in>}, %o: !out {tile.access = #tile.access<out>}, %n: index)
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %q = tile.load %x[%c0, %c0] : !rows -> tensor<128x64xf16>
  %z = arith.constant dense<0.0> : tensor<128x64xf32>
  %r = scf.for %i = %c0 to %n step %c64 iter_args(%acc = %z) -> tensor<128x64xf32> {
    %k = tile.load %x[%i, %c0] : !rows -> tensor<64x64xf16>
    %s = tile.dot %q, %k transpose_b acc %acc : tensor<128x64xf16>, tensor<64x64xf16> -> tensor<128x64xf32>
    %b = tile.load %t[%c0, %c0] : !rows -> tensor<128x64xf16>
    %w = arith.extf %b : tensor<128x64xf16> to tensor<128x64xf32>
    %sum = arith.addf %s, %w : tensor<128x64xf32>
    scf.yield %sum : tensor<128x64xf32>
  }
  tile.store %r, %o[%c0, %c0] : tensor<128x64xf32>, !out
  tile.return
}
