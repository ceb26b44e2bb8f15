// RUN: fa-opt %s --tile-online-softmax --tile-to-kernel='machine=sm_90a constraints="splits=0"' --canonicalize --cse | FileCheck %s
// RUN: not fa-opt %s --tile-online-softmax --tile-to-kernel='machine=sm_90a constraints="splits=3"' 2>&1 | FileCheck %s --check-prefix=SAID

// Splits have so many keys each, and there is no kernel for few programs, for fewer rows, for whole clusters, nor one
// without splits where queries are few.
// CHECK-NOT: tile.few_programs
// CHECK-NOT: tile.fewer_rows
// CHECK-NOT: tile.cluster
// CHECK: tile.kernel @attention_decode_split(
// CHECK-SAME: tile.keys_of_split = 500 : i64
// CHECK-SAME: tile.split_keys = #
// CHECK: %[[SPLIT:.*]] = arith.remui
// CHECK: arith.muli %[[SPLIT]], %c500
// CHECK: tile.kernel @attention_decode_merge(
// CHECK-NOT: tile.keys_of_split
// CHECK-NOT: tile.kernel @attention_decode(
// CHECK: tile.kernel @attention_packed_split(
// CHECK-SAME: tile.keys_of_split = 500 : i64
// CHECK-NOT: tile.kernel @attention_packed(
// CHECK-NOT: tile.few_programs
// CHECK-NOT: tile.fewer_rows
// CHECK-NOT: tile.cluster
// CHECK: tile.kernel @attention_roles(
// CHECK-NOT: tile.kernel @attention_roles
// CHECK: tile.kernel @attention(
// CHECK: tile.kernel @attention_strided(

// SAID: expected no number of splits where each has 500 keys (tile.batch_invariant), found 3
!rows = tensor<?x?x?x128xf16>
func.func @attention(%q: !rows, %k: !rows, %v: !rows, %scale: f32) -> !rows attributes {tile.batch_invariant = 500 : i64} {
  %o = tile.attention %q, %k, %v scale %scale : !rows, !rows, !rows -> !rows score {} mask {}
  return %o : !rows
}
