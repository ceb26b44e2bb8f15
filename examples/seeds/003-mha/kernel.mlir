// 64 queries by 64 keys; the head dimension is padded to 64 or 128 by loads that give
// 0 beyond it. Q, K, V and P are f32 in the dots.
!rows64 = tensor<?x?x?x64xf16>
!rows40 = tensor<?x?x?x40xf16>
!rows128b = tensor<?x?x?x128xbf16>
!scores = tensor<?x?x?x?xf32>

tile.kernel @mha_fwd_64(
    %q: memref<?x?x?x64xf16, strided<[?, ?, ?, 1]>> {tile.access = #tile.access<in>},
    %k: memref<?x?x?x64xf16, strided<[?, ?, ?, 1]>> {tile.access = #tile.access<in>},
    %v: memref<?x?x?x64xf16, strided<[?, ?, ?, 1]>> {tile.access = #tile.access<in>},
    %sm_scale: f32,
    %out: memref<?x?x?x64xf16, strided<[?, ?, ?, 1]>> {tile.access = #tile.access<out>})
    attributes {grid = affine_map<()[s0, s1, s2] -> (s0 ceildiv 64, s1 * s2)>, grid_sizes = array<i64: 0, 2, 0, 0, 0, 1>,
                reference = @mha_64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %BM = arith.constant 64 : index
  %BN = arith.constant 64 : index
  %inf = arith.constant dense<0xFF800000> : tensor<64x64xf32>
  %pm = tile.program_id 0
  %zh = tile.program_id 1
  %H = memref.dim %q, %c1 : memref<?x?x?x64xf16, strided<[?, ?, ?, 1]>>
  %N = memref.dim %q, %c2 : memref<?x?x?x64xf16, strided<[?, ?, ?, 1]>>
  %z = arith.divui %zh, %H : index
  %h = arith.remui %zh, %H : index
  %row = arith.muli %pm, %BM : index
  %q_head = memref.subview %q[%z, %h, 0, 0] [1, 1, %N, 64] [1, 1, 1, 1] : memref<?x?x?x64xf16, strided<[?, ?, ?, 1]>> to memref<?x64xf16, strided<[?, 1], offset: ?>>
  %k_head = memref.subview %k[%z, %h, 0, 0] [1, 1, %N, 64] [1, 1, 1, 1] : memref<?x?x?x64xf16, strided<[?, ?, ?, 1]>> to memref<?x64xf16, strided<[?, 1], offset: ?>>
  %v_head = memref.subview %v[%z, %h, 0, 0] [1, 1, %N, 64] [1, 1, 1, 1] : memref<?x?x?x64xf16, strided<[?, ?, ?, 1]>> to memref<?x64xf16, strided<[?, 1], offset: ?>>
  %out_head = memref.subview %out[%z, %h, 0, 0] [1, 1, %N, 64] [1, 1, 1, 1] : memref<?x?x?x64xf16, strided<[?, ?, ?, 1]>> to memref<?x64xf16, strided<[?, 1], offset: ?>>
  %qh = tile.load %q_head[%row, %c0] : memref<?x64xf16, strided<[?, 1], offset: ?>> -> tensor<64x64xf16>
  %qt = arith.extf %qh : tensor<64x64xf16> to tensor<64x64xf32>
  %acc0 = arith.constant dense<0.0> : tensor<64x64xf32>
  %m0 = arith.constant dense<0xFF800000> : tensor<64xf32>
  %l0 = arith.constant dense<0.0> : tensor<64xf32>
  %r:3 = scf.for %n = %c0 to %N step %BN iter_args(%acc = %acc0, %m_i = %m0, %l_i = %l0) -> (tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>) {
    %kh = tile.load %k_head[%n, %c0] : memref<?x64xf16, strided<[?, 1], offset: ?>> -> tensor<64x64xf16>
    %kt = arith.extf %kh : tensor<64x64xf16> to tensor<64x64xf32>
    %qk = tile.dot %qt, %kt transpose_b : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
    %sc = tile.broadcast %sm_scale : f32 -> tensor<64x64xf32>
    %s0 = arith.mulf %qk, %sc : tensor<64x64xf32>
    %col = tile.iota dim 1 : tensor<64x64xindex>
    %first = tile.broadcast %n : index -> tensor<64x64xindex>
    %j = arith.addi %col, %first : tensor<64x64xindex>
    %Ns = tile.broadcast %N : index -> tensor<64x64xindex>
    %valid = arith.cmpi slt, %j, %Ns : tensor<64x64xindex>
    %s = arith.select %valid, %s0, %inf : tensor<64x64xi1>, tensor<64x64xf32>
    %m_tile = tile.reduce max %s dim 1 : tensor<64x64xf32> -> tensor<64xf32>
    %m_new = arith.maximumf %m_i, %m_tile : tensor<64xf32>
    %mbc = tile.expand_dims %m_new dim 1 : tensor<64xf32> -> tensor<64x1xf32>
    %mb = tile.broadcast %mbc : tensor<64x1xf32> -> tensor<64x64xf32>
    %x = arith.subf %s, %mb : tensor<64x64xf32>
    %p = math.exp %x : tensor<64x64xf32>
    %dm = arith.subf %m_i, %m_new : tensor<64xf32>
    %alpha = math.exp %dm : tensor<64xf32>
    %l_tile = tile.reduce add %p dim 1 : tensor<64x64xf32> -> tensor<64xf32>
    %l_old = arith.mulf %l_i, %alpha : tensor<64xf32>
    %l_new = arith.addf %l_old, %l_tile : tensor<64xf32>
    %abc = tile.expand_dims %alpha dim 1 : tensor<64xf32> -> tensor<64x1xf32>
    %ab = tile.broadcast %abc : tensor<64x1xf32> -> tensor<64x64xf32>
    %acc_old = arith.mulf %acc, %ab : tensor<64x64xf32>
    %vt = tile.load %v_head[%n, %c0] : memref<?x64xf16, strided<[?, 1], offset: ?>> -> tensor<64x64xf16>
    %vw = arith.extf %vt : tensor<64x64xf16> to tensor<64x64xf32>
    %acc_new = tile.dot %p, %vw acc %acc_old : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
    scf.yield %acc_new, %m_new, %l_new : tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>
  }
  %lbc = tile.expand_dims %r#2 dim 1 : tensor<64xf32> -> tensor<64x1xf32>
  %lb = tile.broadcast %lbc : tensor<64x1xf32> -> tensor<64x64xf32>
  %o = arith.divf %r#0, %lb : tensor<64x64xf32>
  %oh = arith.truncf %o : tensor<64x64xf32> to tensor<64x64xf16>
  tile.store %oh, %out_head[%row, %c0] : tensor<64x64xf16>, memref<?x64xf16, strided<[?, 1], offset: ?>>
  tile.return
}

tile.kernel @mha_fwd_40(
    %q: memref<?x?x?x40xf16, strided<[?, ?, ?, 1]>> {tile.access = #tile.access<in>},
    %k: memref<?x?x?x40xf16, strided<[?, ?, ?, 1]>> {tile.access = #tile.access<in>},
    %v: memref<?x?x?x40xf16, strided<[?, ?, ?, 1]>> {tile.access = #tile.access<in>},
    %sm_scale: f32,
    %out: memref<?x?x?x40xf16, strided<[?, ?, ?, 1]>> {tile.access = #tile.access<out>})
    attributes {grid = affine_map<()[s0, s1, s2] -> (s0 ceildiv 64, s1 * s2)>, grid_sizes = array<i64: 0, 2, 0, 0, 0, 1>,
                reference = @mha_40} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %BM = arith.constant 64 : index
  %BN = arith.constant 64 : index
  %inf = arith.constant dense<0xFF800000> : tensor<64x64xf32>
  %pm = tile.program_id 0
  %zh = tile.program_id 1
  %H = memref.dim %q, %c1 : memref<?x?x?x40xf16, strided<[?, ?, ?, 1]>>
  %N = memref.dim %q, %c2 : memref<?x?x?x40xf16, strided<[?, ?, ?, 1]>>
  %z = arith.divui %zh, %H : index
  %h = arith.remui %zh, %H : index
  %row = arith.muli %pm, %BM : index
  %q_head = memref.subview %q[%z, %h, 0, 0] [1, 1, %N, 40] [1, 1, 1, 1] : memref<?x?x?x40xf16, strided<[?, ?, ?, 1]>> to memref<?x40xf16, strided<[?, 1], offset: ?>>
  %k_head = memref.subview %k[%z, %h, 0, 0] [1, 1, %N, 40] [1, 1, 1, 1] : memref<?x?x?x40xf16, strided<[?, ?, ?, 1]>> to memref<?x40xf16, strided<[?, 1], offset: ?>>
  %v_head = memref.subview %v[%z, %h, 0, 0] [1, 1, %N, 40] [1, 1, 1, 1] : memref<?x?x?x40xf16, strided<[?, ?, ?, 1]>> to memref<?x40xf16, strided<[?, 1], offset: ?>>
  %out_head = memref.subview %out[%z, %h, 0, 0] [1, 1, %N, 40] [1, 1, 1, 1] : memref<?x?x?x40xf16, strided<[?, ?, ?, 1]>> to memref<?x40xf16, strided<[?, 1], offset: ?>>
  %qh = tile.load %q_head[%row, %c0] : memref<?x40xf16, strided<[?, 1], offset: ?>> -> tensor<64x64xf16>
  %qt = arith.extf %qh : tensor<64x64xf16> to tensor<64x64xf32>
  %acc0 = arith.constant dense<0.0> : tensor<64x64xf32>
  %m0 = arith.constant dense<0xFF800000> : tensor<64xf32>
  %l0 = arith.constant dense<0.0> : tensor<64xf32>
  %r:3 = scf.for %n = %c0 to %N step %BN iter_args(%acc = %acc0, %m_i = %m0, %l_i = %l0) -> (tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>) {
    %kh = tile.load %k_head[%n, %c0] : memref<?x40xf16, strided<[?, 1], offset: ?>> -> tensor<64x64xf16>
    %kt = arith.extf %kh : tensor<64x64xf16> to tensor<64x64xf32>
    %qk = tile.dot %qt, %kt transpose_b : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
    %sc = tile.broadcast %sm_scale : f32 -> tensor<64x64xf32>
    %s0 = arith.mulf %qk, %sc : tensor<64x64xf32>
    %col = tile.iota dim 1 : tensor<64x64xindex>
    %first = tile.broadcast %n : index -> tensor<64x64xindex>
    %j = arith.addi %col, %first : tensor<64x64xindex>
    %Ns = tile.broadcast %N : index -> tensor<64x64xindex>
    %valid = arith.cmpi slt, %j, %Ns : tensor<64x64xindex>
    %s = arith.select %valid, %s0, %inf : tensor<64x64xi1>, tensor<64x64xf32>
    %m_tile = tile.reduce max %s dim 1 : tensor<64x64xf32> -> tensor<64xf32>
    %m_new = arith.maximumf %m_i, %m_tile : tensor<64xf32>
    %mbc = tile.expand_dims %m_new dim 1 : tensor<64xf32> -> tensor<64x1xf32>
    %mb = tile.broadcast %mbc : tensor<64x1xf32> -> tensor<64x64xf32>
    %x = arith.subf %s, %mb : tensor<64x64xf32>
    %p = math.exp %x : tensor<64x64xf32>
    %dm = arith.subf %m_i, %m_new : tensor<64xf32>
    %alpha = math.exp %dm : tensor<64xf32>
    %l_tile = tile.reduce add %p dim 1 : tensor<64x64xf32> -> tensor<64xf32>
    %l_old = arith.mulf %l_i, %alpha : tensor<64xf32>
    %l_new = arith.addf %l_old, %l_tile : tensor<64xf32>
    %abc = tile.expand_dims %alpha dim 1 : tensor<64xf32> -> tensor<64x1xf32>
    %ab = tile.broadcast %abc : tensor<64x1xf32> -> tensor<64x64xf32>
    %acc_old = arith.mulf %acc, %ab : tensor<64x64xf32>
    %vt = tile.load %v_head[%n, %c0] : memref<?x40xf16, strided<[?, 1], offset: ?>> -> tensor<64x64xf16>
    %vw = arith.extf %vt : tensor<64x64xf16> to tensor<64x64xf32>
    %acc_new = tile.dot %p, %vw acc %acc_old : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
    scf.yield %acc_new, %m_new, %l_new : tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>
  }
  %lbc = tile.expand_dims %r#2 dim 1 : tensor<64xf32> -> tensor<64x1xf32>
  %lb = tile.broadcast %lbc : tensor<64x1xf32> -> tensor<64x64xf32>
  %o = arith.divf %r#0, %lb : tensor<64x64xf32>
  %oh = arith.truncf %o : tensor<64x64xf32> to tensor<64x64xf16>
  tile.store %oh, %out_head[%row, %c0] : tensor<64x64xf16>, memref<?x40xf16, strided<[?, 1], offset: ?>>
  tile.return
}

tile.kernel @mha_fwd_128_bf16(
    %q: memref<?x?x?x128xbf16, strided<[?, ?, ?, 1]>> {tile.access = #tile.access<in>},
    %k: memref<?x?x?x128xbf16, strided<[?, ?, ?, 1]>> {tile.access = #tile.access<in>},
    %v: memref<?x?x?x128xbf16, strided<[?, ?, ?, 1]>> {tile.access = #tile.access<in>},
    %sm_scale: f32,
    %out: memref<?x?x?x128xbf16, strided<[?, ?, ?, 1]>> {tile.access = #tile.access<out>})
    attributes {grid = affine_map<()[s0, s1, s2] -> (s0 ceildiv 64, s1 * s2)>, grid_sizes = array<i64: 0, 2, 0, 0, 0, 1>,
                reference = @mha_128_bf16} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %BM = arith.constant 64 : index
  %BN = arith.constant 64 : index
  %inf = arith.constant dense<0xFF800000> : tensor<64x64xf32>
  %pm = tile.program_id 0
  %zh = tile.program_id 1
  %H = memref.dim %q, %c1 : memref<?x?x?x128xbf16, strided<[?, ?, ?, 1]>>
  %N = memref.dim %q, %c2 : memref<?x?x?x128xbf16, strided<[?, ?, ?, 1]>>
  %z = arith.divui %zh, %H : index
  %h = arith.remui %zh, %H : index
  %row = arith.muli %pm, %BM : index
  %q_head = memref.subview %q[%z, %h, 0, 0] [1, 1, %N, 128] [1, 1, 1, 1] : memref<?x?x?x128xbf16, strided<[?, ?, ?, 1]>> to memref<?x128xbf16, strided<[?, 1], offset: ?>>
  %k_head = memref.subview %k[%z, %h, 0, 0] [1, 1, %N, 128] [1, 1, 1, 1] : memref<?x?x?x128xbf16, strided<[?, ?, ?, 1]>> to memref<?x128xbf16, strided<[?, 1], offset: ?>>
  %v_head = memref.subview %v[%z, %h, 0, 0] [1, 1, %N, 128] [1, 1, 1, 1] : memref<?x?x?x128xbf16, strided<[?, ?, ?, 1]>> to memref<?x128xbf16, strided<[?, 1], offset: ?>>
  %out_head = memref.subview %out[%z, %h, 0, 0] [1, 1, %N, 128] [1, 1, 1, 1] : memref<?x?x?x128xbf16, strided<[?, ?, ?, 1]>> to memref<?x128xbf16, strided<[?, 1], offset: ?>>
  %qh = tile.load %q_head[%row, %c0] : memref<?x128xbf16, strided<[?, 1], offset: ?>> -> tensor<64x128xbf16>
  %qt = arith.extf %qh : tensor<64x128xbf16> to tensor<64x128xf32>
  %acc0 = arith.constant dense<0.0> : tensor<64x128xf32>
  %m0 = arith.constant dense<0xFF800000> : tensor<64xf32>
  %l0 = arith.constant dense<0.0> : tensor<64xf32>
  %r:3 = scf.for %n = %c0 to %N step %BN iter_args(%acc = %acc0, %m_i = %m0, %l_i = %l0) -> (tensor<64x128xf32>, tensor<64xf32>, tensor<64xf32>) {
    %kh = tile.load %k_head[%n, %c0] : memref<?x128xbf16, strided<[?, 1], offset: ?>> -> tensor<64x128xbf16>
    %kt = arith.extf %kh : tensor<64x128xbf16> to tensor<64x128xf32>
    %qk = tile.dot %qt, %kt transpose_b : tensor<64x128xf32>, tensor<64x128xf32> -> tensor<64x64xf32>
    %sc = tile.broadcast %sm_scale : f32 -> tensor<64x64xf32>
    %s0 = arith.mulf %qk, %sc : tensor<64x64xf32>
    %col = tile.iota dim 1 : tensor<64x64xindex>
    %first = tile.broadcast %n : index -> tensor<64x64xindex>
    %j = arith.addi %col, %first : tensor<64x64xindex>
    %Ns = tile.broadcast %N : index -> tensor<64x64xindex>
    %valid = arith.cmpi slt, %j, %Ns : tensor<64x64xindex>
    %s = arith.select %valid, %s0, %inf : tensor<64x64xi1>, tensor<64x64xf32>
    %m_tile = tile.reduce max %s dim 1 : tensor<64x64xf32> -> tensor<64xf32>
    %m_new = arith.maximumf %m_i, %m_tile : tensor<64xf32>
    %mbc = tile.expand_dims %m_new dim 1 : tensor<64xf32> -> tensor<64x1xf32>
    %mb = tile.broadcast %mbc : tensor<64x1xf32> -> tensor<64x64xf32>
    %x = arith.subf %s, %mb : tensor<64x64xf32>
    %p = math.exp %x : tensor<64x64xf32>
    %dm = arith.subf %m_i, %m_new : tensor<64xf32>
    %alpha = math.exp %dm : tensor<64xf32>
    %l_tile = tile.reduce add %p dim 1 : tensor<64x64xf32> -> tensor<64xf32>
    %l_old = arith.mulf %l_i, %alpha : tensor<64xf32>
    %l_new = arith.addf %l_old, %l_tile : tensor<64xf32>
    %abc = tile.expand_dims %alpha dim 1 : tensor<64xf32> -> tensor<64x1xf32>
    %ab = tile.broadcast %abc : tensor<64x1xf32> -> tensor<64x128xf32>
    %acc_old = arith.mulf %acc, %ab : tensor<64x128xf32>
    %vt = tile.load %v_head[%n, %c0] : memref<?x128xbf16, strided<[?, 1], offset: ?>> -> tensor<64x128xbf16>
    %vw = arith.extf %vt : tensor<64x128xbf16> to tensor<64x128xf32>
    %acc_new = tile.dot %p, %vw acc %acc_old : tensor<64x64xf32>, tensor<64x128xf32> -> tensor<64x128xf32>
    scf.yield %acc_new, %m_new, %l_new : tensor<64x128xf32>, tensor<64xf32>, tensor<64xf32>
  }
  %lbc = tile.expand_dims %r#2 dim 1 : tensor<64xf32> -> tensor<64x1xf32>
  %lb = tile.broadcast %lbc : tensor<64x1xf32> -> tensor<64x128xf32>
  %o = arith.divf %r#0, %lb : tensor<64x128xf32>
  %oh = arith.truncf %o : tensor<64x128xf32> to tensor<64x128xbf16>
  tile.store %oh, %out_head[%row, %c0] : tensor<64x128xbf16>, memref<?x128xbf16, strided<[?, 1], offset: ?>>
  tile.return
}

func.func @mha_64(%q: !rows64, %k: !rows64, %v: !rows64, %scale: f32) -> !rows64 {
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
  return %o : !rows64
}

func.func @mha_40(%q: !rows40, %k: !rows40, %v: !rows40, %scale: f32) -> !rows40 {
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
  return %o : !rows40
}

func.func @mha_128_bf16(%q: !rows128b, %k: !rows128b, %v: !rows128b, %scale: f32) -> !rows128b {
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
  return %o : !rows128b
}
