// Left operands that each step loads are fetched as well, into slots of each consumer: products of matrices.
// RUN: fa-opt %s --split-input-file --pass-pipeline='builtin.module(tgpu-plan-kernels{machine=sm_90a},tgpu-open-channels)' | FileCheck %s
// One dot a step, whose slots are let go behind its wait, each consumer's at its own step.
// RUN: fa-opt %s --split-input-file --pass-pipeline='builtin.module(tgpu-plan-kernels{machine=sm_90a},tgpu-open-channels,tile.kernel(tgpu-assign-layouts{machine=sm_90a},tgpu-allocate-shared{machine=sm_90a},tgpu-overlap-dots))' | FileCheck %s --check-prefix=TURN

#in = #tile.access<in>
!a = memref<256x192xbf16, strided<[?, 1]>>
!b = memref<192x512xbf16, strided<[?, 1]>>
!out = memref<256x512xbf16, strided<[?, 1]>>

// CHECK-LABEL: tile.kernel @product(
// CHECK-SAME: partitions [load w4 r40, compute*2 w4 r232 rows 64], slots {program 2, step 4}, loop [0:0]
// CHECK: %[[B:.*]] = tgpu.channel : <4 x 64x256xbf16,
// CHECK: %[[A:.*]] = tgpu.channel own : <8 x 64x64xbf16,
// CHECK: %[[ID:.*]] = tgpu.consumer_id
// CHECK: tgpu.warp_specialize consumers 2 producer {
// CHECK: scf.for %[[K:.*]] = {{.*}} iter_args(%[[STEP:.*]] = %{{.*}})
// CHECK: tgpu.acquire %[[B]], %[[STEP]]
// CHECK: tgpu.fetch %arg1[%[[K]], %{{.*}}] dims [0, 1] to %[[B]], %[[STEP]]
// One for each consumer.
// CHECK-COUNT-2: tgpu.fetch %arg0[%{{.*}}, %[[K]]] dims [0, 1] to %[[A]], %
// CHECK: } consumer {
// CHECK: scf.for {{.*}} iter_args(%[[ACC:.*]] = %{{.*}}, %[[STEP:.*]] = %{{.*}})
// CHECK: %[[TWO:.*]] = arith.muli %[[STEP]], %c2
// CHECK: %[[OWN:.*]] = arith.addi %[[TWO]], %[[ID]]
// CHECK-DAG: tgpu.await %[[B]], %[[STEP]]
// CHECK-DAG: tgpu.await %[[A]], %[[OWN]]
// CHECK: tgpu.dot_start slot %[[A]], %[[OWN]] by slot %[[B]], %[[STEP]] acc %[[ACC]]
// CHECK: tgpu.dot_wait
// CHECK-DAG: tgpu.release %[[B]], %[[STEP]]
// CHECK-DAG: tgpu.release %[[A]], %[[OWN]]
// CHECK: scf.yield

