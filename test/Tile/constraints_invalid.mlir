// What the definitions of operations say of numbers and types.
// RUN: fa-opt %s --split-input-file --verify-diagnostics

tile.kernel @axis() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  // expected-error @below {{attribute 'axis' failed to satisfy constraint: 64-bit signless integer attribute whose value is non-negative whose maximum value is 2}}
  %0 = tile.program_id 3
  tile.return
}
// -----
func.func @softmax(%x: tensor<4x8xf32>) {
  // expected-error @below {{failed to verify that all of {input, result} have same type}}
  %0 = "tile.softmax"(%x) : (tensor<4x8xf32>) -> tensor<4x8xf16>
  return
}
// -----
func.func @maximum(%s: tensor<4x8xf32>, %m: tensor<4xf32>, %l: tensor<8xf32>) {
  // expected-error @below {{failed to verify that all of {max, sum, max_out, sum_out, alpha} have same type}}
  %0:4 = "tile.online_softmax"(%s, %m, %l) : (tensor<4x8xf32>, tensor<4xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}
// -----
func.func @finalized(%o: tensor<4x8xf32>, %m: tensor<4xf32>) {
  // expected-error @below {{failed to verify that all of {acc, output} have same type}}
  %0:2 = "tile.online_finalize"(%o, %m, %m) : (tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4x4xf32>, tensor<4xf32>)
  return
}
// -----
func.func @kind(%x: tensor<4x8xf32>) {
  // expected-error @+2 {{expected one of [add, max, min] for how a reduction combines two elements, got: mul}}
  // expected-error @+1 {{failed to parse Tile_ReduceKindAttr parameter 'value'}}
  %0 = tile.reduce mul %x dim 1 : tensor<4x8xf32> -> tensor<4xf32>
  return
}
// -----
// expected-error @+2 {{expected one of [in, out, inout] for what a kernel does with a memref argument, got: both}}
// expected-error @+1 {{failed to parse Tile_AccessAttr parameter 'value'}}
tile.kernel @access(%x: memref<?xf32> {tile.access = #tile.access<both>}) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  tile.return
}
