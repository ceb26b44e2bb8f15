// Tiles of 8 bits are fetched as they are and widened by a partition between who fetches and who computes.
// RUN: fa-opt %s --split-input-file --pass-pipeline='builtin.module(tgpu-plan-kernels{machine=sm_90a},tgpu-open-channels)' | FileCheck %s

#in = #tile.access<in>
!q = memref<?x64xf16, strided<[?, 1]>>
!kv = memref<?x64xf8E4M3FN, strided<[?, 1]>>
!out = memref<?x64xf32, strided<[?, 1]>>

// K and V beside queries of 16 bits. Slots of 8 bits have whole lines of 128 columns.
// CHECK-LABEL: tile.kernel @keys(
// CHECK-SAME: partitions [load w4 r32, convert w4 r32, compute*2 w4 r224 rows 64], slots {program 2, step 3, narrow 2}
// CHECK: %[[Q:.*]] = tgpu.channel own : <2 x 64x64xf16,
// CHECK: %[[K:.*]] = tgpu.channel widened : <3 x 64x64xf16,
// CHECK: %[[K8:.*]] = tgpu.channel narrow : <2 x 64x128xf8E4M3FN,
// CHECK: %[[V:.*]] = tgpu.channel widened : <3 x 64x64xf16,
// CHECK: %[[V8:.*]] = tgpu.channel narrow : <2 x 64x128xf8E4M3FN,
// CHECK: tgpu.warp_specialize consumers 2 producer {
// CHECK: scf.for {{.*}} iter_args(%[[FETCHED:.*]] = %{{.*}})
// CHECK: tgpu.acquire %[[K8]], %[[FETCHED]]
// CHECK: tgpu.fetch %arg1[{{.*}} to %[[K8]], %[[FETCHED]]
// CHECK: tgpu.acquire %[[V8]], %[[FETCHED]]
// CHECK: tgpu.fetch %arg2[{{.*}} to %[[V8]], %[[FETCHED]]
// CHECK: } consumer {
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}, %[[STEP:.*]] = %{{.*}})
// CHECK: tgpu.await %[[K]], %[[STEP]]
// CHECK: tgpu.dot_start slot %[[Q]], %{{.*}} by slot %[[K]], %[[STEP]] transpose_b
// CHECK: tgpu.release %[[K]], %[[STEP]]
// CHECK: tgpu.await %[[V]], %[[STEP]]
// CHECK: tgpu.dot_start %{{.*}} by slot %[[V]], %[[STEP]] acc
// CHECK: tgpu.release %[[V]], %[[STEP]]
// CHECK: } convert {
// CHECK: ^bb0(%{{.*}}: index, %[[BEFORE:.*]]: index):
// CHECK: %[[AFTER:.*]] = scf.for {{.*}} iter_args(%[[WIDENED:.*]] = %[[BEFORE]])
// CHECK-NEXT: tgpu.await %[[K8]], %[[WIDENED]]
// CHECK-NEXT: tgpu.acquire %[[K]], %[[WIDENED]]
// CHECK-NEXT: tgpu.widen %[[K8]], %[[WIDENED]] to %[[K]], %[[WIDENED]]
// CHECK-NEXT: tgpu.release %[[K8]], %[[WIDENED]]
// CHECK-NEXT: tgpu.await %[[V8]], %[[WIDENED]]
// CHECK-NEXT: tgpu.acquire %[[V]], %[[WIDENED]]
// CHECK-NEXT: tgpu.widen %[[V8]], %[[WIDENED]] to %[[V]], %[[WIDENED]]
// CHECK-NEXT: tgpu.release %[[V8]], %[[WIDENED]]
// CHECK: tgpu.passed %[[AFTER]]
tile.kernel @keys(%q: !q {tile.access = #in, tile.alignment = 16 : i64}, %k: !kv {tile.access = #in, tile.alignment = 16 : i64}, %v: !kv {tile.access = #in, tile.alignment = 16 : i64}, %o: !out {tile.access = #tile.access<out>}, %n: index)
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %left = tile.load %q[%c0, %c0] : !q -> tensor<128x64xf16>
  %zero = arith.constant dense<0.0> : tensor<128x64xf32>
  %r = scf.for %i = %c0 to %n step %c64 iter_args(%acc = %zero) -> tensor<128x64xf32> {
    %k8 = tile.load %k[%i, %c0] : !kv -> tensor<64x64xf8E4M3FN>
    %kt = arith.extf %k8 : tensor<64x64xf8E4M3FN> to tensor<64x64xf16>
    %s = tile.dot %left, %kt transpose_b : tensor<128x64xf16>, tensor<64x64xf16> -> tensor<128x64xf32>
    %v8 = tile.load %v[%i, %c0] : !kv -> tensor<64x64xf8E4M3FN>
    %vt = arith.extf %v8 : tensor<64x64xf8E4M3FN> to tensor<64x64xf16>
    %p = arith.truncf %s : tensor<128x64xf32> to tensor<128x64xf16>
    %d = tile.dot %p, %vt acc %acc : tensor<128x64xf16>, tensor<64x64xf16> -> tensor<128x64xf32>
    scf.yield %d : tensor<128x64xf32>
  }
  tile.store %r, %o[%c0, %c0] : tensor<128x64xf32>, !out
  tile.return
}

// -----

// Queries of 8 bits, too, where bf16 is what comes of them: dots multiply 8 bits, of either format, and values are widened to f16, to which
// their left operand is rounded.
#in = #tile.access<in>
!q = memref<?x64xf8E5M2, strided<[?, 1]>>
!kv = memref<?x64xf8E4M3FN, strided<[?, 1]>>
!out = memref<?x64xf32, strided<[?, 1]>>

// CHECK-LABEL: tile.kernel @queries(
// CHECK: %[[Q:.*]] = tgpu.channel own : <2 x 64x128xf8E5M2,
// CHECK: %[[K:.*]] = tgpu.channel : <{{.}} x 64x128xf8E4M3FN,
// CHECK: %[[V:.*]] = tgpu.channel widened : <{{.}} x 64x64xf16,
// CHECK: %[[V8:.*]] = tgpu.channel narrow : <2 x 64x128xf8E4M3FN,
// CHECK: tgpu.dot_start slot %[[Q]], %{{.*}} by slot %[[K]], %{{.*}} transpose_b depth 64
// CHECK: %[[P:.*]] = arith.truncf %{{.*}} : tensor<64x64xf32> to tensor<64x64xf16>
// CHECK: tgpu.dot_start %[[P]] by slot %[[V]],
// CHECK: } convert {
// CHECK-COUNT-1: tgpu.widen %[[V8]], %{{.*}} to %[[V]],
// CHECK-NOT: tgpu.widen
tile.kernel @queries(%q: !q {tile.access = #in, tile.alignment = 16 : i64}, %k: !kv {tile.access = #in, tile.alignment = 16 : i64}, %v: !kv {tile.access = #in, tile.alignment = 16 : i64}, %o: !out {tile.access = #tile.access<out>}, %n: index)
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %q8 = tile.load %q[%c0, %c0] : !q -> tensor<128x64xf8E5M2>
  %left = arith.extf %q8 : tensor<128x64xf8E5M2> to tensor<128x64xbf16>
  %zero = arith.constant dense<0.0> : tensor<128x64xf32>
  %r = scf.for %i = %c0 to %n step %c64 iter_args(%acc = %zero) -> tensor<128x64xf32> {
    %k8 = tile.load %k[%i, %c0] : !kv -> tensor<64x64xf8E4M3FN>
    %kt = arith.extf %k8 : tensor<64x64xf8E4M3FN> to tensor<64x64xbf16>
    %s = tile.dot %left, %kt transpose_b : tensor<128x64xbf16>, tensor<64x64xbf16> -> tensor<128x64xf32>
    %v8 = tile.load %v[%i, %c0] : !kv -> tensor<64x64xf8E4M3FN>
    %vt = arith.extf %v8 : tensor<64x64xf8E4M3FN> to tensor<64x64xbf16>
    %p = arith.truncf %s : tensor<128x64xf32> to tensor<128x64xbf16>
    %d = tile.dot %p, %vt acc %acc : tensor<128x64xbf16>, tensor<64x64xbf16> -> tensor<128x64xf32>
    scf.yield %d : tensor<128x64xf32>
  }
  tile.store %r, %o[%c0, %c0] : tensor<128x64xf32>, !out
  tile.return
}

// -----

// What comes of f16 is more exact than sums of 8 bits are: both are widened, queries once for each program.
#in = #tile.access<in>
!q = memref<?x64xf8E4M3FN, strided<[?, 1]>>
!out = memref<?x64xf32, strided<[?, 1]>>

// CHECK-LABEL: tile.kernel @halves(
// CHECK: %[[Q:.*]] = tgpu.channel own widened : <2 x 64x64xf16,
// CHECK: %[[Q8:.*]] = tgpu.channel own narrow : <2 x 64x128xf8E4M3FN,
// CHECK: %[[K:.*]] = tgpu.channel widened : <{{.}} x 64x64xf16,
// CHECK: } convert {
// CHECK-COUNT-2: tgpu.widen %[[Q8]], %{{.*}} to %[[Q]],
// CHECK: scf.for
// CHECK: tgpu.widen %{{.*}} to %[[K]],
tile.kernel @halves(%q: !q {tile.access = #in, tile.alignment = 16 : i64}, %k: !q {tile.access = #in, tile.alignment = 16 : i64}, %o: !out {tile.access = #tile.access<out>}, %n: index)
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %q8 = tile.load %q[%c0, %c0] : !q -> tensor<128x64xf8E4M3FN>
  %left = arith.extf %q8 : tensor<128x64xf8E4M3FN> to tensor<128x64xf16>
  %zero = arith.constant dense<0.0> : tensor<128x64xf32>
  %r = scf.for %i = %c0 to %n step %c64 iter_args(%acc = %zero) -> tensor<128x64xf32> {
    %k8 = tile.load %k[%i, %c0] : !q -> tensor<64x64xf8E4M3FN>
    %kt = arith.extf %k8 : tensor<64x64xf8E4M3FN> to tensor<64x64xf16>
    %s = tile.dot %left, %kt transpose_b acc %acc : tensor<128x64xf16>, tensor<64x64xf16> -> tensor<128x64xf32>
    scf.yield %s : tensor<128x64xf32>
  }
  tile.store %r, %o[%c0, %c0] : tensor<128x64xf32>, !out
  tile.return
}

// -----

// Four warps widen eight rows at a time each.
// RUN: fa-opt %s --split-input-file --pass-pipeline='builtin.module(tgpu-plan-kernels{machine=sm_90a})' --verify-diagnostics -o /dev/null
#in = #tile.access<in>
!q = memref<?x64xf16, strided<[?, 1]>>
!kv = memref<?x64xf8E4M3FN, strided<[?, 1]>>
!out = memref<?x48xf32, strided<[?, 1]>>
// expected-remark @below {{is not warp-specialized: a tile of 8 bits has 48 rows, where a multiple of 32 is widened}}
tile.kernel @rows(%q: !q {tile.access = #in, tile.alignment = 16 : i64}, %k: !kv {tile.access = #in, tile.alignment = 16 : i64}, %o: !out {tile.access = #tile.access<out>}, %n: index)
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %c48 = arith.constant 48 : index
  %left = tile.load %q[%c0, %c0] : !q -> tensor<128x64xf16>
  %zero = arith.constant dense<0.0> : tensor<128x48xf32>
  %r = scf.for %i = %c0 to %n step %c48 iter_args(%acc = %zero) -> tensor<128x48xf32> {
    %k8 = tile.load %k[%i, %c0] : !kv -> tensor<48x64xf8E4M3FN>
    %kt = arith.extf %k8 : tensor<48x64xf8E4M3FN> to tensor<48x64xf16>
    %s = tile.dot %left, %kt transpose_b acc %acc : tensor<128x64xf16>, tensor<48x64xf16> -> tensor<128x48xf32>
    scf.yield %s : tensor<128x48xf32>
  }
  tile.store %r, %o[%c0, %c0] : tensor<128x48xf32>, !out
  tile.return
}
