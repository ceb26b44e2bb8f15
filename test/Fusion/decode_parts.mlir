// A decode variant whose programs are run by several parts of a block stands before the others, for launches of few programs: each part takes its share of the keys, or
// of those of a split, and what they leave is merged once. The merge of splits has no parts.
// RUN: fa-opt %s --tile-online-softmax --tile-to-kernel='machine=sm_90a constraints="splits=0"' --canonicalize --cse | FileCheck %s
// RUN: fa-opt %s --tile-online-softmax --tile-to-kernel='machine=sm_80 constraints="splits=0"' | FileCheck %s --check-prefix=NONE --implicit-check-not=parts

// CHECK: tile.kernel @attention_decode_parts_split(
// CHECK-SAME: tile.few_programs = 1 : i64, tile.parts = 4 : i64, tile.shape = array<i64: 16, 256>
// CHECK-DAG: %[[SPLIT:.*]] = arith.remui
// CHECK-DAG: %[[PART:.*]] = tile.part_id
// CHECK: %[[FIRST:.*]] = arith.muli %[[SPLIT]], %c4
// CHECK: %[[SHARE:.*]] = arith.addi %[[FIRST]], %[[PART]]
// CHECK: arith.muli %[[SHARE]], %{{.*}} : index
// CHECK: %[[LOOP:.*]]:3 = scf.for
// CHECK: %[[ALL:.*]]:3 = scf.for {{.*}} iter_args(%{{.*}} = %[[LOOP]]#0
// CHECK: %[[ACC:.*]], %[[MAX:.*]], %[[SUM:.*]] = tile.merge_parts %[[ALL]]#0, %[[ALL]]#1, %[[ALL]]#2
// CHECK: tile.online_finalize %[[ACC]], %[[MAX]], %[[SUM]] {{.*}} apart

// CHECK: tile.kernel @attention_decode_parts_merge(
// CHECK-NOT: tile.parts
// CHECK: tile.kernel @attention_decode_parts(
// CHECK-SAME: tile.parts = 4
// CHECK-NOT: tile.workspace
// The sink counts once: its sum is 1 in the first part and 0 in others.
// CHECK: %[[ID:.*]] = tile.part_id
// CHECK: %[[IS:.*]] = arith.cmpi eq, %[[ID]], %c0
// CHECK: %[[ONE:.*]] = arith.select %[[IS]], %cst{{.*}}, %cst{{.*}} : f32
// CHECK: %[[START:.*]] = tile.broadcast %[[ONE]] : f32 -> tensor<16xf32>
// CHECK: scf.for {{.*}}%[[START]]
// CHECK: tile.merge_parts
// CHECK-NOT: tile.merge_parts
// CHECK: tile.kernel @attention_decode_split(
// CHECK-NOT: parts
// CHECK: tile.kernel @attention_decode(
// NONE: tile.kernel @attention_decode(
!rows = tensor<?x?x?x64xf16>
func.func @attention(%q: !rows, %k: !rows, %v: !rows, %scale: f32, %sink: tensor<?xf32>) -> !rows {
  %o = tile.attention %q, %k, %v scale %scale sink %sink : tensor<?xf32> : !rows, !rows, !rows -> !rows score {} mask {}
  return %o : !rows
}

// Any number of columns has parts whose slots have room.
// CHECK: tile.kernel @d80_decode_parts_split(
!d80 = tensor<?x?x?x80xf16>
func.func @d80(%q: !d80, %k: !d80, %v: !d80, %scale: f32) -> !d80 {
  %o = tile.attention %q, %k, %v scale %scale : !d80, !d80, !d80 -> !d80 score {} mask {}
  return %o : !d80
}

// Values of more than 128 columns have none.
// CHECK: tile.kernel @d160_decode_split(
!d160 = tensor<?x?x?x160xf16>
func.func @d160(%q: !d160, %k: !d160, %v: !d160, %scale: f32) -> !d160 {
  %o = tile.attention %q, %k, %v scale %scale : !d160, !d160, !d160 -> !d160 score {} mask {}
  return %o : !d160
}
