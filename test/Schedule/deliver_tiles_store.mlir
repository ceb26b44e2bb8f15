// Where a plan has a partition that stores, consumers leave their tiles, of 16 or 32 bits, in channels.
// RUN: fa-opt %s --pass-pipeline='builtin.module(tile.kernel(tgpu-deliver-tiles))' | FileCheck %s
// RUN: not fa-opt %s --pass-pipeline='builtin.module(tile.kernel(tgpu-deliver-tiles{limit=4096}))' 2>&1 | FileCheck %s --check-prefix=ROOM
// ROOM: error: the plan of @outputs: expected an output that a partition can store, found none whose tiles are boxes of an argument and have room in shared memory

!out = memref<?x?x128xf16, strided<[?, ?, 1]>>
!head = memref<?x128xf16, strided<[?, 1], offset: ?>>
!sums = memref<?x128xf32, strided<[?, 1]>>
#acc = #tgpu.layout<accumulator 64x128 warps 4>

// CHECK-LABEL: @outputs
// CHECK: %[[SUMS:.*]] = tgpu.channel own stored : <2 x 64x128xf32,
// CHECK: %[[OUT:.*]] = tgpu.channel own stored : <2 x 64x128xf16,
// CHECK: %[[ID:.*]] = tgpu.consumer_id
// CHECK: tgpu.warp_specialize consumers 2
// CHECK: } consumer {
// CHECK-NEXT: ^bb0(%[[PROGRAM:.*]]: index, %{{.*}}: index):
// CHECK: %[[BEFORE:.*]] = arith.muli %[[PROGRAM]], %c2
// CHECK-NEXT: %[[STEP:.*]] = arith.addi %[[BEFORE]], %[[ID]]
// CHECK-NEXT: tgpu.acquire %[[OUT]], %[[STEP]]
// CHECK-NEXT: tgpu.put %{{.*}} to %[[OUT]], %[[STEP]]
// CHECK: tgpu.acquire %[[SUMS]],
// CHECK-NEXT: tgpu.put %{{.*}} to %[[SUMS]],
// What the consumer alone knows, where to store to, stays its own.
// CHECK: tile.store
// CHECK: } store {
// CHECK-NEXT: ^bb0(%[[PROGRAM:.*]]: index, %[[STEPS:.*]]: index):
// Of the first consumer, then of the second.
// CHECK: %[[ROW:.*]] = arith.muli %c0{{.*}}, %c64
// CHECK: %[[STEP:.*]] = arith.addi %{{.*}}, %c0
// CHECK-NEXT: tgpu.await %[[OUT]], %[[STEP]]
// CHECK-NEXT: tgpu.send %[[OUT]], %[[STEP]] to %arg0[%{{.*}}, %[[ROW]], %{{.*}}] dims [1, 2]
// CHECK-NEXT: tgpu.release %[[OUT]], %[[STEP]]
// CHECK: %[[ROW:.*]] = arith.muli %c1{{.*}}, %c64
// CHECK: tgpu.send %[[OUT]], %{{.*}} to %arg0[%{{.*}}, %[[ROW]], %{{.*}}] dims [1, 2]
// CHECK: tgpu.release %[[OUT]],
// CHECK: tgpu.send %[[SUMS]],
// CHECK: tgpu.send %[[SUMS]],
// CHECK-NOT: tgpu.send
// CHECK: tgpu.passed %[[STEPS]]
tile.kernel @outputs(%x: !out {tile.access = #tile.access<out>, tile.alignment = 16}, %y: !sums {tile.access = #tile.access<out>, tile.alignment = 16}, %value: f16, %sum: f32, %rows: memref<?xindex, strided<[1]>> {tile.access = #tile.access<in>})
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, tgpu.consumers = 2, tgpu.warps = 4,
                tgpu.plan = #tgpu.plan<tile 128x64, partitions [load w4 r40, compute*2 w4 r224 rows 64, store w4 r24], slots {program 2, step 2}, persistent>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %id = tgpu.consumer_id
  %h = tile.program_id 1
  %all = memref.dim %x, %c1 : !out
  %view = memref.subview %x[%h, 0, 0] [1, %all, 128] [1, 1, 1] : !out to !head
  %row = arith.muli %id, %c64 : index
  tgpu.warp_specialize consumers 2 producer {
  ^bb0(%programs: index, %steps: index):
    tgpu.passed %steps
  } consumer {
  ^bb0(%programs: index, %steps: index):
    %o = tile.broadcast %value : f16 -> tensor<64x128xf16, #acc>
    %s = tile.broadcast %sum : f32 -> tensor<64x128xf32, #acc>
    tile.store %o, %view[%row, %c0] : tensor<64x128xf16, #acc>, !head
    tile.store %s, %y[%row, %c0] : tensor<64x128xf32, #acc>, !sums
    %mine = memref.load %rows[%id] : memref<?xindex, strided<[1]>>
    tile.store %s, %y[%mine, %c0] : tensor<64x128xf32, #acc>, !sums
    tgpu.passed %steps
  }
  tile.return
}
