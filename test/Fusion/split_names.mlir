// A function may have the name that a kernel on splits would get.
// RUN: fa-opt %s --tile-online-softmax --tile-to-kernel='constraints="splits=0"' | FileCheck %s
// CHECK: tile.kernel @attention_decode_split_0(
// CHECK-SAME: entry = "attention"
// CHECK: tile.kernel @attention_decode_merge(
// CHECK-SAME: tile.follows = @attention_decode_split_0
// CHECK: tile.kernel @attention_decode_split(
// CHECK-SAME: entry = "attention_decode_split"
!rows = tensor<?x?x?x64xf16>
func.func @attention(%q: !rows, %k: !rows, %v: !rows, %scale: f32) -> !rows {
  %o = tile.attention %q, %k, %v scale %scale : !rows, !rows, !rows -> !rows score {} mask {}
  return %o : !rows
}
func.func @attention_decode_split(%q: !rows, %k: !rows, %v: !rows, %scale: f32) -> !rows {
  %o = tile.attention %q, %k, %v scale %scale : !rows, !rows, !rows -> !rows score {} mask {}
  return %o : !rows
}
