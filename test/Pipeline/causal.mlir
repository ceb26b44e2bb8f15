// The golden walk of one causal kernel, stage by stage.
// RUN: fa-opt %s --pass-pipeline='builtin.module(func.func(tile-fuse-attention))' | FileCheck %s --check-prefix=S1
// RUN: fa-opt %s --pass-pipeline='builtin.module(func.func(tile-fuse-attention),tile-online-softmax)' | FileCheck %s --check-prefix=S2
// RUN: fa-opt %s --pass-pipeline='builtin.module(func.func(tile-fuse-attention),tile-online-softmax,tile-to-kernel{variants=false},canonicalize,cse)' | FileCheck %s --check-prefix=S3
// RUN: fa-opt %s --pass-pipeline='builtin.module(fa-cpu)' | FileCheck %s --check-prefix=LLVM

!rows = tensor<?x?x?x64xf32>
!scores = tensor<?x?x?x?xf32>

// S1-LABEL: func.func @attention
// S1: %[[OFF:.*]] = arith.subi
// S1-NEXT: %{{.*}} = tile.attention %arg0, %arg1, %arg2 scale %arg3 captures(%[[OFF]] : index)
// S1-SAME: score {
// S1-NEXT: } mask {
// S1-NEXT: ^bb0(%{{.*}}: index, %{{.*}}: index, %[[I:.*]]: index, %[[J:.*]]: index, %[[O:.*]]: index):
// S1-NEXT: %[[LIM:.*]] = arith.addi %[[I]], %[[O]] : index
// S1-NEXT: %[[M:.*]] = arith.cmpi sle, %[[J]], %[[LIM]] : index
// S1-NEXT: tile.yield %[[M]] : i1
// S1-NOT: tile.softmax

// S2: tile.online_attention {{.*}} state(
// S2: tile.online_finalize
// S2-NOT: tile.attention

// S3: tile.kernel @attention(
// S3-SAME: grid = #{{.*}}, grid_sizes = array<i64: 0, 2, 0, 1, 0, 0>
// The longest rows first: the tile's number is reversed.
// S3: %[[PID:.*]] = tile.program_id 0
// S3: %[[NUM:.*]] = tile.num_programs 0
// S3: %[[LAST:.*]] = arith.subi %[[NUM]], %c1
// S3: arith.subi %[[LAST]], %[[PID]]
// S3: %[[Q:.*]] = tile.load
// Whole tiles: no mask.
// S3: %[[FULL:.*]]:3 = scf.for %[[N:.*]] = %c0 to %[[EDGE:.*]] step %c128
// S3: %[[K:.*]] = tile.load {{.*}} in_bounds
// S3: %[[S:.*]] = tile.dot %[[Q]], %[[K]] transpose_b
// S3-NOT: arith.select
// S3: %[[P:.*]], %[[ALPHA:.*]], %[[MAX:.*]], %[[SUM:.*]] = tile.online_softmax
// S3: tile.dot %[[P]], %{{.*}} acc
// S3: scf.yield
// The diagonal: masked.
// S3: %[[ALL:.*]]:3 = scf.for %{{.*}} = %[[EDGE]] to
// S3-SAME: iter_args(%{{.*}} = %[[FULL]]#0, %{{.*}} = %[[FULL]]#1, %{{.*}} = %[[FULL]]#2)
// S3: arith.cmpi sle
// S3: arith.select
// S3: tile.online_softmax
// S3: tile.online_finalize %[[ALL]]#0, %[[ALL]]#1, %[[ALL]]#2
// S3: tile.store
// S3: tile.return

// LLVM: llvm.func @attention(%{{.*}}: i64, %{{.*}}: i64, %{{.*}}: i64, %{{.*}}: !llvm.ptr {llvm.noalias}, %{{.*}}: !llvm.ptr {llvm.noalias})
// LLVM: llvm.intr.fmuladd(%{{.*}}) : (vector<16xf32>, vector<16xf32>, vector<16xf32>) -> vector<16xf32>
// LLVM-NOT: tile.
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
  %i = tile.iota dim 2 sizes %b, %h, %m, %n : tensor<?x?x?x?xindex>
  %j = tile.iota dim 3 sizes %b, %h, %m, %n : tensor<?x?x?x?xindex>
  %off = arith.subi %n, %m : index
  %offs = tile.broadcast %off sizes %b, %h, %m, %n : index -> tensor<?x?x?x?xindex>
  %lim = arith.addi %i, %offs : tensor<?x?x?x?xindex>
  %mask = arith.cmpi sle, %j, %lim : tensor<?x?x?x?xindex>
  %ninf = arith.constant 0xFF800000 : f32
  %ninfs = tile.broadcast %ninf sizes %b, %h, %m, %n : f32 -> !scores
  %s2 = arith.select %mask, %s1, %ninfs : tensor<?x?x?x?xi1>, !scores
  %p = tile.softmax %s2 : !scores
  %o = tile.dot %p, %v : !scores, !rows -> !rows
  return %o : !rows
}
