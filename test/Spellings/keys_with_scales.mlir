// K and V of e4m3 as PyTorch would have them dequantised: widened to f32 and
// multiplied with a number for each head, which changes places with the products.
// RUN: fa-opt --explain %s | FileCheck %s
// RUN: fa-run %s --in 2x4x50x32 --in 2x2x70x32 --in 2x2x70x32 --in 2x2 --in 2x2 --check | FileCheck %s --check-prefix=RAN
// CHECK: fused: softmax(Q Kᵀ) V is one attention
// RAN-NOT: not fused
// RAN: PASS

!q = tensor<2x4x50x32xf16>
!qw = tensor<2x4x50x32xf32>
!k = tensor<2x2x70x32xf32>
!n = tensor<2x2x70x32xf8E4M3FN>
!s = tensor<2x4x50x70xf32>
!h = tensor<2x4x50x70xf16>
!c = tensor<2x2xf32>

func.func @f(%q: !q, %k: !n, %v: !n, %ks: !c, %vs: !c) -> !q {
  %qw = arith.extf %q : !q to !qw
  %kw = arith.extf %k : !n to !k
  %k1 = tile.expand_dims %ks dim 2 : !c -> tensor<2x2x1xf32>
  %k2 = tile.expand_dims %k1 dim 3 : tensor<2x2x1xf32> -> tensor<2x2x1x1xf32>
  %k3 = tile.broadcast %k2 : tensor<2x2x1x1xf32> -> !k
  %kd = arith.mulf %k3, %kw : !k
  %vw = arith.extf %v : !n to !k
  %v1 = tile.expand_dims %vs dim 2 : !c -> tensor<2x2x1xf32>
  %v2 = tile.expand_dims %v1 dim 3 : tensor<2x2x1xf32> -> tensor<2x2x1x1xf32>
  %v3 = tile.broadcast %v2 : tensor<2x2x1x1xf32> -> !k
  %vd = arith.mulf %vw, %v3 : !k
  %s = tile.dot %qw, %kd transpose_b : !qw, !k -> !s
  %p = tile.softmax %s : !s
  %pn = arith.truncf %p : !s to !h
  %pw = arith.extf %pn : !h to !s
  %o = tile.dot %pw, %vd : !s, !k -> !qw
  %on = arith.truncf %o : !qw to !q
  return %on : !q
}
