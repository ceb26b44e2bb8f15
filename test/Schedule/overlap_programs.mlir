// The next program's first tile is begun beside the last output of this one.
// RUN: fa-opt %s --pass-pipeline='builtin.module(tile.kernel(tgpu-overlap-dots,tgpu-overlap-programs))' | FileCheck %s
// RUN: sed 's/consumers 2/consumers 3/; s/<4 x/<6 x/; s/late_rescale/ping_pong/' %s | fa-opt --pass-pipeline='builtin.module(tile.kernel(tgpu-overlap-dots,tgpu-overlap-programs))' | FileCheck %s --check-prefix=TURNS
// Programs without a tile, one slot for a consumer, a block for each program: they stay apart.
// RUN: sed 's/tile.some_keys, //' %s | fa-opt --pass-pipeline='builtin.module(tile.kernel(tgpu-overlap-dots,tgpu-overlap-programs))' | FileCheck %s --check-prefix=APART
// RUN: sed 's/<4 x/<2 x/' %s | fa-opt --pass-pipeline='builtin.module(tile.kernel(tgpu-overlap-dots,tgpu-overlap-programs))' | FileCheck %s --check-prefix=APART
// RUN: sed 's/tgpu.persistent, //' %s | fa-opt --pass-pipeline='builtin.module(tile.kernel(tgpu-overlap-dots,tgpu-overlap-programs))' | FileCheck %s --check-prefix=APART

// Plain scores of D 64 and 128, where there is room; not windows, score regions, other head dims, a causal mask with lengths at D 64.
// RUN: fa-run --attention "d=128 type=bf16 causal lse" --arch=sm_90a --emit=tgpu | FileCheck %s --check-prefix=KERNEL
// RUN: fa-run --attention "d=128 type=f16 causal lengths" --arch=sm_90a --emit=tgpu | FileCheck %s --check-prefix=KERNEL
// RUN: fa-run --attention "d=64 type=f16" --arch=sm_90a --emit=tgpu | FileCheck %s --check-prefix=KERNEL
// RUN: fa-run --attention "d=64 type=bf16 causal sink" --arch=sm_90a --emit=tgpu | FileCheck %s --check-prefix=KERNEL
// RUN: fa-run --attention "d=128 type=bf16 causal lse" --arch=sm_90a --schedule=roles --emit=tgpu | FileCheck %s --check-prefix=NONE
// RUN: fa-run --attention "d=64 type=bf16 window=100,0" --arch=sm_90a --emit=tgpu | FileCheck %s --check-prefix=NONE
// RUN: fa-run --attention "d=128 type=bf16 softcap=30" --arch=sm_90a --emit=tgpu | FileCheck %s --check-prefix=NONE
// RUN: fa-run --attention "d=80 type=bf16 causal" --arch=sm_90a --emit=tgpu | FileCheck %s --check-prefix=NONE
// RUN: fa-run --attention "d=256 type=bf16" --arch=sm_90a --emit=tgpu | FileCheck %s --check-prefix=NONE
// RUN: fa-run --attention "d=64 type=bf16 causal lengths" --arch=sm_90a --emit=tgpu | FileCheck %s --check-prefix=NONE

// The kernel for few programs has none that follows.
// KERNEL: tile.kernel @attention_roles_few(
// KERNEL-NOT: tgpu.turns
// KERNEL: tile.kernel @attention_roles(
// KERNEL: tgpu.turns
// NONE: } consumer {
// NONE-NOT: tgpu.turns

!own = !tgpu.channel<4 x 64x64xf16, #tgpu.layout<swizzled 64x64 bytes 2>>
!tiles = !tgpu.channel<2 x 64x64xf16, #tgpu.layout<swizzled 64x64 bytes 2>>
!scores = tensor<64x64xf32, #tgpu.layout<accumulator 64x64 warps 4>>
!rounded = tensor<64x64xf16, #tgpu.layout<accumulator 64x64 warps 4>>

// APART-LABEL: tile.kernel @programs
// APART: } consumer {
// APART-NOT: tgpu.turns
// APART: tgpu.passed

