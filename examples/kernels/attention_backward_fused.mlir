// The gradients of O = softmax(scale Q Kᵀ) V in one walk, five dots a step, as
// kernels written by hand at S3 (attention_backward.mlir has the formulas and
// the same in two walks, seven dots):
//
//   P = exp(scale Q Kᵀ − lse)    dP = dO Vᵀ    dS = P ∘ (dP − delta)
//   dV = Pᵀ dO    dQ = scale dS K    dK = scale dSᵀ Q
//
// A program of the first has 128 keys and walks the queries, 64 in a step, with
// scores as Sᵀ. Its share of dQ is a sum over its own keys: it writes that to a
// slice of the workspace `dq_parts`, f32 [blocks of keys, heads, queries, 64],
// whose contents before do not matter. The second adds the slices in order, so
// that the results are the same in each run. Where consumers have rows of keys
// each, dSᵀ goes through shared memory, since dQ takes the keys of all.
// (Source: Dao, "FlashAttention-2", 2023, algorithm 2.)
//   build/bin/fa-run examples/kernels/attention_backward_fused.mlir --entry=backward \
//     --in 2x150x64 --in 2x200x64 --in 2x200x64 --in 2x150x64 --in 2x150 --in 2x150 --in 0.125 --in 2x2x150x64 \
//     --out dk.npy --out dv.npy --out parts.npy
//   build/bin/fa-run examples/kernels/attention_backward_fused.mlir --entry=sum_queries --in parts.npy --in 0.125 --out dq.npy

!tensor = memref<?x?x64xf16, strided<[?, ?, 1]>>
!rows = memref<?x64xf16, strided<[?, 1], offset: ?>>
!vectors = memref<?x?xf32, strided<[?, 1]>>
!vector = memref<?xf32, strided<[1], offset: ?>>
!parts = memref<?x?x?x64xf32, strided<[?, ?, ?, 1]>>
!part = memref<?x64xf32, strided<[?, 1], offset: ?>>

!query_tile = tensor<64x64xf16> // by the queries in a step
!query_sums = tensor<64x64xf32> // by the queries in a step
!query_vector = tensor<64xf32>  // of the queries in a step
!query_line = tensor<1x64xf32>  // of the queries in a step
!scores = tensor<128x64xf32>    // keys by the queries in a step
!weights = tensor<128x64xf16>   // keys by the queries in a step
!turned = tensor<64x128xf16>    // the queries in a step by keys

