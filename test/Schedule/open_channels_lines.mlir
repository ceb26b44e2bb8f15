// What a fetch brings beside the tile. Slots have whole lines of 128 bytes: of their columns behind a tile, scores
// leave out the depth, outputs the columns.
// RUN: fa-opt %s --pass-pipeline='builtin.module(tgpu-plan-kernels{machine=sm_90a constraints="stages=2 schedule=roles"},tgpu-open-channels)' | FileCheck %s

// Of fewer keys than 128 three slots, if there is room: 73728 bytes of them, 32768 of Q, a line for each row, and the barriers.
// RUN: fa-opt %s --pass-pipeline='builtin.module(tgpu-plan-kernels{machine=sm_90a constraints="schedule=roles"},tgpu-open-channels)' | FileCheck %s --check-prefix=THREE
// RUN: fa-opt %s --pass-pipeline='builtin.module(tgpu-plan-kernels{machine=sm_90a constraints="schedule=roles" shared-bytes=123904},tgpu-open-channels)' | FileCheck %s --check-prefix=THREE
// RUN: fa-opt %s --pass-pipeline='builtin.module(tgpu-plan-kernels{machine=sm_90a constraints="schedule=roles" shared-bytes=123903},tgpu-open-channels)' | FileCheck %s
// THREE-LABEL: tile.kernel @narrow(
// THREE: tgpu.channel own : <2 x 64x128xf16,
// THREE: tgpu.channel : <3 x 64x128xf16,
// THREE: tgpu.channel : <3 x 64x64xf16,

!rows = memref<?x96xf16, strided<[?, 1]>>
!values = memref<?x40xf16, strided<[?, 1]>>
!out = memref<?x40xf32, strided<[?, 1]>>

