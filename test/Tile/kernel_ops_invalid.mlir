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
// expected-error @+1 {{expects a map from the 1 symbols of 'grid' to 1 sizes in 'tile.least_keys', found affine_map<() -> (3)>}}
tile.kernel @least_keys(%x: memref<?xf32> {tile.access = #in})
    attributes {grid = affine_map<()[s0] -> (s0)>, grid_sizes = array<i64: 0, 0>, tile.least_keys = affine_map<() -> (3)>} {
  tile.return
}

// -----

#in = #tile.access<in>
// expected-error @+1 {{expects a map from the 1 symbols of 'grid' to 1 sizes in 'tile.split_keys', found affine_map<() -> (3)>}}
tile.kernel @split_keys(%x: memref<?xf32> {tile.access = #in})
    attributes {grid = affine_map<()[s0] -> (s0)>, grid_sizes = array<i64: 0, 0>, tile.split_keys = affine_map<() -> (3)>} {
  tile.return
}

// -----

tile.kernel @rows() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  // expected-error @+1 {{attribute 'rows' failed to satisfy constraint: 64-bit signless integer attribute whose value is positive}}
  %offset, %count = tile.own_rows of 0
  tile.return
}

// -----

// expected-error @+1 {{expects strided memref arguments, argument 0 is 'memref<4x4xf32, affine_map<(d0, d1) -> (d0 floordiv 2, d1)>>'}}
tile.kernel @strided(%x: memref<4x4xf32, affine_map<(d0, d1) -> (d0 floordiv 2, d1)>> {tile.access = #tile.access<in>}) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  tile.return
}

// -----

// expected-error @+1 {{expects memref arguments without an offset (the pointer is that of element 0), argument 0 is 'memref<?xf32, strided<[1], offset: 4>>'}}
tile.kernel @offset(%x: memref<?xf32, strided<[1], offset: 4>> {tile.access = #tile.access<in>}) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  tile.return
}

// -----

// expected-error @+1 {{expects an (argument, dimension) pair in 'grid_sizes' for each of the 1 symbols of 'grid', found 1 numbers}}
tile.kernel @pairs(%x: memref<?xf32> {tile.access = #tile.access<in>}) attributes {grid = affine_map<()[s0] -> (s0)>, grid_sizes = array<i64: 0>} {
  tile.return
}

// -----

// expected-error @+1 {{expects a factor of at least 1 in 'rules', found 0}}
tile.kernel @factor(%x: memref<?xf32> {tile.access = #tile.access<in>}) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, rules = [#tile.size_rule<equal 0[0], 0[0] * 0>]} {
  tile.return
}

// -----

// expected-error @+1 {{'rules' names dimension 0 of argument 1, which is not a memref with that dimension}}
tile.kernel @rule(%x: memref<?xf32> {tile.access = #tile.access<in>}) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, rules = [#tile.size_rule<equal 0[0], 1[0]>]} {
  tile.return
}

// -----

// expected-error @+1 {{expects no results, found '() -> f32'}}
tile.kernel @results() -> f32 attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  tile.return
}

// -----

// expected-error @+1 {{expects a body}}
tile.kernel @no_body() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>}

// -----

tile.kernel @indices(%x: memref<?x?xf32> {tile.access = #tile.access<in>}, %i: index) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  // expected-error @+1 {{expects 2 indices, found 1}}
  %0 = tile.load %x[%i] : memref<?x?xf32> -> tensor<4x4xf32>
  tile.return
}

// -----

tile.kernel @stored(%x: memref<?x?xf32> {tile.access = #tile.access<out>}, %i: index) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %0 = arith.constant dense<0.0> : tensor<4xf32>
  // expected-error @+1 {{expects a tile of the view's rank 2, found 'tensor<4xf32>'}}
  tile.store %0, %x[%i] : tensor<4xf32>, memref<?x?xf32>
  tile.return
}

// -----

tile.kernel @gathered(%x: memref<?x?xf32> {tile.access = #tile.access<in>}) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %i = tile.iota dim 0 : tensor<64xindex>
  // expected-error @+1 {{expects 2 index tiles, found 1}}
  %0 = tile.gather %x[%i] : memref<?x?xf32>, (tensor<64xindex>) -> tensor<64xf32>
  tile.return
}

// -----

tile.kernel @gathered_elements(%x: memref<?xf32> {tile.access = #tile.access<in>}) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %i = tile.iota dim 0 : tensor<64xindex>
  // expected-error @+1 {{expects one element type, found 'tensor<64xf16>' and 'memref<?xf32>'}}
  %0 = tile.gather %x[%i] : memref<?xf32>, (tensor<64xindex>) -> tensor<64xf16>
  tile.return
}

// -----

tile.kernel @gathered_at(%x: memref<?xf32> {tile.access = #tile.access<in>}) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %i = tile.iota dim 0 : tensor<32xindex>
  // expected-error @+1 {{expects index tiles of type 'tensor<64xindex>', found 'tensor<32xindex>'}}
  %0 = tile.gather %x[%i] : memref<?xf32>, (tensor<32xindex>) -> tensor<64xf32>
  tile.return
}

// -----

tile.kernel @gathered_mask(%x: memref<?xf32> {tile.access = #tile.access<in>}, %m: i1) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %i = tile.iota dim 0 : tensor<64xindex>
  %half = arith.constant dense<true> : tensor<32xi1>
  // expected-error @+1 {{failed to verify that mask has the shape of result}}
  %0 = "tile.gather"(%x, %i, %half) <{operandSegmentSizes = array<i32: 1, 1, 1>}> : (memref<?xf32>, tensor<64xindex>, tensor<32xi1>) -> tensor<64xf32>
  tile.return
}

// -----

tile.kernel @scattered(%x: memref<?x?xf32> {tile.access = #tile.access<out>}) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %i = tile.iota dim 0 : tensor<64xindex>
  %v = arith.constant dense<1.0> : tensor<64xf32>
  // expected-error @+1 {{expects 2 index tiles, found 1}}
  tile.scatter %v, %x[%i] : tensor<64xf32>, memref<?x?xf32>, (tensor<64xindex>)
  tile.return
}

// -----

tile.kernel @scattered_elements(%x: memref<?xf16> {tile.access = #tile.access<out>}) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %i = tile.iota dim 0 : tensor<64xindex>
  %v = arith.constant dense<1.0> : tensor<64xf32>
  // expected-error @+1 {{expects one element type, found 'tensor<64xf32>' and 'memref<?xf16>'}}
  tile.scatter %v, %x[%i] : tensor<64xf32>, memref<?xf16>, (tensor<64xindex>)
  tile.return
}

// -----

tile.kernel @scattered_at(%x: memref<?xf32> {tile.access = #tile.access<out>}) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %i = tile.iota dim 0 : tensor<64xi32>
  %v = arith.constant dense<1.0> : tensor<64xf32>
  // expected-error @+1 {{expects index tiles of type 'tensor<64xindex>', found 'tensor<64xi32>'}}
  tile.scatter %v, %x[%i] : tensor<64xf32>, memref<?xf32>, (tensor<64xi32>)
  tile.return
}

// -----

tile.kernel @scattered_mask(%x: memref<?xf32> {tile.access = #tile.access<out>}) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %i = tile.iota dim 0 : tensor<64xindex>
  %v = arith.constant dense<1.0> : tensor<64xf32>
  // expected-error @+1 {{failed to verify that mask has the shape of value}}
  "tile.scatter"(%v, %x, %i, %v) <{operandSegmentSizes = array<i32: 1, 1, 1, 1>}> : (tensor<64xf32>, memref<?xf32>, tensor<64xindex>, tensor<64xf32>) -> ()
  tile.return
}

// -----

tile.kernel @scattered_half_sums(%x: memref<?xf16> {tile.access = #tile.access<inout>}) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %i = tile.iota dim 0 : tensor<64xindex>
  %v = arith.constant dense<1.0> : tensor<64xf16>
  // expected-error @+1 {{expects elements of f32, i32 or i64, found 'tensor<64xf16>'}}
  tile.scatter %v, %x[%i] add : tensor<64xf16>, memref<?xf16>, (tensor<64xindex>)
  tile.return
}

// -----

tile.kernel @half_sums(%x: memref<?xf16> {tile.access = #tile.access<inout>}) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %t = arith.constant dense<1.0> : tensor<64xf16>
  // expected-error @+1 {{expects elements of f32, i32 or i64, found 'tensor<64xf16>'}}
  tile.atomic_add %t, %x[%c0] : tensor<64xf16>, memref<?xf16>
  tile.return
}

// -----

tile.kernel @sums_of_rank(%x: memref<?x?xf32> {tile.access = #tile.access<inout>}) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %t = arith.constant dense<1.0> : tensor<64xf32>
  // expected-error @+1 {{expects a tile of the view's rank 2, found 'tensor<64xf32>'}}
  tile.atomic_add %t, %x[%c0, %c0] : tensor<64xf32>, memref<?x?xf32>
  tile.return
}

// -----

tile.kernel @scanned_dim() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %x = arith.constant dense<1.0> : tensor<64xf32>
  // expected-error @+1 {{expects a dimension between 0 and 0, found 1}}
  %0 = tile.scan add %x dim 1 : tensor<64xf32>
  tile.return
}

// -----

tile.kernel @scanned_masks() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %x = arith.constant dense<true> : tensor<64xi1>
  // expected-error @+1 {{expects floats or integers of 32 or 64 bits, found 'tensor<64xi1>'}}
  %0 = tile.scan add %x dim 0 : tensor<64xi1>
  tile.return
}
