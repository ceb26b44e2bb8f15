// RUN: fa-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(tile-raise-linalg))' | FileCheck %s
// How attention is spelt in linalg is in test/Spellings; here is what the pass leaves alone.

#rows = affine_map<(a, b) -> (a, b)>
#first = affine_map<(a, b) -> (a)>

// Each element is written eight times.
// CHECK-LABEL: func.func @written_again
// CHECK: linalg.generic
func.func @written_again(%x: tensor<4x8xf32>, %init: tensor<4xf32>) -> tensor<4xf32> {
  %0 = linalg.generic {indexing_maps = [#rows, #first], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x8xf32>) outs(%init : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

#rows = affine_map<(a, b) -> (a, b)>
#first = affine_map<(a, b) -> (a)>

// The same sum along b, where each element is written once.
// CHECK-LABEL: func.func @sum
// CHECK-NOT: linalg
// CHECK: tile.reduce
func.func @sum(%x: tensor<4x8xf32>, %init: tensor<4xf32>) -> tensor<4xf32> {
  %0 = linalg.generic {indexing_maps = [#rows, #first], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x8xf32>) outs(%init : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %b, %a : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
