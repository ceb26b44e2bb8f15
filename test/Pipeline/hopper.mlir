// The golden walk of one kernel for compute capability 9.0: what differs from
// nvidia.mlir. Two warpgroups compute 64 of 128 rows each, one thread of a third
// fetches.
// RUN: fa-opt %s --pass-pipeline='builtin.module(fa-nvidia{arch=sm_90a})' --fa-print-stages -o %t.s8 2> %t.stages
// RUN: FileCheck %s --check-prefix=S4 < %t.stages
// RUN: FileCheck %s --check-prefix=S6 < %t.stages
// RUN: FileCheck %s --check-prefix=S7 < %t.stages
// RUN: FileCheck %s --check-prefix=S8 < %t.s8

!rows = tensor<?x?x?x128xf16>
!scores = tensor<?x?x?x?xf32>

// One of the two alternatives is left.
// S4: // S4 //
// S4-NOT: tile.kernel @attention(
// S4: tile.kernel @attention_roles(
// S4-SAME: tgpu.consumers = 2
// S4-SAME: tgpu.persistent
// S4: %[[Q:.*]] = tgpu.channel own : <4 x 64x128xf16
// S4: %[[K:.*]] = tgpu.channel : <2 x 128x128xf16
// S4: %[[V:.*]] = tgpu.channel : <2 x 128x128xf16
// S4: %[[ID:.*]] = tgpu.consumer_id
// S4: tgpu.warp_specialize consumers 2 producer {
// S4-NEXT: ^bb0(%[[PROGRAMS:.*]]: index, %[[STEPS:.*]]: index):
// S4-NEXT: %[[FIRST:.*]] = arith.muli %[[PROGRAMS]], %c2
// S4-NEXT: tgpu.acquire %[[Q]], %[[FIRST]] :
// S4-NEXT: tgpu.fetch %arg0[{{.*}}] dims [2, 3] to %[[Q]], %[[FIRST]] :
// S4-NEXT: %[[SECOND:.*]] = arith.addi %[[FIRST]], %c1
// S4: tgpu.fetch %arg0[{{.*}}] dims [2, 3] to %[[Q]], %[[SECOND]] :
// S4: scf.for {{.*}} iter_args(%{{.*}} = %[[STEPS]])
// S4: tgpu.acquire %[[K]], %[[N:.*]] :
// S4: tgpu.fetch %arg1[{{.*}}] dims [2, 3] to %[[K]], %[[N]] :
// S4: tgpu.acquire %[[V]], %[[N]] :
// S4: tgpu.fetch %arg2[{{.*}}] dims [2, 3] to %[[V]], %[[N]] :
// S4: tgpu.passed %{{[0-9]+}}
// S4: } consumer {
// S4-NEXT: ^bb0(%[[PROGRAMS:.*]]: index, %{{.*}}: index):
// S4-NEXT: %[[FIRST:.*]] = arith.muli %[[PROGRAMS]], %c2
// S4-NEXT: %[[OWN:.*]] = arith.addi %[[FIRST]], %[[ID]]
// S4-NEXT: tgpu.await %[[Q]], %[[OWN]] :
// S4: scf.for
// S4: tgpu.await %[[K]], %[[N:.*]] :
// S4: tgpu.dot_start slot %[[Q]], %[[OWN]] by slot %[[K]], %[[N]] transpose_b
// S4: tgpu.dot_wait {{.*}} pending 0 {{.*}} -> tensor<64x128xf32, #tgpu.layout<accumulator 64x128 warps 4>>
// S4: tgpu.release %[[K]], %[[N]] :
// S4: tile.online_softmax {{.*}} {tgpu.held_maxima, tgpu.raw_maxima, tgpu.thread_sums}
// S4: tgpu.await %[[V]], %[[N]] :
// S4: tgpu.dot_start %{{.*}} by slot %[[V]], %[[N]] acc
// S4: tgpu.release %[[V]], %[[N]] :
// S4: tgpu.release %[[Q]], %[[OWN]] :
// S4: tile.online_finalize {{.*}} {tgpu.thread_sums}