// TURN-LABEL: tile.kernel @product(
// TURN: %[[B:.*]] = tgpu.channel {{.*}}<4 x 64x256xbf16,
// TURN: %[[A:.*]] = tgpu.channel own {{.*}}<8 x 64x64xbf16,
// TURN: } consumer {
// TURN: scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}, %[[STEP:.*]] = %{{.*}})
// TURN: tgpu.await %[[B]], %[[STEP]]
// TURN: %[[OWN:.*]] = arith.addi
// TURN: tgpu.await %[[A]], %[[OWN]]
// TURN-NEXT: %[[RUNNING:.*]] = tgpu.dot_start slot %[[A]], %[[OWN]] by slot %[[B]], %[[STEP]]
// TURN: tgpu.dot_wait %[[RUNNING]]
// TURN-NEXT: tgpu.release %[[B]], %[[STEP]]
// TURN-NEXT: tgpu.release %[[A]], %[[OWN]]
tile.kernel @product(%a: !a {tile.access = #in, tile.alignment = 16 : i64}, %b: !b {tile.access = #in, tile.alignment = 16 : i64}, %o: !out {tile.access = #tile.access<out>, tile.alignment = 16 : i64})
    attributes {grid = affine_map<() -> (2, 2, 1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %c192 = arith.constant 192 : index
  %c256 = arith.constant 256 : index
  %x = tile.program_id 0
  %y = tile.program_id 1
  %row = arith.muli %x, %c128 : index
  %column = arith.muli %y, %c256 : index
  %zero = arith.constant dense<0.0> : tensor<128x256xf32>
  %sum = scf.for %k = %c0 to %c192 step %c64 iter_args(%acc = %zero) -> tensor<128x256xf32> {
    %l = tile.load %a[%row, %k] in_bounds : !a -> tensor<128x64xbf16>
    %r = tile.load %b[%k, %column] in_bounds : !b -> tensor<64x256xbf16>
    %d = tile.dot %l, %r acc %acc : tensor<128x64xbf16>, tensor<64x256xbf16> -> tensor<128x256xf32>
    scf.yield %d : tensor<128x256xf32>
  }
  %t = arith.truncf %sum : tensor<128x256xf32> to tensor<128x256xbf16>
  tile.store %t, %o[%row, %column] : tensor<128x256xbf16>, !out
  tile.return
}

// -----

// Through views that take dimensions apart, permute them and begin inside: the place in the argument is a sum. A view that ends before its
// argument does ends there, and rows of a vector that consumers share out are loaded by them.
#in = #tile.access<in>
!x = memref<400x192xbf16, strided<[?, 1]>>
!part = memref<200x64xbf16, strided<[?, 1], offset: ?>>
!w = memref<64x64xbf16, strided<[?, 1]>>

// CHECK-LABEL: tile.kernel @views(
// CHECK: %[[BATCH:.*]] = tile.program_id 1
// CHECK: tgpu.warp_specialize consumers 1 producer {
// CHECK: scf.for %[[H:.*]] = {{.*}} iter_args(
// CHECK: %[[COLUMN:.*]] = arith.muli %[[H]], %c64
// CHECK: %[[FIRST:.*]] = arith.muli %[[BATCH]], %c200
// CHECK: %[[ROW:.*]] = arith.addi %[[FIRST]], %
// CHECK: %[[END:.*]] = arith.addi %[[FIRST]], %c200
// CHECK: tgpu.fetch %arg0[%[[ROW]], %[[COLUMN]]] dims [0, 1] end %[[END]] to
// CHECK: } consumer {
// CHECK: tile.load %arg2
tile.kernel @views(%x: !x {tile.access = #in, tile.alignment = 16 : i64}, %w: !w {tile.access = #in, tile.alignment = 16 : i64}, %bias: memref<400xf32, strided<[1]>> {tile.access = #in, tile.alignment = 16 : i64}, %o: memref<400x64xf32, strided<[?, 1]>> {tile.access = #tile.access<out>})
    attributes {grid = affine_map<() -> (4, 2, 1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c64 = arith.constant 64 : index
  %tile = tile.program_id 0
  %batch = tile.program_id 1
  %row = arith.muli %tile, %c64 : index
  %split = memref.expand_shape %x [[0, 1], [2, 3]] output_shape [2, 200, 3, 64] : !x into memref<2x200x3x64xbf16, strided<[?, ?, 64, 1]>>
  %heads = memref.transpose %split (b, s, h, d) -> (b, h, s, d) : memref<2x200x3x64xbf16, strided<[?, ?, 64, 1]>> to memref<2x3x200x64xbf16, strided<[?, 64, ?, 1]>>
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %sum = scf.for %h = %c0 to %c3 step %c1 iter_args(%acc = %zero) -> tensor<64x64xf32> {
    %view = memref.subview %heads[%batch, %h, 0, 0] [1, 1, 200, 64] [1, 1, 1, 1] : memref<2x3x200x64xbf16, strided<[?, 64, ?, 1]>> to !part
    %l = tile.load %view[%row, %c0] : !part -> tensor<64x64xbf16>
    %r = tile.load %w[%c0, %c0] in_bounds : !w -> tensor<64x64xbf16>
    %v = tile.load %bias[%row] : memref<400xf32, strided<[1]>> -> tensor<64xf32>
    %v1 = tile.expand_dims %v dim 1 : tensor<64xf32> -> tensor<64x1xf32>
    %v2 = tile.broadcast %v1 : tensor<64x1xf32> -> tensor<64x64xf32>
    %n = arith.addf %acc, %v2 : tensor<64x64xf32>
    %d = tile.dot %l, %r acc %n : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
    scf.yield %d : tensor<64x64xf32>
  }
  tile.store %sum, %o[%row, %c0] : tensor<64x64xf32>, memref<400x64xf32, strided<[?, 1]>>
  tile.return
}

// -----

// Columns that end before their view's argument does, rows that are not neighbours, and dimensions in another order are not specialized.
// CHECK-LABEL: tile.kernel @cut(
// CHECK-SAME: partitions [all w4]
#in = #tile.access<in>
tile.kernel @cut(%x: memref<64x120xbf16, strided<[?, 1]>> {tile.access = #in, tile.alignment = 16 : i64}, %w: memref<64x64xbf16, strided<[?, 1]>> {tile.access = #in, tile.alignment = 16 : i64}, %o: memref<64x64xf32, strided<[?, 1]>> {tile.access = #tile.access<out>})
    attributes {grid = affine_map<() -> (1, 1, 1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %split = memref.expand_shape %x [[0], [1, 2]] output_shape [64, 3, 40] : memref<64x120xbf16, strided<[?, 1]>> into memref<64x3x40xbf16, strided<[?, 40, 1]>>
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %sum = scf.for %h = %c0 to %c3 step %c1 iter_args(%acc = %zero) -> tensor<64x64xf32> {
    %view = memref.subview %split[0, %h, 0] [64, 1, 40] [1, 1, 1] : memref<64x3x40xbf16, strided<[?, 40, 1]>> to memref<64x40xbf16, strided<[?, 1], offset: ?>>
    %l = tile.load %view[%c0, %c0] : memref<64x40xbf16, strided<[?, 1], offset: ?>> -> tensor<64x64xbf16>
    %r = tile.load %w[%c0, %c0] in_bounds : memref<64x64xbf16, strided<[?, 1]>> -> tensor<64x64xbf16>
    %d = tile.dot %l, %r acc %acc : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
    scf.yield %d : tensor<64x64xf32>
  }
  tile.store %sum, %o[%c0, %c0] : tensor<64x64xf32>, memref<64x64xf32, strided<[?, 1]>>
  tile.return
}
// CHECK-LABEL: tile.kernel @steps(
// CHECK-SAME: partitions [all w4]
tile.kernel @steps(%x: memref<192x64xbf16, strided<[?, 1]>> {tile.access = #in, tile.alignment = 16 : i64}, %w: memref<64x64xbf16, strided<[?, 1]>> {tile.access = #in, tile.alignment = 16 : i64}, %o: memref<64x64xf32, strided<[?, 1]>> {tile.access = #tile.access<out>})
    attributes {grid = affine_map<() -> (1, 1, 1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %split = memref.expand_shape %x [[0, 1], [2]] output_shape [64, 3, 64] : memref<192x64xbf16, strided<[?, 1]>> into memref<64x3x64xbf16, strided<[?, ?, 1]>>
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %sum = scf.for %h = %c0 to %c3 step %c1 iter_args(%acc = %zero) -> tensor<64x64xf32> {
    %view = memref.subview %split[0, %h, 0] [64, 1, 64] [1, 1, 1] : memref<64x3x64xbf16, strided<[?, ?, 1]>> to memref<64x64xbf16, strided<[?, 1], offset: ?>>
    %l = tile.load %view[%c0, %c0] in_bounds : memref<64x64xbf16, strided<[?, 1], offset: ?>> -> tensor<64x64xbf16>
    %r = tile.load %w[%c0, %c0] in_bounds : memref<64x64xbf16, strided<[?, 1]>> -> tensor<64x64xbf16>
    %d = tile.dot %l, %r acc %acc : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
    scf.yield %d : tensor<64x64xf32>
  }
  tile.store %sum, %o[%c0, %c0] : tensor<64x64xf32>, memref<64x64xf32, strided<[?, 1]>>
  tile.return
}
