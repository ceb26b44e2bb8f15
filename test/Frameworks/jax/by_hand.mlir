// A softmax written out: as jax 0.10.2 gives it. Written by Inputs/jax_programs.py; the versions are in packages.txt.
// RUN: fa-opt --explain %s | FileCheck %s
// RUN: fa-run %s --entry=main --in 2x4x24x16 --in 2x4x40x16 --in 2x4x40x16 --check --target=cpu | FileCheck %s --check-prefix=RAN
// RUN: not fa-run %s --entry=main --in 2x4x24x16x1 --in 2x4x40x16 --in 2x4x40x16 2>&1 | FileCheck %s --check-prefix=WRONG
// CHECK: fused: softmax(Q Kᵀ) V is one attention
// CHECK: 1 fused, 0 not
// RAN-NOT: not fused
// RAN: PASS
// RAN-NOT: FAIL
// WRONG: {{expected.*, found}}

#map = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d4)>
#map1 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d3, d4)>
#map2 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>
#map3 = affine_map<(d0, d1, d2, d3) -> ()>
#map4 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map5 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#map6 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>
#map7 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d4, d3)>
module {
  func.func public @main(%arg0: tensor<2x4x24x16xf32>, %arg1: tensor<2x4x40x16xf32>, %arg2: tensor<2x4x40x16xf32>) -> (tensor<2x4x24x16xf32> {jax.result_info = "result"}) {
    %cst = arith.constant 0xFF800000 : f32
    %cst_0 = arith.constant dense<4.000000e+00> : tensor<f32>
    %cst_1 = arith.constant 0.000000e+00 : f32
    %0 = tensor.empty() : tensor<2x4x24x40xf32>
    %1 = linalg.fill ins(%cst_1 : f32) outs(%0 : tensor<2x4x24x40xf32>) -> tensor<2x4x24x40xf32>
    %2 = linalg.generic {indexing_maps = [#map, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<2x4x24x16xf32>, tensor<2x4x40x16xf32>) outs(%1 : tensor<2x4x24x40xf32>) {
    ^bb0(%in: f32, %in_2: f32, %out: f32):
      %21 = arith.mulf %in, %in_2 : f32
      %22 = arith.addf %out, %21 : f32
      linalg.yield %22 : f32
    } -> tensor<2x4x24x40xf32>
    %3 = linalg.generic {indexing_maps = [#map3, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_0 : tensor<f32>) outs(%0 : tensor<2x4x24x40xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x24x40xf32>
    %4 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%2, %3 : tensor<2x4x24x40xf32>, tensor<2x4x24x40xf32>) outs(%0 : tensor<2x4x24x40xf32>) {
    ^bb0(%in: f32, %in_2: f32, %out: f32):
      %21 = arith.divf %in, %in_2 : f32
      linalg.yield %21 : f32
    } -> tensor<2x4x24x40xf32>
    %5 = tensor.empty() : tensor<2x4x24xf32>
    %6 = linalg.fill ins(%cst : f32) outs(%5 : tensor<2x4x24xf32>) -> tensor<2x4x24xf32>
    %7 = linalg.generic {indexing_maps = [#map4, #map5], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%4 : tensor<2x4x24x40xf32>) outs(%6 : tensor<2x4x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      %21 = arith.maximumf %out, %in : f32
      linalg.yield %21 : f32
    } -> tensor<2x4x24xf32>
    %8 = tensor.empty() : tensor<2x4x24x1xf32>
    %9 = linalg.generic {indexing_maps = [#map5, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%7 : tensor<2x4x24xf32>) outs(%8 : tensor<2x4x24x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x24x1xf32>
    %10 = linalg.generic {indexing_maps = [#map6, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%9 : tensor<2x4x24x1xf32>) outs(%0 : tensor<2x4x24x40xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x24x40xf32>
    %11 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%4, %10 : tensor<2x4x24x40xf32>, tensor<2x4x24x40xf32>) outs(%0 : tensor<2x4x24x40xf32>) {
    ^bb0(%in: f32, %in_2: f32, %out: f32):
      %21 = arith.subf %in, %in_2 : f32
      linalg.yield %21 : f32
    } -> tensor<2x4x24x40xf32>
    %12 = linalg.generic {indexing_maps = [#map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%11 : tensor<2x4x24x40xf32>) outs(%0 : tensor<2x4x24x40xf32>) {
    ^bb0(%in: f32, %out: f32):
      %21 = math.exp %in : f32
      linalg.yield %21 : f32
    } -> tensor<2x4x24x40xf32>
    %13 = linalg.fill ins(%cst_1 : f32) outs(%5 : tensor<2x4x24xf32>) -> tensor<2x4x24xf32>
    %14 = linalg.generic {indexing_maps = [#map4, #map5], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%12 : tensor<2x4x24x40xf32>) outs(%13 : tensor<2x4x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      %21 = arith.addf %out, %in : f32
      linalg.yield %21 : f32
    } -> tensor<2x4x24xf32>
    %15 = linalg.generic {indexing_maps = [#map5, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%14 : tensor<2x4x24xf32>) outs(%8 : tensor<2x4x24x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x24x1xf32>
    %16 = linalg.generic {indexing_maps = [#map6, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%15 : tensor<2x4x24x1xf32>) outs(%0 : tensor<2x4x24x40xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x24x40xf32>
    %17 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%12, %16 : tensor<2x4x24x40xf32>, tensor<2x4x24x40xf32>) outs(%0 : tensor<2x4x24x40xf32>) {
    ^bb0(%in: f32, %in_2: f32, %out: f32):
      %21 = arith.divf %in, %in_2 : f32
      linalg.yield %21 : f32
    } -> tensor<2x4x24x40xf32>
    %18 = tensor.empty() : tensor<2x4x24x16xf32>
    %19 = linalg.fill ins(%cst_1 : f32) outs(%18 : tensor<2x4x24x16xf32>) -> tensor<2x4x24x16xf32>
    %20 = linalg.generic {indexing_maps = [#map, #map7, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%17, %arg2 : tensor<2x4x24x40xf32>, tensor<2x4x40x16xf32>) outs(%19 : tensor<2x4x24x16xf32>) {
    ^bb0(%in: f32, %in_2: f32, %out: f32):
      %21 = arith.mulf %in, %in_2 : f32
      %22 = arith.addf %out, %21 : f32
      linalg.yield %22 : f32
    } -> tensor<2x4x24x16xf32>
    return %20 : tensor<2x4x24x16xf32>
  }
}

