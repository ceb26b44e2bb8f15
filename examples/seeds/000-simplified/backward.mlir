// The simplified FlashAttention's gradients, which its text names as the third of its
// tricks (P is computed again) and leaves out: those of q, k and v from the output's.
!rows64 = tensor<?x?x?x64xf16>
!rows128 = tensor<?x?x?x128xf16>
!scores = tensor<?x?x?x?xf32>
!lse = tensor<?x?x?xf32>

func.func @attention_64(%q: !rows64, %k: !rows64, %v: !rows64, %scale: f32) -> (!rows64, !lse)
    attributes {tile.vjp_wrt = array<i64: 0, 1, 2>, tile.vjp_of = array<i64: 0>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : !rows64
  %h = tensor.dim %q, %c1 : !rows64
  %m = tensor.dim %q, %c2 : !rows64
  %n = tensor.dim %k, %c2 : !rows64
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

func.func @attention_128(%q: !rows128, %k: !rows128, %v: !rows128, %scale: f32) -> (!rows128, !lse)
    attributes {tile.vjp_wrt = array<i64: 0, 1, 2>, tile.vjp_of = array<i64: 0>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : !rows128
  %h = tensor.dim %q, %c1 : !rows128
  %m = tensor.dim %q, %c2 : !rows128
  %n = tensor.dim %k, %c2 : !rows128
  %qk = tile.dot %q, %k transpose_b : !rows128, !rows128 -> !scores
  %sc = tile.broadcast %scale sizes %b, %h, %m, %n : f32 -> !scores
  %s0 = arith.mulf %qk, %sc : !scores
  %p = tile.softmax %s0 : !scores
  %ph = arith.truncf %p : !scores to tensor<?x?x?x?xf16>
  %ow = tile.dot %ph, %v : tensor<?x?x?x?xf16>, !rows128 -> tensor<?x?x?x128xf32>
  %o = arith.truncf %ow : tensor<?x?x?x128xf32> to !rows128
  %l = tile.log_sum_exp %s0 : !scores -> !lse
  return %o, %l : !rows128, !lse
}