// CHECK-LABEL: tile.kernel @narrow(
// CHECK: %[[Q:.*]] = tgpu.channel own : <2 x 64x128xf16, {{.*}} repeat 2
// CHECK: %[[K:.*]] = tgpu.channel : <2 x 64x128xf16, {{.*}} repeat 2
// CHECK: %[[V:.*]] = tgpu.channel : <2 x 64x64xf16,
// CHECK: tgpu.dot_start slot %[[Q]], %{{.*}} by slot %[[K]], %{{.*}} transpose_b depth 96 :
// CHECK-SAME: !tgpu.running<tensor<64x64xf32>>
// CHECK: tgpu.dot_start %{{.*}} by slot %[[V]], %{{[^ ]*}} acc
// CHECK-SAME: !tgpu.running<tensor<64x48xf32>>
tile.kernel @narrow(%x: !rows {tile.access = #tile.access<in>, tile.alignment = 16 : i64}, %y: !values {tile.access = #tile.access<in>, tile.alignment = 16 : i64}, %o: !out {tile.access = #tile.access<out>}, %n: index)
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %q = tile.load %x[%c0, %c0] : !rows -> tensor<128x96xf16>
  %z = arith.constant dense<0.0> : tensor<128x48xf32>
  %r = scf.for %i = %c0 to %n step %c64 iter_args(%acc = %z) -> tensor<128x48xf32> {
    %k = tile.load %x[%i, %c0] : !rows -> tensor<64x96xf16>
    %s = tile.dot %q, %k transpose_b : tensor<128x96xf16>, tensor<64x96xf16> -> tensor<128x64xf32>
    %p = arith.truncf %s : tensor<128x64xf32> to tensor<128x64xf16>
    %v = tile.load %y[%i, %c0] : !values -> tensor<64x48xf16>
    %a = tile.dot %p, %v acc %acc : tensor<128x64xf16>, tensor<64x48xf16> -> tensor<128x48xf32>
    scf.yield %a : tensor<128x48xf32>
  }
  tile.store %r, %o[%c0, %c0] : tensor<128x48xf32>, !out
  tile.return
}

// Tiles of 48 keys: slots end behind them.
// CHECK-LABEL: tile.kernel @between(
// CHECK: tgpu.channel own : <1 x 64x64xf16, #tgpu.layout<swizzled 64x64 bytes 2>>
// CHECK: tgpu.channel : <{{[23]}} x 48x64xf16, #tgpu.layout<swizzled 64x64 bytes 2>>
// CHECK: tgpu.channel : <{{[23]}} x 48x64xf16, #tgpu.layout<swizzled 64x64 bytes 2>>
// CHECK: !tgpu.running<tensor<64x48xf32>>
tile.kernel @between(%x: memref<?x64xf16, strided<[?, 1]>> {tile.access = #tile.access<in>, tile.alignment = 16 : i64}, %o: memref<?x64xf32, strided<[?, 1]>> {tile.access = #tile.access<out>}, %n: index)
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %c48 = arith.constant 48 : index
  %q = tile.load %x[%c0, %c0] : memref<?x64xf16, strided<[?, 1]>> -> tensor<64x64xf16>
  %z = arith.constant dense<0.0> : tensor<64x64xf32>
  %r = scf.for %i = %c0 to %n step %c48 iter_args(%acc = %z) -> tensor<64x64xf32> {
    %k = tile.load %x[%i, %c0] : memref<?x64xf16, strided<[?, 1]>> -> tensor<48x64xf16>
    %s = tile.dot %q, %k transpose_b : tensor<64x64xf16>, tensor<48x64xf16> -> tensor<64x48xf32>
    %p = arith.truncf %s : tensor<64x48xf32> to tensor<64x48xf16>
    %v = tile.load %x[%i, %c0] : memref<?x64xf16, strided<[?, 1]>> -> tensor<48x64xf16>
    %a = tile.dot %p, %v acc %acc : tensor<64x48xf16>, tensor<48x64xf16> -> tensor<64x64xf32>
    scf.yield %a : tensor<64x64xf32>
  }
  tile.store %r, %o[%c0, %c0] : tensor<64x64xf32>, memref<?x64xf32, strided<[?, 1]>>
  tile.return
}

// Keys end where the view does, not where their argument does; the rows of a
// load that is in bounds are all there.
// CHECK-LABEL: tile.kernel @ends(
// CHECK-SAME: %[[END:[a-z0-9]+]]: index
// CHECK: tgpu.fetch %arg0[%{{.*}}] dims [0, 1] to
// CHECK: scf.for
// CHECK: tgpu.fetch %arg0[%{{.*}}] dims [0, 1] to
// CHECK: scf.for
// CHECK: tgpu.fetch %arg0[%{{.*}}] dims [0, 1] end %[[END]] to
tile.kernel @ends(%x: !rows {tile.access = #tile.access<in>, tile.alignment = 16 : i64}, %o: memref<?x64xf32, strided<[?, 1]>> {tile.access = #tile.access<out>}, %n: index)
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %q = tile.load %x[%c0, %c0] : !rows -> tensor<64x96xf16>
  %view = memref.subview %x[0, 0] [%n, 96] [1, 1] : !rows to !rows
  %z = arith.constant dense<0.0> : tensor<64x64xf32>
  %full = scf.for %i = %c0 to %c64 step %c64 iter_args(%acc = %z) -> tensor<64x64xf32> {
    %k = tile.load %view[%i, %c0] in_bounds : !rows -> tensor<64x96xf16>
    %s = tile.dot %q, %k transpose_b acc %acc : tensor<64x96xf16>, tensor<64x96xf16> -> tensor<64x64xf32>
    scf.yield %s : tensor<64x64xf32>
  }
  %r = scf.for %i = %c64 to %n step %c64 iter_args(%acc = %full) -> tensor<64x64xf32> {
    %k = tile.load %view[%i, %c0] : !rows -> tensor<64x96xf16>
    %s = tile.dot %q, %k transpose_b acc %acc : tensor<64x96xf16>, tensor<64x96xf16> -> tensor<64x64xf32>
    scf.yield %s : tensor<64x64xf32>
  }
  tile.store %r, %o[%c0, %c0] : tensor<64x64xf32>, memref<?x64xf32, strided<[?, 1]>>
  tile.return
}
