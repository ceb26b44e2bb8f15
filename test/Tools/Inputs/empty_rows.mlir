// The gradient of v, where the first four queries see no key: a finite mask leaves them the mean of all.
!q = tensor<1x2x8x16xf32>
!s = tensor<1x2x8x8xf32>
func.func @masked(%q: !q, %k: !q, %v: !q) -> !q attributes {tile.vjp_wrt = array<i64: 2>} {
  %i = tile.iota dim 2 : tensor<1x2x8x8xindex>
  %j = tile.iota dim 3 : tensor<1x2x8x8xindex>
  %four = arith.constant dense<4> : tensor<1x2x8x8xindex>
  %last = arith.subi %i, %four : tensor<1x2x8x8xindex>
  %sees = arith.cmpi sle, %j, %last : tensor<1x2x8x8xindex>
  %low = arith.constant dense<-1.0e9> : !s
  %s0 = tile.dot %q, %k transpose_b : !q, !q -> !s
  %s = arith.select %sees, %s0, %low : tensor<1x2x8x8xi1>, !s
  %p = tile.softmax %s : !s
  %o = tile.dot %p, %v : !s, !q -> !q
  return %o : !q
}