tile.kernel @backward(%q: !tensor {tile.access = #tile.access<in>, tile.alignment = 16 : i64}, %k: !tensor {tile.access = #tile.access<in>, tile.alignment = 16 : i64},
                      %v: !tensor {tile.access = #tile.access<in>, tile.alignment = 16 : i64}, %dout: !tensor {tile.access = #tile.access<in>, tile.alignment = 16 : i64},
                      %lse: !vectors {tile.access = #tile.access<in>}, %delta: !vectors {tile.access = #tile.access<in>},
                      %scale: f32, %dk: !tensor {tile.access = #tile.access<out>, tile.alignment = 16 : i64}, %dv: !tensor {tile.access = #tile.access<out>, tile.alignment = 16 : i64},
                      %dq_parts: !parts {tile.access = #tile.access<inout>, tile.alignment = 16 : i64})
    attributes {grid = affine_map<()[s0, s1] -> (s0 ceildiv 128, s1)>, grid_sizes = array<i64: 1, 1, 1, 0>,
                rules = [#tile.size_rule<equal 1[0], 0[0]>, #tile.size_rule<equal 2[0], 0[0]>, #tile.size_rule<equal 2[1], 1[1]>, #tile.size_rule<equal 3[0], 0[0]>,
                         #tile.size_rule<equal 3[1], 0[1]>, #tile.size_rule<equal 4[0], 0[0]>, #tile.size_rule<equal 4[1], 0[1]>, #tile.size_rule<equal 5[0], 0[0]>,
                         #tile.size_rule<equal 5[1], 0[1]>, #tile.size_rule<equal 7[0], 0[0]>, #tile.size_rule<equal 7[1], 1[1]>, #tile.size_rule<equal 8[0], 0[0]>,
                         #tile.size_rule<equal 8[1], 1[1]>, #tile.size_rule<equal 9[1], 0[0]>, #tile.size_rule<equal 9[2], 0[1]>]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %step = arith.constant 64 : index // queries in a step
  %zero = arith.constant dense<0.0> : tensor<128x64xf32>
  %most = arith.constant dense<0.0> : !scores // of an exponent: a key that is not there has zeros, which P must not make infinite
  %log2e = arith.constant dense<1.44269504> : !query_vector
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
  %dq_part = memref.subview %dq_parts[%block, %head, 0, 0] [1, 1, %queries, 64] [1, 1, 1, 1] : !parts to !part
  %k_tile = tile.load %k_head[%row, %c0] : !rows -> tensor<128x64xf16>
  %v_tile = tile.load %v_head[%row, %c0] : !rows -> tensor<128x64xf16>
  %factor = arith.mulf %scale, %log2e_scalar : f32
  %factors = tile.broadcast %factor : f32 -> !scores
  %sums:2 = scf.for %i = %c0 to %queries step %step iter_args(%dk_sum = %zero, %dv_sum = %zero) -> (tensor<128x64xf32>, tensor<128x64xf32>) {
    %q_tile = tile.load %q_head[%i, %c0] : !rows -> !query_tile
    %dout_tile = tile.load %dout_head[%i, %c0] : !rows -> !query_tile
    %lse_tile = tile.load %lse_head[%i] : !vector -> !query_vector
    %delta_tile = tile.load %delta_head[%i] : !vector -> !query_vector
    %s = tile.dot %k_tile, %q_tile transpose_b : tensor<128x64xf16>, !query_tile -> !scores
    %scaled = arith.mulf %s, %factors : !scores
    %lse2 = arith.mulf %lse_tile, %log2e : !query_vector
    %lse_line = tile.expand_dims %lse2 dim 0 : !query_vector -> !query_line
    %lse_all = tile.broadcast %lse_line : !query_line -> !scores
    %exponent = arith.subf %scaled, %lse_all : !scores
    %bounded = arith.minimumf %exponent, %most : !scores
    %p = math.exp2 %bounded : !scores
    %dp = tile.dot %v_tile, %dout_tile transpose_b : tensor<128x64xf16>, !query_tile -> !scores
    %p_rounded = arith.truncf %p : !scores to !weights
    %dv_next = tile.dot %p_rounded, %dout_tile acc %dv_sum : !weights, !query_tile -> tensor<128x64xf32>
    %delta_line = tile.expand_dims %delta_tile dim 0 : !query_vector -> !query_line
    %delta_all = tile.broadcast %delta_line : !query_line -> !scores
    %difference = arith.subf %dp, %delta_all : !scores
    %ds = arith.mulf %p, %difference : !scores
    %ds_rounded = arith.truncf %ds : !scores to !weights
    %ds_of_queries = tile.transpose %ds_rounded [1, 0] : !weights -> !turned
    %dq = tile.dot %ds_of_queries, %k_tile : !turned, tensor<128x64xf16> -> !query_sums
    %dk_next = tile.dot %ds_rounded, %q_tile acc %dk_sum : !weights, !query_tile -> tensor<128x64xf32>
    tile.store %dq, %dq_part[%i, %c0] : !query_sums, !part
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

tile.kernel @sum_queries(%dq_parts: !parts {tile.access = #tile.access<in>, tile.alignment = 16 : i64}, %scale: f32,
                         %dq: !tensor {tile.access = #tile.access<out>, tile.alignment = 16 : i64})
    attributes {grid = affine_map<()[s0, s1] -> (s0 ceildiv 64, s1)>, grid_sizes = array<i64: 2, 1, 2, 0>,
                rules = [#tile.size_rule<equal 2[0], 0[1]>, #tile.size_rule<equal 2[1], 0[2]>]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %block = tile.program_id 0
  %head = tile.program_id 1
  %row = arith.muli %block, %c64 : index
  %parts = memref.dim %dq_parts, %c0 : !parts
  %queries = memref.dim %dq, %c1 : !tensor
  %dq_head = memref.subview %dq[%head, 0, 0] [1, %queries, 64] [1, 1, 1] : !tensor to !rows
  %sum = scf.for %n = %c0 to %parts step %c1 iter_args(%before = %zero) -> (tensor<64x64xf32>) {
    %part = memref.subview %dq_parts[%n, %head, 0, 0] [1, 1, %queries, 64] [1, 1, 1, 1] : !parts to !part
    %tile = tile.load %part[%row, %c0] : !part -> tensor<64x64xf32>
    %next = arith.addf %before, %tile : tensor<64x64xf32>
    scf.yield %next : tensor<64x64xf32>
  }
  %scales = tile.broadcast %scale : f32 -> tensor<64x64xf32>
  %scaled = arith.mulf %sum, %scales : tensor<64x64xf32>
  %out = arith.truncf %scaled : tensor<64x64xf32> to tensor<64x64xf16>
  tile.store %out, %dq_head[%row, %c0] : tensor<64x64xf16>, !rows
  tile.return
}
