// Consumers store 16-bit tiles by slots of their own, as wide as there is room
// for: 2 x 16 KB behind 64 KB of a channel, pieces of 64 columns, or none.
// RUN: fa-opt %s --pass-pipeline='builtin.module(tile.kernel(tgpu-deliver-tiles))' | FileCheck %s --check-prefixes=CHECK,WHOLE
// RUN: fa-opt %s --pass-pipeline='builtin.module(tile.kernel(tgpu-deliver-tiles{limit=90000}))' | FileCheck %s --check-prefixes=CHECK,PIECES
// RUN: fa-opt %s --pass-pipeline='builtin.module(tile.kernel(tgpu-deliver-tiles{limit=80000}))' | FileCheck %s --check-prefixes=NONE

!keys = !tgpu.channel<2 x 128x128xf16, #tgpu.layout<128x128 offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 8], [2, 16], [4, 32], [8, 0], [16, 0], [32, 0], [64, 0]] repeat 2>>
!out = memref<?x?x128xf16, strided<[?, ?, 1]>>
!head = memref<?x128xf16, strided<[?, 1], offset: ?>>
!sums = memref<?x?x128xf32, strided<[?, ?, 1]>>
!headSums = memref<?x128xf32, strided<[?, 1], offset: ?>>
#acc = #tgpu.layout<accumulator 64x128 warps 4>

// NONE-NOT: tgpu.deliver
// CHECK-LABEL: @outputs
// WHOLE: %[[CUT:.*]] = tgpu.alloc : <2 x 64x128xf16,
// WHOLE-NEXT: %[[BUFFER:.*]] = tgpu.alloc : <2 x 64x128xf16,
// PIECES: %[[BUFFER:.*]] = tgpu.alloc : <2 x 64x64xf16,
// CHECK: %[[ID:.*]] = tgpu.consumer_id
// CHECK: %[[H:.*]] = tile.program_id 1
// CHECK: %[[ROW:.*]] = arith.addi
// CHECK: tgpu.deliver %{{.*}} by %[[BUFFER]][%[[ID]]] to %arg0[%[[H]], %[[ROW]], %{{.*}}] dims [1, 2]
// CHECK-NOT: tile.store {{.*}}f16
// f32 goes as it did; what ends inside of its argument ends there, if there is room for it.
// CHECK: tile.store {{.*}}f32
// WHOLE: tgpu.deliver %{{.*}} by %[[CUT]]{{.*}} dims [1, 2] end %arg4
// PIECES: tile.store {{.*}}f16
tile.kernel @outputs(%x: !out {tile.access = #tile.access<out>, tile.alignment = 16}, %y: !sums {tile.access = #tile.access<out>, tile.alignment = 16}, %value: f16, %sum: f32, %end: index) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, tgpu.consumers = 2, tgpu.warps = 4} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %k = tgpu.channel : !keys
  %id = tgpu.consumer_id
  %h = tile.program_id 1
  %rows = memref.dim %x, %c1 : !out
  %view = memref.subview %x[%h, 0, 0] [1, %rows, 128] [1, 1, 1] : !out to !head
  %part = memref.subview %x[%h, 0, 0] [1, %end, 128] [1, 1, 1] : !out to !head
  %viewSums = memref.subview %y[%h, 0, 0] [1, %rows, 128] [1, 1, 1] : !sums to !headSums
  %first = arith.muli %id, %c64 : index
  %row = arith.addi %first, %c64 : index
  tgpu.warp_specialize consumers 2 producer {
  ^bb0(%programs: index, %steps: index):
    tgpu.passed %steps
  } consumer {
  ^bb0(%programs: index, %steps: index):
    %o = tile.broadcast %value : f16 -> tensor<64x128xf16, #acc>
    %s = tile.broadcast %sum : f32 -> tensor<64x128xf32, #acc>
    tile.store %o, %view[%row, %c0] : tensor<64x128xf16, #acc>, !head
    tile.store %s, %viewSums[%row, %c0] : tensor<64x128xf32, #acc>, !headSums
    tile.store %o, %part[%row, %c0] : tensor<64x128xf16, #acc>, !head
    tgpu.passed %steps
  }
  tile.return
}

// Of a tile without whole lines the slot's last one is not filled: it leaves by
// one if its destination ends with it.
!narrow = memref<?x80xf16, strided<[?, 1]>>
!wide = memref<?x128xf16, strided<[?, 1]>>
#narrow = #tgpu.layout<accumulator 64x96 warps 4>
// CHECK-LABEL: @lines
// WHOLE: %[[LINES:.*]] = tgpu.alloc : <2 x 64x128xf16,
// PIECES: %[[LINES:.*]] = tgpu.alloc : <2 x 64x64xf16,
// CHECK: tgpu.deliver %{{.*}} by %[[LINES]][%{{.*}}] to %arg0[
// CHECK-NOT: tgpu.deliver
// CHECK: tile.store {{.*}}, %arg1[
tile.kernel @lines(%x: !narrow {tile.access = #tile.access<out>, tile.alignment = 16}, %y: !wide {tile.access = #tile.access<out>, tile.alignment = 16}, %value: f16) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, tgpu.consumers = 2, tgpu.warps = 4} {
  %c0 = arith.constant 0 : index
  %k = tgpu.channel : !keys
  %id = tgpu.consumer_id
  tgpu.warp_specialize consumers 2 producer {
  ^bb0(%programs: index, %steps: index):
    tgpu.passed %steps
  } consumer {
  ^bb0(%programs: index, %steps: index):
    %o = tile.broadcast %value : f16 -> tensor<64x96xf16, #narrow>
    tile.store %o, %x[%id, %c0] : tensor<64x96xf16, #narrow>, !narrow
    tile.store %o, %y[%id, %c0] : tensor<64x96xf16, #narrow>, !wide
    tgpu.passed %steps
  }
  tile.return
}

// Of packed rows: those of a sequence begin and end inside of the argument.
// CHECK-LABEL: @packed
// CHECK-SAME: %[[FIRST:[a-z0-9]+]]: index, %[[COUNT:[a-z0-9]+]]: index
// CHECK: %[[LOCAL:.*]] = arith.muli %{{.*}}, %c64
// CHECK: %[[AT:.*]] = arith.addi %[[FIRST]], %[[LOCAL]]
// CHECK: %[[END:.*]] = arith.addi %[[FIRST]], %[[COUNT]]
// CHECK: tgpu.deliver %{{.*}} by %{{.*}}[%{{.*}}] to %arg0[%{{.*}}, %[[AT]], %{{.*}}] dims [1, 2] end %[[END]]
tile.kernel @packed(%x: !out {tile.access = #tile.access<out>, tile.alignment = 16}, %value: f16, %from: index, %count: index) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, tgpu.consumers = 2, tgpu.warps = 4, tile.packed_rows} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %k = tgpu.channel : !keys
  %id = tgpu.consumer_id
  %h = tile.program_id 1
  %view = memref.subview %x[%h, %from, 0] [1, %count, 128] [1, 1, 1] : !out to !head
  %row = arith.muli %id, %c64 : index
  tgpu.warp_specialize consumers 2 producer {
  ^bb0(%programs: index, %steps: index):
    tgpu.passed %steps
  } consumer {
  ^bb0(%programs: index, %steps: index):
    %o = tile.broadcast %value : f16 -> tensor<64x128xf16, #acc>
    tile.store %o, %view[%row, %c0] : tensor<64x128xf16, #acc>, !head
    tgpu.passed %steps
  }
  tile.return
}
