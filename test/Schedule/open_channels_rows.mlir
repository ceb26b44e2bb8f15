// Consumers walk the keys that their own rows see; what the others see of the tiles that are fetched they let pass.
// RUN: fa-opt %s --pass-pipeline='builtin.module(tgpu-plan-kernels{machine=sm_90a constraints="stages=2 schedule=roles"},tgpu-open-channels)' | FileCheck %s

// Such channels have twice as many slots, where the plan finds room for those of K and V.
// RUN: fa-opt %s --pass-pipeline='builtin.module(tgpu-plan-kernels{machine=sm_90a constraints="schedule=roles"},tgpu-open-channels)' | FileCheck %s --check-prefix=SIX
// SIX-LABEL: tile.kernel @own(
// SIX-COUNT-2: tgpu.channel : <6 x 64x64xf16
// SIX-LABEL: tile.kernel @one(
// SIX-COUNT-2: tgpu.channel : <3 x 64x64xf16

!rows = memref<?x64xf16, strided<[?, 1]>>
!out = memref<?x64xf32, strided<[?, 1]>>

// CHECK-LABEL: tile.kernel @own(
// CHECK-SAME: %[[N:[a-z0-9]+]]: index
// CHECK: %[[K:.*]] = tgpu.channel : <2 x 64x64xf16
// CHECK: %[[V:.*]] = tgpu.channel : <2 x 64x64xf16
// CHECK: %[[ID:.*]] = tgpu.consumer_id
// CHECK-NOT: tile.own_rows
// CHECK: arith.muli %[[ID]], %c64
// CHECK: %[[OFFSET:.*]] = arith.muli %[[ID]], %c64
// CHECK-NEXT: %[[BEGIN:.*]] = arith.addi %[[N]], %[[OFFSET]]
// CHECK: %[[END:.*]] = arith.addi %[[BEGIN]], %c64
// The producer walks what is between the ends of all rows.
// CHECK: %[[FIRST:.*]] = arith.addi %[[N]], %c0
// CHECK: %[[LAST:.*]] = arith.addi %[[FIRST]], %c192
// CHECK: tgpu.warp_specialize consumers 3 producer {
// CHECK: scf.for {{.*}} = %[[FIRST]] to %[[LAST]] step %c64
// CHECK: tgpu.fetch
// CHECK: } consumer {
// CHECK-NEXT: ^bb0(%{{.*}}: index, %[[STEPS:.*]]: index):
// CHECK: %[[LEFT:.*]] = arith.subi %[[BEGIN]], %[[FIRST]]
// CHECK: %[[MINE:.*]] = arith.addi %[[STEPS]],
// CHECK: %[[ALL:.*]] = arith.subi %[[LAST]], %[[FIRST]]
// CHECK: %[[BEHIND:.*]] = arith.addi %[[STEPS]],
// CHECK: %[[COUNT:.*]] = arith.subi %[[MINE]], %[[STEPS]]
// CHECK: %[[COUNT32:.*]] = arith.index_cast %[[COUNT]] : index to i32
// CHECK: scf.for %[[I:.*]] = %{{.*}} to %[[COUNT32]]
// CHECK: %[[STEP:.*]] = arith.addi %[[STEPS]],
// CHECK-NEXT: tgpu.await %[[K]], %[[STEP]]
// CHECK-NEXT: tgpu.release %[[K]], %[[STEP]]
// CHECK-NEXT: tgpu.await %[[V]], %[[STEP]]
// CHECK-NEXT: tgpu.release %[[V]], %[[STEP]]
// CHECK-NEXT: }
// CHECK: %[[LOOP:.*]]:2 = scf.for {{.*}} = %[[BEGIN]] to %[[END]] step %c64{{.*}} iter_args(%{{.*}} = %{{.*}}, %{{.*}} = %[[MINE]])
// CHECK: tgpu.dot_start
// CHECK: arith.subi %[[BEHIND]], %[[LOOP]]#1
// CHECK: scf.for
// CHECK: tgpu.release %[[V]],
// CHECK: tgpu.passed %[[BEHIND]]
tile.kernel @own(%x: !rows {tile.access = #tile.access<in>, tile.alignment = 16 : i64}, %y: !rows {tile.access = #tile.access<in>, tile.alignment = 16 : i64}, %o: !out {tile.access = #tile.access<out>}, %n: index)
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %offset, %count = tile.own_rows of 192
  %begin = arith.addi %n, %offset : index
  %end = arith.addi %begin, %count : index
  %q = tile.load %x[%c0, %c0] : !rows -> tensor<192x64xf16>
  %z = arith.constant dense<0.0> : tensor<192x64xf32>
  %r = scf.for %i = %begin to %end step %c64 iter_args(%acc = %z) -> tensor<192x64xf32> {
    %k = tile.load %x[%i, %c0] : !rows -> tensor<64x64xf16>
    %s = tile.dot %q, %k transpose_b : tensor<192x64xf16>, tensor<64x64xf16> -> tensor<192x64xf32>
    %p = arith.truncf %s : tensor<192x64xf32> to tensor<192x64xf16>
    %v = tile.load %y[%i, %c0] : !rows -> tensor<64x64xf16>
    %a = tile.dot %p, %v acc %acc : tensor<192x64xf16>, tensor<64x64xf16> -> tensor<192x64xf32>
    scf.yield %a : tensor<192x64xf32>
  }
  tile.store %r, %o[%c0, %c0] : tensor<192x64xf32>, !out
  tile.return
}

// One consumer has all rows.
// CHECK-LABEL: tile.kernel @one(
// CHECK: tgpu.warp_specialize consumers 1
// CHECK: } consumer {
// CHECK: scf.for
// CHECK: tgpu.dot_start
// CHECK-NOT: scf.for
// CHECK: tile.return
tile.kernel @one(%x: !rows {tile.access = #tile.access<in>, tile.alignment = 16 : i64}, %y: !rows {tile.access = #tile.access<in>, tile.alignment = 16 : i64}, %o: !out {tile.access = #tile.access<out>}, %n: index)
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %offset, %count = tile.own_rows of 64
  %begin = arith.addi %n, %offset : index
  %end = arith.addi %begin, %count : index
  %q = tile.load %x[%c0, %c0] : !rows -> tensor<64x64xf16>
  %z = arith.constant dense<0.0> : tensor<64x64xf32>
  %r = scf.for %i = %begin to %end step %c64 iter_args(%acc = %z) -> tensor<64x64xf32> {
    %k = tile.load %x[%i, %c0] : !rows -> tensor<64x64xf16>
    %s = tile.dot %q, %k transpose_b : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    %p = arith.truncf %s : tensor<64x64xf32> to tensor<64x64xf16>
    %v = tile.load %y[%i, %c0] : !rows -> tensor<64x64xf16>
    %a = tile.dot %p, %v acc %acc : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    scf.yield %a : tensor<64x64xf32>
  }
  tile.store %r, %o[%c0, %c0] : tensor<64x64xf32>, !out
  tile.return
}
