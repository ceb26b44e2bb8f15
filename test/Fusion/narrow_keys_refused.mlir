// RUN: fa-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(func.func(tile-fuse-attention))'

!q = tensor<?x?x?x64xbf16>
!n = tensor<?x?x?x64xf8E4M3FN>
!s = tensor<?x?x?x?xf32>
!h = tensor<?x?x?x?xbf16>

func.func @keys_alone(%q: !q, %k: !n, %v: !q) -> tensor<?x?x?x64xf32> {
  %kw = arith.extf %k : !n to !q
  %s = tile.dot %q, %kw transpose_b : !q, !q -> !s
  // expected-remark @+1 {{attention is not fused: of K and V one alone has elements of 8 bits}}
  %p = tile.softmax %s : !s
  %pn = arith.truncf %p : !s to !h
  %o = tile.dot %pn, %v : !h, !q -> tensor<?x?x?x64xf32>
  return %o : tensor<?x?x?x64xf32>
}

// -----

!q = tensor<?x?x?x64xf32>
!n = tensor<?x?x?x64xf8E4M3FN>
!s = tensor<?x?x?x?xf32>

func.func @wide_queries(%q: !q, %k: !n, %v: !n) -> !q {
  %kw = arith.extf %k : !n to !q
  %vw = arith.extf %v : !n to !q
  %s = tile.dot %q, %kw transpose_b : !q, !q -> !s
  // expected-remark @+1 {{attention is not fused: K and V have elements of 8 bits, and Q has none of 16}}
  %p = tile.softmax %s : !s
  %o = tile.dot %p, %vw : !s, !q -> !q
  return %o : !q
}

// -----

!q = tensor<?x?x?x64xf16>
!w = tensor<?x?x?x64xf32>
!n = tensor<?x?x?x64xf8E4M3FN>
!s = tensor<?x?x?x?xf32>
!h = tensor<?x?x?x?xbf16>

func.func @other_rounding(%q: !q, %k: !n, %v: !n) -> !w {
  %qw = arith.extf %q : !q to !w
  %kw = arith.extf %k : !n to !w
  %vw = arith.extf %v : !n to !w
  %s = tile.dot %qw, %kw transpose_b : !w, !w -> !s
  // expected-remark @+1 {{attention is not fused: the probabilities are not rounded to Q's type}}
  %p = tile.softmax %s : !s
  %pn = arith.truncf %p : !s to !h
  %pw = arith.extf %pn : !h to !s
  %o = tile.dot %pw, %vw : !s, !w -> !w
  return %o : !w
}

// -----

!w = tensor<?x?x?x64xf32>
!n = tensor<?x?x?x64xf8E4M3FN>
!s = tensor<?x?x?x?xf32>

func.func @nothing_is_rounded(%q: !n, %k: !n, %v: !n) -> !w {
  %qw = arith.extf %q : !n to !w
  %kw = arith.extf %k : !n to !w
  %vw = arith.extf %v : !n to !w
  %s = tile.dot %qw, %kw transpose_b : !w, !w -> !s
  // expected-remark @+1 {{attention is not fused: Q has elements of 8 bits, and the probabilities are not rounded to f16 or bf16}}
  %p = tile.softmax %s : !s
  %o = tile.dot %p, %vw : !s, !w -> !w
  return %o : !w
}

// -----

!q = tensor<?x?x?x64xbf16>
!w = tensor<?x?x?x64xf32>
!n = tensor<?x?x?x64xf8E4M3FN>
!s = tensor<?x?x?x?xf32>
!h = tensor<?x?x?x?xbf16>
!c = tensor<?x?x?xf32>

func.func @keys_of_a_scale(%q: !q, %k: !n, %v: !n, %ks: !c, %vs: !c) -> !q {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %k, %c0 : !n
  %h = tensor.dim %k, %c1 : !n
  %j = tensor.dim %k, %c2 : !n
  %m = tensor.dim %ks, %c2 : !c
  %qw = arith.extf %q : !q to !w
  %kw = arith.extf %k : !n to !w
  %k1 = tile.expand_dims %ks dim 3 : !c -> tensor<?x?x?x1xf32>
  %k2 = tile.broadcast %k1 sizes %b, %h, %m : tensor<?x?x?x1xf32> -> tensor<?x?x?x32xf32>
  %k3 = tensor.collapse_shape %k2 [[0], [1], [2, 3]] : tensor<?x?x?x32xf32> into !c
  %k5 = tile.expand_dims %k3 dim 3 : !c -> tensor<?x?x?x1xf32>
  %k6 = tile.broadcast %k5 sizes %b, %h, %j : tensor<?x?x?x1xf32> -> !w
  %kd = arith.mulf %kw, %k6 : !w
  %vw = arith.extf %v : !n to !w
  %v1 = tile.expand_dims %vs dim 3 : !c -> tensor<?x?x?x1xf32>
  %v6 = tile.broadcast %v1 sizes %b, %h, %j : tensor<?x?x?x1xf32> -> !w
  %vd = arith.mulf %vw, %v6 : !w
  %s = tile.dot %qw, %kd transpose_b : !w, !w -> !s
  // expected-remark @+1 {{attention is not fused: K and V are multiplied with numbers for 32 and for 1 keys each}}
  %p = tile.softmax %s : !s
  %pn = arith.truncf %p : !s to !h
  %pw = arith.extf %pn : !h to !s
  %o = tile.dot %pw, %vd : !s, !w -> !w
  %on = arith.truncf %o : !w to !q
  return %on : !q
}
