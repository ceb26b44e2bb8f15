// RUN: fa-opt %s --split-input-file --pass-pipeline='builtin.module(canonicalize,cse,func.func(tile-fuse-attention),tile-online-softmax,tile-to-kernel,canonicalize,cse)' | FileCheck %s

!rows = tensor<8x?x64xf16>
!batch = tensor<?x8x?x64xf16>
!scores = tensor<?x8x?x?xf32>

// With 128 rows a tile, sequence b has slots offsets[b] / 128 + b and on; the
// views of a program begin where its sequence does.
// CHECK: #[[GRID:.*]] = affine_map<()[s0, s1, s2] -> (s0 floordiv 128 + s1 - 1, s2, 1)>
// CHECK: tile.kernel @causal(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: memref<8x?x64xf16, strided<[?, ?, 1]>>
// CHECK-SAME: entry = "causal"
// CHECK-SAME: grid = #[[GRID]]
// CHECK-SAME: #tile.size_rule<at_least 3[0], 3[0] * 2>
// CHECK-SAME: tile.packed_rows
// CHECK: %[[SEQUENCE:[a-z0-9]+]], %[[BEGIN:.*]] = tile.sequence_of %[[SLOT:.*]] in %{{.*}} rows 128
// CHECK: arith.subi %[[SLOT]], %[[BEGIN]]
// CHECK: memref.load %{{.*}}[%[[SEQUENCE]]]
// CHECK: memref.subview %[[Q]][%{{.*}}, %[[FIRST:.*]], 0] [1, %[[COUNT:.*]], 64] [1, 1, 1]
// CHECK: tile.load {{.*}}{tile.any_end}
// CHECK: memref.subview %{{.*}}[%{{.*}}, %[[FIRST]], 0] [1, %[[COUNT]], 64]
// CHECK: tile.store
// CHECK-NOT: func.func
func.func @causal(%q: !rows, %k: !rows, %v: !rows, %offsets: tensor<?xi32>, %scale: f32) -> !rows {
  %qs = tile.ragged %q by %offsets : !rows, tensor<?xi32> -> !batch
  %ks = tile.ragged %k by %offsets : !rows, tensor<?xi32> -> !batch
  %vs = tile.ragged %v by %offsets : !rows, tensor<?xi32> -> !batch
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %qs, %c0 : !batch
  %m = tensor.dim %qs, %c2 : !batch
  %n = tensor.dim %ks, %c2 : !batch
  %s = tile.dot %qs, %ks transpose_b : !batch, !batch -> !scores
  %x = tile.broadcast %scale sizes %b, %m, %n : f32 -> !scores
  %scaled = arith.mulf %s, %x : !scores
  %i = tile.iota dim 2 sizes %b, %m, %n : tensor<?x8x?x?xindex>
  %j = tile.iota dim 3 sizes %b, %m, %n : tensor<?x8x?x?xindex>
  %seen = arith.cmpi sle, %j, %i : tensor<?x8x?x?xindex>
  %inf = arith.constant 0xFF800000 : f32
  %none = tile.broadcast %inf sizes %b, %m, %n : f32 -> !scores
  %masked = arith.select %seen, %scaled, %none : tensor<?x8x?x?xi1>, !scores
  %p = tile.softmax %masked : !scores
  %half = arith.truncf %p : !scores to tensor<?x8x?x?xf16>
  %o = tile.dot %half, %vs : tensor<?x8x?x?xf16>, !batch -> tensor<?x8x?x64xf32>
  %out = arith.truncf %o : tensor<?x8x?x64xf32> to !batch
  %r = tile.pack %out by %offsets : !batch, tensor<?xi32> -> !rows
  return %r : !rows
}
