// A head's slope is read before the loop whose dots overlap, which has it behind waits for slots otherwise.
// RUN: fa-run --attention "d=128 type=bf16 softcap=30 alibi" --arch=sm_90a --emit=tgpu | FileCheck %s
// CHECK: tile.kernel @attention_roles(
// CHECK: } consumer {
// The first tile's, of either loop.
// CHECK: memref.load %arg3
// CHECK: memref.load %arg3
// CHECK: arith.addi
// CHECK: memref.load %arg3
// CHECK-NEXT: scf.for
// CHECK-NOT: memref.load
// CHECK: tgpu.dot_wait {{.*}} pending 1
// CHECK-NOT: memref.load
// CHECK: scf.yield

// A loop without overlap may run no iteration: what it reads stays in it.
// RUN: fa-run --attention "d=128 type=f32 alibi" --arch=sm_90a --emit=tgpu | FileCheck %s --check-prefix=INSIDE
// INSIDE: tile.kernel @attention(
// INSIDE: scf.for
// INSIDE: tile.dot
// INSIDE: memref.load %arg3

// What the kernel also writes is read where it is read.
// RUN: fa-opt %s --pass-pipeline='builtin.module(tile.kernel(tgpu-hoist-scalars))' | FileCheck %s --check-prefix=ACCESS
!own = !tgpu.channel<1 x 64x64xf16, #tgpu.layout<swizzled 64x64 bytes 2>>
!scores = tensor<64x64xf32, #tgpu.layout<accumulator 64x64 warps 4>>

// ACCESS-LABEL: tile.kernel @access(
// ACCESS-SAME: %[[READ:[a-z0-9]+]]: memref<?xf32> {tile.access = #tile.access<in>}
// ACCESS-SAME: %[[BOTH:[a-z0-9]+]]: memref<?xf32> {tile.access = #tile.access<inout>}
// ACCESS: } consumer {
// ACCESS: memref.load %[[READ]][%c0]
// ACCESS-NEXT: scf.for %[[I:[a-z0-9]+]] =
// ACCESS-DAG: memref.load %[[BOTH]][%c0]
// ACCESS-DAG: memref.load %[[READ]][%[[I]]]
// ACCESS: scf.yield
// ACCESS: scf.for
// ACCESS-NEXT: memref.load %[[READ]][%c0]
tile.kernel @access(%read: memref<?xf32> {tile.access = #tile.access<in>}, %both: memref<?xf32> {tile.access = #tile.access<inout>}, %end: index)
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %q = tgpu.channel own : !own
  tgpu.warp_specialize consumers 1 producer {
  ^bb0(%n: index, %steps: index):
    tgpu.passed %steps
  } consumer {
  ^bb0(%n: index, %steps: index):
    tgpu.await %q, %n : !own
    %sum = arith.constant dense<0.0> : !scores
    // Overlapped: a dot goes on beside what is awaited.
    %last = scf.for %i = %c0 to %end step %c64 iter_args(%o = %sum) -> (!scores) {
      %x = memref.load %read[%c0] : memref<?xf32>
      %y = memref.load %both[%c0] : memref<?xf32>
      %z = memref.load %read[%i] : memref<?xf32>
      %xy = arith.addf %x, %y : f32
      %xyz = arith.addf %xy, %z : f32
      %running = tgpu.dot_start slot %q, %n by slot %q, %n transpose_b : (!own, index, !own, index) -> !tgpu.running<!scores>
      %s = tgpu.dot_wait %running pending 1 : (!tgpu.running<!scores>) -> !scores
      %spread = tile.broadcast %xyz : f32 -> !scores
      %next = arith.addf %s, %spread : !scores
      scf.yield %next : !scores
    }
    // Not overlapped: it may run no iteration.
    %after = scf.for %i = %c0 to %end step %c64 iter_args(%o = %last) -> (!scores) {
      %x = memref.load %read[%c0] : memref<?xf32>
      %running = tgpu.dot_start slot %q, %n by slot %q, %n transpose_b : (!own, index, !own, index) -> !tgpu.running<!scores>
      %s = tgpu.dot_wait %running pending 0 : (!tgpu.running<!scores>) -> !scores
      %spread = tile.broadcast %x : f32 -> !scores
      %next = arith.addf %s, %spread : !scores
      scf.yield %next : !scores
    }
    tgpu.release %q, %n : !own
    tgpu.passed %steps
  }
  tile.return
}
