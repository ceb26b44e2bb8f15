// Loops whose dots cannot be begun as a plan says stay as they are, and a remark says why.
// RUN: fa-opt %s --pass-pipeline='builtin.module(tile.kernel(tgpu-overlap-dots))' --verify-diagnostics | FileCheck %s

!own = !tgpu.channel<1 x 64x64xf16, #tgpu.layout<swizzled 64x64 bytes 2>>
!tiles = !tgpu.channel<2 x 64x64xf16, #tgpu.layout<swizzled 64x64 bytes 2>>
!scores = tensor<64x64xf32, #tgpu.layout<accumulator 64x64 warps 4>>
!rounded = tensor<64x64xf16, #tgpu.layout<accumulator 64x64 warps 4>>

// Both dots add to one sum: the first would not see what the second of the step before adds.
// CHECK-LABEL: tile.kernel @both
// CHECK: consumer {
// CHECK-NOT: scf.if
// CHECK: scf.for
// CHECK: pending 0
// CHECK: pending 0
// CHECK-NOT: pending 1
// CHECK: tgpu.passed
tile.kernel @both(%end: index) attributes {tgpu.plan = #tgpu.plan<tile 64x64, partitions [load w4, compute w4 rows 64], slots {program 1, step 2}, loop [0:0, 1:1], late_rescale>, grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
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
    // expected-remark @below {{dots of the loop run one after the other: it has a dot of stage 0 that reads what dots of stage 1 add to}}
    %a:2 = scf.for %i = %c0 to %end step %c64 iter_args(%o = %zero, %t = %steps) -> (!scores, index) {
      tgpu.await %k, %t : !tiles
      %begun = tgpu.dot_start slot %q, %n by slot %k, %t transpose_b acc %o : (!own, index, !tiles, index, !scores) -> !tgpu.running<!scores>
      %s = tgpu.dot_wait %begun pending 0 : (!tgpu.running<!scores>) -> !scores
      tgpu.release %k, %t : !tiles
      %p = arith.truncf %zero : !scores to !rounded
      tgpu.await %v, %t : !tiles
      %running = tgpu.dot_start %p by slot %v, %t acc %s : (!rounded, !tiles, index, !scores) -> !tgpu.running<!scores>
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

// The second adds to what the first gives, not to what is carried.
// CHECK-LABEL: tile.kernel @other
// CHECK: consumer {
// CHECK-NOT: scf.if
// CHECK: scf.for
// CHECK: pending 0
// CHECK: pending 0
// CHECK-NOT: pending 1
// CHECK: tgpu.passed
tile.kernel @other(%end: index) attributes {tgpu.plan = #tgpu.plan<tile 64x64, partitions [load w4, compute w4 rows 64], slots {program 1, step 2}, loop [0:0, 1:1], late_rescale>, grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
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
    // expected-remark @below {{dots of the loop run one after the other: it has a dot of stage 1 that does not add to a carried tile}}
    %a:2 = scf.for %i = %c0 to %end step %c64 iter_args(%o = %zero, %t = %steps) -> (!scores, index) {
      tgpu.await %k, %t : !tiles
      %begun = tgpu.dot_start slot %q, %n by slot %k, %t transpose_b : (!own, index, !tiles, index) -> !tgpu.running<!scores>
      %s = tgpu.dot_wait %begun pending 0 : (!tgpu.running<!scores>) -> !scores
      tgpu.release %k, %t : !tiles
      %p = arith.truncf %zero : !scores to !rounded
      tgpu.await %v, %t : !tiles
      %running = tgpu.dot_start %p by slot %v, %t acc %s : (!rounded, !tiles, index, !scores) -> !tgpu.running<!scores>
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

// It adds to nothing.
// CHECK-LABEL: tile.kernel @anew
// CHECK: consumer {
// CHECK-NOT: scf.if
// CHECK: scf.for
// CHECK: pending 0
// CHECK: pending 0
// CHECK-NOT: pending 1
// CHECK: tgpu.passed
tile.kernel @anew(%end: index) attributes {tgpu.plan = #tgpu.plan<tile 64x64, partitions [load w4, compute w4 rows 64], slots {program 1, step 2}, loop [0:0, 1:1], late_rescale>, grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
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
    // expected-remark @below {{dots of the loop run one after the other: it has a dot of stage 1 that does not add to a carried tile}}
    %a:2 = scf.for %i = %c0 to %end step %c64 iter_args(%o = %zero, %t = %steps) -> (!scores, index) {
      tgpu.await %k, %t : !tiles
      %begun = tgpu.dot_start slot %q, %n by slot %k, %t transpose_b : (!own, index, !tiles, index) -> !tgpu.running<!scores>
      %s = tgpu.dot_wait %begun pending 0 : (!tgpu.running<!scores>) -> !scores
      tgpu.release %k, %t : !tiles
      %p = arith.truncf %s : !scores to !rounded
      tgpu.await %v, %t : !tiles
      %running = tgpu.dot_start %p by slot %v, %t : (!rounded, !tiles, index) -> !tgpu.running<!scores>
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

// Its left operand is made of the sum.
// CHECK-LABEL: tile.kernel @sum
// CHECK: consumer {
// CHECK-NOT: scf.if
// CHECK: scf.for
// CHECK: pending 0
// CHECK: pending 0
// CHECK-NOT: pending 1
// CHECK: tgpu.passed
tile.kernel @sum(%end: index) attributes {tgpu.plan = #tgpu.plan<tile 64x64, partitions [load w4, compute w4 rows 64], slots {program 1, step 2}, loop [0:0, 1:1], late_rescale>, grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
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
    // expected-remark @below {{dots of the loop run one after the other: it has a left operand that is computed from what dots of stage 1 add to}}
    %a:2 = scf.for %i = %c0 to %end step %c64 iter_args(%o = %zero, %t = %steps) -> (!scores, index) {
      tgpu.await %k, %t : !tiles
      %begun = tgpu.dot_start slot %q, %n by slot %k, %t transpose_b : (!own, index, !tiles, index) -> !tgpu.running<!scores>
      %s = tgpu.dot_wait %begun pending 0 : (!tgpu.running<!scores>) -> !scores
      tgpu.release %k, %t : !tiles
      %p = arith.truncf %o : !scores to !rounded
      tgpu.await %v, %t : !tiles
      %running = tgpu.dot_start %p by slot %v, %t acc %o : (!rounded, !tiles, index, !scores) -> !tgpu.running<!scores>
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
