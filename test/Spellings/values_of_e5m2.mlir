// Keys of e4m3 and values of e5m2, each widened by its own format.
// RUN: fa-opt --explain %s | FileCheck %s
// RUN: fa-run %s --in 2x4x50x32 --in 2x2x70x32 --in 2x2x70x32 --check | FileCheck %s --check-prefix=RAN
// CHECK: fused: softmax(Q Kᵀ) V is one attention
// RAN-NOT: not fused
// RAN: PASS

!q = tensor<2x4x50x32xbf16>
!k = tensor<2x2x70x32xbf16>
!n = tensor<2x2x70x32xf8E4M3FN>
!m = tensor<2x2x70x32xf8E5M2>
!s = tensor<2x4x50x70xf32>

func.func @f(%q: !q, %k: !n, %v: !m) -> !q {
  %kw = arith.extf %k : !n to !k
  %vw = arith.extf %v : !m to !k
  %s = tile.dot %q, %kw transpose_b : !q, !k -> !s
  %c = arith.constant dense<0.176776695> : !s
  %t = arith.mulf %s, %c : !s
  %p = tile.softmax %t : !s
  %pn = arith.truncf %p : !s to tensor<2x4x50x70xbf16>
  %o = tile.dot %pn, %vw : tensor<2x4x50x70xbf16>, !k -> tensor<2x4x50x32xf32>
  %on = arith.truncf %o : tensor<2x4x50x32xf32> to !q
  return %on : !q
}
