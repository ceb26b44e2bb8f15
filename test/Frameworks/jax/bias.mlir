// jax.nn.dot_product_attention(q, k, v, bias=b): as jax 0.10.2 gives it. Written by Inputs/jax_programs.py; the versions are in packages.txt.
// RUN: fa-opt --explain %s | FileCheck %s
// RUN: fa-run %s --entry=main --in 2x24x4x16 --in 2x40x4x16 --in 2x40x4x16 --in 1x4x24x40 --check --target=cpu | FileCheck %s --check-prefix=RAN
// RUN: not fa-run %s --entry=main --in 2x24x4x16x1 --in 2x40x4x16 --in 2x40x4x16 --in 1x4x24x40 2>&1 | FileCheck %s --check-prefix=WRONG
// CHECK: fused: softmax(Q Kᵀ) V is one attention
// CHECK: 1 fused, 0 not
// RAN-NOT: not fused
// RAN: PASS
// RAN-NOT: FAIL
// WRONG: {{expected.*, found}}

#map = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d2, d1, d3, d5)>
#map1 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d4, d1, d5)>
#map2 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3, d4)>
#map3 = affine_map<(d0, d1, d2, d3, d4) -> ()>
#map4 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>
#map5 = affine_map<(d0, d1, d2, d3, d4) -> (d1, d2, d3, d0, d4)>
#map6 = affine_map<(d0, d1, d2, d3, d4) -> (d1, d2, d0, d3, d4)>
#map7 = affine_map<(d0, d1, d2, d3, d4) -> (d0, 0, d2, d3, d4)>
#map8 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>
#map9 = affine_map<(d0, d1, d2, d3) -> ()>
#map10 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map11 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, 0)>
#map12 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d5, d1, d2)>
#map13 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, d0, d1, d4, d5)>
#map14 = affine_map<(d0, d1, d2, d3, d4) -> (d1, d3, d4, d0, d2)>
#map15 = affine_map<(d0, d1, d2, d3, d4) -> (d3, d0, d1, d2, d4)>
module {
  func.func public @main(%arg0: tensor<2x24x4x16xf32>, %arg1: tensor<2x40x4x16xf32>, %arg2: tensor<2x40x4x16xf32>, %arg3: tensor<1x4x24x40xf32>) -> (tensor<2x24x4x16xf32> {jax.result_info = "result"}) {
    %cst = arith.constant 0xFF800000 : f32
    %cst_0 = arith.constant dense<0xFF800000> : tensor<f32>
    %cst_1 = arith.constant dense<2.500000e-01> : tensor<f32>
    %cst_2 = arith.constant 0.000000e+00 : f32
    %expanded = tensor.expand_shape %arg0 [[0], [1], [2], [3, 4]] output_shape [2, 24, 4, 1, 16] : tensor<2x24x4x16xf32> into tensor<2x24x4x1x16xf32>
    %expanded_3 = tensor.expand_shape %arg3 [[0], [1], [2, 3], [4]] output_shape [1, 4, 1, 24, 40] : tensor<1x4x24x40xf32> into tensor<1x4x1x24x40xf32>
    %0 = tensor.empty() : tensor<2x4x24x1x40xf32>
    %1 = linalg.fill ins(%cst_2 : f32) outs(%0 : tensor<2x4x24x1x40xf32>) -> tensor<2x4x24x1x40xf32>
    %2 = linalg.generic {indexing_maps = [#map, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%expanded, %arg1 : tensor<2x24x4x1x16xf32>, tensor<2x40x4x16xf32>) outs(%1 : tensor<2x4x24x1x40xf32>) {
    ^bb0(%in: f32, %in_4: f32, %out: f32):
      %33 = arith.mulf %in, %in_4 : f32
      %34 = arith.addf %out, %33 : f32
      linalg.yield %34 : f32
    } -> tensor<2x4x24x1x40xf32>
    %3 = linalg.generic {indexing_maps = [#map3, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%cst_1 : tensor<f32>) outs(%0 : tensor<2x4x24x1x40xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x24x1x40xf32>
    %4 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%2, %3 : tensor<2x4x24x1x40xf32>, tensor<2x4x24x1x40xf32>) outs(%0 : tensor<2x4x24x1x40xf32>) {
    ^bb0(%in: f32, %in_4: f32, %out: f32):
      %33 = arith.mulf %in, %in_4 : f32
      linalg.yield %33 : f32
    } -> tensor<2x4x24x1x40xf32>
    %5 = tensor.empty() : tensor<1x2x4x24x40xf32>
    %6 = linalg.generic {indexing_maps = [#map5, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%4 : tensor<2x4x24x1x40xf32>) outs(%5 : tensor<1x2x4x24x40xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x4x24x40xf32>
    %7 = tensor.empty() : tensor<1x1x4x24x40xf32>
    %8 = linalg.generic {indexing_maps = [#map6, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_3 : tensor<1x4x1x24x40xf32>) outs(%7 : tensor<1x1x4x24x40xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x1x4x24x40xf32>
    %9 = linalg.generic {indexing_maps = [#map7, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%8 : tensor<1x1x4x24x40xf32>) outs(%5 : tensor<1x2x4x24x40xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x4x24x40xf32>
    %10 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%6, %9 : tensor<1x2x4x24x40xf32>, tensor<1x2x4x24x40xf32>) outs(%5 : tensor<1x2x4x24x40xf32>) {
    ^bb0(%in: f32, %in_4: f32, %out: f32):
      %33 = arith.addf %in, %in_4 : f32
      linalg.yield %33 : f32
    } -> tensor<1x2x4x24x40xf32>
    %11 = tensor.empty() : tensor<1x2x4x24xf32>
    %12 = linalg.fill ins(%cst : f32) outs(%11 : tensor<1x2x4x24xf32>) -> tensor<1x2x4x24xf32>
    %13 = linalg.generic {indexing_maps = [#map4, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%10 : tensor<1x2x4x24x40xf32>) outs(%12 : tensor<1x2x4x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      %33 = arith.maximumf %out, %in : f32
      linalg.yield %33 : f32
    } -> tensor<1x2x4x24xf32>
    %14 = linalg.generic {indexing_maps = [#map9, #map10], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_0 : tensor<f32>) outs(%11 : tensor<1x2x4x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x4x24xf32>
    %15 = linalg.generic {indexing_maps = [#map10, #map10, #map10], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%14, %13 : tensor<1x2x4x24xf32>, tensor<1x2x4x24xf32>) outs(%11 : tensor<1x2x4x24xf32>) {
    ^bb0(%in: f32, %in_4: f32, %out: f32):
      %33 = arith.maximumf %in, %in_4 : f32
      linalg.yield %33 : f32
    } -> tensor<1x2x4x24xf32>
    %16 = tensor.empty() : tensor<1x2x4x24x1xf32>
    %17 = linalg.generic {indexing_maps = [#map8, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%15 : tensor<1x2x4x24xf32>) outs(%16 : tensor<1x2x4x24x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x4x24x1xf32>
    %18 = linalg.generic {indexing_maps = [#map11, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%17 : tensor<1x2x4x24x1xf32>) outs(%5 : tensor<1x2x4x24x40xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x4x24x40xf32>
    %19 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%10, %18 : tensor<1x2x4x24x40xf32>, tensor<1x2x4x24x40xf32>) outs(%5 : tensor<1x2x4x24x40xf32>) {
    ^bb0(%in: f32, %in_4: f32, %out: f32):
      %33 = arith.subf %in, %in_4 : f32
      linalg.yield %33 : f32
    } -> tensor<1x2x4x24x40xf32>
    %20 = linalg.generic {indexing_maps = [#map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%19 : tensor<1x2x4x24x40xf32>) outs(%5 : tensor<1x2x4x24x40xf32>) {
    ^bb0(%in: f32, %out: f32):
      %33 = math.exp %in : f32
      linalg.yield %33 : f32
    } -> tensor<1x2x4x24x40xf32>
    %21 = linalg.fill ins(%cst_2 : f32) outs(%11 : tensor<1x2x4x24xf32>) -> tensor<1x2x4x24xf32>
    %22 = linalg.generic {indexing_maps = [#map4, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%20 : tensor<1x2x4x24x40xf32>) outs(%21 : tensor<1x2x4x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      %33 = arith.addf %out, %in : f32
      linalg.yield %33 : f32
    } -> tensor<1x2x4x24xf32>
    %23 = linalg.generic {indexing_maps = [#map8, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%22 : tensor<1x2x4x24xf32>) outs(%16 : tensor<1x2x4x24x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x4x24x1xf32>
    %24 = linalg.generic {indexing_maps = [#map11, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%23 : tensor<1x2x4x24x1xf32>) outs(%5 : tensor<1x2x4x24x40xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x4x24x40xf32>
    %25 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%20, %24 : tensor<1x2x4x24x40xf32>, tensor<1x2x4x24x40xf32>) outs(%5 : tensor<1x2x4x24x40xf32>) {
    ^bb0(%in: f32, %in_4: f32, %out: f32):
      %33 = arith.divf %in, %in_4 : f32
      linalg.yield %33 : f32
    } -> tensor<1x2x4x24x40xf32>
    %26 = tensor.empty() : tensor<2x4x16x1x24xf32>
    %27 = linalg.fill ins(%cst_2 : f32) outs(%26 : tensor<2x4x16x1x24xf32>) -> tensor<2x4x16x1x24xf32>
    %28 = linalg.generic {indexing_maps = [#map12, #map13, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg2, %25 : tensor<2x40x4x16xf32>, tensor<1x2x4x24x40xf32>) outs(%27 : tensor<2x4x16x1x24xf32>) {
    ^bb0(%in: f32, %in_4: f32, %out: f32):
      %33 = arith.mulf %in, %in_4 : f32
      %34 = arith.addf %out, %33 : f32
      linalg.yield %34 : f32
    } -> tensor<2x4x16x1x24xf32>
    %29 = tensor.empty() : tensor<1x2x24x4x16xf32>
    %30 = linalg.generic {indexing_maps = [#map14, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%28 : tensor<2x4x16x1x24xf32>) outs(%29 : tensor<1x2x24x4x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x24x4x16xf32>
    %31 = tensor.empty() : tensor<2x24x4x1x16xf32>
    %32 = linalg.generic {indexing_maps = [#map15, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%30 : tensor<1x2x24x4x16xf32>) outs(%31 : tensor<2x24x4x1x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x24x4x1x16xf32>
    %collapsed = tensor.collapse_shape %32 [[0], [1], [2], [3, 4]] : tensor<2x24x4x1x16xf32> into tensor<2x24x4x16xf32>
    return %collapsed : tensor<2x24x4x16xf32>
  }
}

