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

// -----

#rows = affine_map<(a, b) -> (a, b)>
#first = affine_map<(a, b) -> (a)>

// Where the maximum is, nothing reads.
// CHECK-LABEL: func.func @max_with_index
// CHECK-NOT: linalg
// CHECK: tile.reduce max %{{.*}} dim 1
// CHECK-LABEL: func.func @index_is_read
// CHECK: linalg.generic
func.func @max_with_index(%x: tensor<4x8xf32>) -> tensor<4xf32> {
  %low = arith.constant dense<0xFF800000> : tensor<4xf32>
  %zero = arith.constant dense<0> : tensor<4xi64>
  %0:2 = linalg.generic {indexing_maps = [#rows, #first, #first], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x8xf32>) outs(%low, %zero : tensor<4xf32>, tensor<4xi64>) {
  ^bb0(%a: f32, %b: f32, %c: i64):
    %i = linalg.index 1 : index
    %j = arith.index_cast %i : index to i64
    %m = arith.maximumf %a, %b : f32
    %g = arith.cmpf ogt, %a, %b : f32
    %k = arith.select %g, %j, %c : i64
    linalg.yield %m, %k : f32, i64
  } -> (tensor<4xf32>, tensor<4xi64>)
  return %0#0 : tensor<4xf32>
}
func.func @index_is_read(%x: tensor<4x8xf32>) -> (tensor<4xf32>, tensor<4xi64>) {
  %low = arith.constant dense<0xFF800000> : tensor<4xf32>
  %zero = arith.constant dense<0> : tensor<4xi64>
  %0:2 = linalg.generic {indexing_maps = [#rows, #first, #first], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x8xf32>) outs(%low, %zero : tensor<4xf32>, tensor<4xi64>) {
  ^bb0(%a: f32, %b: f32, %c: i64):
    %i = linalg.index 1 : index
    %j = arith.index_cast %i : index to i64
    %m = arith.maximumf %a, %b : f32
    %g = arith.cmpf ogt, %a, %b : f32
    %k = arith.select %g, %j, %c : i64
    linalg.yield %m, %k : f32, i64
  } -> (tensor<4xf32>, tensor<4xi64>)
  return %0#0, %0#1 : tensor<4xf32>, tensor<4xi64>
}

// -----

#rows = affine_map<(a, b) -> (a, b)>
#kept = affine_map<(a, b) -> (a, 0)>

// All of a line are −inf if its maximum is.
// CHECK-LABEL: func.func @all_masked
// CHECK-NOT: linalg
// CHECK: %[[M:.*]] = tile.reduce max %{{.*}} dim 1 : tensor<4x8xf32> -> tensor<4xf32>
// CHECK: arith.cmpf oeq, %[[M]], %{{.*}} : tensor<4xf32>
func.func @all_masked(%x: tensor<4x8xf32>) -> tensor<4x1xi1> {
  %low = arith.constant 0xFFF0000000000000 : f64
  %true = arith.constant dense<true> : tensor<4x1xi1>
  %e = tensor.empty() : tensor<4x8xi1>
  %c = linalg.generic {indexing_maps = [#rows, #rows], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x8xf32>) outs(%e : tensor<4x8xi1>) {
  ^bb0(%a: f32, %b: i1):
    %w = arith.extf %a : f32 to f64
    %i = arith.cmpf oeq, %w, %low : f64
    linalg.yield %i : i1
  } -> tensor<4x8xi1>
  %0 = linalg.generic {indexing_maps = [#rows, #kept], iterator_types = ["parallel", "reduction"]}
      ins(%c : tensor<4x8xi1>) outs(%true : tensor<4x1xi1>) {
  ^bb0(%a: i1, %b: i1):
    %s = arith.andi %a, %b : i1
    linalg.yield %s : i1
  } -> tensor<4x1xi1>
  return %0 : tensor<4x1xi1>
}

// -----

#rows = affine_map<(a, b) -> (a, b)>
#first = affine_map<(a, b) -> (a)>

// Whether none of a line is NaN, whether any is −inf, and what begins with false are something else.
// CHECK-LABEL: func.func @none_nan
// CHECK: linalg.generic
// CHECK-LABEL: func.func @any_masked
// CHECK: linalg.generic
// CHECK-LABEL: func.func @begins_false
// CHECK: linalg.generic
// CHECK-NOT: tile.reduce
func.func @none_nan(%x: tensor<4x8xf32>) -> tensor<4xi1> {
  %true = arith.constant dense<true> : tensor<4xi1>
  %0 = linalg.generic {indexing_maps = [#rows, #first], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x8xf32>) outs(%true : tensor<4xi1>) {
  ^bb0(%a: f32, %b: i1):
    %i = arith.cmpf ord, %a, %a : f32
    %s = arith.andi %i, %b : i1
    linalg.yield %s : i1
  } -> tensor<4xi1>
  return %0 : tensor<4xi1>
}
func.func @any_masked(%x: tensor<4x8xf32>) -> tensor<4xi1> {
  %low = arith.constant 0xFF800000 : f32
  %false = arith.constant dense<false> : tensor<4xi1>
  %0 = linalg.generic {indexing_maps = [#rows, #first], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x8xf32>) outs(%false : tensor<4xi1>) {
  ^bb0(%a: f32, %b: i1):
    %i = arith.cmpf oeq, %a, %low : f32
    %s = arith.ori %i, %b : i1
    linalg.yield %s : i1
  } -> tensor<4xi1>
  return %0 : tensor<4xi1>
}
func.func @begins_false(%x: tensor<4x8xf32>) -> tensor<4xi1> {
  %low = arith.constant 0xFF800000 : f32
  %false = arith.constant dense<false> : tensor<4xi1>
  %0 = linalg.generic {indexing_maps = [#rows, #first], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x8xf32>) outs(%false : tensor<4xi1>) {
  ^bb0(%a: f32, %b: i1):
    %i = arith.cmpf oeq, %a, %low : f32
    %s = arith.andi %i, %b : i1
    linalg.yield %s : i1
  } -> tensor<4xi1>
  return %0 : tensor<4xi1>
}
