// RUN: fa-opt %s --convert-tile-to-host --split-input-file --verify-diagnostics

tile.kernel @rank(%x: memref<?x?x?xf32> {tile.access = #tile.access<in>}) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  // expected-error @+1 {{has a lowering for the host for tiles of rank 1 and 2, found 'tensor<4x4x4xf32>'}}
  %0 = tile.load %x[%c0, %c0, %c0] : memref<?x?x?xf32> -> tensor<4x4x4xf32>
  tile.return
}

// -----

tile.kernel @reduce(%x: memref<?x?xf32> {tile.access = #tile.access<in>}, %y: memref<?xf32> {tile.access = #tile.access<out>}) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %0 = tile.load %x[%c0, %c0] : memref<?x?xf32> -> tensor<4x4xf32>
  // expected-error @+1 {{has a lowering for the host along dimension 1 of a tile of rank 2, found dimension 0}}
  %1 = tile.reduce add %0 dim 0 : tensor<4x4xf32> -> tensor<4xf32>
  tile.store %1, %y[%c0] : tensor<4xf32>, memref<?xf32>
  tile.return
}

// -----

// expected-error @+1 {{expects a body of one block on the host, found 2}}
tile.kernel @blocks() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  cf.br ^end
^end:
  tile.return
}

// -----

tile.kernel @foreign(%y: memref<?xf32> {tile.access = #tile.access<out>}) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  // expected-error @+1 {{has no lowering on tiles for the host}}
  %0 = tensor.empty() : tensor<4xf32>
  tile.store %0, %y[%c0] : tensor<4xf32>, memref<?xf32>
  tile.return
}

// -----

tile.kernel @reduce_bytes(%x: memref<?x?xi8> {tile.access = #tile.access<in>}, %y: memref<?xi8> {tile.access = #tile.access<out>}) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %0 = tile.load %x[%c0, %c0] : memref<?x?xi8> -> tensor<4x4xi8>
  // expected-error @+1 {{has a lowering for the host on floats and integers of 32 and 64 bits, found 'tensor<4x4xi8>'}}
  %1 = tile.reduce add %0 dim 1 : tensor<4x4xi8> -> tensor<4xi8>
  tile.store %1, %y[%c0] : tensor<4xi8>, memref<?xi8>
  tile.return
}

// -----

tile.kernel @scan_columns(%x: f32) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %0 = tile.broadcast %x : f32 -> tensor<4x8xf32>
  // expected-error @+1 {{has a lowering for the host along the last of at most two dimensions, found dimension 0 of 'tensor<4x8xf32>'}}
  %1 = tile.scan add %0 dim 0 : tensor<4x8xf32>
  tile.return
}

// -----

tile.kernel @dot_rank(%x: f32) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %0 = tile.broadcast %x : f32 -> tensor<2x4x4xf32>
  // expected-error @+1 {{expects a tile of rank 2 in a kernel, found 'tensor<2x4x4xf32>'}}
  %1 = tile.dot %0, %0 : tensor<2x4x4xf32>, tensor<2x4x4xf32> -> tensor<2x4x4xf32>
  tile.return
}

// -----

tile.kernel @dot_f64(%x: f64) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %0 = tile.broadcast %x : f64 -> tensor<4x4xf64>
  // expected-error @+1 {{has a lowering for the host that accumulates in f32, found 'tensor<4x4xf64>'}}
  %1 = tile.dot %0, %0 : tensor<4x4xf64>, tensor<4x4xf64> -> tensor<4x4xf64>
  tile.return
}

// -----

tile.kernel @softmax_rank(%x: f32) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %s = tile.broadcast %x : f32 -> tensor<2x4x4xf32>
  %m = tile.broadcast %x : f32 -> tensor<2x4xf32>
  // expected-error @+1 {{expects a tile of rank 2 in a kernel, found 'tensor<2x4x4xf32>'}}
  %p, %alpha, %m1, %l1 = tile.online_softmax %s, %m, %m : tensor<2x4x4xf32>, tensor<2x4xf32>
  tile.return
}

// -----

tile.kernel @finalize_rank(%x: f32) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %a = tile.broadcast %x : f32 -> tensor<2x4x4xf32>
  %m = tile.broadcast %x : f32 -> tensor<2x4xf32>
  // expected-error @+1 {{expects a tile of rank 2 in a kernel, found 'tensor<2x4x4xf32>'}}
  %o, %lse = tile.online_finalize %a, %m, %m : tensor<2x4x4xf32>, tensor<2x4xf32>
  tile.return
}

// -----

tile.kernel @merge_rank(%x: f32) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %a = tile.broadcast %x : f32 -> tensor<2x4x4xf32>
  %m = tile.broadcast %x : f32 -> tensor<2x4xf32>
  // expected-error @+1 {{expects a tile of rank 2 in a kernel, found 'tensor<2x4x4xf32>'}}
  %a1, %m1, %l1 = tile.online_merge %a, %m, %m with %a, %m, %m : tensor<2x4x4xf32>, tensor<2x4xf32>
  tile.return
}
