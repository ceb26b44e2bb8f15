// A dot of more columns than a warpgroup's: consumers share its rows and deal its columns. Each computes all scores.
// RUN: fa-opt %s --pass-pipeline='builtin.module(tgpu-plan-kernels{machine=sm_90a},tgpu-open-channels)' --split-input-file 2> %t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t

!keys = memref<?x576xbf16, strided<[?, 1]>>
!out = memref<?x512xf32, strided<[?, 1]>>
!sums = memref<?xf32, strided<[?]>>

// Values are the first columns of the keys: one channel, of which a sum's dot reads from the consumer's first column on.
// CHECK-LABEL: tile.kernel @in_keys(
// CHECK-SAME: compute*2 w4 {{.*}}rows 64], slots {program 2, step 3}, loop [0:0, 1:1]
// CHECK: %[[Q:.*]] = tgpu.channel : <1 x 64x576xbf16,
// CHECK: %[[K:.*]] = tgpu.channel : <3 x 32x576xbf16,
// CHECK-NOT: tgpu.channel
// CHECK: %[[ID:.*]] = tgpu.consumer_id
// CHECK: %[[FIRST:.*]] = arith.muli %[[ID]], %c256
// CHECK: %[[COLUMN:.*]] = arith.addi %{{.*}}, %[[FIRST]]
// CHECK: %[[IS_FIRST:.*]] = arith.cmpi eq, %[[ID]], %c0
// CHECK: tgpu.warp_specialize consumers 2 producer {
// CHECK-NEXT: ^bb0(%[[PROGRAM:.*]]: index, %{{.*}}: index):
// CHECK: tgpu.fetch %arg0{{.*}} to %[[Q]], %[[PROGRAM]]
// CHECK: scf.for
// CHECK: tgpu.fetch %arg1{{.*}} to %[[K]],
// CHECK-NOT: tgpu.fetch
// CHECK: } consumer {
// CHECK-NEXT: ^bb0(%[[PROGRAM:.*]]: index, %{{.*}}: index):
// CHECK: tgpu.await %[[Q]], %[[PROGRAM]]
// CHECK: scf.for {{.*}} iter_args({{.*}}, %[[STEP:.*]] = %{{.*}})
// CHECK: tgpu.await %[[K]], %[[STEP]]
// CHECK: tgpu.dot_start slot %[[Q]], %[[PROGRAM]] by slot %[[K]], %[[STEP]] transpose_b
// CHECK-NOT: tgpu.await
// CHECK: tgpu.dot_start %{{.*}} by slot %[[K]], %[[STEP]] column %[[FIRST]] acc %{{.*}} -> !tgpu.running<tensor<64x256xf32>>
// CHECK: tgpu.dot_wait
// CHECK: tgpu.release %[[K]], %[[STEP]]
// What belongs to rows alone is stored by the first.
// CHECK: tile.store %{{.*}}, %arg2[%c0{{.*}}, %[[COLUMN]]] : tensor<64x256xf32>
// CHECK: scf.if %[[IS_FIRST]] {
// CHECK-NEXT: tile.store %{{.*}}, %arg3[%c0{{.*}}] : tensor<64xf32>
tile.kernel @in_keys(%q: !keys {tile.access = #tile.access<in>, tile.alignment = 16 : i64}, %k: !keys {tile.access = #tile.access<in>, tile.alignment = 16 : i64}, %o: !out {tile.access = #tile.access<out>}, %l: !sums {tile.access = #tile.access<out>})
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %zero = arith.constant dense<0.0> : tensor<64x512xf32>
  %none = arith.constant dense<0.0> : tensor<64xf32>
  %least = arith.constant dense<0xFF800000> : tensor<64xf32>
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %n = memref.dim %k, %c0 : !keys
  %values = memref.subview %k[0, 0] [%n, 512] [1, 1] : !keys to memref<?x512xbf16, strided<[?, 1]>>
  %queries = tile.load %q[%c0, %c0] : !keys -> tensor<64x576xbf16>
  %r:3 = scf.for %i = %c0 to %n step %c32 iter_args(%acc = %zero, %m = %least, %s = %none) -> (tensor<64x512xf32>, tensor<64xf32>, tensor<64xf32>) {
    %keys = tile.load %k[%i, %c0] : !keys -> tensor<32x576xbf16>
    %scores = tile.dot %queries, %keys transpose_b : tensor<64x576xbf16>, tensor<32x576xbf16> -> tensor<64x32xf32>
    %p, %alpha, %max, %sum = tile.online_softmax %scores, %m, %s : tensor<64x32xf32>, tensor<64xf32>
    %a = tile.expand_dims %alpha dim 1 : tensor<64xf32> -> tensor<64x1xf32>
    %b = tile.broadcast %a : tensor<64x1xf32> -> tensor<64x512xf32>
    %scaled = arith.mulf %acc, %b : tensor<64x512xf32>
    %v = tile.load %values[%i, %c0] : memref<?x512xbf16, strided<[?, 1]>> -> tensor<32x512xbf16>
    %rounded = arith.truncf %p : tensor<64x32xf32> to tensor<64x32xbf16>
    %next = tile.dot %rounded, %v acc %scaled : tensor<64x32xbf16>, tensor<32x512xbf16> -> tensor<64x512xf32>
    scf.yield %next, %max, %sum : tensor<64x512xf32>, tensor<64xf32>, tensor<64xf32>
  }
  %output, %lse = tile.online_finalize %r#0, %r#1, %r#2 : tensor<64x512xf32>, tensor<64xf32>
  tile.store %output, %o[%c0, %c0] : tensor<64x512xf32>, !out
  tile.store %lse, %l[%c0] : tensor<64xf32>, !sums
  tile.return
}
// -----
!rows = memref<?x64xf16, strided<[?, 1]>>
!wide = memref<?x384xf16, strided<[?, 1]>>
!out = memref<?x384xf32, strided<[?, 1]>>

// Values of their own are fetched for all consumers.
// CHECK-LABEL: tile.kernel @apart(
// CHECK: %[[V:.*]] = tgpu.channel : <{{[0-9]}} x 32x384xf16,
// CHECK: %[[FIRST:.*]] = arith.muli %{{.*}}, %c192
// CHECK: tgpu.dot_start {{.*}} by slot %[[V]], %{{.*}} column %[[FIRST]] {{.*}} -> !tgpu.running<tensor<64x192xf32>>
tile.kernel @apart(%q: !rows {tile.access = #tile.access<in>, tile.alignment = 16 : i64}, %k: !rows {tile.access = #tile.access<in>, tile.alignment = 16 : i64}, %v: !wide {tile.access = #tile.access<in>, tile.alignment = 16 : i64}, %o: !out {tile.access = #tile.access<out>})
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %zero = arith.constant dense<0.0> : tensor<64x384xf32>
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %n = memref.dim %k, %c0 : !rows
  %queries = tile.load %q[%c0, %c0] : !rows -> tensor<64x64xf16>
  %r = scf.for %i = %c0 to %n step %c32 iter_args(%acc = %zero) -> (tensor<64x384xf32>) {
    %keys = tile.load %k[%i, %c0] : !rows -> tensor<32x64xf16>
    %scores = tile.dot %queries, %keys transpose_b : tensor<64x64xf16>, tensor<32x64xf16> -> tensor<64x32xf32>
    %p = arith.truncf %scores : tensor<64x32xf32> to tensor<64x32xf16>
    %values = tile.load %v[%i, %c0] : !wide -> tensor<32x384xf16>
    %next = tile.dot %p, %values acc %acc : tensor<64x32xf16>, tensor<32x384xf16> -> tensor<64x384xf32>
    scf.yield %next : tensor<64x384xf32>
  }
  tile.store %r, %o[%c0, %c0] : tensor<64x384xf32>, !out
  tile.return
}
// -----
!rows = memref<?x64xf16, strided<[?, 1]>>
!wide = memref<?x320xf16, strided<[?, 1]>>
!out = memref<?x320xf32, strided<[?, 1]>>

// Columns lie in blocks of 128 bytes, of which each consumer has as many.
// REMARK: remark: is not warp-specialized: tiles have 320 columns, where a multiple of 128 was expected
tile.kernel @uneven(%q: !rows {tile.access = #tile.access<in>, tile.alignment = 16 : i64}, %k: !rows {tile.access = #tile.access<in>, tile.alignment = 16 : i64}, %v: !wide {tile.access = #tile.access<in>, tile.alignment = 16 : i64}, %o: !out {tile.access = #tile.access<out>})
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %zero = arith.constant dense<0.0> : tensor<64x320xf32>
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %n = memref.dim %k, %c0 : !rows
  %queries = tile.load %q[%c0, %c0] : !rows -> tensor<64x64xf16>
  %r = scf.for %i = %c0 to %n step %c32 iter_args(%acc = %zero) -> (tensor<64x320xf32>) {
    %keys = tile.load %k[%i, %c0] : !rows -> tensor<32x64xf16>
    %scores = tile.dot %queries, %keys transpose_b : tensor<64x64xf16>, tensor<32x64xf16> -> tensor<64x32xf32>
    %p = arith.truncf %scores : tensor<64x32xf32> to tensor<64x32xf16>
    %values = tile.load %v[%i, %c0] : !wide -> tensor<32x320xf16>
    %next = tile.dot %p, %values acc %acc : tensor<64x32xf16>, tensor<32x320xf16> -> tensor<64x320xf32>
    scf.yield %next : tensor<64x320xf32>
  }
  tile.store %r, %o[%c0, %c0] : tensor<64x320xf32>, !out
  tile.return
}
