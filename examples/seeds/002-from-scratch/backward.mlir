// Gradients of attention with scale 1/√64, full and causal.
!rows64 = tensor<?x?x?x64xf16>
!scores = tensor<?x?x?x?xf32>
!lse = tensor<?x?x?xf32>

func.func @attention(%q: !rows64, %k: !rows64, %v: !rows64) -> (!rows64, !lse)
    attributes {tile.vjp_wrt = array<i64: 0, 1, 2>, tile.vjp_of = array<i64: 0>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : !rows64
  %h = tensor.dim %q, %c1 : !rows64
  %m = tensor.dim %q, %c2 : !rows64
  %n = tensor.dim %k, %c2 : !rows64
  %scale = arith.constant 0.125 : f32
  %qk = tile.dot %q, %k transpose_b : !rows64, !rows64 -> !scores
  %sc = tile.broadcast %scale sizes %b, %h, %m, %n : f32 -> !scores
  %s0 = arith.mulf %qk, %sc : !scores
  %p = tile.softmax %s0 : !scores
  %ph = arith.truncf %p : !scores to tensor<?x?x?x?xf16>
  %ow = tile.dot %ph, %v : tensor<?x?x?x?xf16>, !rows64 -> tensor<?x?x?x64xf32>
  %o = arith.truncf %ow : tensor<?x?x?x64xf32> to !rows64
  %l = tile.log_sum_exp %s0 : !scores -> !lse
  return %o, %l : !rows64, !lse
}

func.func @attention_causal(%q: !rows64, %k: !rows64, %v: !rows64) -> (!rows64, !lse)
    attributes {tile.vjp_wrt = array<i64: 0, 1, 2>, tile.vjp_of = array<i64: 0>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : !rows64
  %h = tensor.dim %q, %c1 : !rows64
  %m = tensor.dim %q, %c2 : !rows64
  %n = tensor.dim %k, %c2 : !rows64
  %scale = arith.constant 0.125 : f32
  %qk = tile.dot %q, %k transpose_b : !rows64, !rows64 -> !scores
  %sc = tile.broadcast %scale sizes %b, %h, %m, %n : f32 -> !scores
  %s0 = arith.mulf %qk, %sc : !scores
  %i = tile.iota dim 2 sizes %b, %h, %m, %n : tensor<?x?x?x?xindex>
  %j = tile.iota dim 3 sizes %b, %h, %m, %n : tensor<?x?x?x?xindex>
  %seen = arith.cmpi sle, %j, %i : tensor<?x?x?x?xindex>
  %inf = arith.constant 0xFF800000 : f32
  %infs = tile.broadcast %inf sizes %b, %h, %m, %n : f32 -> !scores
  %s1 = arith.select %seen, %s0, %infs : tensor<?x?x?x?xi1>, !scores
  %p = tile.softmax %s1 : !scores
  %ph = arith.truncf %p : !scores to tensor<?x?x?x?xf16>
  %ow = tile.dot %ph, %v : tensor<?x?x?x?xf16>, !rows64 -> tensor<?x?x?x64xf32>
  %o = arith.truncf %ow : tensor<?x?x?x64xf32> to !rows64
  %l = tile.log_sum_exp %s1 : !scores -> !lse
  return %o, %l : !rows64, !lse
}