// In the steady state two dots run, and the softmax under the second. What came
// before is rescaled once the first has begun; most warps find nothing to do. The first
// tile is that of the first loop that has one, with a mask or without; the pipeline goes on from one loop
// to the next, and Q's slot is free before the last dot. Keys are released behind the
// softmax, which may repeat their dot.
// S6: // S6 //
// S6: tile.kernel @attention_roles(
// S6: consumer {
// S6: %[[TURNS:.*]] = tgpu.turns
// S6: tgpu.await %[[Q:[0-9]+]],
// S6-NEXT: tgpu.await %[[K:[0-9]+]], %c0
// S6: tgpu.dot_wait {{.*}} pending 0
// S6: scf.for %[[TURN:.*]] = %c0 to %[[TURNS]] {{.*}} iter_args(%[[STEPS:arg[0-9]+]] = %c0,
// S6: tgpu.program_in %[[TURN]]
// S6: %[[ID:.*]] = arith.addi %{{[0-9]+}}, %{{[0-9]+}}
// S6: scf.for {{.*}} %[[N:arg[0-9]+]] = %{{[0-9]+}}, %[[ALPHA:arg[0-9]+]] = %{{arg[0-9]+}}, %[[P:arg[0-9]+]] = %{{arg[0-9]+}}) ->
// S6: %[[BEFORE:.*]] = arith.subi %[[N]], %c1
// S6-NEXT: tgpu.await %[[K]], %[[N]] :
// S6-NEXT: %[[S:.*]] = tgpu.dot_start slot %[[Q]], %[[ID]] by slot %[[K]], %[[N]] transpose_b
// S6: arith.mulf {{.*}} {tgpu.rescale}
// S6-NEXT: tgpu.await %[[V:[0-9]+]], %[[BEFORE]] :
// S6-NEXT: %[[O:.*]] = tgpu.dot_start %[[P]] by slot %[[V]], %[[BEFORE]] acc
// S6-NEXT: tgpu.dot_wait %[[S]] pending 1
// S6: tgpu.expected_softmax
// S6-NEXT: scf.if
// S6-NEXT: tgpu.dot_start
// S6-NEXT: tgpu.dot_wait
// S6-NEXT: tile.online_softmax {{.*}} {tgpu.held_maxima, tgpu.raw_maxima, tgpu.thread_sums}
// S6: } {tgpu.seldom}
// S6-NEXT: tgpu.release %[[K]], %[[N]] :
// S6: %{{.*}}, %[[THROUGH:.*]] = tgpu.dot_wait %[[O]] through %{{.*}} pending 0
// S6-NEXT: tgpu.release %[[V]], %[[BEFORE]] :
// S6: arith.truncf %[[THROUGH]]
// S6: scf.yield
// S6: scf.for
// S6: tgpu.dot_wait %{{[0-9]+}} pending 1
// S6: scf.yield
// S6: tgpu.release %[[Q]], %[[ID]] :
// The next program begins the same way, beside the last output.
// S6: scf.if
// S6: tgpu.await %[[Q]],
// S6-NEXT: tgpu.await %[[K]], %[[FIRST:.*]] :
// S6-NEXT: %[[S:.*]] = tgpu.dot_start slot %[[Q]], %{{.*}} by slot %[[K]], %[[FIRST]] transpose_b
// S6: tgpu.await %[[V]], %[[LAST:[0-9]+]] :
// S6-NEXT: %[[O:.*]] = tgpu.dot_start %{{.*}} by slot %[[V]], %[[LAST]] acc
// S6-NEXT: tgpu.dot_wait %[[S]] pending 1
// S6: tile.online_softmax {{.*}} {tgpu.held_maxima, tgpu.raw_maxima, tgpu.thread_sums}
// S6-NEXT: tgpu.release %[[K]], %[[FIRST]] after
// S6-NEXT: %{{.*}}, %[[THROUGH:.*]] = tgpu.dot_wait %[[O]] through %{{.*}} pending 0
// S6-NEXT: tgpu.release %[[V]], %[[LAST]] :
// S6-NEXT: arith.truncf %[[THROUGH]]
// S6: } else {
// S6: tgpu.dot_wait {{.*}} pending 0
// S6: tile.online_finalize

