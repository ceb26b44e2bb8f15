// masked_fill and torch.softmax between two products: as torch-mlir 20261001 with torch 2.15.0 gives it. Written by Inputs/torch_programs.py; the versions are in packages.txt.
// RUN: fa-opt --explain %s | FileCheck %s
// RUN: fa-run %s --entry=main --in 2x4x24x16 --in 2x4x40x16 --in 2x4x40x16 --in 24x40 --check --target=cpu | FileCheck %s --check-prefix=RAN
// RUN: not fa-run %s --entry=main --in 2x4x24x16x1 --in 2x4x40x16 --in 2x4x40x16 --in 24x40 2>&1 | FileCheck %s --check-prefix=WRONG
// CHECK: fused: softmax(Q Kᵀ) V is one attention
// CHECK: 1 fused, 0 not
// RAN-NOT: not fused
// RAN: PASS
// RAN-NOT: FAIL
// WRONG: {{expected.*, found}}

#map = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map1 = affine_map<(d0, d1) -> (d0, d1)>
#map2 = affine_map<(d0, d1, d2, d3) -> (d2, d3)>
#map3 = affine_map<(d0, d1, d2, d3) -> ()>
#map4 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#map5 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>
module {
  func.func @main(%arg0: tensor<2x4x24x16xf32>, %arg1: tensor<2x4x40x16xf32>, %arg2: tensor<2x4x40x16xf32>, %arg3: tensor<24x40xi1>) -> tensor<2x4x24x16xf32> {
    %cst = arith.constant 0.000000e+00 : f32
    %true = arith.constant true
    %c0_i64 = arith.constant 0 : i64
    %cst_0 = arith.constant 0xFF800000 : f32
    %cst_1 = arith.constant dense<0xFF800000> : tensor<f32>
    %cst_2 = arith.constant 2.500000e-01 : f32
    %0 = tensor.empty() : tensor<2x4x16x40xf32>
    %transposed = linalg.transpose ins(%arg1 : tensor<2x4x40x16xf32>) outs(%0 : tensor<2x4x16x40xf32>) permutation = [0, 1, 3, 2] 
    %collapsed = tensor.collapse_shape %arg0 [[0, 1], [2], [3]] : tensor<2x4x24x16xf32> into tensor<8x24x16xf32>
    %collapsed_3 = tensor.collapse_shape %transposed [[0, 1], [2], [3]] : tensor<2x4x16x40xf32> into tensor<8x16x40xf32>
    %1 = tensor.empty() : tensor<8x24x40xf32>
    %2 = linalg.fill ins(%cst : f32) outs(%1 : tensor<8x24x40xf32>) -> tensor<8x24x40xf32>
    %3 = linalg.batch_matmul ins(%collapsed, %collapsed_3 : tensor<8x24x16xf32>, tensor<8x16x40xf32>) outs(%2 : tensor<8x24x40xf32>) -> tensor<8x24x40xf32>
    %expanded = tensor.expand_shape %3 [[0, 1], [2], [3]] output_shape [2, 4, 24, 40] : tensor<8x24x40xf32> into tensor<2x4x24x40xf32>
    %4 = tensor.empty() : tensor<2x4x24x40xf32>
    %5 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded : tensor<2x4x24x40xf32>) outs(%4 : tensor<2x4x24x40xf32>) {
    ^bb0(%in: f32, %out: f32):
      %23 = arith.mulf %in, %cst_2 : f32
      linalg.yield %23 : f32
    } -> tensor<2x4x24x40xf32>
    %6 = tensor.empty() : tensor<24x40xi1>
    %7 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%arg3 : tensor<24x40xi1>) outs(%6 : tensor<24x40xi1>) {
    ^bb0(%in: i1, %out: i1):
      %23 = arith.xori %in, %true : i1
      linalg.yield %23 : i1
    } -> tensor<24x40xi1>
    %8 = linalg.generic {indexing_maps = [#map2, #map3, #map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%7, %cst_1, %5 : tensor<24x40xi1>, tensor<f32>, tensor<2x4x24x40xf32>) outs(%4 : tensor<2x4x24x40xf32>) {
    ^bb0(%in: i1, %in_8: f32, %in_9: f32, %out: f32):
      %23 = arith.select %in, %in_8, %in_9 : f32
      linalg.yield %23 : f32
    } -> tensor<2x4x24x40xf32>
    %9 = tensor.empty() : tensor<2x4x24xi64>
    %10 = linalg.fill ins(%c0_i64 : i64) outs(%9 : tensor<2x4x24xi64>) -> tensor<2x4x24xi64>
    %11 = tensor.empty() : tensor<2x4x24xf32>
    %12 = linalg.fill ins(%cst_0 : f32) outs(%11 : tensor<2x4x24xf32>) -> tensor<2x4x24xf32>
    %13:2 = linalg.generic {indexing_maps = [#map, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%8 : tensor<2x4x24x40xf32>) outs(%12, %10 : tensor<2x4x24xf32>, tensor<2x4x24xi64>) {
    ^bb0(%in: f32, %out: f32, %out_8: i64):
      %23 = linalg.index 3 : index
      %24 = arith.index_cast %23 : index to i64
      %25 = arith.maximumf %in, %out : f32
      %26 = arith.cmpf ogt, %in, %out : f32
      %27 = arith.select %26, %24, %out_8 : i64
      linalg.yield %25, %27 : f32, i64
    } -> (tensor<2x4x24xf32>, tensor<2x4x24xi64>)
    %expanded_4 = tensor.expand_shape %13#0 [[0], [1], [2, 3]] output_shape [2, 4, 24, 1] : tensor<2x4x24xf32> into tensor<2x4x24x1xf32>
    %14 = linalg.generic {indexing_maps = [#map, #map5, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%8, %expanded_4 : tensor<2x4x24x40xf32>, tensor<2x4x24x1xf32>) outs(%4 : tensor<2x4x24x40xf32>) {
    ^bb0(%in: f32, %in_8: f32, %out: f32):
      %23 = arith.subf %in, %in_8 : f32
      linalg.yield %23 : f32
    } -> tensor<2x4x24x40xf32>
    %15 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%14 : tensor<2x4x24x40xf32>) outs(%4 : tensor<2x4x24x40xf32>) {
    ^bb0(%in: f32, %out: f32):
      %23 = math.exp %in : f32
      linalg.yield %23 : f32
    } -> tensor<2x4x24x40xf32>
    %16 = tensor.empty() : tensor<2x4x24x1xf32>
    %17 = linalg.fill ins(%cst : f32) outs(%16 : tensor<2x4x24x1xf32>) -> tensor<2x4x24x1xf32>
    %18 = linalg.generic {indexing_maps = [#map, #map5], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%15 : tensor<2x4x24x40xf32>) outs(%17 : tensor<2x4x24x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %23 = arith.addf %in, %out : f32
      linalg.yield %23 : f32
    } -> tensor<2x4x24x1xf32>
    %19 = linalg.generic {indexing_maps = [#map, #map5, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%15, %18 : tensor<2x4x24x40xf32>, tensor<2x4x24x1xf32>) outs(%4 : tensor<2x4x24x40xf32>) {
    ^bb0(%in: f32, %in_8: f32, %out: f32):
      %23 = arith.divf %in, %in_8 : f32
      linalg.yield %23 : f32
    } -> tensor<2x4x24x40xf32>
    %collapsed_5 = tensor.collapse_shape %19 [[0, 1], [2], [3]] : tensor<2x4x24x40xf32> into tensor<8x24x40xf32>
    %collapsed_6 = tensor.collapse_shape %arg2 [[0, 1], [2], [3]] : tensor<2x4x40x16xf32> into tensor<8x40x16xf32>
    %20 = tensor.empty() : tensor<8x24x16xf32>
    %21 = linalg.fill ins(%cst : f32) outs(%20 : tensor<8x24x16xf32>) -> tensor<8x24x16xf32>
    %22 = linalg.batch_matmul ins(%collapsed_5, %collapsed_6 : tensor<8x24x40xf32>, tensor<8x40x16xf32>) outs(%21 : tensor<8x24x16xf32>) -> tensor<8x24x16xf32>
    %expanded_7 = tensor.expand_shape %22 [[0, 1], [2], [3]] output_shape [2, 4, 24, 16] : tensor<8x24x16xf32> into tensor<2x4x24x16xf32>
    return %expanded_7 : tensor<2x4x24x16xf32>
  }
}
