// With a mask, few queries get tiles of fewer rows: a kernel for roles that takes so many queries and no more.
// RUN: fa-opt %s --tile-online-softmax --tile-to-kernel='roles-q-tile=128 narrow-roles-q-tile=192 short-queries=2048' | FileCheck %s

!rows = tensor<?x?x?x64xf16>

// CHECK: tile.kernel @causal_roles_short(
// CHECK-SAME: tile.alternative = @causal,
// CHECK-SAME: tile.at_most = array<i64: 0, 2, 2048>
// CHECK-SAME: tile.shape = array<i64: 128, 128>
// CHECK: tile.kernel @causal_roles(
// CHECK-NOT: tile.at_most
// CHECK-SAME: tile.shape = array<i64: 192, 128>
// CHECK-NOT: tile.kernel @{{.*}}_short(
func.func @causal(%q: !rows, %k: !rows, %v: !rows, %scale: f32) -> !rows {
  %o = tile.attention %q, %k, %v scale %scale : !rows, !rows, !rows -> !rows score {} mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %seen = arith.cmpi sle, %j, %i : index
    tile.yield %seen : i1
  }
  return %o : !rows
}
// Without a mask all tiles cost the same.
func.func @plain(%q: !rows, %k: !rows, %v: !rows, %scale: f32) -> !rows {
  %o = tile.attention %q, %k, %v scale %scale : !rows, !rows, !rows -> !rows score {} mask {}
  return %o : !rows
}
// Of wider heads all tiles have 128 rows.
!wide = tensor<?x?x?x128xf16>
func.func @wide(%q: !wide, %k: !wide, %v: !wide, %scale: f32) -> !wide {
  %o = tile.attention %q, %k, %v scale %scale : !wide, !wide, !wide -> !wide score {} mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %seen = arith.cmpi sle, %j, %i : index
    tile.yield %seen : i1
  }
  return %o : !wide
}
