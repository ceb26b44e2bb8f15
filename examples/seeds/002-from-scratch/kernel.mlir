// One program for 128 queries of a head: a grid of batches, heads and tiles. K is
// loaded transposed; sums of 0 are guarded.
!rows64 = tensor<?x?x?x64xf16>
!scores = tensor<?x?x?x?xf32>

tile.kernel @forward(
    %q: memref<?x?x?x64xf16, strided<[?, ?, ?, 1]>> {tile.access = #tile.access<in>},
    %k: memref<?x?x?x64xf16, strided<[?, ?, ?, 1]>> {tile.access = #tile.access<in>},
    %v: memref<?x?x?x64xf16, strided<[?, ?, ?, 1]>> {tile.access = #tile.access<in>},
    %out: memref<?x?x?x64xf16, strided<[?, ?, ?, 1]>> {tile.access = #tile.access<out>})
    attributes {grid = affine_map<()[s0, s1, s2] -> (s0, s1, s2 ceildiv 128)>, grid_sizes = array<i64: 0, 0, 0, 1, 0, 2>,
                reference = @attention} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %BM = arith.constant 128 : index
  %BN = arith.constant 64 : index
  %inf = arith.constant dense<0xFF800000> : tensor<128x64xf32>
  %z = tile.program_id 0
  %h = tile.program_id 1
  %pm = tile.program_id 2
  %N = memref.dim %q, %c2 : memref<?x?x?x64xf16, strided<[?, ?, ?, 1]>>
  %row = arith.muli %pm, %BM : index
  %q_head = memref.subview %q[%z, %h, 0, 0] [1, 1, %N, 64] [1, 1, 1, 1] : memref<?x?x?x64xf16, strided<[?, ?, ?, 1]>> to memref<?x64xf16, strided<[?, 1], offset: ?>>
  %k_head = memref.subview %k[%z, %h, 0, 0] [1, 1, %N, 64] [1, 1, 1, 1] : memref<?x?x?x64xf16, strided<[?, ?, ?, 1]>> to memref<?x64xf16, strided<[?, 1], offset: ?>>
  %v_head = memref.subview %v[%z, %h, 0, 0] [1, 1, %N, 64] [1, 1, 1, 1] : memref<?x?x?x64xf16, strided<[?, ?, ?, 1]>> to memref<?x64xf16, strided<[?, 1], offset: ?>>
  %out_head = memref.subview %out[%z, %h, 0, 0] [1, 1, %N, 64] [1, 1, 1, 1] : memref<?x?x?x64xf16, strided<[?, ?, ?, 1]>> to memref<?x64xf16, strided<[?, 1], offset: ?>>
  %k_cols = memref.transpose %k_head (s, d) -> (d, s) : memref<?x64xf16, strided<[?, 1], offset: ?>> to memref<64x?xf16, strided<[1, ?], offset: ?>>
  %qt = tile.load %q_head[%row, %c0] : memref<?x64xf16, strided<[?, 1], offset: ?>> -> tensor<128x64xf16>
  %acc0 = arith.constant dense<0.0> : tensor<128x64xf32>
  %m0 = arith.constant dense<0xFF800000> : tensor<128xf32>
  %l0 = arith.constant dense<0.0> : tensor<128xf32>
  %r:3 = scf.for %n = %c0 to %N step %BN iter_args(%acc = %acc0, %m_i = %m0, %l_i = %l0) -> (tensor<128x64xf32>, tensor<128xf32>, tensor<128xf32>) {
    %kt = tile.load %k_cols[%c0, %n] : memref<64x?xf16, strided<[1, ?], offset: ?>> -> tensor<64x64xf16>
    %qk = tile.dot %qt, %kt : tensor<128x64xf16>, tensor<64x64xf16> -> tensor<128x64xf32>
    %sc = arith.constant dense<0.125> : tensor<128x64xf32>
    %s0 = arith.mulf %qk, %sc : tensor<128x64xf32>
    %col = tile.iota dim 1 : tensor<128x64xindex>
    %first = tile.broadcast %n : index -> tensor<128x64xindex>
    %j = arith.addi %col, %first : tensor<128x64xindex>
    %Ns = tile.broadcast %N : index -> tensor<128x64xindex>
    %valid = arith.cmpi slt, %j, %Ns : tensor<128x64xindex>
    %s = arith.select %valid, %s0, %inf : tensor<128x64xi1>, tensor<128x64xf32>
    %m_tile = tile.reduce max %s dim 1 : tensor<128x64xf32> -> tensor<128xf32>
    %m_new = arith.maximumf %m_i, %m_tile : tensor<128xf32>
    %mbc = tile.expand_dims %m_new dim 1 : tensor<128xf32> -> tensor<128x1xf32>
    %mb = tile.broadcast %mbc : tensor<128x1xf32> -> tensor<128x64xf32>
    %x = arith.subf %s, %mb : tensor<128x64xf32>
    %p = math.exp %x : tensor<128x64xf32>
    %dm = arith.subf %m_i, %m_new : tensor<128xf32>
    %alpha = math.exp %dm : tensor<128xf32>
    %l_tile = tile.reduce add %p dim 1 : tensor<128x64xf32> -> tensor<128xf32>
    %l_old = arith.mulf %l_i, %alpha : tensor<128xf32>
    %l_new = arith.addf %l_old, %l_tile : tensor<128xf32>
    %abc = tile.expand_dims %alpha dim 1 : tensor<128xf32> -> tensor<128x1xf32>
    %ab = tile.broadcast %abc : tensor<128x1xf32> -> tensor<128x64xf32>
    %acc_old = arith.mulf %acc, %ab : tensor<128x64xf32>
    %vt = tile.load %v_head[%n, %c0] : memref<?x64xf16, strided<[?, 1], offset: ?>> -> tensor<64x64xf16>
    %ph = arith.truncf %p : tensor<128x64xf32> to tensor<128x64xf16>
    %acc_new = tile.dot %ph, %vt acc %acc_old : tensor<128x64xf16>, tensor<64x64xf16> -> tensor<128x64xf32>
    scf.yield %acc_new, %m_new, %l_new : tensor<128x64xf32>, tensor<128xf32>, tensor<128xf32>
  }
  %zero = arith.constant dense<0.0> : tensor<128xf32>
  %one = arith.constant dense<1.0> : tensor<128xf32>
  %none = arith.cmpf oeq, %r#2, %zero : tensor<128xf32>
  %l_safe = arith.select %none, %one, %r#2 : tensor<128xi1>, tensor<128xf32>
  %lbc = tile.expand_dims %l_safe dim 1 : tensor<128xf32> -> tensor<128x1xf32>
  %lb = tile.broadcast %lbc : tensor<128x1xf32> -> tensor<128x64xf32>
  %o = arith.divf %r#0, %lb : tensor<128x64xf32>
  %oh = arith.truncf %o : tensor<128x64xf32> to tensor<128x64xf16>
  tile.store %oh, %out_head[%row, %c0] : tensor<128x64xf16>, memref<?x64xf16, strided<[?, 1], offset: ?>>
  tile.return
}

tile.kernel @forward_causal(
    %q: memref<?x?x?x64xf16, strided<[?, ?, ?, 1]>> {tile.access = #tile.access<in>},
    %k: memref<?x?x?x64xf16, strided<[?, ?, ?, 1]>> {tile.access = #tile.access<in>},
    %v: memref<?x?x?x64xf16, strided<[?, ?, ?, 1]>> {tile.access = #tile.access<in>},
    %out: memref<?x?x?x64xf16, strided<[?, ?, ?, 1]>> {tile.access = #tile.access<out>})
    attributes {grid = affine_map<()[s0, s1, s2] -> (s0, s1, s2 ceildiv 128)>, grid_sizes = array<i64: 0, 0, 0, 1, 0, 2>,
                reference = @attention_causal} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %BM = arith.constant 128 : index
  %BN = arith.constant 64 : index
  %inf = arith.constant dense<0xFF800000> : tensor<128x64xf32>
  %z = tile.program_id 0
  %h = tile.program_id 1
  %pm = tile.program_id 2
  %N = memref.dim %q, %c2 : memref<?x?x?x64xf16, strided<[?, ?, ?, 1]>>
  %row = arith.muli %pm, %BM : index
  %q_head = memref.subview %q[%z, %h, 0, 0] [1, 1, %N, 64] [1, 1, 1, 1] : memref<?x?x?x64xf16, strided<[?, ?, ?, 1]>> to memref<?x64xf16, strided<[?, 1], offset: ?>>
  %k_head = memref.subview %k[%z, %h, 0, 0] [1, 1, %N, 64] [1, 1, 1, 1] : memref<?x?x?x64xf16, strided<[?, ?, ?, 1]>> to memref<?x64xf16, strided<[?, 1], offset: ?>>
  %v_head = memref.subview %v[%z, %h, 0, 0] [1, 1, %N, 64] [1, 1, 1, 1] : memref<?x?x?x64xf16, strided<[?, ?, ?, 1]>> to memref<?x64xf16, strided<[?, 1], offset: ?>>
  %out_head = memref.subview %out[%z, %h, 0, 0] [1, 1, %N, 64] [1, 1, 1, 1] : memref<?x?x?x64xf16, strided<[?, ?, ?, 1]>> to memref<?x64xf16, strided<[?, 1], offset: ?>>
  %k_cols = memref.transpose %k_head (s, d) -> (d, s) : memref<?x64xf16, strided<[?, 1], offset: ?>> to memref<64x?xf16, strided<[1, ?], offset: ?>>
  %qt = tile.load %q_head[%row, %c0] : memref<?x64xf16, strided<[?, 1], offset: ?>> -> tensor<128x64xf16>
  %acc0 = arith.constant dense<0.0> : tensor<128x64xf32>
  %m0 = arith.constant dense<0xFF800000> : tensor<128xf32>
  %l0 = arith.constant dense<0.0> : tensor<128xf32>
  %r:3 = scf.for %n = %c0 to %N step %BN iter_args(%acc = %acc0, %m_i = %m0, %l_i = %l0) -> (tensor<128x64xf32>, tensor<128xf32>, tensor<128xf32>) {
    %kt = tile.load %k_cols[%c0, %n] : memref<64x?xf16, strided<[1, ?], offset: ?>> -> tensor<64x64xf16>
    %qk = tile.dot %qt, %kt : tensor<128x64xf16>, tensor<64x64xf16> -> tensor<128x64xf32>
    %sc = arith.constant dense<0.125> : tensor<128x64xf32>
    %s0 = arith.mulf %qk, %sc : tensor<128x64xf32>
    %col = tile.iota dim 1 : tensor<128x64xindex>
    %first = tile.broadcast %n : index -> tensor<128x64xindex>
    %j = arith.addi %col, %first : tensor<128x64xindex>
    %row_in = tile.iota dim 0 : tensor<128x64xindex>
    %first_row = tile.broadcast %row : index -> tensor<128x64xindex>
    %i = arith.addi %row_in, %first_row : tensor<128x64xindex>
    %past = arith.cmpi sge, %i, %j : tensor<128x64xindex>
    %Ns = tile.broadcast %N : index -> tensor<128x64xindex>
    %valid = arith.cmpi slt, %j, %Ns : tensor<128x64xindex>
    %seen = arith.andi %past, %valid : tensor<128x64xi1>
    %s = arith.select %seen, %s0, %inf : tensor<128x64xi1>, tensor<128x64xf32>
    %m_tile = tile.reduce max %s dim 1 : tensor<128x64xf32> -> tensor<128xf32>
    %m_new = arith.maximumf %m_i, %m_tile : tensor<128xf32>
    %mbc = tile.expand_dims %m_new dim 1 : tensor<128xf32> -> tensor<128x1xf32>
    %mb = tile.broadcast %mbc : tensor<128x1xf32> -> tensor<128x64xf32>
    %x = arith.subf %s, %mb : tensor<128x64xf32>
    %p = math.exp %x : tensor<128x64xf32>
    %dm = arith.subf %m_i, %m_new : tensor<128xf32>
    %alpha = math.exp %dm : tensor<128xf32>
    %l_tile = tile.reduce add %p dim 1 : tensor<128x64xf32> -> tensor<128xf32>
    %l_old = arith.mulf %l_i, %alpha : tensor<128xf32>
    %l_new = arith.addf %l_old, %l_tile : tensor<128xf32>
    %abc = tile.expand_dims %alpha dim 1 : tensor<128xf32> -> tensor<128x1xf32>
    %ab = tile.broadcast %abc : tensor<128x1xf32> -> tensor<128x64xf32>
    %acc_old = arith.mulf %acc, %ab : tensor<128x64xf32>
    %vt = tile.load %v_head[%n, %c0] : memref<?x64xf16, strided<[?, 1], offset: ?>> -> tensor<64x64xf16>
    %ph = arith.truncf %p : tensor<128x64xf32> to tensor<128x64xf16>
    %acc_new = tile.dot %ph, %vt acc %acc_old : tensor<128x64xf16>, tensor<64x64xf16> -> tensor<128x64xf32>
    scf.yield %acc_new, %m_new, %l_new : tensor<128x64xf32>, tensor<128xf32>, tensor<128xf32>
  }
  %zero = arith.constant dense<0.0> : tensor<128xf32>
  %one = arith.constant dense<1.0> : tensor<128xf32>
  %none = arith.cmpf oeq, %r#2, %zero : tensor<128xf32>
  %l_safe = arith.select %none, %one, %r#2 : tensor<128xi1>, tensor<128xf32>
  %lbc = tile.expand_dims %l_safe dim 1 : tensor<128xf32> -> tensor<128x1xf32>
  %lb = tile.broadcast %lbc : tensor<128x1xf32> -> tensor<128x64xf32>
  %o = arith.divf %r#0, %lb : tensor<128x64xf32>
  %oh = arith.truncf %o : tensor<128x64xf32> to tensor<128x64xf16>
  tile.store %oh, %out_head[%row, %c0] : tensor<128x64xf16>, memref<?x64xf16, strided<[?, 1], offset: ?>>
  tile.return
}

func.func @attention(%q: !rows64, %k: !rows64, %v: !rows64) -> !rows64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : !rows64
  %h = tensor.dim %q, %c1 : !rows64
  %m = tensor.dim %q, %c2 : !rows64
  %n = tensor.dim %k, %c2 : !rows64
  %scale = arith.constant 0.125 : f32
  %qk = tile.dot %q, %k transpose_b : !rows64, !rows64 -> !scores
  %sc = tile.broadcast %scale sizes %b, %h, %m, %n : f32 -> !scores
  %s0 = arith.mulf %qk, %sc : !scores
  %p = tile.softmax %s0 : !scores
  %ph = arith.truncf %p : !scores to tensor<?x?x?x?xf16>
  %ow = tile.dot %ph, %v : tensor<?x?x?x?xf16>, !rows64 -> tensor<?x?x?x64xf32>
  %o = arith.truncf %ow : tensor<?x?x?x64xf32> to !rows64
  return %o : !rows64
}

func.func @attention_causal(%q: !rows64, %k: !rows64, %v: !rows64) -> !rows64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : !rows64
  %h = tensor.dim %q, %c1 : !rows64
  %m = tensor.dim %q, %c2 : !rows64
  %n = tensor.dim %k, %c2 : !rows64
  %scale = arith.constant 0.125 : f32
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
  return %o : !rows64
}
