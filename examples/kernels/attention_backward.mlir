// The gradients of O = softmax(scale Q Kᵀ) V as two kernels written by hand at
// S3, from the log-sum-exp of each row and delta = rowsum(dO ∘ O):
//
//   P = exp(scale Q Kᵀ − lse)    dP = dO Vᵀ    dS = P ∘ (dP − delta)
//   dV = Pᵀ dO    dK = scale dSᵀ Q    dQ = scale dS K
//
// A program of the first has 128 keys and walks the queries, 64 in a step, with
// scores as Sᵀ; one of the second has 128 queries and walks the keys. Neither
// adds to what another program adds to: the results are the same in each run.
// Queries and keys that are not there are zeros, of which nothing comes, as
// long as P is finite: that of a key that is not there is held at 1, which is
// the most that others have.
// (Source: Dao, "FlashAttention-2", 2023, algorithm 2.)
//   build/bin/fa-run examples/kernels/attention_backward.mlir --entry=backward_keys \
//     --in 2x150x64 --in 2x200x64 --in 2x200x64 --in 2x150x64 --in 2x150 --in 2x150 --in 0.125 --out dk.npy --out dv.npy

!tensor = memref<?x?x64xf16, strided<[?, ?, 1]>>
!rows = memref<?x64xf16, strided<[?, 1], offset: ?>>
!vectors = memref<?x?xf32, strided<[?, 1]>>
!vector = memref<?xf32, strided<[1], offset: ?>>