// The output leaves by a slot of each consumer, in front of the channels. Slots begin at multiples of 1024 bytes, barriers lie behind them.
// S7: // S7 //
// S7: tile.kernel @attention_roles(
// S7: %[[BUFFER:.*]] = tgpu.alloc at 0 : <2 x 64x128xf16
// S7: tgpu.channel own at 32768 barriers 229376 : <4 x 64x128xf16
// S7: tgpu.channel at 98304 barriers 229440 : <2 x 128x128xf16
// S7: tgpu.channel at 163840 barriers 229472 : <2 x 128x128xf16
// S7: tgpu.deliver %{{.*}} by %[[BUFFER]][%[[ID:.*]]] to %arg4[{{.*}}] dims [2, 3]

// S8: llvm.mlir.global external @fa_shared() {addr_space = 3 : i32, alignment = 1024
// S8: llvm.func @attention_roles(%{{.*}}: !llvm.ptr {llvm.byval = !llvm.array<{{[0-9]+}} x i64>, nvvm.grid_constant}, %{{.*}}: !llvm.ptr {llvm.align = 64 : i64, llvm.byval = !llvm.array<16 x i64>, nvvm.grid_constant}
// S8-SAME: nvvm.maxnreg = 168
// S8-SAME: nvvm.minctasm = 1
// S8-SAME: nvvm.reqntid = array<i32: 384>
// S8-DAG: nvvm.mbarrier.init
// S8-DAG: nvvm.fence.mbarrier.init
// S8-DAG: nvvm.setmaxregister decrease 40
// Descriptors: a swizzle of 128 bytes (1 << 62), eight rows in 1024 bytes (64 <<
// 32); along the depth a leading step that is not used, across it blocks of 64
// columns 128 rows of 128 bytes apart (1024 << 16).
// S8-DAG: llvm.mlir.constant(4611686293305360384 : i64)
// S8-DAG: llvm.mlir.constant(4611686293372403712 : i64)
// Columns come first in a box, the second block's begin at 64.
// S8-DAG: %[[FIRST:.*]] = llvm.mlir.constant(0 : i32)
// S8-DAG: %[[SECOND:.*]] = llvm.mlir.constant(64 : i32)
// S8-DAG: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.*}}, %arg1, %[[FULL:.*]], box[%[[FIRST]], %[[ROW:.*]], %[[HEAD:.*]], %[[BATCH:.*]]]
// S8-DAG: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.*}}, %arg1, %[[FULL]], box[%[[SECOND]], %[[ROW]], %[[HEAD]], %[[BATCH]]]
// S8-DAG: nvvm.setmaxregister increase 232
// S8-DAG: nvvm.cp.async.bulk.wait_group 0 {read}
// S8-DAG: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
// S8-DAG: @$2 cp.async.bulk.tensor.4d.global.shared::cta.bulk_group [$0, {$3, $4, $5, $6}], [$1];
// S8-DAG: nvvm.cp.async.bulk.commit.group
// S8-DAG: llvm.inline_asm has_side_effects "{{.*}}wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16
// S8-DAG: wgmma.wait_group.sync.aligned 1;

func.func @attention(%q: !rows, %k: !rows, %v: !rows, %scale: f32) -> !rows {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : !rows
  %h = tensor.dim %q, %c1 : !rows
  %m = tensor.dim %q, %c2 : !rows
  %n = tensor.dim %k, %c2 : !rows
  %s0 = tile.dot %q, %k transpose_b : !rows, !rows -> !scores
  %sc = tile.broadcast %scale sizes %b, %h, %m, %n : f32 -> !scores
  %s1 = arith.mulf %s0, %sc : !scores
  %p = tile.softmax %s1 : !scores
  %ph = arith.truncf %p : !scores to tensor<?x?x?x?xf16>
  %ow = tile.dot %ph, %v : tensor<?x?x?x?xf16>, !rows -> tensor<?x?x?x128xf32>
  %o = arith.truncf %ow : tensor<?x?x?x128xf32> to !rows
  return %o : !rows
}
