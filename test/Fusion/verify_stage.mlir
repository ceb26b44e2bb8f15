// Each stage's verifier takes what the stage promises and refuses what it does
// not.
// RUN: split-file %s %t
// RUN: fa-opt %t/graph.mlir --tile-verify-stage=stage=S0 -o /dev/null
// RUN: not fa-opt %t/graph.mlir --tile-verify-stage=stage=S1 2>&1 | FileCheck %s --check-prefix=UNFUSED
// RUN: fa-opt %t/graph.mlir --pass-pipeline='builtin.module(func.func(tile-fuse-attention),tile-verify-stage{stage=S1})' -o %t/attention.mlir
// RUN: not fa-opt %t/attention.mlir --tile-verify-stage=stage=S2 2>&1 | FileCheck %s --check-prefix=OFFLINE
// RUN: fa-opt %t/attention.mlir --tile-online-softmax --tile-verify-stage=stage=S2 -o %t/online.mlir
// RUN: not fa-opt %t/online.mlir --tile-verify-stage=stage=S0 2>&1 | FileCheck %s --check-prefix=EARLY
// RUN: not fa-opt %t/online.mlir --tile-verify-stage=stage=S3 2>&1 | FileCheck %s --check-prefix=WHOLE
// RUN: fa-opt %t/online.mlir --tile-to-kernel --canonicalize --tile-verify-stage=stage=S3 -o %t/kernel.mlir
// RUN: not fa-opt %t/kernel.mlir --tile-verify-stage=stage=S2 2>&1 | FileCheck %s --check-prefix=KERNEL
// RUN: not fa-opt %t/memory.mlir --tile-verify-stage=stage=S3 2>&1 | FileCheck %s --check-prefix=MEMORY
// RUN: fa-opt %t/refused.mlir --pass-pipeline='builtin.module(func.func(tile-fuse-attention),tile-verify-stage{stage=S1})' -o /dev/null
// RUN: not fa-opt %t/graph.mlir --tile-verify-stage=stage=S9 2>&1 | FileCheck %s --check-prefix=NAME

// UNFUSED: graph.mlir:5:8: error: '{{[a-z_.]+}}' op not at stage S1 (attention): expected this softmax between two dots to be fused, or to say why it is not
// OFFLINE: error: '{{[a-z_.]+}}' op not at stage S2 (online): expected online attention, found 'tile.attention'
// EARLY: error: '{{[a-z_.]+}}' op not at stage S0 (graph): 'tile.online_attention' belongs to S2
// WHOLE: error: '{{[a-z_.]+}}' op not at stage S3 (kernel): expected kernels, found 'tile.online_attention'
// KERNEL: error: '{{[a-z_.]+}}' op not at stage S2 (online): 'tile.kernel' belongs to S3
// MEMORY: error: '{{[a-z_.]+}}' op not at stage S3 (kernel): expected tiles of static sizes, found tensor<?xf32>
// MEMORY: error: '{{[a-z_.]+}}' op not at stage S3 (kernel): expected memory to be touched by loads, stores, gathers, scatters and fetches
// NAME: S9

//--- graph.mlir
!rows = tensor<?x?x?x64xf32>
!scores = tensor<?x?x?x?xf32>
func.func @f(%q: !rows, %k: !rows, %v: !rows) -> !rows {
  %s = tile.dot %q, %k transpose_b : !rows, !rows -> !scores
  %p = tile.softmax %s : !scores
  %o = tile.dot %p, %v : !scores, !rows -> !rows
  return %o : !rows
}

//--- refused.mlir
!rows = tensor<?x?x?x64xf32>
!scores = tensor<?x?x?x?xf32>
func.func @f(%q: !rows, %k: !rows, %v: !rows) -> (!rows, !scores) {
  %s = tile.dot %q, %k transpose_b : !rows, !rows -> !scores
  %p = tile.softmax %s : !scores
  %o = tile.dot %p, %v : !scores, !rows -> !rows
  return %o, %p : !rows, !scores
}

//--- memory.mlir
tile.kernel @k(%x: memref<?xf32, strided<[?]>> {tile.access = #tile.access<inout>}) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32, strided<[?]>>
  %f = arith.constant 0.0 : f32
  %t = tensor.splat %f[%n] : tensor<?xf32>
  memref.store %f, %x[%c0] : memref<?xf32, strided<[?]>>
  tile.return
}
