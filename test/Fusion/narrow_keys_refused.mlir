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
