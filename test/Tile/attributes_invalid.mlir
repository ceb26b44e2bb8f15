// RUN: fa-opt %s --split-input-file --verify-diagnostics
// A discardable attribute of the dialect that it does not have, where it may
// not be or with a value that it may not have.

// expected-error @+1 {{'tile.kernel' op expects an attribute that 'tile' has, found 'tile.few_programms'; the nearest is 'tile.few_programs'}}
tile.kernel @misspelt() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, tile.few_programms = 1 : i64} {
  tile.return
}

// -----

// expected-error @+1 {{argument 1: expects an attribute that 'tile' has, found 'tile.aligment'; the nearest is 'tile.alignment'}}
tile.kernel @misspelt_of_argument(%s: f32, %x: memref<?xf32> {tile.access = #tile.access<in>, tile.aligment = 16 : i64})
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  tile.return
}

// -----

func.func @elsewhere(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'arith.addf' op expects an attribute that 'tile' has, found 'tile.fast'}}
  %0 = arith.addf %x, %x {tile.fast} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error @+1 {{'func.func' op expects 'tile.parts' on tile.kernel, found it here}}
func.func @place() attributes {tile.parts = 4 : i64} {
  return
}

// -----

// expected-error @+1 {{'func.func' op argument 0: expects 'tile.access' on an argument of tile.kernel, found it here}}
func.func @place_of_argument(%x: memref<?xf32> {tile.access = #tile.access<in>}) {
  return
}

// -----

// expected-error @+1 {{expects 'tile.positive' on an argument of tile.kernel, found it here}}
tile.kernel @not_of_argument() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, tile.positive} {
  tile.return
}

// -----

// expected-error @+1 {{argument 0: expects 'tile.parts' on tile.kernel, found it here}}
tile.kernel @of_argument(%x: f32 {tile.parts = 4 : i64}) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  tile.return
}

// -----

// expected-error @+1 {{result 0: expects no attribute of 'tile', found 'tile.alignment'}}
func.func @of_result() -> (i32 {tile.alignment = 16 : i64}) {
  %0 = arith.constant 1 : i32
  return %0 : i32
}

// -----

func.func @not_fused(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // expected-error @+1 {{expects 'tile.not_fused' to be a string, found unit}}
  %0 = tile.softmax %x dim 1 {tile.not_fused} : tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// -----

// expected-error @+1 {{argument 0: expects 'tile.access' to be a #tile.access, found "in"}}
tile.kernel @access(%x: memref<?xf32> {tile.access = "in"}) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  tile.return
}

// -----

// expected-error @+1 {{argument 0: expects 'tile.alignment' to be an i64 above 0, found 0}}
tile.kernel @alignment(%x: memref<?xf32> {tile.access = #tile.access<in>, tile.alignment = 0 : i64}) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  tile.return
}

// -----

// expected-error @+1 {{argument 0: expects 'tile.positive' to be a unit attribute, found true}}
tile.kernel @positive(%x: f32 {tile.positive = true}) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  tile.return
}

// -----

// expected-error @+1 {{argument 0: expects 'tile.workspace' to be a map from symbols to sizes, found affine_map<(d0) -> (d0)>}}
tile.kernel @workspace(%x: memref<?x?xf32> {tile.access = #tile.access<in>, tile.workspace = affine_map<(d0) -> (d0)>}) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  tile.return
}

// -----

// expected-error @+1 {{expects 'tile.alternative' to be the name of a kernel, found @a::@b}}
tile.kernel @alternative() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, tile.alternative = @a::@b} {
  tile.return
}

// -----

// expected-error @+1 {{expects 'tile.at_most' to be an argument, a dimension and a size as an array of i64, found array<i64: 1, 2>}}
tile.kernel @at_most() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, tile.at_most = array<i64: 1, 2>} {
  tile.return
}

// -----

