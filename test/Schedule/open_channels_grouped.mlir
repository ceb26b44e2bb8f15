// The queries of several heads as rows of one tile: a box of whole queries, in any layout.
// RUN: fa-opt %s --pass-pipeline='builtin.module(tgpu-plan-kernels{machine=sm_90a constraints="stages=2 schedule=roles"},tgpu-open-channels)' | FileCheck %s
// RUN: sed -e 's/ block 64//' %s | fa-opt --pass-pipeline='builtin.module(tgpu-plan-kernels{machine=sm_90a constraints="stages=2 schedule=roles"},tgpu-open-channels)' 2>&1 | FileCheck %s --check-prefix=BLOCKS
// BLOCKS: remark: is not warp-specialized: uses rows that are not a block of those of several heads
// RUN: sed -e 's/%kv, 0, 0] \[1, %g, %n/%kv, 0, 0] [1, %g, %count/' %s | fa-opt --pass-pipeline='builtin.module(tgpu-plan-kernels{machine=sm_90a constraints="stages=2 schedule=roles"},tgpu-open-channels)' 2>&1 | FileCheck %s --check-prefix=PART
// PART: remark: is not warp-specialized: uses a view that ends before its argument does
// RUN: sed -e 's/multiple 0\[1\]/multiple 0[0]/' %s | fa-opt --pass-pipeline='builtin.module(tgpu-plan-kernels{machine=sm_90a constraints="stages=2 schedule=roles"},tgpu-open-channels)' 2>&1 | FileCheck %s --check-prefix=RULE
// RULE: remark: is not warp-specialized: uses heads of which no rule says how many are a group

!memory = memref<?x?x?x64xf16, strided<[?, ?, ?, 1]>>
!heads = memref<?x?x64xf16, strided<[?, ?, 1], offset: ?>>
!rows = memref<?x64xf16, affine_map<(d0, d1)[s0] -> (d0 mod s0, d0 floordiv s0, d1)>>
!keys = memref<?x64xf16, strided<[?, 1]>>
!out = memref<?x64xf32, strided<[?, 1]>>

// The first head of the box counts from the group's, the first query from 0.
// CHECK-LABEL: tile.kernel @grouped(
// CHECK: tgpu.warp_specialize
// CHECK: %[[HEAD:.*]] = arith.addi %arg3, %{{.*}} : index
// CHECK-NEXT: tgpu.fetch %arg0[%{{.*}}, %[[HEAD]], %{{.*}}, %c0{{.*}}] dims [2, 3] heads 1 of %arg4 to
// CHECK: tgpu.fetch %arg1[%{{.*}}, %{{.*}}] dims [0, 1] to
tile.kernel @grouped(%x: !memory {tile.access = #tile.access<in>, tile.alignment = 16 : i64}, %y: !keys {tile.access = #tile.access<in>, tile.alignment = 16 : i64},
                     %o: !out {tile.access = #tile.access<out>}, %kv: index, %g: index, %keys: index, %count: index)
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, rules = [#tile.size_rule<multiple 0[1], 1[0]>]} {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %tile = tile.program_id 0
  %batch = tile.program_id 1
  %row = arith.muli %tile, %c64 : index
  %n = memref.dim %x, %c2 : !memory
  %part = memref.subview %x[%batch, %kv, 0, 0] [1, %g, %n, 64] [1, 1, 1, 1] : !memory to !heads
  %view = tile.grouped_view %part block 64 : !heads -> !rows
  %q = tile.load %view[%row, %c0] : !rows -> tensor<64x64xf16>
  %z = arith.constant dense<0.0> : tensor<64x64xf32>
  %r = scf.for %i = %c0 to %keys step %c64 iter_args(%acc = %z) -> tensor<64x64xf32> {
    %k = tile.load %y[%i, %c0] : !keys -> tensor<64x64xf16>
    %s = tile.dot %q, %k transpose_b acc %acc : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    scf.yield %s : tensor<64x64xf32>
  }
  tile.store %r, %o[%c0, %c0] : tensor<64x64xf32>, !out
  tile.return
}
