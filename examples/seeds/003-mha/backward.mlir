// Gradients of multi-head attention: f16 or bf16 in and out, everything between in f32.
!rows64 = tensor<?x?x?x64xf16>
!rows40 = tensor<?x?x?x40xf16>
!rows128b = tensor<?x?x?x128xbf16>
!scores = tensor<?x?x?x?xf32>
!lse = tensor<?x?x?xf32>

func.func @mha_64(%q: !rows64, %k: !rows64, %v: !rows64, %scale: f32) -> (!rows64, !lse)
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
  %vw = arith.extf %v : !rows64 to tensor<?x?x?x64xf32>
  %ow = tile.dot %p, %vw : !scores, tensor<?x?x?x64xf32> -> tensor<?x?x?x64xf32>
  %o = arith.truncf %ow : tensor<?x?x?x64xf32> to !rows64
  %l = tile.log_sum_exp %s0 : !scores -> !lse
  return %o, %l : !rows64, !lse
}

func.func @mha_40(%q: !rows40, %k: !rows40, %v: !rows40, %scale: f32) -> (!rows40, !lse)
    attributes {tile.vjp_wrt = array<i64: 0, 1, 2>, tile.vjp_of = array<i64: 0>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : !rows40
  %h = tensor.dim %q, %c1 : !rows40
  %m = tensor.dim %q, %c2 : !rows40
  %n = tensor.dim %k, %c2 : !rows40
  %qk = tile.dot %q, %k transpose_b : !rows40, !rows40 -> !scores
  %sc = tile.broadcast %scale sizes %b, %h, %m, %n : f32 -> !scores
  %s0 = arith.mulf %qk, %sc : !scores
  %p = tile.softmax %s0 : !scores
  %vw = arith.extf %v : !rows40 to tensor<?x?x?x40xf32>
  %ow = tile.dot %p, %vw : !scores, tensor<?x?x?x40xf32> -> tensor<?x?x?x40xf32>
  %o = arith.truncf %ow : tensor<?x?x?x40xf32> to !rows40
  %l = tile.log_sum_exp %s0 : !scores -> !lse
  return %o, %l : !rows40, !lse
}

func.func @mha_128_bf16(%q: !rows128b, %k: !rows128b, %v: !rows128b, %scale: f32) -> (!rows128b, !lse)
    attributes {tile.vjp_wrt = array<i64: 0, 1, 2>, tile.vjp_of = array<i64: 0>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : !rows128b
  %h = tensor.dim %q, %c1 : !rows128b
  %m = tensor.dim %q, %c2 : !rows128b
  %n = tensor.dim %k, %c2 : !rows128b
  %qk = tile.dot %q, %k transpose_b : !rows128b, !rows128b -> !scores
  %sc = tile.broadcast %scale sizes %b, %h, %m, %n : f32 -> !scores
  %s0 = arith.mulf %qk, %sc : !scores
  %p = tile.softmax %s0 : !scores
  %vw = arith.extf %v : !rows128b to tensor<?x?x?x128xf32>
  %ow = tile.dot %p, %vw : !scores, tensor<?x?x?x128xf32> -> tensor<?x?x?x128xf32>
  %o = arith.truncf %ow : tensor<?x?x?x128xf32> to !rows128b
  %l = tile.log_sum_exp %s0 : !scores -> !lse
  return %o, %l : !rows128b, !lse
}
