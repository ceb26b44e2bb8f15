// A dot over the rows of all consumers takes the transpose of a tile of which each has rows: they exchange it.
// RUN: fa-opt %s --pass-pipeline='builtin.module(tgpu-plan-kernels{machine=sm_90a},tgpu-open-channels)' --split-input-file 2> %t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t

!rows = memref<?x64xf16, strided<[?, 1]>>
!out = memref<?x64xf32, strided<[?, 1]>>

// Its keys are fetched twice: of each consumer its own as a left operand, of all as the right one.
// CHECK-LABEL: tile.kernel @transposed(
// CHECK-SAME: slots {program 2, step 2, exchange 2}, loop [0:0, 0:1]
// CHECK: %[[BUFFER:.*]] = tgpu.alloc : <2 x 128x128xf16, {{.*}} repeat 2
// CHECK: %[[OWN:.*]] = tgpu.channel own : <2 x 64x64xf16,
// CHECK: %[[ALL:.*]] = tgpu.channel : <1 x 128x64xf16,
// CHECK: %[[Q:.*]] = tgpu.channel : <2 x 128x64xf16,
// CHECK: %[[ID:.*]] = tgpu.consumer_id
// CHECK: %[[FIRST:.*]] = arith.muli %[[ID]], %c64
// CHECK: tgpu.warp_specialize consumers 2 producer {
// CHECK-NEXT: ^bb0(%[[PROGRAM:.*]]: index, %{{.*}}: index):
// CHECK: tgpu.fetch %arg1{{.*}} to %[[OWN]],
// CHECK: tgpu.fetch %arg1{{.*}} to %[[OWN]],
// CHECK: tgpu.acquire %[[ALL]], %[[PROGRAM]]
// CHECK: tgpu.fetch %arg1{{.*}} to %[[ALL]], %[[PROGRAM]]
// CHECK: scf.for
// CHECK: tgpu.fetch %arg0{{.*}} to %[[Q]],
// CHECK: } consumer {
// CHECK-NEXT: ^bb0(%[[PROGRAM:.*]]: index, %{{.*}}: index):
// CHECK: tgpu.await %[[OWN]],
// CHECK: tgpu.await %[[ALL]], %[[PROGRAM]]
// CHECK: scf.for %[[I:.*]] = {{.*}} iter_args(%[[STEP:.*]] = %{{.*}})
// CHECK: %[[S:.*]] = tgpu.dot_start slot %[[OWN]], %{{.*}} by slot %[[Q]], %[[STEP]] transpose_b
// CHECK: %[[P:.*]] = arith.truncf {{.*}} : tensor<64x128xf32> to tensor<64x128xf16>
// CHECK-NEXT: %[[T:.*]] = tgpu.exchange %[[P]] by %[[BUFFER]][%[[STEP]]] : tensor<64x128xf16>, {{.*}} -> tensor<64x128xf16>
// CHECK-NOT: tgpu.await
// CHECK: tgpu.dot_start %[[T]] by slot %[[ALL]], %[[PROGRAM]] :
// CHECK: tgpu.dot_wait
// A consumer stores its rows of the result.
// CHECK: %[[ROW:.*]] = arith.addi %[[I]], %[[FIRST]]
// CHECK: tile.store %{{.*}}, %arg2[%[[ROW]], %c0] : tensor<64x64xf32>
// CHECK: }
// CHECK: tgpu.release %[[OWN]],
// CHECK: tgpu.release %[[ALL]], %[[PROGRAM]]
tile.kernel @transposed(%q: !rows {tile.access = #tile.access<in>, tile.alignment = 16 : i64}, %k: !rows {tile.access = #tile.access<in>, tile.alignment = 16 : i64}, %o: !out {tile.access = #tile.access<out>}, %n: index)
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %keys = tile.load %k[%c0, %c0] : !rows -> tensor<128x64xf16>
  scf.for %i = %c0 to %n step %c128 {
    %queries = tile.load %q[%i, %c0] : !rows -> tensor<128x64xf16>
    %s = tile.dot %keys, %queries transpose_b : tensor<128x64xf16>, tensor<128x64xf16> -> tensor<128x128xf32>
    %p = arith.truncf %s : tensor<128x128xf32> to tensor<128x128xf16>
    %t = tile.transpose %p [1, 0] : tensor<128x128xf16> -> tensor<128x128xf16>
    %r = tile.dot %t, %keys : tensor<128x128xf16>, tensor<128x64xf16> -> tensor<128x64xf32>
    tile.store %r, %o[%i, %c0] : tensor<128x64xf32>, !out
  }
  tile.return
}
// -----
!rows = memref<?x64xf16, strided<[?, 1]>>
!out = memref<?x64xf32, strided<[?, 1]>>

// Of a transpose that one warpgroup computes all, the dot's columns are dealt: each consumer has some of the right operand's.
// CHECK-LABEL: tile.kernel @columns(
// CHECK-SAME: slots {program 2, step 3, exchange 2}
// CHECK: %[[BUFFER:.*]] = tgpu.alloc : <2 x 128x64xf16,
// CHECK: %[[OWN:.*]] = tgpu.channel own : <2 x 64x64xf16,
// CHECK: %[[PART:.*]] = tgpu.channel own : <2 x 128x64xf16,
// CHECK: %[[Q:.*]] = tgpu.channel : <3 x 64x64xf16,
// CHECK: %[[ID:.*]] = tgpu.consumer_id
// CHECK: %[[FROM:.*]] = arith.muli %[[ID]], %c32
// CHECK: } consumer {
// CHECK: %[[OWNED:.*]] = arith.addi %{{.*}}, %[[ID]]
// CHECK: tgpu.await %[[OWN]], %[[OWNED]]
// CHECK: tgpu.await %[[PART]], %[[OWNED]]
// CHECK: scf.for %[[I:.*]] = {{.*}} iter_args(%[[STEP:.*]] = %{{.*}})
// CHECK: %[[T:.*]] = tgpu.exchange %{{.*}} by %[[BUFFER]][%[[STEP]]] : tensor<64x64xf16>, {{.*}} -> tensor<64x128xf16>
// CHECK: tgpu.dot_start %[[T]] by slot %[[PART]], %[[OWNED]] : {{.*}} -> !tgpu.running<tensor<64x32xf32>>
// CHECK: %[[COLUMN:.*]] = arith.addi %c0{{.*}}, %[[FROM]]
// CHECK: tile.store %{{.*}}, %arg2[%[[I]], %[[COLUMN]]] : tensor<64x32xf32>
tile.kernel @columns(%q: !rows {tile.access = #tile.access<in>, tile.alignment = 16 : i64}, %k: !rows {tile.access = #tile.access<in>, tile.alignment = 16 : i64}, %o: !out {tile.access = #tile.access<out>}, %n: index)
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %keys = tile.load %k[%c0, %c0] : !rows -> tensor<128x64xf16>
  scf.for %i = %c0 to %n step %c64 {
    %queries = tile.load %q[%i, %c0] : !rows -> tensor<64x64xf16>
    %s = tile.dot %keys, %queries transpose_b : tensor<128x64xf16>, tensor<64x64xf16> -> tensor<128x64xf32>
    %p = arith.truncf %s : tensor<128x64xf32> to tensor<128x64xf16>
    %t = tile.transpose %p [1, 0] : tensor<128x64xf16> -> tensor<64x128xf16>
    %r = tile.dot %t, %keys : tensor<64x128xf16>, tensor<128x64xf16> -> tensor<64x64xf32>
    tile.store %r, %o[%i, %c0] : tensor<64x64xf32>, !out
  }
  tile.return
}
// -----
!rows = memref<?x64xf16, strided<[?, 1]>>
!out = memref<?x64xf32, strided<[?, 1]>>

// As many rows are not dealt before and behind, nor are there a warpgroup's.
// REMARK: remark: is not warp-specialized: 'tile.transpose' makes {{(rows of other rows|other rows of rows)}}
// CHECK-LABEL: tile.kernel @wide(
// CHECK-SAME: partitions [all w
// CHECK: tile.transpose
tile.kernel @wide(%q: !rows {tile.access = #tile.access<in>, tile.alignment = 16 : i64}, %k: !rows {tile.access = #tile.access<in>, tile.alignment = 16 : i64}, %o: !out {tile.access = #tile.access<out>}, %n: index)
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %keys = tile.load %k[%c0, %c0] : !rows -> tensor<128x64xf16>
  scf.for %i = %c0 to %n step %c32 {
    %queries = tile.load %q[%i, %c0] : !rows -> tensor<32x64xf16>
    %s = tile.dot %keys, %queries transpose_b : tensor<128x64xf16>, tensor<32x64xf16> -> tensor<128x32xf32>
    %p = arith.truncf %s : tensor<128x32xf32> to tensor<128x32xf16>
    %t = tile.transpose %p [1, 0] : tensor<128x32xf16> -> tensor<32x128xf16>
    %r = tile.dot %t, %keys : tensor<32x128xf16>, tensor<128x64xf16> -> tensor<32x64xf32>
    tile.store %r, %o[%i, %c0] : tensor<32x64xf32>, !out
  }
  tile.return
}
// -----
!rows = memref<?x64xf16, strided<[?, 1]>>
!out = memref<?x64xf16, strided<[?, 1]>>

// What else is made of a dot whose columns would be dealt would have to be dealt as well.
// REMARK: remark: is not warp-specialized: 'tile.dot' whose columns would be dealt multiplies with no load of the kernel, or its result is not only stored
tile.kernel @computed(%q: !rows {tile.access = #tile.access<in>, tile.alignment = 16 : i64}, %k: !rows {tile.access = #tile.access<in>, tile.alignment = 16 : i64}, %o: !out {tile.access = #tile.access<out>}, %n: index)
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %keys = tile.load %k[%c0, %c0] : !rows -> tensor<128x64xf16>
  scf.for %i = %c0 to %n step %c64 {
    %queries = tile.load %q[%i, %c0] : !rows -> tensor<64x64xf16>
    %s = tile.dot %keys, %queries transpose_b : tensor<128x64xf16>, tensor<64x64xf16> -> tensor<128x64xf32>
    %p = arith.truncf %s : tensor<128x64xf32> to tensor<128x64xf16>
    %t = tile.transpose %p [1, 0] : tensor<128x64xf16> -> tensor<64x128xf16>
    %r = tile.dot %t, %keys : tensor<64x128xf16>, tensor<128x64xf16> -> tensor<64x64xf32>
    %rounded = arith.truncf %r : tensor<64x64xf32> to tensor<64x64xf16>
    tile.store %rounded, %o[%i, %c0] : tensor<64x64xf16>, !out
  }
  tile.return
}
// -----
!rows = memref<?x64xf16, strided<[?, 1]>>
!out = memref<?x64xf32, strided<[?, 1]>>

// Consumers that walk what their own rows see would wait for each other in different steps.
// REMARK: remark: is not warp-specialized: consumers that exchange tiles do not walk the same
tile.kernel @own(%q: !rows {tile.access = #tile.access<in>, tile.alignment = 16 : i64}, %k: !rows {tile.access = #tile.access<in>, tile.alignment = 16 : i64}, %o: !out {tile.access = #tile.access<out>})
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %offset, %count = tile.own_rows of 128
  %keys = tile.load %k[%c0, %c0] : !rows -> tensor<128x64xf16>
  scf.for %i = %offset to %count step %c128 {
    %queries = tile.load %q[%i, %c0] : !rows -> tensor<128x64xf16>
    %s = tile.dot %keys, %queries transpose_b : tensor<128x64xf16>, tensor<128x64xf16> -> tensor<128x128xf32>
    %p = arith.truncf %s : tensor<128x128xf32> to tensor<128x128xf16>
    %t = tile.transpose %p [1, 0] : tensor<128x128xf16> -> tensor<128x128xf16>
    %r = tile.dot %t, %keys : tensor<128x128xf16>, tensor<128x64xf16> -> tensor<128x64xf32>
    tile.store %r, %o[%i, %c0] : tensor<128x64xf32>, !out
  }
  tile.return
}
// -----
!rows = memref<?x64xf16, strided<[?, 1]>>
!out = memref<?x128xf32, strided<[?, 1]>>

// What else reads a transpose would read registers.
// REMARK: remark: is not warp-specialized: 'tile.transpose' makes {{(rows of other rows|other rows of rows)}}
tile.kernel @read(%q: !rows {tile.access = #tile.access<in>, tile.alignment = 16 : i64}, %k: !rows {tile.access = #tile.access<in>, tile.alignment = 16 : i64}, %o: !out {tile.access = #tile.access<out>}, %n: index)
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %keys = tile.load %k[%c0, %c0] : !rows -> tensor<128x64xf16>
  scf.for %i = %c0 to %n step %c128 {
    %queries = tile.load %q[%i, %c0] : !rows -> tensor<128x64xf16>
    %s = tile.dot %keys, %queries transpose_b : tensor<128x64xf16>, tensor<128x64xf16> -> tensor<128x128xf32>
    %t = tile.transpose %s [1, 0] : tensor<128x128xf32> -> tensor<128x128xf32>
    tile.store %t, %o[%i, %c0] : tensor<128x128xf32>, !out
  }
  tile.return
}