// Scalars of a program follow from its turn, sizes that nothing is divided by are not known to be those of the turn before.
// CHECK-LABEL: tile.kernel @programs
// CHECK: %[[DIM:.*]] = memref.dim
// CHECK: } consumer {
// CHECK: %[[COUNT:.*]] = tgpu.turns
// CHECK: tgpu.await %[[Q:[0-9]+]],
// CHECK: tgpu.await %[[K:[0-9]+]], %[[C0:c0[_0-9]*]] :
// CHECK: tgpu.dot_start slot
// CHECK: pending 0
// CHECK: tgpu.release %[[K]], %[[C0]]
// CHECK: %[[P:.*]] = arith.truncf
// CHECK: %[[ALL:.*]]:2 = scf.for %[[TURN:.*]] = %[[C0]] to %[[COUNT]] {{.*}} iter_args(%[[STEPS:.*]] = %[[C0]], %[[FIRST:.*]] = %[[P]])
// CHECK: %[[X:.*]], %{{.*}}, %{{.*}} = tgpu.program_in %[[TURN]]
// CHECK: %[[END:.*]] = tgpu.anew %[[DIM]]
// CHECK: scf.for {{.*}} to %[[END]] {{.*}} = %[[FIRST]])
// CHECK: tgpu.release %[[Q]],
// CHECK: %[[NEXT:.*]] = arith.addi %[[TURN]]
// CHECK: %[[HAS:.*]] = arith.cmpi slt, %[[NEXT]], %[[COUNT]]
// CHECK: scf.if %[[HAS]]
// CHECK: tgpu.await %[[Q]],
// CHECK-NOT: tgpu.order_wait
// CHECK: tgpu.await %[[K]], %[[N:.*]] :
// CHECK: %[[S:.*]] = tgpu.dot_start slot
// CHECK: tgpu.await %[[V:[0-9]+]], %[[LAST:.*]] :
// CHECK: %[[O:.*]] = tgpu.dot_start %{{.*}} by slot %[[V]], %[[LAST]]
// CHECK: %[[SCORES:.*]] = tgpu.dot_wait %[[S]] pending 1
// CHECK: tgpu.release %[[K]], %[[N]] after %[[SCORES]]
// CHECK: %{{.*}}, %[[THROUGH:.*]] = tgpu.dot_wait %[[O]] through %[[SCORES]] pending 0
// CHECK: tgpu.release %[[V]], %[[LAST]]
// CHECK: arith.truncf %[[THROUGH]]
// CHECK: } else {
// CHECK: tgpu.dot_start %{{.*}} by slot %[[V]]
// CHECK-NEXT: pending 0
// CHECK-NOT: tgpu.dot_start
// CHECK: }
// CHECK: tile.store {{.*}}[%[[X]], %c0]
// CHECK: tgpu.passed %[[ALL]]#0
// TURNS: } consumer {
// TURNS: scf.if
// TURNS: tgpu.order_wait
// TURNS-NEXT: tgpu.await
// TURNS-NEXT: tgpu.dot_start slot
// TURNS: tgpu.dot_start %
// TURNS-NEXT: tgpu.order_arrive
// TURNS-NEXT: pending 1
tile.kernel @programs(%keys: memref<?x64xf16> {tile.access = #tile.access<in>}, %out: memref<?x64xf32> {tile.access = #tile.access<out>}) attributes {tgpu.plan = #tgpu.plan<tile 128x64, partitions [load w4 r40, compute*2 w4 r232 rows 64], slots {program 4, step 2}, loop [0:0, 1:1], late_rescale, persistent>, tgpu.persistent, tile.some_keys, grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : !scores
  %id = tgpu.consumer_id
  %program = tile.program_id 0
  %end = memref.dim %keys, %c0 : memref<?x64xf16>
  %q = tgpu.channel own : !own
  %k = tgpu.channel : !tiles
  %v = tgpu.channel : !tiles
  tgpu.warp_specialize consumers 2 producer {
  ^bb0(%n: index, %steps: index):
    tgpu.passed %steps
  } consumer {
  ^bb0(%n: index, %steps: index):
    %own = arith.addi %n, %id : index
    tgpu.await %q, %own : !own
    %a:2 = scf.for %i = %c0 to %end step %c64 iter_args(%o = %zero, %t = %steps) -> (!scores, index) {
      tgpu.await %k, %t : !tiles
      %begun = tgpu.dot_start slot %q, %own by slot %k, %t transpose_b : (!own, index, !tiles, index) -> !tgpu.running<!scores>
      %s = tgpu.dot_wait %begun pending 0 : (!tgpu.running<!scores>) -> !scores
      tgpu.release %k, %t : !tiles
      %p = arith.truncf %s : !scores to !rounded
      tgpu.await %v, %t : !tiles
      %running = tgpu.dot_start %p by slot %v, %t acc %o : (!rounded, !tiles, index, !scores) -> !tgpu.running<!scores>
      %sum = tgpu.dot_wait %running pending 0 : (!tgpu.running<!scores>) -> !scores
      tgpu.release %v, %t : !tiles
      %next = arith.addi %t, %c1 : index
      scf.yield %sum, %next : !scores, index
    }
    tgpu.release %q, %own : !own
    tile.store %a#0, %out[%program, %c0] : !scores, memref<?x64xf32>
    tgpu.passed %a#1
  }
  tile.return
}