// expected-error @+1 {{'tile.at_most' names dimension 1 of argument 0, which is not a memref with that dimension}}
tile.kernel @at_most_of_nothing(%x: memref<?xf32> {tile.access = #tile.access<in>}) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, tile.at_most = array<i64: 0, 1, 64>} {
  tile.return
}

// -----

// expected-error @+1 {{expects 'tile.cluster' to be an i64 above 0, found -2}}
tile.kernel @cluster() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, tile.cluster = -2 : i64} {
  tile.return
}

// -----

// expected-error @+1 {{expects 'tile.warp_rows' to be a unit attribute, found 1}}
tile.kernel @warp_rows() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, tile.warp_rows = 1 : i64} {
  tile.return
}

// -----

// expected-error @+1 {{expects 'tile.some_keys' to be a unit attribute, found false}}
tile.kernel @some_keys() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, tile.some_keys = false} {
  tile.return
}

// -----

// expected-error @+1 {{expects 'tile.few_programs' to be an i64 above 0, found 0}}
tile.kernel @few_programs() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, tile.few_programs = 0} {
  tile.return
}

// -----

// expected-error @+1 {{expects 'tile.few_programs' to be an i64 above 0, found 1 : si64}}
tile.kernel @few_programs_with_sign() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, tile.few_programs = 1 : si64} {
  tile.return
}

// -----

// expected-error @+1 {{expects 'tile.no_attention' to be a unit attribute, found 1 : i64}}
tile.kernel @no_attention() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, tile.no_attention = 1 : i64} {
  tile.return
}

// -----

// expected-error @+1 {{expects 'tile.fewer_rows' to be a unit attribute, found "yes"}}
tile.kernel @fewer_rows() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, tile.fewer_rows = "yes"} {
  tile.return
}

// -----

// expected-error @+1 {{expects 'tile.half_rows' to be a unit attribute, found 50 : i64}}
tile.kernel @half_rows() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, tile.half_rows = 50 : i64} {
  tile.return
}

// -----

// expected-error @+1 {{expects 'tile.follows' to be the name of a kernel, found 3 : i64}}
tile.kernel @follows() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, tile.follows = 3 : i64} {
  tile.return
}

// -----

// expected-error @+1 {{expects 'tile.split_keys' to be a map from symbols to one size, found 3 : i64}}
tile.kernel @split_keys() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, tile.split_keys = 3 : i64} {
  tile.return
}

// -----

// expected-error @+1 {{expects 'tile.split_keys' to be a map from symbols to one size, found affine_map<() -> (1, 2)>}}
tile.kernel @split_keys_of_two() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, tile.split_keys = affine_map<() -> (1, 2)>} {
  tile.return
}

// -----

// expected-error @+1 {{expects 'tile.splits' to be an i64 above 0, found "x"}}
tile.kernel @splits() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, tile.splits = "x"} {
  tile.return
}

// -----

// expected-error @+1 {{expects 'tile.shape' to be an array of i64, found array<i32: 64, 64>}}
tile.kernel @shape() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, tile.shape = array<i32: 64, 64>} {
  tile.return
}

// -----

// expected-error @+1 {{expects 'tile.parts' to be an i64 that is a power of two, found 3 : i64}}
tile.kernel @parts() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, tile.parts = 3 : i64} {
  tile.return
}

// -----

// expected-error @+1 {{expects 'tile.vjp_wrt' to be an array of i64, found [0, 1]}}
func.func @vjp_wrt(%x: tensor<4xf32>) attributes {tile.vjp_wrt = [0, 1], tile.vjp_of = array<i64>} {
  return
}

// -----

// expected-error @+1 {{expects 'tile.batch_invariant' to be an i64 above 0, found 0 : i64}}
func.func @no_keys_of_a_split(%x: tensor<4xf32>) attributes {tile.batch_invariant = 0 : i64} {
  return
}

// -----

// expected-error @+1 {{expects 'tile.batch_invariant' on func.func, found it here}}
tile.kernel @batch_invariant_kernel() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, tile.batch_invariant = 64 : i64} {
  tile.return
}

// -----

// expected-error @+1 {{expects 'tile.keys_of_split' to be an i64 above 0, found 0 : i64}}
tile.kernel @keys_of_split() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, tile.keys_of_split = 0 : i64} {
  tile.return
}
