// Loops one after the other are one pipeline if nothing stands between them.
// RUN: fa-opt %s --pass-pipeline='builtin.module(tile.kernel(tgpu-overlap-dots))' | FileCheck %s
// RUN: sed 's/consumers 3/consumers 2/; s/ping_pong/late_rescale/' %s | fa-opt --pass-pipeline='builtin.module(tile.kernel(tgpu-overlap-dots))' | FileCheck %s --check-prefix=LATE
// RUN: sed 's/consumers 3/consumers 1/; s/ping_pong/late_rescale/' %s | fa-opt --pass-pipeline='builtin.module(tile.kernel(tgpu-overlap-dots))' | FileCheck %s --check-prefix=LATE
// RUN: fa-run --attention "d=192 dv=128 type=f16" --arch=sm_90a --emit=tgpu | FileCheck %s --check-prefix=TURNS
// RUN: fa-run --attention "d=128 type=bf16 alibi causal" --arch=sm_90a --emit=tgpu | FileCheck %s --check-prefix=TURNS
// RUN: fa-run --attention "d=128 type=f16 softcap=30 window=100,0" --arch=sm_90a --emit=tgpu | FileCheck %s --check-prefix=TURNS
// RUN: fa-run --attention "d=64 type=bf16 window=100,0" --arch=sm_90a --emit=tgpu | FileCheck %s --check-prefix=LEFT
// RUN: fa-run --attention "d=256 type=bf16 causal" --arch=sm_90a --emit=tgpu | FileCheck %s --check-prefix=FREE
// RUN: fa-run --attention "d=128 type=bf16 causal" --arch=sm_90a --emit=tgpu | FileCheck %s --check-prefix=FREE
// RUN: fa-run --attention "d=128 type=bf16 softcap=30 window=100,0" --arch=sm_90a --emit=tgpu | FileCheck %s --check-prefix=TURNS
// RUN: fa-run --attention "d=256 type=bf16 alibi" --arch=sm_90a --emit=tgpu | FileCheck %s --check-prefix=FREE

!own = !tgpu.channel<1 x 64x64xf16, #tgpu.layout<swizzled 64x64 bytes 2>>
!tiles = !tgpu.channel<2 x 64x64xf16, #tgpu.layout<swizzled 64x64 bytes 2>>
!scores = tensor<64x64xf32, #tgpu.layout<accumulator 64x64 warps 4>>
!rounded = tensor<64x64xf16, #tgpu.layout<accumulator 64x64 warps 4>>

