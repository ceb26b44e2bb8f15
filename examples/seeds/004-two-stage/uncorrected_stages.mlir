// As it allows itself to be called: 32 queries by 64 keys. The stage before the
// diagonal reaches past it, and the stages overlap. Must fail.
!rows64 = tensor<?x?x?x64xf16>
!scores = tensor<?x?x?x?xf32>
!lse = tensor<?x?x?xf32>

tile.kernel @attn_fwd_causal_32x64(
    %q: memref<?x?x?x64xf16, strided<[?, ?, ?, 1]>> {tile.access = #tile.access<in>},
    %k: memref<?x?x?x64xf16, strided<[?, ?, ?, 1]>> {tile.access = #tile.access<in>},
    %v: memref<?x?x?x64xf16, strided<[?, ?, ?, 1]>> {tile.access = #tile.access<in>},
    %sm_scale: f32,
    %out: memref<?x?x?x64xf16, strided<[?, ?, ?, 1]>> {tile.access = #tile.access<out>},
    %M: memref<?x?x?xf32, strided<[?, ?, ?]>> {tile.access = #tile.access<out>})
    attributes {grid = affine_map<()[s0] -> (s0 ceildiv 32)>, grid_sizes = array<i64: 0, 2>,
                reference = @attention_causal_64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %BM = arith.constant 32 : index
  %BN = arith.constant 64 : index
  %inf = arith.constant dense<0xFF800000> : tensor<32x64xf32>
  %pm = tile.program_id 0
  %Z = memref.dim %q, %c0 : memref<?x?x?x64xf16, strided<[?, ?, ?, 1]>>
  %H = memref.dim %q, %c1 : memref<?x?x?x64xf16, strided<[?, ?, ?, 1]>>
  %N = memref.dim %q, %c2 : memref<?x?x?x64xf16, strided<[?, ?, ?, 1]>>
  %ZH = arith.muli %Z, %H : index
  %row = arith.muli %pm, %BM : index
  %log2e = arith.constant 1.44269504 : f32
  %qk_scale = arith.mulf %sm_scale, %log2e : f32
  %acc0 = arith.constant dense<0.0> : tensor<32x64xf32>
  %m0 = arith.constant dense<0xFF800000> : tensor<32xf32>
  %l0 = arith.constant dense<1.0> : tensor<32xf32>
  scf.for %zh = %c0 to %ZH step %c1 {
    %z = arith.divui %zh, %H : index
    %h = arith.remui %zh, %H : index
    %q_head = memref.subview %q[%z, %h, 0, 0] [1, 1, %N, 64] [1, 1, 1, 1] : memref<?x?x?x64xf16, strided<[?, ?, ?, 1]>> to memref<?x64xf16, strided<[?, 1], offset: ?>>
    %k_head = memref.subview %k[%z, %h, 0, 0] [1, 1, %N, 64] [1, 1, 1, 1] : memref<?x?x?x64xf16, strided<[?, ?, ?, 1]>> to memref<?x64xf16, strided<[?, 1], offset: ?>>
    %v_head = memref.subview %v[%z, %h, 0, 0] [1, 1, %N, 64] [1, 1, 1, 1] : memref<?x?x?x64xf16, strided<[?, ?, ?, 1]>> to memref<?x64xf16, strided<[?, 1], offset: ?>>
    %out_head = memref.subview %out[%z, %h, 0, 0] [1, 1, %N, 64] [1, 1, 1, 1] : memref<?x?x?x64xf16, strided<[?, ?, ?, 1]>> to memref<?x64xf16, strided<[?, 1], offset: ?>>
    %qt = tile.load %q_head[%row, %c0] : memref<?x64xf16, strided<[?, 1], offset: ?>> -> tensor<32x64xf16>
    %row_end = arith.addi %row, %BM : index
    %off_band:3 = scf.for %n = %c0 to %row step %BN iter_args(%acc = %acc0, %m_i = %m0, %l_i = %l0) -> (tensor<32x64xf32>, tensor<32xf32>, tensor<32xf32>) {
      %kt = tile.load %k_head[%n, %c0] : memref<?x64xf16, strided<[?, 1], offset: ?>> -> tensor<64x64xf16>
      %qk = tile.dot %qt, %kt transpose_b : tensor<32x64xf16>, tensor<64x64xf16> -> tensor<32x64xf32>
      %sc = tile.broadcast %qk_scale : f32 -> tensor<32x64xf32>
      %s0 = arith.mulf %qk, %sc : tensor<32x64xf32>
      %m_tile = tile.reduce max %s0 dim 1 : tensor<32x64xf32> -> tensor<32xf32>
      %m_new = arith.maximumf %m_i, %m_tile : tensor<32xf32>
      %mbc = tile.expand_dims %m_new dim 1 : tensor<32xf32> -> tensor<32x1xf32>
      %mb = tile.broadcast %mbc : tensor<32x1xf32> -> tensor<32x64xf32>
      %x = arith.subf %s0, %mb : tensor<32x64xf32>
      %p = math.exp2 %x : tensor<32x64xf32>
      %dm = arith.subf %m_i, %m_new : tensor<32xf32>
      %alpha = math.exp2 %dm : tensor<32xf32>
      %l_tile = tile.reduce add %p dim 1 : tensor<32x64xf32> -> tensor<32xf32>
      %l_old = arith.mulf %l_i, %alpha : tensor<32xf32>
      %l_new = arith.addf %l_old, %l_tile : tensor<32xf32>
      %abc = tile.expand_dims %alpha dim 1 : tensor<32xf32> -> tensor<32x1xf32>
      %ab = tile.broadcast %abc : tensor<32x1xf32> -> tensor<32x64xf32>
      %acc_old = arith.mulf %acc, %ab : tensor<32x64xf32>
      %vt = tile.load %v_head[%n, %c0] : memref<?x64xf16, strided<[?, 1], offset: ?>> -> tensor<64x64xf16>
      %ph = arith.truncf %p : tensor<32x64xf32> to tensor<32x64xf16>
      %acc_new = tile.dot %ph, %vt acc %acc_old : tensor<32x64xf16>, tensor<64x64xf16> -> tensor<32x64xf32>
      scf.yield %acc_new, %m_new, %l_new : tensor<32x64xf32>, tensor<32xf32>, tensor<32xf32>
    }
    %r:3 = scf.for %n = %row to %row_end step %BN iter_args(%acc = %off_band#0, %m_i = %off_band#1, %l_i = %off_band#2) -> (tensor<32x64xf32>, tensor<32xf32>, tensor<32xf32>) {
      %kt = tile.load %k_head[%n, %c0] : memref<?x64xf16, strided<[?, 1], offset: ?>> -> tensor<64x64xf16>
      %qk = tile.dot %qt, %kt transpose_b : tensor<32x64xf16>, tensor<64x64xf16> -> tensor<32x64xf32>
      %sc = tile.broadcast %qk_scale : f32 -> tensor<32x64xf32>
      %s0 = arith.mulf %qk, %sc : tensor<32x64xf32>
      %col = tile.iota dim 1 : tensor<32x64xindex>
      %first = tile.broadcast %n : index -> tensor<32x64xindex>
      %j = arith.addi %col, %first : tensor<32x64xindex>
      %row_in = tile.iota dim 0 : tensor<32x64xindex>
      %first_row = tile.broadcast %row : index -> tensor<32x64xindex>
      %i = arith.addi %row_in, %first_row : tensor<32x64xindex>
      %past = arith.cmpi sge, %i, %j : tensor<32x64xindex>
      %s = arith.select %past, %s0, %inf : tensor<32x64xi1>, tensor<32x64xf32>
      %m_tile = tile.reduce max %s dim 1 : tensor<32x64xf32> -> tensor<32xf32>
      %m_new = arith.maximumf %m_i, %m_tile : tensor<32xf32>
      %mbc = tile.expand_dims %m_new dim 1 : tensor<32xf32> -> tensor<32x1xf32>
      %mb = tile.broadcast %mbc : tensor<32x1xf32> -> tensor<32x64xf32>
      %x = arith.subf %s, %mb : tensor<32x64xf32>
      %p = math.exp2 %x : tensor<32x64xf32>
      %dm = arith.subf %m_i, %m_new : tensor<32xf32>
      %alpha = math.exp2 %dm : tensor<32xf32>
      %l_tile = tile.reduce add %p dim 1 : tensor<32x64xf32> -> tensor<32xf32>
      %l_old = arith.mulf %l_i, %alpha : tensor<32xf32>
      %l_new = arith.addf %l_old, %l_tile : tensor<32xf32>
      %abc = tile.expand_dims %alpha dim 1 : tensor<32xf32> -> tensor<32x1xf32>
      %ab = tile.broadcast %abc : tensor<32x1xf32> -> tensor<32x64xf32>
      %acc_old = arith.mulf %acc, %ab : tensor<32x64xf32>
      %vt = tile.load %v_head[%n, %c0] : memref<?x64xf16, strided<[?, 1], offset: ?>> -> tensor<64x64xf16>
      %ph = arith.truncf %p : tensor<32x64xf32> to tensor<32x64xf16>
      %acc_new = tile.dot %ph, %vt acc %acc_old : tensor<32x64xf16>, tensor<64x64xf16> -> tensor<32x64xf32>
      scf.yield %acc_new, %m_new, %l_new : tensor<32x64xf32>, tensor<32xf32>, tensor<32xf32>
    }
    %logs = math.log2 %r#2 : tensor<32xf32>
    %m_out = arith.addf %r#1, %logs : tensor<32xf32>
    %M_head = memref.subview %M[%z, %h, 0] [1, 1, %N] [1, 1, 1] : memref<?x?x?xf32, strided<[?, ?, ?]>> to memref<?xf32, strided<[?], offset: ?>>
    tile.store %m_out, %M_head[%row] : tensor<32xf32>, memref<?xf32, strided<[?], offset: ?>>
    %lbc = tile.expand_dims %r#2 dim 1 : tensor<32xf32> -> tensor<32x1xf32>
    %lb = tile.broadcast %lbc : tensor<32x1xf32> -> tensor<32x64xf32>
    %o = arith.divf %r#0, %lb : tensor<32x64xf32>
    %oh = arith.truncf %o : tensor<32x64xf32> to tensor<32x64xf16>
    tile.store %oh, %out_head[%row, %c0] : tensor<32x64xf16>, memref<?x64xf16, strided<[?, 1], offset: ?>>
  }
  tile.return
}

func.func @attention_causal_64(%q: !rows64, %k: !rows64, %v: !rows64, %scale: f32) -> (!rows64, !lse) {
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
  %i = tile.iota dim 2 sizes %b, %h, %m, %n : tensor<?x?x?x?xindex>
  %j = tile.iota dim 3 sizes %b, %h, %m, %n : tensor<?x?x?x?xindex>
  %seen = arith.cmpi sle, %j, %i : tensor<?x?x?x?xindex>
  %inf = arith.constant 0xFF800000 : f32
  %infs = tile.broadcast %inf sizes %b, %h, %m, %n : f32 -> !scores
  %s1 = arith.select %seen, %s0, %infs : tensor<?x?x?x?xi1>, !scores
  %p = tile.softmax %s1 : !scores
  %ph = arith.truncf %p : !scores to tensor<?x?x?x?xf16>
  %ow = tile.dot %ph, %v : tensor<?x?x?x?xf16>, !rows64 -> tensor<?x?x?x64xf32>
  %o = arith.truncf %ow : tensor<?x?x?x64xf32> to !rows64
  %l = tile.log_sum_exp %s1 : !scores -> !lse
  %log2e = arith.constant 1.44269504 : f32
  %log2es = tile.broadcast %log2e sizes %b, %h, %m : f32 -> !lse
  %l2 = arith.mulf %l, %log2es : !lse
  return %o, %l2 : !rows64, !lse
}
