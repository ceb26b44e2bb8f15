// Rows that go on through two dimensions of an argument: one box, where a rule says that nothing lies between them.
// RUN: fa-opt %s --pass-pipeline='builtin.module(tgpu-plan-kernels{machine=sm_90a constraints="stages=2 schedule=roles"},tgpu-open-channels)' | FileCheck %s
// RUN: sed -e 's/packed 0\[1\], 0\[2\]/packed 0[0], 0[1]/' %s | fa-opt --pass-pipeline='builtin.module(tgpu-plan-kernels{machine=sm_90a constraints="stages=2 schedule=roles"},tgpu-open-channels)' 2>&1 | FileCheck %s --check-prefix=GAPS
// GAPS: remark: is not warp-specialized: uses a view that is not a part of an argument

!heads = memref<?x?x?x64xf16, strided<[?, ?, ?, 1]>>
!keys = memref<?x64xf16, strided<[?, 1]>>
!out = memref<?x64xf32, strided<[?, 1]>>

// The view begins at a row of its own, from which the tile and the end count.
// CHECK-LABEL: tile.kernel @joined(
// CHECK-DAG: %[[TILE:.*]] = tile.program_id 0
// CHECK-DAG: %[[BATCH:.*]] = tile.program_id 1
// CHECK: tgpu.warp_specialize
// CHECK: %[[OF_CONSUMER:.*]] = arith.addi %[[TILE]],
// CHECK: %[[ROW:.*]] = arith.addi %arg3, %[[OF_CONSUMER]]
// CHECK: %[[END:.*]] = arith.addi %arg3, %arg4
// CHECK: tgpu.fetch %arg0[%[[BATCH]], %c0{{.*}}, %[[ROW]], %c0{{.*}}] dims [2, 3] joined end %[[END]] to
// CHECK: tgpu.fetch %arg1[%{{.*}}, %{{.*}}] dims [0, 1] to
tile.kernel @joined(%x: !heads {tile.access = #tile.access<in>, tile.alignment = 16 : i64}, %y: !keys {tile.access = #tile.access<in>, tile.alignment = 16 : i64},
                    %o: !out {tile.access = #tile.access<out>}, %first: index, %count: index, %n: index)
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, rules = [#tile.size_rule<packed 0[1], 0[2]>]} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %tile = tile.program_id 0
  %batch = tile.program_id 1
  %rows = memref.collapse_shape %x [[0], [1, 2], [3]] : !heads into memref<?x?x64xf16, strided<[?, ?, 1]>>
  %view = memref.subview %rows[%batch, %first, 0] [1, %count, 64] [1, 1, 1] : memref<?x?x64xf16, strided<[?, ?, 1]>> to memref<?x64xf16, strided<[?, 1], offset: ?>>
  %q = tile.load %view[%tile, %c0] : memref<?x64xf16, strided<[?, 1], offset: ?>> -> tensor<64x64xf16>
  %z = arith.constant dense<0.0> : tensor<64x64xf32>
  %r = scf.for %i = %c0 to %n step %c64 iter_args(%acc = %z) -> tensor<64x64xf32> {
    %k = tile.load %y[%i, %c0] : !keys -> tensor<64x64xf16>
    %s = tile.dot %q, %k transpose_b acc %acc : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    scf.yield %s : tensor<64x64xf32>
  }
  tile.store %r, %o[%c0, %c0] : tensor<64x64xf32>, !out
  tile.return
}
