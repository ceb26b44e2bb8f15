// No target computes with elements of 8 bits.
func.func @f8(%q: tensor<16x32xf8E4M3FN>) -> tensor<16x32xf8E4M3FN> {
  %0 = tile.transpose %q [1, 0] : tensor<16x32xf8E4M3FN> -> tensor<32x16xf8E4M3FN>
  %1 = tile.transpose %0 [1, 0] : tensor<32x16xf8E4M3FN> -> tensor<16x32xf8E4M3FN>
  return %1 : tensor<16x32xf8E4M3FN>
}
