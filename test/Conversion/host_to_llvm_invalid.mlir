// What convert-tile-to-host does not make is refused, not left for LLVM to find.
// RUN: fa-opt %s --split-input-file --verify-diagnostics --convert-host-to-llvm

func.func @transposed(%x: vector<4x8xf32>) -> vector<8x4xf32> {
  // expected-error @below {{failed to legalize operation 'vector.transpose' that was explicitly marked illegal}}
  %y = vector.transpose %x, [1, 0] : vector<4x8xf32> to vector<8x4xf32>
  return %y : vector<8x4xf32>
}
// -----
func.func @contracted(%a: vector<4x8xf32>, %b: vector<8x4xf32>, %c: vector<4x4xf32>) -> vector<4x4xf32> {
  // expected-error @below {{failed to legalize operation 'vector.contract' that was explicitly marked illegal}}
  %y = vector.contract {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %a, %b, %c : vector<4x8xf32>, vector<8x4xf32> into vector<4x4xf32>
  return %y : vector<4x4xf32>
}
// -----
func.func @view(%x: memref<64x64xf32>, %i: index) -> f32 {
  %c0 = arith.constant 0 : index
  // expected-error @below {{failed to legalize operation 'memref.subview' that was explicitly marked illegal}}
  %v = memref.subview %x[%i, 0] [1, 64] [1, 1] : memref<64x64xf32> to memref<64xf32, strided<[1], offset: ?>>
  %y = memref.load %v[%c0] : memref<64xf32, strided<[1], offset: ?>>
  return %y : f32
}
