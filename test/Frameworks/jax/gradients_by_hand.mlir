// jax.vjp of a softmax written out, and its output: as jax 0.10.2 gives it. Written by Inputs/jax_programs.py; the versions are in packages.txt.
// RUN: fa-opt --explain %s | FileCheck %s
// RUN: fa-run %s --entry=main --in 2x4x24x16 --in 2x4x40x16 --in 2x4x40x16 --in 2x4x24x16 --check --target=cpu | FileCheck %s --check-prefix=RAN
// RUN: not fa-run %s --entry=main --in 2x4x24x16x1 --in 2x4x40x16 --in 2x4x40x16 --in 2x4x24x16 2>&1 | FileCheck %s --check-prefix=WRONG
// CHECK: fused: softmax(Q Kᵀ) V is one attention
// CHECK: , 0 not
// CHECK: becomes several kernels, one for each attention: the function has 1 gradients of an attention and attentions beside them
// RAN-NOT: not fused
// RAN-DAG: kernel   @main_attention
// RAN-DAG: kernel   @main_rest
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
#map8 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d4, d2)>
#map9 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3, d2)>
module {
  func.func public @main(%arg0: tensor<2x4x24x16xf32>, %arg1: tensor<2x4x40x16xf32>, %arg2: tensor<2x4x40x16xf32>, %arg3: tensor<2x4x24x16xf32>) -> (tensor<2x4x24x16xf32> {jax.result_info = "result[0]"}, tensor<2x4x24x16xf32> {jax.result_info = "result[1]"}, tensor<2x4x40x16xf32> {jax.result_info = "result[2]"}, tensor<2x4x40x16xf32> {jax.result_info = "result[3]"}) {
    %cst = arith.constant dense<1.000000e+00> : tensor<f32>
    %cst_0 = arith.constant 0xFF800000 : f32
    %cst_1 = arith.constant dense<4.000000e+00> : tensor<f32>
    %cst_2 = arith.constant 0.000000e+00 : f32
    %0 = tensor.empty() : tensor<2x4x24x40xf32>
    %1 = linalg.fill ins(%cst_2 : f32) outs(%0 : tensor<2x4x24x40xf32>) -> tensor<2x4x24x40xf32>
    %2 = linalg.generic {indexing_maps = [#map, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<2x4x24x16xf32>, tensor<2x4x40x16xf32>) outs(%1 : tensor<2x4x24x40xf32>) {
    ^bb0(%in: f32, %in_3: f32, %out: f32):
      %44 = arith.mulf %in, %in_3 : f32
      %45 = arith.addf %out, %44 : f32
      linalg.yield %45 : f32
    } -> tensor<2x4x24x40xf32>
    %3 = linalg.generic {indexing_maps = [#map3, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_1 : tensor<f32>) outs(%0 : tensor<2x4x24x40xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x24x40xf32>
    %4 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%2, %3 : tensor<2x4x24x40xf32>, tensor<2x4x24x40xf32>) outs(%0 : tensor<2x4x24x40xf32>) {
    ^bb0(%in: f32, %in_3: f32, %out: f32):
      %44 = arith.divf %in, %in_3 : f32
      linalg.yield %44 : f32
    } -> tensor<2x4x24x40xf32>
    %5 = tensor.empty() : tensor<2x4x24xf32>
    %6 = linalg.fill ins(%cst_0 : f32) outs(%5 : tensor<2x4x24xf32>) -> tensor<2x4x24xf32>
    %7 = linalg.generic {indexing_maps = [#map4, #map5], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%4 : tensor<2x4x24x40xf32>) outs(%6 : tensor<2x4x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      %44 = arith.maximumf %out, %in : f32
      linalg.yield %44 : f32
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
    ^bb0(%in: f32, %in_3: f32, %out: f32):
      %44 = arith.subf %in, %in_3 : f32
      linalg.yield %44 : f32
    } -> tensor<2x4x24x40xf32>
    %12 = linalg.generic {indexing_maps = [#map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%11 : tensor<2x4x24x40xf32>) outs(%0 : tensor<2x4x24x40xf32>) {
    ^bb0(%in: f32, %out: f32):
      %44 = math.exp %in : f32
      linalg.yield %44 : f32
    } -> tensor<2x4x24x40xf32>
    %13 = linalg.fill ins(%cst_2 : f32) outs(%5 : tensor<2x4x24xf32>) -> tensor<2x4x24xf32>
    %14 = linalg.generic {indexing_maps = [#map4, #map5], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%12 : tensor<2x4x24x40xf32>) outs(%13 : tensor<2x4x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      %44 = arith.addf %out, %in : f32
      linalg.yield %44 : f32
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
    ^bb0(%in: f32, %in_3: f32, %out: f32):
      %44 = arith.divf %in, %in_3 : f32
      linalg.yield %44 : f32
    } -> tensor<2x4x24x40xf32>
    %18 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%15, %15 : tensor<2x4x24x1xf32>, tensor<2x4x24x1xf32>) outs(%8 : tensor<2x4x24x1xf32>) {
    ^bb0(%in: f32, %in_3: f32, %out: f32):
      %44 = arith.mulf %in, %in_3 : f32
      linalg.yield %44 : f32
    } -> tensor<2x4x24x1xf32>
    %19 = linalg.generic {indexing_maps = [#map3, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst : tensor<f32>) outs(%8 : tensor<2x4x24x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x24x1xf32>
    %20 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%19, %18 : tensor<2x4x24x1xf32>, tensor<2x4x24x1xf32>) outs(%8 : tensor<2x4x24x1xf32>) {
    ^bb0(%in: f32, %in_3: f32, %out: f32):
      %44 = arith.divf %in, %in_3 : f32
      linalg.yield %44 : f32
    } -> tensor<2x4x24x1xf32>
    %21 = tensor.empty() : tensor<2x4x24x16xf32>
    %22 = linalg.fill ins(%cst_2 : f32) outs(%21 : tensor<2x4x24x16xf32>) -> tensor<2x4x24x16xf32>
    %23 = linalg.generic {indexing_maps = [#map, #map7, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%17, %arg2 : tensor<2x4x24x40xf32>, tensor<2x4x40x16xf32>) outs(%22 : tensor<2x4x24x16xf32>) {
    ^bb0(%in: f32, %in_3: f32, %out: f32):
      %44 = arith.mulf %in, %in_3 : f32
      %45 = arith.addf %out, %44 : f32
      linalg.yield %45 : f32
    } -> tensor<2x4x24x16xf32>
    %24 = tensor.empty() : tensor<2x4x16x40xf32>
    %25 = linalg.fill ins(%cst_2 : f32) outs(%24 : tensor<2x4x16x40xf32>) -> tensor<2x4x16x40xf32>
    %26 = linalg.generic {indexing_maps = [#map8, #map7, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg3, %17 : tensor<2x4x24x16xf32>, tensor<2x4x24x40xf32>) outs(%25 : tensor<2x4x16x40xf32>) {
    ^bb0(%in: f32, %in_3: f32, %out: f32):
      %44 = arith.mulf %in, %in_3 : f32
      %45 = arith.addf %out, %44 : f32
      linalg.yield %45 : f32
    } -> tensor<2x4x16x40xf32>
    %27 = tensor.empty() : tensor<2x4x40x16xf32>
    %28 = linalg.generic {indexing_maps = [#map9, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%26 : tensor<2x4x16x40xf32>) outs(%27 : tensor<2x4x40x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x40x16xf32>
    %29 = linalg.generic {indexing_maps = [#map, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg3, %arg2 : tensor<2x4x24x16xf32>, tensor<2x4x40x16xf32>) outs(%1 : tensor<2x4x24x40xf32>) {
    ^bb0(%in: f32, %in_3: f32, %out: f32):
      %44 = arith.mulf %in, %in_3 : f32
      %45 = arith.addf %out, %44 : f32
      linalg.yield %45 : f32
    } -> tensor<2x4x24x40xf32>
    %30 = linalg.generic {indexing_maps = [#map6, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%20 : tensor<2x4x24x1xf32>) outs(%0 : tensor<2x4x24x40xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x24x40xf32>
    %31 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%29, %30 : tensor<2x4x24x40xf32>, tensor<2x4x24x40xf32>) outs(%0 : tensor<2x4x24x40xf32>) {
    ^bb0(%in: f32, %in_3: f32, %out: f32):
      %44 = arith.mulf %in, %in_3 : f32
      linalg.yield %44 : f32
    } -> tensor<2x4x24x40xf32>
    %32 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%31, %12 : tensor<2x4x24x40xf32>, tensor<2x4x24x40xf32>) outs(%0 : tensor<2x4x24x40xf32>) {
    ^bb0(%in: f32, %in_3: f32, %out: f32):
      %44 = arith.mulf %in, %in_3 : f32
      linalg.yield %44 : f32
    } -> tensor<2x4x24x40xf32>
    %33 = linalg.generic {indexing_maps = [#map4, #map5], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%32 : tensor<2x4x24x40xf32>) outs(%13 : tensor<2x4x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      %44 = arith.addf %out, %in : f32
      linalg.yield %44 : f32
    } -> tensor<2x4x24xf32>
    %expanded = tensor.expand_shape %33 [[0], [1], [2, 3]] output_shape [2, 4, 24, 1] : tensor<2x4x24xf32> into tensor<2x4x24x1xf32>
    %34 = linalg.generic {indexing_maps = [#map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded : tensor<2x4x24x1xf32>) outs(%8 : tensor<2x4x24x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %44 = arith.negf %in : f32
      linalg.yield %44 : f32
    } -> tensor<2x4x24x1xf32>
    %35 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%29, %16 : tensor<2x4x24x40xf32>, tensor<2x4x24x40xf32>) outs(%0 : tensor<2x4x24x40xf32>) {
    ^bb0(%in: f32, %in_3: f32, %out: f32):
      %44 = arith.divf %in, %in_3 : f32
      linalg.yield %44 : f32
    } -> tensor<2x4x24x40xf32>
    %36 = linalg.generic {indexing_maps = [#map4, #map5], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%34 : tensor<2x4x24x1xf32>) outs(%13 : tensor<2x4x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      %44 = arith.addf %out, %in : f32
      linalg.yield %44 : f32
    } -> tensor<2x4x24xf32>
    %37 = linalg.generic {indexing_maps = [#map5, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%36 : tensor<2x4x24xf32>) outs(%0 : tensor<2x4x24x40xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x24x40xf32>
    %38 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%35, %37 : tensor<2x4x24x40xf32>, tensor<2x4x24x40xf32>) outs(%0 : tensor<2x4x24x40xf32>) {
    ^bb0(%in: f32, %in_3: f32, %out: f32):
      %44 = arith.addf %in, %in_3 : f32
      linalg.yield %44 : f32
    } -> tensor<2x4x24x40xf32>
    %39 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%38, %12 : tensor<2x4x24x40xf32>, tensor<2x4x24x40xf32>) outs(%0 : tensor<2x4x24x40xf32>) {
    ^bb0(%in: f32, %in_3: f32, %out: f32):
      %44 = arith.mulf %in, %in_3 : f32
      linalg.yield %44 : f32
    } -> tensor<2x4x24x40xf32>
    %40 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%39, %3 : tensor<2x4x24x40xf32>, tensor<2x4x24x40xf32>) outs(%0 : tensor<2x4x24x40xf32>) {
    ^bb0(%in: f32, %in_3: f32, %out: f32):
      %44 = arith.divf %in, %in_3 : f32
      linalg.yield %44 : f32
    } -> tensor<2x4x24x40xf32>
    %41 = linalg.fill ins(%cst_2 : f32) outs(%27 : tensor<2x4x40x16xf32>) -> tensor<2x4x40x16xf32>
    %42 = linalg.generic {indexing_maps = [#map8, #map7, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%40, %arg0 : tensor<2x4x24x40xf32>, tensor<2x4x24x16xf32>) outs(%41 : tensor<2x4x40x16xf32>) {
    ^bb0(%in: f32, %in_3: f32, %out: f32):
      %44 = arith.mulf %in, %in_3 : f32
      %45 = arith.addf %out, %44 : f32
      linalg.yield %45 : f32
    } -> tensor<2x4x40x16xf32>
    %43 = linalg.generic {indexing_maps = [#map, #map7, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%40, %arg1 : tensor<2x4x24x40xf32>, tensor<2x4x40x16xf32>) outs(%22 : tensor<2x4x24x16xf32>) {
    ^bb0(%in: f32, %in_3: f32, %out: f32):
      %44 = arith.mulf %in, %in_3 : f32
      %45 = arith.addf %out, %44 : f32
      linalg.yield %45 : f32
    } -> tensor<2x4x24x16xf32>
    return %23, %43, %42, %28 : tensor<2x4x24x16xf32>, tensor<2x4x24x16xf32>, tensor<2x4x40x16xf32>, tensor<2x4x40x16xf32>
  }
}

