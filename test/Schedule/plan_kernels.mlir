// Each kernel gets the plan that the machine and what it fetches call for; one that has a plan keeps it.
// RUN: fa-opt %s --tgpu-plan-kernels=machine=sm_90a 2>&1 | FileCheck %s --check-prefixes=CHECK,HOPPER
// RUN: fa-opt %s --tgpu-plan-kernels=machine=sm_80 | FileCheck %s --check-prefixes=CHECK,AMPERE
// RUN: fa-opt %s --tgpu-plan-kernels=machine=gfx942 | FileCheck %s --check-prefixes=CHECK,AMPERE
// What is asked for is in it.
// RUN: fa-opt %s --tgpu-plan-kernels='machine=sm_90a constraints="stages=3 schedule=roles"' 2>&1 | FileCheck %s --check-prefix=ASKED
// RUN: fa-opt %s --tgpu-plan-kernels='machine=sm_90a constraints="warps=2 schedule=plain"' | FileCheck %s --check-prefix=PLAIN
// RUN: fa-opt %s --tgpu-plan-kernels='machine=sm_90a constraints="rank=1"' | FileCheck %s --check-prefix=RANKED
// RUN: fa-opt %s --tgpu-plan-kernels='machine=sm_80 constraints="rank=1"' | FileCheck %s --check-prefix=SLOTS
// RUN: not fa-opt %s --tgpu-plan-kernels=machine=sm_70 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not fa-opt %s --tgpu-plan-kernels=machine=cpu-512x32 2>&1 | FileCheck %s --check-prefix=HOST
// RUN: not fa-opt %s --tgpu-plan-kernels='constraints="rows=4"' 2>&1 | FileCheck %s --check-prefix=WORD

// UNKNOWN: error: unknown architecture 'sm_70', expected sm_80, sm_86, sm_89, sm_90, sm_90a
// HOST: error: expected a GPU's architecture, found cpu-512x32
// WORD: error: plan constraints: expected tile=MxN, stages=N, warps=N, consumers=N, splits=N, rank=N or schedule=NAME, found 'rows=4'

!rows = memref<?x64xf16, strided<[?, 1]>>
!out = memref<?x64xf32, strided<[?, 1]>>

// HOPPER: remark: is not warp-specialized: tiles have 16 rows, where a multiple of 64 was expected
// CHECK-LABEL: tile.kernel @two(
// HOPPER-SAME: tgpu.plan = #tgpu.plan<tile 128x64, partitions [load w4 r40, compute*2 w4 r232 rows 64], slots {program 2, step 3}, loop [0:0, 1:1], ping_pong, late_rescale, persistent>
// AMPERE-SAME: tgpu.plan = #tgpu.plan<tile 128x64, partitions [all w4]>
// ASKED-LABEL: tile.kernel @two(
// ASKED-SAME: slots {program 2, step 3}, loop [0:0, 1:1], ping_pong, late_rescale>
// The second of the plans that are worth a measurement, and where there is none the first.
// RANKED-LABEL: tile.kernel @two(
// RANKED-SAME: slots {program 2, step 4}, loop [0:0, 1:1], ping_pong, late_rescale, persistent>
// RANKED-LABEL: tile.kernel @few(
// SLOTS-LABEL: tile.kernel @two(
// SLOTS-SAME: tgpu.plan = #tgpu.plan<tile 128x64, partitions [all w4], slots {step 3}>
// PLAIN-LABEL: tile.kernel @two(
// PLAIN-SAME: tgpu.plan = #tgpu.plan<tile 128x64, partitions [all w2]>
tile.kernel @two(%x: !rows {tile.access = #tile.access<in>, tile.alignment = 16 : i64}, %o: !out {tile.access = #tile.access<out>}, %n: index)
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, tile.shape = array<i64: 128, 64>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %q = tile.load %x[%c0, %c0] : !rows -> tensor<128x64xf16>
  %z = arith.constant dense<0.0> : tensor<128x64xf32>
  %r = scf.for %i = %c0 to %n step %c64 iter_args(%acc = %z) -> tensor<128x64xf32> {
    %k = tile.load %x[%i, %c0] : !rows -> tensor<64x64xf16>
    %s = tile.dot %q, %k transpose_b : tensor<128x64xf16>, tensor<64x64xf16> -> tensor<128x64xf32>
    %p = arith.truncf %s : tensor<128x64xf32> to tensor<128x64xf16>
    %v = tile.load %x[%i, %c0] : !rows -> tensor<64x64xf16>
    %a = tile.dot %p, %v acc %acc : tensor<128x64xf16>, tensor<64x64xf16> -> tensor<128x64xf32>
    scf.yield %a : tensor<128x64xf32>
  }
  tile.store %r, %o[%c0, %c0] : tensor<128x64xf32>, !out
  tile.return
}

// One warp: there are rows for no more.
// CHECK-LABEL: tile.kernel @few(
// CHECK-SAME: tgpu.plan = #tgpu.plan<tile 0x0, partitions [all w1]>
tile.kernel @few(%x: !rows {tile.access = #tile.access<in>, tile.alignment = 16 : i64}, %o: !out {tile.access = #tile.access<out>})
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %q = tile.load %x[%c0, %c0] : !rows -> tensor<16x64xf16>
  %k = tile.load %x[%c0, %c0] : !rows -> tensor<64x64xf16>
  %s = tile.dot %q, %k transpose_b : tensor<16x64xf16>, tensor<64x64xf16> -> tensor<16x64xf32>
  tile.store %s, %o[%c0, %c0] : tensor<16x64xf32>, !out
  tile.return
}

// CHECK-LABEL: tile.kernel @given(
// CHECK-SAME: tgpu.plan = #tgpu.plan<tile 1x1, partitions [all w8]>
tile.kernel @given() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, tgpu.plan = #tgpu.plan<tile 1x1, partitions [all w8]>} {
  tile.return
}
