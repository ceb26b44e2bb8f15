// What fa-opt has beside the passes: a report of what is fused, and the program
// after each stage.
// RUN: fa-opt --explain %s | FileCheck %s
// RUN: fa-opt --fa-print-stages --pass-pipeline='builtin.module(fa-cpu)' %S/../Pipeline/causal.mlir -o /dev/null 2>&1 | FileCheck %s --check-prefix=STAGES
// RUN: not fa-opt --explain /nonexistent.mlir 2>&1 | FileCheck %s --check-prefix=FILE

!rows = tensor<?x?x?x64xf32>
!scores = tensor<?x?x?x?xf32>

// CHECK: fa-opt.mlir:[[@LINE+8]]:8: fused: softmax(Q Kᵀ) V is one attention
// CHECK-NEXT:   Q tensor<?x?x?x64xf32>, K tensor<?x?x?x64xf32>, V tensor<?x?x?x64xf32>
// CHECK-NEXT:   scale: 1
// CHECK-NEXT:   score region: math.tanh
// CHECK-NEXT:   mask region: none
func.func @fused(%q: !rows, %k: !rows, %v: !rows) -> !rows {
  %s = tile.dot %q, %k transpose_b : !rows, !rows -> !scores
  %t = math.tanh %s : !scores
  %p = tile.softmax %t : !scores
  %o = tile.dot %p, %v : !scores, !rows -> !rows
  return %o : !rows
}

// CHECK: fa-opt.mlir:[[@LINE+3]]:8: not fused: the probabilities are read by more than one operation
func.func @refused(%q: !rows, %k: !rows, %v: !rows) -> (!rows, !scores) {
  %s = tile.dot %q, %k transpose_b : !rows, !rows -> !scores
  %p = tile.softmax %s : !scores
  %o = tile.dot %p, %v : !scores, !rows -> !rows
  return %o, %p : !rows, !scores
}
// CHECK: fa-opt.mlir:[[@LINE-5]]:8: a dot outside any attention
// CHECK: fa-opt.mlir:[[@LINE-4]]:8: a dot outside any attention
// CHECK: 1 fused, 1 not

// STAGES: // -----// S1 //----- //
// STAGES: tile.attention
// STAGES: // -----// S2 //----- //
// STAGES: tile.online_attention
// STAGES: // -----// S3 //----- //
// STAGES: tile.kernel
// STAGES: // -----// S9 //----- //
// STAGES: llvm.func

// FILE: fa-opt: error: cannot open input file '/nonexistent.mlir'
