// Two attentions with residuals, the second to other keys: as torch-mlir 20261001 with torch 2.15.0 gives it. Written by Inputs/torch_programs.py; the versions are in packages.txt.
// RUN: fa-opt --explain %s | FileCheck %s
// RUN: fa-run %s --entry=main --in 2x4x24x16 --in 2x4x40x16 --in 2x4x40x16 --check --target=cpu | FileCheck %s --check-prefix=RAN
// RUN: not fa-run %s --entry=main --in 2x4x24x16x1 --in 2x4x40x16 --in 2x4x40x16 2>&1 | FileCheck %s --check-prefix=WRONG
// CHECK: fused: softmax(Q Kᵀ) V is one attention
// CHECK: , 0 not
// CHECK: becomes several kernels, one for each attention: the function has 2 attentions, where one is expected
// RAN-NOT: not fused
// RAN-DAG: kernel   @main_attention
// RAN-DAG: kernel   @main_rest
// RAN-NOT: not fused
// RAN: PASS
// RAN-NOT: FAIL
// WRONG: {{expected.*, found}}

#map = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map1 = affine_map<(d0) -> (d0)>
#map2 = affine_map<(d0, d1) -> (0, d1)>
#map3 = affine_map<(d0, d1) -> (d0, 0)>
#map4 = affine_map<(d0, d1) -> (d0, d1)>
#map5 = affine_map<(d0, d1) -> ()>
#map6 = affine_map<(d0, d1, d2, d3) -> (d2, d3)>
#map7 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#map8 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>
module {
  func.func @main(%arg0: tensor<2x4x24x16xf32>, %arg1: tensor<2x4x40x16xf32>, %arg2: tensor<2x4x40x16xf32>) -> tensor<2x4x24x16xf32> {
    %c0_i64 = arith.constant 0 : i64
    %cst = arith.constant 0.000000e+00 : f32
    %cst_0 = arith.constant 0xFF800000 : f32
    %true = arith.constant true
    %cst_1 = arith.constant dense<0.000000e+00> : tensor<2x4x24x40xf32>
    %cst_2 = arith.constant dense<0.000000e+00> : tensor<2x4x24x24xf32>
    %cst_3 = arith.constant dense<0.000000e+00> : tensor<f32>
    %cst_4 = arith.constant dense<0xFF800000> : tensor<f32>
    %cst_5 = arith.constant dense<true> : tensor<24x24xi1>
    %cst_6 = arith.constant 0xFFF0000000000000 : f64
    %cst_7 = arith.constant 5.000000e-01 : f32
    %0 = tensor.empty() : tensor<2x4x24x16xf32>
    %1 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg0 : tensor<2x4x24x16xf32>) outs(%0 : tensor<2x4x24x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %57 = arith.mulf %in, %cst_7 : f32
      linalg.yield %57 : f32
    } -> tensor<2x4x24x16xf32>
    %2 = tensor.empty() : tensor<24xi64>
    %3 = linalg.generic {indexing_maps = [#map1], iterator_types = ["parallel"]} outs(%2 : tensor<24xi64>) {
    ^bb0(%out: i64):
      %57 = linalg.index 0 : index
      %58 = arith.index_cast %57 : index to i64
      linalg.yield %58 : i64
    } -> tensor<24xi64>
    %expanded = tensor.expand_shape %3 [[0, 1]] output_shape [1, 24] : tensor<24xi64> into tensor<1x24xi64>
    %expanded_8 = tensor.expand_shape %3 [[0, 1]] output_shape [24, 1] : tensor<24xi64> into tensor<24x1xi64>
    %4 = tensor.empty() : tensor<24x24xi64>
    %5 = linalg.generic {indexing_maps = [#map2, #map3, #map4], iterator_types = ["parallel", "parallel"]} ins(%expanded, %expanded_8 : tensor<1x24xi64>, tensor<24x1xi64>) outs(%4 : tensor<24x24xi64>) {
    ^bb0(%in: i64, %in_23: i64, %out: i64):
      %57 = arith.subi %in, %in_23 : i64
      linalg.yield %57 : i64
    } -> tensor<24x24xi64>
    %6 = tensor.empty() : tensor<24x24xi1>
    %7 = linalg.generic {indexing_maps = [#map4, #map4], iterator_types = ["parallel", "parallel"]} ins(%5 : tensor<24x24xi64>) outs(%6 : tensor<24x24xi1>) {
    ^bb0(%in: i64, %out: i1):
      %57 = arith.cmpi sle, %in, %c0_i64 : i64
      linalg.yield %57 : i1
    } -> tensor<24x24xi1>
    %8 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel"]} ins(%7, %cst_5 : tensor<24x24xi1>, tensor<24x24xi1>) outs(%6 : tensor<24x24xi1>) {
    ^bb0(%in: i1, %in_23: i1, %out: i1):
      %57 = arith.andi %in, %in_23 : i1
      linalg.yield %57 : i1
    } -> tensor<24x24xi1>
    %9 = tensor.empty() : tensor<24x24xf32>
    %10 = linalg.generic {indexing_maps = [#map4, #map5, #map5, #map4], iterator_types = ["parallel", "parallel"]} ins(%8, %cst_3, %cst_4 : tensor<24x24xi1>, tensor<f32>, tensor<f32>) outs(%9 : tensor<24x24xf32>) {
    ^bb0(%in: i1, %in_23: f32, %in_24: f32, %out: f32):
      %57 = arith.select %in, %in_23, %in_24 : f32
      linalg.yield %57 : f32
    } -> tensor<24x24xf32>
    %11 = tensor.empty() : tensor<2x4x16x24xf32>
    %transposed = linalg.transpose ins(%arg0 : tensor<2x4x24x16xf32>) outs(%11 : tensor<2x4x16x24xf32>) permutation = [0, 1, 3, 2] 
    %12 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%transposed : tensor<2x4x16x24xf32>) outs(%11 : tensor<2x4x16x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      %57 = arith.mulf %in, %cst_7 : f32
      linalg.yield %57 : f32
    } -> tensor<2x4x16x24xf32>
    %collapsed = tensor.collapse_shape %1 [[0, 1], [2], [3]] : tensor<2x4x24x16xf32> into tensor<8x24x16xf32>
    %collapsed_9 = tensor.collapse_shape %12 [[0, 1], [2], [3]] : tensor<2x4x16x24xf32> into tensor<8x16x24xf32>
    %13 = tensor.empty() : tensor<8x24x24xf32>
    %14 = linalg.fill ins(%cst : f32) outs(%13 : tensor<8x24x24xf32>) -> tensor<8x24x24xf32>
    %15 = linalg.batch_matmul ins(%collapsed, %collapsed_9 : tensor<8x24x16xf32>, tensor<8x16x24xf32>) outs(%14 : tensor<8x24x24xf32>) -> tensor<8x24x24xf32>
    %expanded_10 = tensor.expand_shape %15 [[0, 1], [2], [3]] output_shape [2, 4, 24, 24] : tensor<8x24x24xf32> into tensor<2x4x24x24xf32>
    %16 = tensor.empty() : tensor<2x4x24x24xf32>
    %17 = linalg.generic {indexing_maps = [#map, #map6, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_10, %10 : tensor<2x4x24x24xf32>, tensor<24x24xf32>) outs(%16 : tensor<2x4x24x24xf32>) {
    ^bb0(%in: f32, %in_23: f32, %out: f32):
      %57 = arith.addf %in, %in_23 : f32
      linalg.yield %57 : f32
    } -> tensor<2x4x24x24xf32>
    %18 = tensor.empty() : tensor<2x4x24xi64>
    %19 = linalg.fill ins(%c0_i64 : i64) outs(%18 : tensor<2x4x24xi64>) -> tensor<2x4x24xi64>
    %20 = tensor.empty() : tensor<2x4x24xf32>
    %21 = linalg.fill ins(%cst_0 : f32) outs(%20 : tensor<2x4x24xf32>) -> tensor<2x4x24xf32>
    %22:2 = linalg.generic {indexing_maps = [#map, #map7, #map7], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%17 : tensor<2x4x24x24xf32>) outs(%21, %19 : tensor<2x4x24xf32>, tensor<2x4x24xi64>) {
    ^bb0(%in: f32, %out: f32, %out_23: i64):
      %57 = linalg.index 3 : index
      %58 = arith.index_cast %57 : index to i64
      %59 = arith.maximumf %in, %out : f32
      %60 = arith.cmpf ogt, %in, %out : f32
      %61 = arith.select %60, %58, %out_23 : i64
      linalg.yield %59, %61 : f32, i64
    } -> (tensor<2x4x24xf32>, tensor<2x4x24xi64>)
    %expanded_11 = tensor.expand_shape %22#0 [[0], [1], [2, 3]] output_shape [2, 4, 24, 1] : tensor<2x4x24xf32> into tensor<2x4x24x1xf32>
    %23 = linalg.generic {indexing_maps = [#map, #map8, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%17, %expanded_11 : tensor<2x4x24x24xf32>, tensor<2x4x24x1xf32>) outs(%16 : tensor<2x4x24x24xf32>) {
    ^bb0(%in: f32, %in_23: f32, %out: f32):
      %57 = arith.subf %in, %in_23 : f32
      linalg.yield %57 : f32
    } -> tensor<2x4x24x24xf32>
    %24 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%23 : tensor<2x4x24x24xf32>) outs(%16 : tensor<2x4x24x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      %57 = math.exp %in : f32
      linalg.yield %57 : f32
    } -> tensor<2x4x24x24xf32>
    %25 = tensor.empty() : tensor<2x4x24x1xf32>
    %26 = linalg.fill ins(%cst : f32) outs(%25 : tensor<2x4x24x1xf32>) -> tensor<2x4x24x1xf32>
    %27 = linalg.generic {indexing_maps = [#map, #map8], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%24 : tensor<2x4x24x24xf32>) outs(%26 : tensor<2x4x24x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %57 = arith.addf %in, %out : f32
      linalg.yield %57 : f32
    } -> tensor<2x4x24x1xf32>
    %28 = linalg.generic {indexing_maps = [#map, #map8, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%24, %27 : tensor<2x4x24x24xf32>, tensor<2x4x24x1xf32>) outs(%16 : tensor<2x4x24x24xf32>) {
    ^bb0(%in: f32, %in_23: f32, %out: f32):
      %57 = arith.divf %in, %in_23 : f32
      linalg.yield %57 : f32
    } -> tensor<2x4x24x24xf32>
    %29 = tensor.empty() : tensor<2x4x24x24xi1>
    %30 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%17 : tensor<2x4x24x24xf32>) outs(%29 : tensor<2x4x24x24xi1>) {
    ^bb0(%in: f32, %out: i1):
      %57 = arith.extf %in : f32 to f64
      %58 = arith.cmpf oeq, %57, %cst_6 : f64
      linalg.yield %58 : i1
    } -> tensor<2x4x24x24xi1>
    %31 = tensor.empty() : tensor<2x4x24x1xi1>
    %32 = linalg.fill ins(%true : i1) outs(%31 : tensor<2x4x24x1xi1>) -> tensor<2x4x24x1xi1>
    %33 = linalg.generic {indexing_maps = [#map, #map8], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%30 : tensor<2x4x24x24xi1>) outs(%32 : tensor<2x4x24x1xi1>) {
    ^bb0(%in: i1, %out: i1):
      %57 = arith.andi %in, %out : i1
      linalg.yield %57 : i1
    } -> tensor<2x4x24x1xi1>
    %34 = linalg.generic {indexing_maps = [#map8, #map, #map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%33, %cst_2, %28 : tensor<2x4x24x1xi1>, tensor<2x4x24x24xf32>, tensor<2x4x24x24xf32>) outs(%16 : tensor<2x4x24x24xf32>) {
    ^bb0(%in: i1, %in_23: f32, %in_24: f32, %out: f32):
      %57 = arith.select %in, %in_23, %in_24 : f32
      linalg.yield %57 : f32
    } -> tensor<2x4x24x24xf32>
    %collapsed_12 = tensor.collapse_shape %34 [[0, 1], [2], [3]] : tensor<2x4x24x24xf32> into tensor<8x24x24xf32>
    %collapsed_13 = tensor.collapse_shape %arg0 [[0, 1], [2], [3]] : tensor<2x4x24x16xf32> into tensor<8x24x16xf32>
    %35 = tensor.empty() : tensor<8x24x16xf32>
    %36 = linalg.fill ins(%cst : f32) outs(%35 : tensor<8x24x16xf32>) -> tensor<8x24x16xf32>
    %37 = linalg.batch_matmul ins(%collapsed_12, %collapsed_13 : tensor<8x24x24xf32>, tensor<8x24x16xf32>) outs(%36 : tensor<8x24x16xf32>) -> tensor<8x24x16xf32>
    %expanded_14 = tensor.expand_shape %37 [[0, 1], [2], [3]] output_shape [2, 4, 24, 16] : tensor<8x24x16xf32> into tensor<2x4x24x16xf32>
    %38 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_14, %arg0 : tensor<2x4x24x16xf32>, tensor<2x4x24x16xf32>) outs(%0 : tensor<2x4x24x16xf32>) {
    ^bb0(%in: f32, %in_23: f32, %out: f32):
      %57 = arith.addf %in, %in_23 : f32
      linalg.yield %57 : f32
    } -> tensor<2x4x24x16xf32>
    %39 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%38 : tensor<2x4x24x16xf32>) outs(%0 : tensor<2x4x24x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %57 = arith.mulf %in, %cst_7 : f32
      linalg.yield %57 : f32
    } -> tensor<2x4x24x16xf32>
    %40 = tensor.empty() : tensor<2x4x16x40xf32>
    %transposed_15 = linalg.transpose ins(%arg1 : tensor<2x4x40x16xf32>) outs(%40 : tensor<2x4x16x40xf32>) permutation = [0, 1, 3, 2] 
    %41 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%transposed_15 : tensor<2x4x16x40xf32>) outs(%40 : tensor<2x4x16x40xf32>) {
    ^bb0(%in: f32, %out: f32):
      %57 = arith.mulf %in, %cst_7 : f32
      linalg.yield %57 : f32
    } -> tensor<2x4x16x40xf32>
    %collapsed_16 = tensor.collapse_shape %39 [[0, 1], [2], [3]] : tensor<2x4x24x16xf32> into tensor<8x24x16xf32>
    %collapsed_17 = tensor.collapse_shape %41 [[0, 1], [2], [3]] : tensor<2x4x16x40xf32> into tensor<8x16x40xf32>
    %42 = tensor.empty() : tensor<8x24x40xf32>
    %43 = linalg.fill ins(%cst : f32) outs(%42 : tensor<8x24x40xf32>) -> tensor<8x24x40xf32>
    %44 = linalg.batch_matmul ins(%collapsed_16, %collapsed_17 : tensor<8x24x16xf32>, tensor<8x16x40xf32>) outs(%43 : tensor<8x24x40xf32>) -> tensor<8x24x40xf32>
    %expanded_18 = tensor.expand_shape %44 [[0, 1], [2], [3]] output_shape [2, 4, 24, 40] : tensor<8x24x40xf32> into tensor<2x4x24x40xf32>
    %45:2 = linalg.generic {indexing_maps = [#map, #map7, #map7], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%expanded_18 : tensor<2x4x24x40xf32>) outs(%21, %19 : tensor<2x4x24xf32>, tensor<2x4x24xi64>) {
    ^bb0(%in: f32, %out: f32, %out_23: i64):
      %57 = linalg.index 3 : index
      %58 = arith.index_cast %57 : index to i64
      %59 = arith.maximumf %in, %out : f32
      %60 = arith.cmpf ogt, %in, %out : f32
      %61 = arith.select %60, %58, %out_23 : i64
      linalg.yield %59, %61 : f32, i64
    } -> (tensor<2x4x24xf32>, tensor<2x4x24xi64>)
    %expanded_19 = tensor.expand_shape %45#0 [[0], [1], [2, 3]] output_shape [2, 4, 24, 1] : tensor<2x4x24xf32> into tensor<2x4x24x1xf32>
    %46 = tensor.empty() : tensor<2x4x24x40xf32>
    %47 = linalg.generic {indexing_maps = [#map, #map8, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_18, %expanded_19 : tensor<2x4x24x40xf32>, tensor<2x4x24x1xf32>) outs(%46 : tensor<2x4x24x40xf32>) {
    ^bb0(%in: f32, %in_23: f32, %out: f32):
      %57 = arith.subf %in, %in_23 : f32
      linalg.yield %57 : f32
    } -> tensor<2x4x24x40xf32>
    %48 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%47 : tensor<2x4x24x40xf32>) outs(%46 : tensor<2x4x24x40xf32>) {
    ^bb0(%in: f32, %out: f32):
      %57 = math.exp %in : f32
      linalg.yield %57 : f32
    } -> tensor<2x4x24x40xf32>
    %49 = linalg.generic {indexing_maps = [#map, #map8], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%48 : tensor<2x4x24x40xf32>) outs(%26 : tensor<2x4x24x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %57 = arith.addf %in, %out : f32
      linalg.yield %57 : f32
    } -> tensor<2x4x24x1xf32>
    %50 = linalg.generic {indexing_maps = [#map, #map8, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%48, %49 : tensor<2x4x24x40xf32>, tensor<2x4x24x1xf32>) outs(%46 : tensor<2x4x24x40xf32>) {
    ^bb0(%in: f32, %in_23: f32, %out: f32):
      %57 = arith.divf %in, %in_23 : f32
      linalg.yield %57 : f32
    } -> tensor<2x4x24x40xf32>
    %51 = tensor.empty() : tensor<2x4x24x40xi1>
    %52 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_18 : tensor<2x4x24x40xf32>) outs(%51 : tensor<2x4x24x40xi1>) {
    ^bb0(%in: f32, %out: i1):
      %57 = arith.extf %in : f32 to f64
      %58 = arith.cmpf oeq, %57, %cst_6 : f64
      linalg.yield %58 : i1
    } -> tensor<2x4x24x40xi1>
    %53 = linalg.generic {indexing_maps = [#map, #map8], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%52 : tensor<2x4x24x40xi1>) outs(%32 : tensor<2x4x24x1xi1>) {
    ^bb0(%in: i1, %out: i1):
      %57 = arith.andi %in, %out : i1
      linalg.yield %57 : i1
    } -> tensor<2x4x24x1xi1>
    %54 = linalg.generic {indexing_maps = [#map8, #map, #map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%53, %cst_1, %50 : tensor<2x4x24x1xi1>, tensor<2x4x24x40xf32>, tensor<2x4x24x40xf32>) outs(%46 : tensor<2x4x24x40xf32>) {
    ^bb0(%in: i1, %in_23: f32, %in_24: f32, %out: f32):
      %57 = arith.select %in, %in_23, %in_24 : f32
      linalg.yield %57 : f32
    } -> tensor<2x4x24x40xf32>
    %collapsed_20 = tensor.collapse_shape %54 [[0, 1], [2], [3]] : tensor<2x4x24x40xf32> into tensor<8x24x40xf32>
    %collapsed_21 = tensor.collapse_shape %arg2 [[0, 1], [2], [3]] : tensor<2x4x40x16xf32> into tensor<8x40x16xf32>
    %55 = linalg.batch_matmul ins(%collapsed_20, %collapsed_21 : tensor<8x24x40xf32>, tensor<8x40x16xf32>) outs(%36 : tensor<8x24x16xf32>) -> tensor<8x24x16xf32>
    %expanded_22 = tensor.expand_shape %55 [[0, 1], [2], [3]] output_shape [2, 4, 24, 16] : tensor<8x24x16xf32> into tensor<2x4x24x16xf32>
    %56 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_22, %38 : tensor<2x4x24x16xf32>, tensor<2x4x24x16xf32>) outs(%0 : tensor<2x4x24x16xf32>) {
    ^bb0(%in: f32, %in_23: f32, %out: f32):
      %57 = arith.addf %in, %in_23 : f32
      linalg.yield %57 : f32
    } -> tensor<2x4x24x16xf32>
    return %56 : tensor<2x4x24x16xf32>
  }
}
