// A kernel written by hand at S3: y = x / sqrt(mean(x²) + eps) * w, row by row.
//   build/bin/fa-run examples/kernels/rms_norm.mlir --in 1000x64 --in 64 --in 1e-5 --out y.npy
tile.kernel @rms_norm(%x: memref<?x64xf32, strided<[?, 1]>> {tile.access = #tile.access<in>},
                      %w: memref<64xf32> {tile.access = #tile.access<in>}, %eps: f32,
                      %y: memref<?x64xf32, strided<[?, 1]>> {tile.access = #tile.access<out>})
    attributes {grid = affine_map<()[s0] -> (s0 ceildiv 64)>, grid_sizes = array<i64: 0, 0>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %pid = tile.program_id 0
  %row = arith.muli %pid, %c64 : index
  %t = tile.load %x[%row, %c0] : memref<?x64xf32, strided<[?, 1]>> -> tensor<64x64xf32>
  %square = arith.mulf %t, %t : tensor<64x64xf32>
  %sum = tile.reduce add %square dim 1 : tensor<64x64xf32> -> tensor<64xf32>
  %n = arith.constant dense<64.0> : tensor<64xf32>
  %mean = arith.divf %sum, %n : tensor<64xf32>
  %e = tile.broadcast %eps : f32 -> tensor<64xf32>
  %shifted = arith.addf %mean, %e : tensor<64xf32>
  %inverse = math.rsqrt %shifted : tensor<64xf32>
  %column = tile.expand_dims %inverse dim 1 : tensor<64xf32> -> tensor<64x1xf32>
  %factor = tile.broadcast %column : tensor<64x1xf32> -> tensor<64x64xf32>
  %normal = arith.mulf %t, %factor : tensor<64x64xf32>
  %weights = tile.load %w[%c0] in_bounds : memref<64xf32> -> tensor<64xf32>
  %line = tile.expand_dims %weights dim 0 : tensor<64xf32> -> tensor<1x64xf32>
  %scale = tile.broadcast %line : tensor<1x64xf32> -> tensor<64x64xf32>
  %out = arith.mulf %normal, %scale : tensor<64x64xf32>
  tile.store %out, %y[%row, %c0] : tensor<64x64xf32>, memref<?x64xf32, strided<[?, 1]>>
  tile.return
}
