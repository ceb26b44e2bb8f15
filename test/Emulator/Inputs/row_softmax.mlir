// Softmax of rows by hand: a row's maximum and sum go through all lanes that have
// its columns.
!rows = memref<?x64xf32, strided<[?, 1]>>
tile.kernel @row_softmax(%x: !rows {tile.access = #tile.access<in>}, %y: !rows {tile.access = #tile.access<out>})
    attributes {grid = affine_map<()[s0] -> (s0 ceildiv 64)>, grid_sizes = array<i64: 0, 0>, reference = @softmax} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %pid = tile.program_id 0
  %row = arith.muli %pid, %c64 : index
  %t = tile.load %x[%row, %c0] : !rows -> tensor<64x64xf32>
  %max = tile.reduce max %t dim 1 : tensor<64x64xf32> -> tensor<64xf32>
  %m1 = tile.expand_dims %max dim 1 : tensor<64xf32> -> tensor<64x1xf32>
  %m = tile.broadcast %m1 : tensor<64x1xf32> -> tensor<64x64xf32>
  %d = arith.subf %t, %m : tensor<64x64xf32>
  %p = math.exp %d : tensor<64x64xf32>
  %sum = tile.reduce add %p dim 1 : tensor<64x64xf32> -> tensor<64xf32>
  %s1 = tile.expand_dims %sum dim 1 : tensor<64xf32> -> tensor<64x1xf32>
  %s = tile.broadcast %s1 : tensor<64x1xf32> -> tensor<64x64xf32>
  %o = arith.divf %p, %s : tensor<64x64xf32>
  tile.store %o, %y[%row, %c0] : tensor<64x64xf32>, !rows
  tile.return
}
func.func @softmax(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %p = tile.softmax %x : tensor<?x64xf32>
  return %p : tensor<?x64xf32>
}
