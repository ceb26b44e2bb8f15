// Q, K and V of e4m3, widened to f16, and a result of bf16.
// RUN: fa-opt --explain %s | FileCheck %s
// RUN: fa-run %s --in 2x4x50x32 --in 2x2x70x32 --in 2x2x70x32 --check | FileCheck %s --check-prefix=RAN
// CHECK: fused: softmax(Q Kᵀ) V is one attention
// RAN-NOT: not fused
// RAN: PASS

!q = tensor<2x4x50x32xf16>
!nq = tensor<2x4x50x32xf8E4M3FN>
!k = tensor<2x2x70x32xf16>
!n = tensor<2x2x70x32xf8E4M3FN>
!s = tensor<2x4x50x70xf32>

func.func @f(%q: !nq, %k: !n, %v: !n) -> tensor<2x4x50x32xbf16> {
  %qw = arith.extf %q : !nq to !q
  %kw = arith.extf %k : !n to !k
  %vw = arith.extf %v : !n to !k
  %s = tile.dot %qw, %kw transpose_b : !q, !k -> !s
  %c = arith.constant dense<0.176776695> : !s
  %t = arith.mulf %s, %c : !s
  %p = tile.softmax %t : !s
  %pn = arith.truncf %p : !s to tensor<2x4x50x70xf16>
  %o = tile.dot %pn, %vw : tensor<2x4x50x70xf16>, !k -> tensor<2x4x50x32xf32>
  %on = arith.truncf %o : tensor<2x4x50x32xf32> to tensor<2x4x50x32xbf16>
  return %on : tensor<2x4x50x32xbf16>
}
