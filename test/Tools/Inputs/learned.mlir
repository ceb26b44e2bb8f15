// Gradients of k and q, in this order, of an attention whose scores are changed and multiplied with a number.
!rows = tensor<?x?x?x32xf32>
!scores = tensor<?x?x?x?xf32>
!lse = tensor<?x?x?xf32>

func.func @attention(%q: !rows, %k: !rows, %v: !rows, %number: f32, %scale: f32) -> (!rows, !lse)
    attributes {tile.vjp_wrt = array<i64: 1, 0>, tile.vjp_of = array<i64: 0>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : !rows
  %h = tensor.dim %q, %c1 : !rows
  %m = tensor.dim %q, %c2 : !rows
  %n = tensor.dim %k, %c2 : !rows
  %qk = tile.dot %q, %k transpose_b : !rows, !rows -> !scores
  %sc = tile.broadcast %scale sizes %b, %h, %m, %n : f32 -> !scores
  %s0 = arith.mulf %qk, %sc : !scores
  %t = math.tanh %s0 : !scores
  %nu = tile.broadcast %number sizes %b, %h, %m, %n : f32 -> !scores
  %s1 = arith.mulf %t, %nu : !scores
  %p = tile.softmax %s1 : !scores
  %o = tile.dot %p, %v : !scores, !rows -> !rows
  %l = tile.log_sum_exp %s1 : !scores -> !lse
  return %o, %l : !rows, !lse
}
