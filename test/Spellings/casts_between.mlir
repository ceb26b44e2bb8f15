// f16 with casts between the steps: the scores are rounded, the softmax is of
// f16.
// RUN: fa-opt --explain %s | FileCheck %s
// RUN: fa-run %s --in 2x3x50x32 --in 2x3x70x32 --in 2x3x70x32 --check | FileCheck %s --check-prefix=RAN
// CHECK: fused: softmax(Q Kᵀ) V is one attention
// CHECK: score region: arith.truncf, arith.extf
// RAN-NOT: not fused
// RAN: PASS

!q = tensor<2x3x50x32xf16>
!k = tensor<2x3x70x32xf16>
!s = tensor<2x3x50x70xf32>
!h = tensor<2x3x50x70xf16>
func.func @f(%q: !q, %k: !k, %v: !k) -> !q {
  %c = arith.constant dense<0.176776695> : tensor<2x3x50x32xf32>
  %qw = arith.extf %q : !q to tensor<2x3x50x32xf32>
  %qm = arith.mulf %qw, %c : tensor<2x3x50x32xf32>
  %qs = arith.truncf %qm : tensor<2x3x50x32xf32> to !q
  %s = tile.dot %qs, %k transpose_b : !q, !k -> !s
  %sh = arith.truncf %s : !s to !h
  %p = tile.softmax %sh : !h
  %o = tile.dot %p, %v : !h, !k -> tensor<2x3x50x32xf32>
  %ot = arith.truncf %o : tensor<2x3x50x32xf32> to !q
  return %ot : !q
}
