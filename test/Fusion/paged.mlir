// RUN: fa-run --attention "page=16 causal" --emit=kernel --arch=sm_80 | FileCheck %s
// RUN: fa-opt %s --split-input-file --verify-diagnostics --tile-online-softmax --tile-to-kernel -o /dev/null

// A split of the keys is one of those that the table's rows have room for, and a view ends where its sequence does.
// CHECK: #[[KEYS:.*]] = affine_map<()[s0, s1, s2, s3, s4, s5, s6] -> (s5 * s6)>
// CHECK-LABEL: tile.kernel @attention_decode_split(
// CHECK-SAME: grid_sizes = array<i64: 0, 1, 1, 1, 7, 0, 0, 0, 0, 2, 1, 2, 4, 1>
// CHECK-SAME: #tile.size_rule<equal 4[0], 0[0]>, #tile.size_rule<equal 2[0], 1[0]>, #tile.size_rule<equal 2[1], 1[1]>, #tile.size_rule<equal 2[2], 1[2]>
// CHECK-SAME: tile.split_keys = #[[KEYS]]
// CHECK: memref.load %arg3[%[[BATCH:[0-9]+]]]
// CHECK: %[[LENGTH:[0-9]+]] = arith.maxsi
// CHECK: %[[VIEW:[0-9]+]] = tile.paged_view %arg1[%{{.*}}] through %arg4[%[[BATCH]]] limit %[[LENGTH]]
// CHECK: tile.load %[[VIEW]][%{{.*}}, %c0] in_bounds

!rows = tensor<?x?x?x64xf32>
!pages = tensor<?x8x?x64xf32>
!keys = tensor<?x8x?x64xf32>

// Rows of zeros behind a length are keys of this program.
// expected-remark @+1 {{runs unfused, on whole tensors: keys that lie in pages are not masked where their lengths end}}
func.func @no_mask(%q: !rows, %k: !pages, %v: !pages, %l: tensor<?xi32>, %t: tensor<?x?xi32>, %scale: f32) -> !rows {
  %keys = tile.paged %k through %t limit %l : !pages, tensor<?x?xi32>, tensor<?xi32> -> !keys
  %values = tile.paged %v through %t limit %l : !pages, tensor<?x?xi32>, tensor<?xi32> -> !keys
  %o = tile.attention %q, %keys, %values scale %scale : !rows, !keys, !keys -> !rows score {} mask {}
  return %o : !rows
}

// -----

!rows = tensor<?x?x?x64xf32>
!pages = tensor<?x8x?x64xf32>

// expected-remark @+1 {{runs unfused, on whole tensors: keys and values do not lie in pages of one table}}
func.func @two_tables(%q: !rows, %k: !pages, %v: !pages, %l: tensor<?xi32>, %t: tensor<?x?xi32>, %u: tensor<?x?xi32>, %scale: f32) -> !rows {
  %keys = tile.paged %k through %t limit %l : !pages, tensor<?x?xi32>, tensor<?xi32> -> !pages
  %values = tile.paged %v through %u limit %l : !pages, tensor<?x?xi32>, tensor<?xi32> -> !pages
  %o = tile.attention %q, %keys, %values scale %scale : !rows, !pages, !pages -> !rows score {} mask {}
  return %o : !rows
}