tile.kernel @backward_keys(%q: !tensor {tile.access = #tile.access<in>, tile.alignment = 16 : i64}, %k: !tensor {tile.access = #tile.access<in>, tile.alignment = 16 : i64},
                           %v: !tensor {tile.access = #tile.access<in>, tile.alignment = 16 : i64}, %dout: !tensor {tile.access = #tile.access<in>, tile.alignment = 16 : i64},
                           %lse: !vectors {tile.access = #tile.access<in>}, %delta: !vectors {tile.access = #tile.access<in>},
                           %scale: f32, %dk: !tensor {tile.access = #tile.access<out>, tile.alignment = 16 : i64}, %dv: !tensor {tile.access = #tile.access<out>, tile.alignment = 16 : i64})
    attributes {grid = affine_map<()[s0, s1] -> (s0 ceildiv 128, s1)>, grid_sizes = array<i64: 1, 1, 1, 0>,
                rules = [#tile.size_rule<equal 1[0], 0[0]>, #tile.size_rule<equal 2[0], 0[0]>, #tile.size_rule<equal 2[1], 1[1]>, #tile.size_rule<equal 3[0], 0[0]>,
                         #tile.size_rule<equal 3[1], 0[1]>, #tile.size_rule<equal 4[0], 0[0]>, #tile.size_rule<equal 4[1], 0[1]>, #tile.size_rule<equal 5[0], 0[0]>,
                         #tile.size_rule<equal 5[1], 0[1]>, #tile.size_rule<equal 7[0], 0[0]>, #tile.size_rule<equal 7[1], 1[1]>, #tile.size_rule<equal 8[0], 0[0]>,
                         #tile.size_rule<equal 8[1], 1[1]>]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant dense<0.0> : tensor<128x64xf32>
  %log2e = arith.constant dense<1.44269504> : tensor<64xf32>
  %log2e_scalar = arith.constant 1.44269504 : f32
  %block = tile.program_id 0
  %head = tile.program_id 1
  %row = arith.muli %block, %c128 : index
  %keys = memref.dim %k, %c1 : !tensor
  %queries = memref.dim %q, %c1 : !tensor
  %q_head = memref.subview %q[%head, 0, 0] [1, %queries, 64] [1, 1, 1] : !tensor to !rows
  %k_head = memref.subview %k[%head, 0, 0] [1, %keys, 64] [1, 1, 1] : !tensor to !rows
  %v_head = memref.subview %v[%head, 0, 0] [1, %keys, 64] [1, 1, 1] : !tensor to !rows
  %dout_head = memref.subview %dout[%head, 0, 0] [1, %queries, 64] [1, 1, 1] : !tensor to !rows
  %dk_head = memref.subview %dk[%head, 0, 0] [1, %keys, 64] [1, 1, 1] : !tensor to !rows
  %dv_head = memref.subview %dv[%head, 0, 0] [1, %keys, 64] [1, 1, 1] : !tensor to !rows
  %lse_head = memref.subview %lse[%head, 0] [1, %queries] [1, 1] : !vectors to !vector
  %delta_head = memref.subview %delta[%head, 0] [1, %queries] [1, 1] : !vectors to !vector
  %k_tile = tile.load %k_head[%row, %c0] : !rows -> tensor<128x64xf16>
  %v_tile = tile.load %v_head[%row, %c0] : !rows -> tensor<128x64xf16>
  %factor = arith.mulf %scale, %log2e_scalar : f32
  %factors = tile.broadcast %factor : f32 -> tensor<128x64xf32>
  %sums:2 = scf.for %i = %c0 to %queries step %c64 iter_args(%dk_sum = %zero, %dv_sum = %zero) -> (tensor<128x64xf32>, tensor<128x64xf32>) {
    %q_tile = tile.load %q_head[%i, %c0] : !rows -> tensor<64x64xf16>
    %dout_tile = tile.load %dout_head[%i, %c0] : !rows -> tensor<64x64xf16>
    %lse_tile = tile.load %lse_head[%i] : !vector -> tensor<64xf32>
    %delta_tile = tile.load %delta_head[%i] : !vector -> tensor<64xf32>
    %s = tile.dot %k_tile, %q_tile transpose_b : tensor<128x64xf16>, tensor<64x64xf16> -> tensor<128x64xf32>
    %scaled = arith.mulf %s, %factors : tensor<128x64xf32>
    %lse2 = arith.mulf %lse_tile, %log2e : tensor<64xf32>
    %lse_line = tile.expand_dims %lse2 dim 0 : tensor<64xf32> -> tensor<1x64xf32>
    %lse_all = tile.broadcast %lse_line : tensor<1x64xf32> -> tensor<128x64xf32>
    %exponent = arith.subf %scaled, %lse_all : tensor<128x64xf32>
    %p = math.exp2 %exponent : tensor<128x64xf32>
    %dp = tile.dot %v_tile, %dout_tile transpose_b : tensor<128x64xf16>, tensor<64x64xf16> -> tensor<128x64xf32>
    %p_rounded = arith.truncf %p : tensor<128x64xf32> to tensor<128x64xf16>
    %dv_next = tile.dot %p_rounded, %dout_tile acc %dv_sum : tensor<128x64xf16>, tensor<64x64xf16> -> tensor<128x64xf32>
    %delta_line = tile.expand_dims %delta_tile dim 0 : tensor<64xf32> -> tensor<1x64xf32>
    %delta_all = tile.broadcast %delta_line : tensor<1x64xf32> -> tensor<128x64xf32>
    %difference = arith.subf %dp, %delta_all : tensor<128x64xf32>
    %ds = arith.mulf %p, %difference : tensor<128x64xf32>
    %ds_rounded = arith.truncf %ds : tensor<128x64xf32> to tensor<128x64xf16>
    %dk_next = tile.dot %ds_rounded, %q_tile acc %dk_sum : tensor<128x64xf16>, tensor<64x64xf16> -> tensor<128x64xf32>
    scf.yield %dk_next, %dv_next : tensor<128x64xf32>, tensor<128x64xf32>
  }
  %scales = tile.broadcast %scale : f32 -> tensor<128x64xf32>
  %dk_scaled = arith.mulf %sums#0, %scales : tensor<128x64xf32>
  %dk_out = arith.truncf %dk_scaled : tensor<128x64xf32> to tensor<128x64xf16>
  tile.store %dk_out, %dk_head[%row, %c0] : tensor<128x64xf16>, !rows
  %dv_out = arith.truncf %sums#1 : tensor<128x64xf32> to tensor<128x64xf16>
  tile.store %dv_out, %dv_head[%row, %c0] : tensor<128x64xf16>, !rows
  tile.return
}

tile.kernel @backward_queries(%q: !tensor {tile.access = #tile.access<in>, tile.alignment = 16 : i64}, %k: !tensor {tile.access = #tile.access<in>, tile.alignment = 16 : i64},
                              %v: !tensor {tile.access = #tile.access<in>, tile.alignment = 16 : i64}, %dout: !tensor {tile.access = #tile.access<in>, tile.alignment = 16 : i64},
                              %lse: !vectors {tile.access = #tile.access<in>}, %delta: !vectors {tile.access = #tile.access<in>},
                              %scale: f32, %dq: !tensor {tile.access = #tile.access<out>, tile.alignment = 16 : i64})
    attributes {grid = affine_map<()[s0, s1] -> (s0 ceildiv 128, s1)>, grid_sizes = array<i64: 0, 1, 0, 0>,
                rules = [#tile.size_rule<equal 1[0], 0[0]>, #tile.size_rule<equal 2[0], 0[0]>, #tile.size_rule<equal 2[1], 1[1]>, #tile.size_rule<equal 3[0], 0[0]>,
                         #tile.size_rule<equal 3[1], 0[1]>, #tile.size_rule<equal 4[0], 0[0]>, #tile.size_rule<equal 4[1], 0[1]>, #tile.size_rule<equal 5[0], 0[0]>,
                         #tile.size_rule<equal 5[1], 0[1]>, #tile.size_rule<equal 7[0], 0[0]>, #tile.size_rule<equal 7[1], 0[1]>]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant dense<0.0> : tensor<128x64xf32>
  %most = arith.constant dense<0.0> : tensor<128x64xf32> // of an exponent
  %log2e = arith.constant dense<1.44269504> : tensor<128xf32>
  %log2e_scalar = arith.constant 1.44269504 : f32
  %block = tile.program_id 0
  %head = tile.program_id 1
  %row = arith.muli %block, %c128 : index
  %keys = memref.dim %k, %c1 : !tensor
  %queries = memref.dim %q, %c1 : !tensor
  %q_head = memref.subview %q[%head, 0, 0] [1, %queries, 64] [1, 1, 1] : !tensor to !rows
  %k_head = memref.subview %k[%head, 0, 0] [1, %keys, 64] [1, 1, 1] : !tensor to !rows
  %v_head = memref.subview %v[%head, 0, 0] [1, %keys, 64] [1, 1, 1] : !tensor to !rows
  %dout_head = memref.subview %dout[%head, 0, 0] [1, %queries, 64] [1, 1, 1] : !tensor to !rows
  %dq_head = memref.subview %dq[%head, 0, 0] [1, %queries, 64] [1, 1, 1] : !tensor to !rows
  %lse_head = memref.subview %lse[%head, 0] [1, %queries] [1, 1] : !vectors to !vector
  %delta_head = memref.subview %delta[%head, 0] [1, %queries] [1, 1] : !vectors to !vector
  %q_tile = tile.load %q_head[%row, %c0] : !rows -> tensor<128x64xf16>
  %dout_tile = tile.load %dout_head[%row, %c0] : !rows -> tensor<128x64xf16>
  %lse_tile = tile.load %lse_head[%row] : !vector -> tensor<128xf32>
  %delta_tile = tile.load %delta_head[%row] : !vector -> tensor<128xf32>
  %lse2 = arith.mulf %lse_tile, %log2e : tensor<128xf32>
  %lse_column = tile.expand_dims %lse2 dim 1 : tensor<128xf32> -> tensor<128x1xf32>
  %lse_all = tile.broadcast %lse_column : tensor<128x1xf32> -> tensor<128x64xf32>
  %delta_column = tile.expand_dims %delta_tile dim 1 : tensor<128xf32> -> tensor<128x1xf32>
  %delta_all = tile.broadcast %delta_column : tensor<128x1xf32> -> tensor<128x64xf32>
  %factor = arith.mulf %scale, %log2e_scalar : f32
  %factors = tile.broadcast %factor : f32 -> tensor<128x64xf32>
  %sum = scf.for %j = %c0 to %keys step %c64 iter_args(%dq_sum = %zero) -> (tensor<128x64xf32>) {
    %k_tile = tile.load %k_head[%j, %c0] : !rows -> tensor<64x64xf16>
    %v_tile = tile.load %v_head[%j, %c0] : !rows -> tensor<64x64xf16>
    %s = tile.dot %q_tile, %k_tile transpose_b : tensor<128x64xf16>, tensor<64x64xf16> -> tensor<128x64xf32>
    %scaled = arith.mulf %s, %factors : tensor<128x64xf32>
    %exponent = arith.subf %scaled, %lse_all : tensor<128x64xf32>
    %bounded = arith.minimumf %exponent, %most : tensor<128x64xf32>
    %p = math.exp2 %bounded : tensor<128x64xf32>
    %dp = tile.dot %dout_tile, %v_tile transpose_b : tensor<128x64xf16>, tensor<64x64xf16> -> tensor<128x64xf32>
    %difference = arith.subf %dp, %delta_all : tensor<128x64xf32>
    %ds = arith.mulf %p, %difference : tensor<128x64xf32>
    %ds_rounded = arith.truncf %ds : tensor<128x64xf32> to tensor<128x64xf16>
    %dq_next = tile.dot %ds_rounded, %k_tile acc %dq_sum : tensor<128x64xf16>, tensor<64x64xf16> -> tensor<128x64xf32>
    scf.yield %dq_next : tensor<128x64xf32>
  }
  %scales = tile.broadcast %scale : f32 -> tensor<128x64xf32>
  %dq_scaled = arith.mulf %sum, %scales : tensor<128x64xf32>
  %dq_out = arith.truncf %dq_scaled : tensor<128x64xf32> to tensor<128x64xf16>
  tile.store %dq_out, %dq_head[%row, %c0] : tensor<128x64xf16>, !rows
  tile.return
}