// The second loop begins with the first of its tiles if the one before had none.
// CHECK-LABEL: tile.kernel @chain
// CHECK: } consumer {
// CHECK: %[[HAS:.*]] = arith.cmpi slt, %c0, %arg0
// CHECK: %[[HAS2:.*]] = arith.cmpi slt, %c0, %arg0
// CHECK: %[[ANY:.*]] = arith.ori %[[HAS]], %[[HAS2]]
// CHECK: scf.if %[[ANY]]
// CHECK: scf.if %[[HAS]]
// CHECK: pending 0
// CHECK: else
// CHECK: pending 0
// CHECK: scf.for
// CHECK: pending 1
// CHECK: pending 0
// CHECK: %[[SECOND:.*]] = arith.addi %c0, %c64
// CHECK: %[[BEGIN:.*]] = arith.select %[[HAS]], %c0, %[[SECOND]]
// CHECK: scf.for %{{.*}} = %[[BEGIN]] to
// CHECK: pending 1
// CHECK: pending 0
// CHECK: tgpu.release %0,
// CHECK: tgpu.dot_start
// CHECK: pending 0
// CHECK: } else {
// CHECK: tgpu.release %0,
// CHECK: scf.yield
// CHECK-NOT: tgpu.dot_start
// CHECK: tgpu.passed
tile.kernel @chain(%end: index) attributes {tgpu.plan = #tgpu.plan<tile 64x64, partitions [load w4, compute w4 rows 64], slots {program 1, step 2}, loop [0:0, 1:1], late_rescale>, grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : !scores
  %q = tgpu.channel own : !own
  %k = tgpu.channel : !tiles
  %v = tgpu.channel : !tiles
  tgpu.warp_specialize consumers 1 producer {
  ^bb0(%n: index, %steps: index):
    tgpu.passed %steps
  } consumer {
  ^bb0(%n: index, %steps: index):
    tgpu.await %q, %n : !own
    %a:2 = scf.for %i = %c0 to %end step %c64 iter_args(%o = %zero, %t = %steps) -> (!scores, index) {
      tgpu.await %k, %t : !tiles
      %begun = tgpu.dot_start slot %q, %n by slot %k, %t transpose_b : (!own, index, !tiles, index) -> !tgpu.running<!scores>
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
    %b:2 = scf.for %i = %c0 to %end step %c64 iter_args(%o = %a#0, %t = %a#1) -> (!scores, index) {
      tgpu.await %k, %t : !tiles
      %begun = tgpu.dot_start slot %q, %n by slot %k, %t transpose_b : (!own, index, !tiles, index) -> !tgpu.running<!scores>
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
    tgpu.release %q, %n : !own
    tgpu.passed %b#1
  }
  tile.return
}

// Two pipelines: the first may not release what the second reads.
// CHECK-LABEL: tile.kernel @apart
// CHECK: } consumer {
// CHECK: scf.if
// CHECK-NOT: tgpu.release %0,
// CHECK: %[[START:.*]] = arith.addf
// CHECK: scf.if
// CHECK: pending 1
// CHECK: tgpu.release %0,
// CHECK: tgpu.dot_start
// CHECK: } else {
// CHECK: tgpu.release %0,
// CHECK: scf.yield %[[START]]
// CHECK: tgpu.passed
tile.kernel @apart(%end: index) attributes {tgpu.plan = #tgpu.plan<tile 64x64, partitions [load w4, compute w4 rows 64], slots {program 1, step 2}, loop [0:0, 1:1], late_rescale>, grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : !scores
  %q = tgpu.channel own : !own
  %k = tgpu.channel : !tiles
  %v = tgpu.channel : !tiles
  tgpu.warp_specialize consumers 1 producer {
  ^bb0(%n: index, %steps: index):
    tgpu.passed %steps
  } consumer {
  ^bb0(%n: index, %steps: index):
    tgpu.await %q, %n : !own
    %a:2 = scf.for %i = %c0 to %end step %c64 iter_args(%o = %zero, %t = %steps) -> (!scores, index) {
      tgpu.await %k, %t : !tiles
      %begun = tgpu.dot_start slot %q, %n by slot %k, %t transpose_b : (!own, index, !tiles, index) -> !tgpu.running<!scores>
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
    %start = arith.addf %a#0, %a#0 : !scores
    %b:2 = scf.for %i = %c0 to %end step %c64 iter_args(%o = %start, %t = %a#1) -> (!scores, index) {
      tgpu.await %k, %t : !tiles
      %begun = tgpu.dot_start slot %q, %n by slot %k, %t transpose_b : (!own, index, !tiles, index) -> !tgpu.running<!scores>
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
    tgpu.release %q, %n : !own
    tgpu.passed %b#1
  }
  tile.return
}

// Three consumers have no registers for what rescales the output later: it is rescaled right after its wait. They
// begin their dots in turns.
// CHECK-LABEL: tile.kernel @three
// CHECK: } consumer {
// CHECK: scf.for
// CHECK: tgpu.order_wait
// CHECK: tgpu.dot_start
// CHECK-NOT: arith.mulf
// CHECK: tgpu.dot_start
// CHECK-NEXT: tgpu.order_arrive
// CHECK: %[[S:.*]] = tgpu.dot_wait {{.*}} pending 1
// CHECK-NEXT: tgpu.release %1, %{{[a-z0-9]+}} :
// CHECK: %[[O:.*]], %[[P:.*]] = tgpu.dot_wait {{.*}} through %[[S]] pending 0
// CHECK: arith.mulf %[[O]], %[[P]]
// CHECK: scf.yield
// CHECK-NOT: arith.mulf
// CHECK: tgpu.passed

// One and two have: the output is rescaled between the dots that begin. Two take turns where the scores are the longer
// dot, or are changed before the softmax, with maxima that no cap holds, and dots that are not as long as those of D 256.
// LATE-LABEL: tile.kernel @three
// LATE: scf.for
// LATE-NOT: tgpu.order
// LATE: tgpu.dot_start
// LATE: arith.mulf
// LATE: tgpu.dot_start
// LATE: tgpu.dot_wait {{.*}} pending 1
// LATE: tgpu.release %1, {{.*}} after
// LATE: tgpu.dot_wait {{.*}} pending 0
// LATE-NOT: arith.mulf
// LATE: scf.yield
// TURNS: tgpu.warp_specialize consumers 2
// TURNS: tgpu.order_wait
// TURNS: tgpu.order_arrive
// Where consumers take turns, those that leave out a tile let theirs pass, before and behind their own.
// LEFT: tile.kernel @attention_roles(
// LEFT: tgpu.warp_specialize consumers 3
// LEFT: } consumer {
// LEFT: scf.for
// LEFT-COUNT-2: tgpu.release
// LEFT-NEXT: tgpu.order_wait
// LEFT-NEXT: tgpu.order_arrive
// LEFT-NEXT: }
// LEFT: pending 1
// LEFT: } else {
// LEFT: scf.for {{.*}} : i32 {
// LEFT: tgpu.await
// LEFT-NOT: tgpu.dot_start
// LEFT: tgpu.order_wait
// LEFT-NEXT: tgpu.order_arrive
// LEFT-NEXT: }
// LEFT: tgpu.passed
// FREE: tgpu.warp_specialize consumers 2
// FREE-NOT: tgpu.order_wait
// FREE: tile.return
tile.kernel @three(%end: index) attributes {tgpu.plan = #tgpu.plan<tile 192x64, partitions [load w4 r32, compute*3 w4 r160 rows 64], slots {program 3, step 2}, loop [0:0, 1:1], ping_pong>, grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : !scores
  %q = tgpu.channel own : !own
  %k = tgpu.channel : !tiles
  %v = tgpu.channel : !tiles
  tgpu.warp_specialize consumers 3 producer {
  ^bb0(%n: index, %steps: index):
    tgpu.passed %steps
  } consumer {
  ^bb0(%n: index, %steps: index):
    tgpu.await %q, %n : !own
    %a:2 = scf.for %i = %c0 to %end step %c64 iter_args(%o = %zero, %t = %steps) -> (!scores, index) {
      tgpu.await %k, %t : !tiles
      %begun = tgpu.dot_start slot %q, %n by slot %k, %t transpose_b : (!own, index, !tiles, index) -> !tgpu.running<!scores>
      %s = tgpu.dot_wait %begun pending 0 : (!tgpu.running<!scores>) -> !scores
      tgpu.release %k, %t : !tiles
      %scaled = arith.mulf %o, %s : !scores
      %p = arith.truncf %s : !scores to !rounded
      tgpu.await %v, %t : !tiles
      %running = tgpu.dot_start %p by slot %v, %t acc %scaled : (!rounded, !tiles, index, !scores) -> !tgpu.running<!scores>
      %sum = tgpu.dot_wait %running pending 0 : (!tgpu.running<!scores>) -> !scores
      tgpu.release %v, %t : !tiles
      %next = arith.addi %t, %c1 : index
      scf.yield %sum, %next : !scores, index
    }
    tgpu.release %q, %n : !own
    tgpu.passed %a#1
  }
  tile.return
}
