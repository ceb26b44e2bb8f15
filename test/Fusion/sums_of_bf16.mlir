// RUN: fa-opt %s --split-input-file --tile-online-softmax --tile-to-kernel='machine=cpu-512x32-tiles' | FileCheck %s
// RUN: fa-opt %s --split-input-file --tile-online-softmax --tile-to-kernel='machine=cpu-512x32-pairs' | FileCheck %s --check-prefix=NONE
// The twin: without it, f32 has one kernel for any number of queries.
// RUN: fa-opt %s --split-input-file --tile-online-softmax --tile-to-kernel='machine=cpu-512x32-pairs' | not FileCheck %s

// f32 as sums of bf16 has their tiles, with half as many keys, for more queries
// than 192, and for fewer a kernel that multiplies it as it is.
// CHECK: tile.kernel @f32_short(
// CHECK-SAME: tile.at_most = array<i64: 0, 2, 192>
// CHECK-SAME: tile.shape = array<i64: 96, 64>
// CHECK: tile.kernel @f32(
// CHECK-NOT: tile.at_most
// CHECK-SAME: tile.shape = array<i64: 256, 128>
// NONE-NOT: _short
// NONE: tile.kernel @f32(
// NONE-SAME: tile.shape = array<i64: 96, 64>
!rows = tensor<?x?x?x64xf32>
func.func @f32(%q: !rows, %k: !rows, %v: !rows, %scale: f32) -> !rows {
  %o = tile.attention %q, %k, %v scale %scale : !rows, !rows, !rows -> !rows score {} mask {}
  return %o : !rows
}

// -----

// Small head dimensions do not.
// CHECK-NOT: tile.kernel @small_short(
// CHECK: tile.kernel @small(
// CHECK-SAME: tile.shape = array<i64: 96, 64>
!rows = tensor<?x?x?x40xf32>
func.func @small(%q: !rows, %k: !rows, %v: !rows, %scale: f32) -> !rows {
  %o = tile.attention %q, %k, %v scale %scale : !rows, !rows, !rows -> !rows score {} mask {}
  return %o : !rows
}

// -----

// One of them is enough.
// CHECK-NOT: tile.kernel @values_short(
// CHECK: tile.kernel @values(
// CHECK-SAME: tile.shape = array<i64: 96, 64>
!keys = tensor<?x?x?x64xf32>
!values = tensor<?x?x?x40xf32>
func.func @values(%q: !keys, %k: !keys, %v: !values, %scale: f32) -> !values {
  %o = tile.attention %q, %k, %v scale %scale : !keys, !keys, !values -> !values score {} mask {}
  return %o : !values
}

// -----

// f16 has all of their keys, for any number of queries.
// CHECK-NOT: tile.kernel @f16_short(
// CHECK: tile.kernel @f16(
// CHECK-SAME: tile.shape = array<i64: 256, 256>
!rows = tensor<?x?x?x64xf16>
func.func @f16(%q: !rows, %k: !rows, %v: !rows, %scale: f32) -> !rows {
  %o = tile.attention %q, %k, %v scale %scale : !rows, !rows, !rows -> !rows score {} mask {}
  return %o : !rows
}
