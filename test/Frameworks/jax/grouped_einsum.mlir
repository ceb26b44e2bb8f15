// jnp.einsum and jax.nn.softmax with grouped heads: as jax 0.10.2 gives it. Written by Inputs/jax_programs.py; the versions are in packages.txt.
// RUN: fa-opt --explain %s | FileCheck %s
// RUN: fa-run %s --entry=main --in 2x24x4x16 --in 2x40x2x16 --in 2x40x2x16 --check --target=cpu | FileCheck %s --check-prefix=RAN
// RUN: not fa-run %s --entry=main --in 2x24x4x16x1 --in 2x40x2x16 --in 2x40x2x16 2>&1 | FileCheck %s --check-prefix=WRONG
// CHECK: fused: softmax(Q Kᵀ) V is one attention
// CHECK: 1 fused, 0 not
// RAN-NOT: not fused
// RAN: PASS
// RAN-NOT: FAIL
// WRONG: {{expected.*, found}}

#map = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d2, d1, d5)>
#map1 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d1, d4, d5)>
#map2 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3, d4)>
#map3 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d4, d3, d2)>
#map4 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>
#map5 = affine_map<(d0, d1, d2, d3, d4) -> ()>
#map6 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>
#map7 = affine_map<(d0, d1, d2, d3) -> ()>
#map8 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map9 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, 0)>
#map10 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d5, d1, d2)>
#map11 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d3, d4, d5)>
#map12 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d4, d3, d1)>
module {
  func.func public @main(%arg0: tensor<2x24x4x16xf32>, %arg1: tensor<2x40x2x16xf32>, %arg2: tensor<2x40x2x16xf32>) -> (tensor<2x24x4x16xf32> {jax.result_info = "result"}) {
    %cst = arith.constant 0xFF800000 : f32
    %cst_0 = arith.constant dense<0xFF800000> : tensor<f32>
    %cst_1 = arith.constant dense<2.500000e-01> : tensor<f32>
    %cst_2 = arith.constant 0.000000e+00 : f32
    %expanded = tensor.expand_shape %arg0 [[0], [1], [2, 3], [4]] output_shape [2, 24, 2, 2, 16] : tensor<2x24x4x16xf32> into tensor<2x24x2x2x16xf32>
    %0 = tensor.empty() : tensor<2x2x40x24x2xf32>
    %1 = linalg.fill ins(%cst_2 : f32) outs(%0 : tensor<2x2x40x24x2xf32>) -> tensor<2x2x40x24x2xf32>
    %2 = linalg.generic {indexing_maps = [#map, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg1, %expanded : tensor<2x40x2x16xf32>, tensor<2x24x2x2x16xf32>) outs(%1 : tensor<2x2x40x24x2xf32>) {
    ^bb0(%in: f32, %in_3: f32, %out: f32):
      %27 = arith.mulf %in, %in_3 : f32
      %28 = arith.addf %out, %27 : f32
      linalg.yield %28 : f32
    } -> tensor<2x2x40x24x2xf32>
    %3 = tensor.empty() : tensor<2x2x2x24x40xf32>
    %4 = linalg.generic {indexing_maps = [#map3, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%2 : tensor<2x2x40x24x2xf32>) outs(%3 : tensor<2x2x2x24x40xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x2x2x24x40xf32>
    %5 = linalg.generic {indexing_maps = [#map5, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%cst_1 : tensor<f32>) outs(%3 : tensor<2x2x2x24x40xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x2x2x24x40xf32>
    %6 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%4, %5 : tensor<2x2x2x24x40xf32>, tensor<2x2x2x24x40xf32>) outs(%3 : tensor<2x2x2x24x40xf32>) {
    ^bb0(%in: f32, %in_3: f32, %out: f32):
      %27 = arith.mulf %in, %in_3 : f32
      linalg.yield %27 : f32
    } -> tensor<2x2x2x24x40xf32>
    %7 = tensor.empty() : tensor<2x2x2x24xf32>
    %8 = linalg.fill ins(%cst : f32) outs(%7 : tensor<2x2x2x24xf32>) -> tensor<2x2x2x24xf32>
    %9 = linalg.generic {indexing_maps = [#map4, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%6 : tensor<2x2x2x24x40xf32>) outs(%8 : tensor<2x2x2x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      %27 = arith.maximumf %out, %in : f32
      linalg.yield %27 : f32
    } -> tensor<2x2x2x24xf32>
    %10 = linalg.generic {indexing_maps = [#map7, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_0 : tensor<f32>) outs(%7 : tensor<2x2x2x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x2x2x24xf32>
    %11 = linalg.generic {indexing_maps = [#map8, #map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%10, %9 : tensor<2x2x2x24xf32>, tensor<2x2x2x24xf32>) outs(%7 : tensor<2x2x2x24xf32>) {
    ^bb0(%in: f32, %in_3: f32, %out: f32):
      %27 = arith.maximumf %in, %in_3 : f32
      linalg.yield %27 : f32
    } -> tensor<2x2x2x24xf32>
    %12 = tensor.empty() : tensor<2x2x2x24x1xf32>
    %13 = linalg.generic {indexing_maps = [#map6, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%11 : tensor<2x2x2x24xf32>) outs(%12 : tensor<2x2x2x24x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x2x2x24x1xf32>
    %14 = linalg.generic {indexing_maps = [#map9, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%13 : tensor<2x2x2x24x1xf32>) outs(%3 : tensor<2x2x2x24x40xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x2x2x24x40xf32>
    %15 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%6, %14 : tensor<2x2x2x24x40xf32>, tensor<2x2x2x24x40xf32>) outs(%3 : tensor<2x2x2x24x40xf32>) {
    ^bb0(%in: f32, %in_3: f32, %out: f32):
      %27 = arith.subf %in, %in_3 : f32
      linalg.yield %27 : f32
    } -> tensor<2x2x2x24x40xf32>
    %16 = linalg.generic {indexing_maps = [#map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%15 : tensor<2x2x2x24x40xf32>) outs(%3 : tensor<2x2x2x24x40xf32>) {
    ^bb0(%in: f32, %out: f32):
      %27 = math.exp %in : f32
      linalg.yield %27 : f32
    } -> tensor<2x2x2x24x40xf32>
    %17 = linalg.fill ins(%cst_2 : f32) outs(%7 : tensor<2x2x2x24xf32>) -> tensor<2x2x2x24xf32>
    %18 = linalg.generic {indexing_maps = [#map4, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%16 : tensor<2x2x2x24x40xf32>) outs(%17 : tensor<2x2x2x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      %27 = arith.addf %out, %in : f32
      linalg.yield %27 : f32
    } -> tensor<2x2x2x24xf32>
    %19 = linalg.generic {indexing_maps = [#map6, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%18 : tensor<2x2x2x24xf32>) outs(%12 : tensor<2x2x2x24x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x2x2x24x1xf32>
    %20 = linalg.generic {indexing_maps = [#map9, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%19 : tensor<2x2x2x24x1xf32>) outs(%3 : tensor<2x2x2x24x40xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x2x2x24x40xf32>
    %21 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%16, %20 : tensor<2x2x2x24x40xf32>, tensor<2x2x2x24x40xf32>) outs(%3 : tensor<2x2x2x24x40xf32>) {
    ^bb0(%in: f32, %in_3: f32, %out: f32):
      %27 = arith.divf %in, %in_3 : f32
      linalg.yield %27 : f32
    } -> tensor<2x2x2x24x40xf32>
    %22 = tensor.empty() : tensor<2x2x16x2x24xf32>
    %23 = linalg.fill ins(%cst_2 : f32) outs(%22 : tensor<2x2x16x2x24xf32>) -> tensor<2x2x16x2x24xf32>
    %24 = linalg.generic {indexing_maps = [#map10, #map11, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg2, %21 : tensor<2x40x2x16xf32>, tensor<2x2x2x24x40xf32>) outs(%23 : tensor<2x2x16x2x24xf32>) {
    ^bb0(%in: f32, %in_3: f32, %out: f32):
      %27 = arith.mulf %in, %in_3 : f32
      %28 = arith.addf %out, %27 : f32
      linalg.yield %28 : f32
    } -> tensor<2x2x16x2x24xf32>
    %25 = tensor.empty() : tensor<2x24x2x2x16xf32>
    %26 = linalg.generic {indexing_maps = [#map12, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%24 : tensor<2x2x16x2x24xf32>) outs(%25 : tensor<2x24x2x2x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x24x2x2x16xf32>
    %collapsed = tensor.collapse_shape %26 [[0], [1], [2, 3], [4]] : tensor<2x24x2x2x16xf32> into tensor<2x24x4x16xf32>
    return %collapsed : tensor<2x24x4x16xf32>
  }
}

