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
