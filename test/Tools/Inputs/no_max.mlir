// The gradient of v, of exponentials whose largest is not taken from them: in float64 they are infinite from 710 on.
!q = tensor<1x2x8x16xf32>
!s = tensor<1x2x8x8xf32>
!row = tensor<1x2x8xf32>
func.func @exponentials(%q: !q, %k: !q, %v: !q, %scale: f32) -> !q attributes {tile.vjp_wrt = array<i64: 2>} {
  %c = tile.broadcast %scale : f32 -> !s
  %s0 = tile.dot %q, %k transpose_b : !q, !q -> !s
  %s = arith.mulf %s0, %c : !s
  %e = math.exp %s : !s
  %sum = tile.reduce add %e dim 3 : !s -> !row
  %column = tile.expand_dims %sum dim 3 : !row -> tensor<1x2x8x1xf32>
  %all = tile.broadcast %column : tensor<1x2x8x1xf32> -> !s
  %p = arith.divf %e, %all : !s
  %o = tile.dot %p, %v : !s, !q -> !q
  return %o : !q
}
