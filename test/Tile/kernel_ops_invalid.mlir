// RUN: fa-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{expects attribute 'tile.access' on memref argument 0}}
tile.kernel @access(%x: memref<?xf32>) attributes {grid = affine_map<()[s0] -> (s0)>, grid_sizes = array<i64: 0, 0>} {
  tile.return
}

// -----

// expected-error @+1 {{expects memref and scalar arguments, argument 0 is 'tensor<4xf32>'}}
tile.kernel @tensor(%x: tensor<4xf32>) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  tile.return
}

// -----

// expected-error @+1 {{expects a grid of 1 to 3 extents over symbols alone}}
tile.kernel @grid() attributes {grid = affine_map<(d0) -> (d0)>, grid_sizes = array<i64>} {
  tile.return
}

// -----

// expected-error @+1 {{'grid_sizes' names dimension 1 of argument 0, which is not a memref with that dimension}}
tile.kernel @sizes(%x: memref<?xf32> {tile.access = #tile.access<in>}) attributes {grid = affine_map<()[s0] -> (s0)>, grid_sizes = array<i64: 0, 1>} {
  tile.return
}

// -----

tile.kernel @load(%x: memref<?x?xf32> {tile.access = #tile.access<in>}, %i: index) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  // expected-error @+1 {{expects a tile of the view's rank 2, found 'tensor<4xf32>'}}
  %0 = tile.load %x[%i] : memref<?x?xf32> -> tensor<4xf32>
  tile.return
}

// -----

tile.kernel @element(%x: memref<?xf32> {tile.access = #tile.access<in>}, %i: index) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  // expected-error @+1 {{expects one element type, found 'tensor<4xf16>' and 'memref<?xf32>'}}
  %0 = tile.load %x[%i] : memref<?xf32> -> tensor<4xf16>
  tile.return
}

// -----

#in = #tile.access<in>
// expected-error @+1 {{expects a map from the 1 symbols of 'grid' to 1 sizes in 'tile.workspace', found affine_map<() -> (4)>}}
tile.kernel @workspace(%x: memref<?xf32> {tile.access = #in}, %w: memref<?x?xf32> {tile.access = #in, tile.workspace = affine_map<() -> (4)>})
    attributes {grid = affine_map<()[s0] -> (s0)>, grid_sizes = array<i64: 0, 0>} {
  tile.return
}

// -----

#in = #tile.access<in>
// expected-error @+1 {{expects arguments in workspace behind all others, argument 1 is none}}
tile.kernel @workspace_first(%w: memref<?xf32> {tile.access = #in, tile.workspace = affine_map<()[s0] -> ()>}, %x: memref<?xf32> {tile.access = #in})
    attributes {grid = affine_map<()[s0] -> (s0)>, grid_sizes = array<i64: 1, 0>} {
  tile.return
}

// -----

#in = #tile.access<in>
// expected-error @+1 {{expects workspace to be a memref of splits, argument 1 is 'f32'}}
tile.kernel @workspace_scalar(%x: memref<?xf32> {tile.access = #in}, %w: f32 {tile.workspace = affine_map<()[s0] -> ()>})
    attributes {grid = affine_map<()[s0] -> (s0)>, grid_sizes = array<i64: 0, 0>} {
  tile.return
}

// -----

#in = #tile.access<in>
// expected-error @+1 {{to 1 sizes in 'tile.split_keys', found 3 : i64}}
tile.kernel @split_keys(%x: memref<?xf32> {tile.access = #in})
    attributes {grid = affine_map<()[s0] -> (s0)>, grid_sizes = array<i64: 0, 0>, tile.split_keys = 3 : i64} {
  tile.return
}

// -----

// expected-error @+1 {{expects 'tile.follows' to be the name of a kernel, found 3 : i64}}
tile.kernel @follows() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, tile.follows = 3 : i64} {
  tile.return
}

// -----

// expected-error @+1 {{expects 'tile.splits' to be a number, found "x"}}
tile.kernel @splits() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, tile.splits = "x"} {
  tile.return
}

// -----

// expected-error @+1 {{expects 'tile.few_programs' to be a number above 0, found 0}}
tile.kernel @few_programs() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, tile.few_programs = 0} {
  tile.return
}

// -----

// expected-error @+1 {{expects 'tile.parts' to be a power of two, found 3 : i64}}
tile.kernel @parts() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, tile.parts = 3 : i64} {
  tile.return
}

// -----

// expected-error @+1 {{expects 'tile.at_most' to be an argument, a dimension and a size, found array<i64: 1, 2>}}
tile.kernel @at_most() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, tile.at_most = array<i64: 1, 2>} {
  tile.return
}

// -----

tile.kernel @rows() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  // expected-error @+1 {{attribute 'rows' failed to satisfy constraint: 64-bit signless integer attribute whose value is positive}}
  %offset, %count = tile.own_rows of 0
  tile.return
}
