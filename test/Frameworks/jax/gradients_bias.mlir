// jax.vjp of jax.nn.dot_product_attention(q, k, v, bias=b) in q, k and v: as jax 0.10.2 gives it. Written by Inputs/jax_programs.py; the versions are in packages.txt.
// RUN: fa-opt --explain %s | FileCheck %s
// RUN: fa-run %s --entry=main --in 2x24x4x16 --in 2x40x4x16 --in 2x40x4x16 --in 1x4x24x40 --in 2x24x4x16 --check --target=cpu | FileCheck %s --check-prefix=RAN
// RUN: not fa-run %s --entry=main --in 2x24x4x16x1 --in 2x40x4x16 --in 2x40x4x16 --in 1x4x24x40 --in 2x24x4x16 2>&1 | FileCheck %s --check-prefix=WRONG
// CHECK: fused: softmax(Q Kᵀ) V is one attention
// CHECK: , 0 not
// CHECK: becomes several kernels, one for each attention: the function has 1 gradients of an attention and attentions beside them
// RAN-NOT: not fused
// RAN-DAG: kernel   @main_attention
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
#map12 = affine_map<(d0, d1, d2, d3, d4) -> (d3, d0, d4, d1, d2)>
#map13 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d5, d2, d3)>
#map14 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d4, d5)>
#map15 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d4, d0, d1, d5, d3)>
#map16 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3)>
#map17 = affine_map<(d0, d1, d2, d3) -> (d0, d2, d3, d1)>
#map18 = affine_map<(d0, d1, d2, d3, d4) -> (d3, d0, d1, d2, d4)>
#map19 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>
#map20 = affine_map<(d0, d1, d2, d3) -> (d1, d2, d3)>
#map21 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d4, d5, d2)>
#map22 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d4, d1, d5, d3)>
#map23 = affine_map<(d0, d1, d2, d3) -> (d0, d2, d1, d3)>
#map24 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3, d5)>
#map25 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d5, d1, d4)>
#map26 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d1, d3, d4)>
module {
  func.func public @main(%arg0: tensor<2x24x4x16xf32>, %arg1: tensor<2x40x4x16xf32>, %arg2: tensor<2x40x4x16xf32>, %arg3: tensor<1x4x24x40xf32>, %arg4: tensor<2x24x4x16xf32>) -> (tensor<2x24x4x16xf32> {jax.result_info = "result[0]"}, tensor<2x40x4x16xf32> {jax.result_info = "result[1]"}, tensor<2x40x4x16xf32> {jax.result_info = "result[2]"}) {
    %cst = arith.constant dense<1.000000e+00> : tensor<f32>
    %cst_0 = arith.constant 0xFF800000 : f32
    %cst_1 = arith.constant dense<0xFF800000> : tensor<f32>
    %cst_2 = arith.constant dense<2.500000e-01> : tensor<f32>
    %cst_3 = arith.constant 0.000000e+00 : f32
    %expanded = tensor.expand_shape %arg0 [[0], [1], [2], [3, 4]] output_shape [2, 24, 4, 1, 16] : tensor<2x24x4x16xf32> into tensor<2x24x4x1x16xf32>
    %expanded_4 = tensor.expand_shape %arg3 [[0], [1], [2, 3], [4]] output_shape [1, 4, 1, 24, 40] : tensor<1x4x24x40xf32> into tensor<1x4x1x24x40xf32>
    %0 = tensor.empty() : tensor<2x4x24x1x40xf32>
    %1 = linalg.fill ins(%cst_3 : f32) outs(%0 : tensor<2x4x24x1x40xf32>) -> tensor<2x4x24x1x40xf32>
    %2 = linalg.generic {indexing_maps = [#map, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%expanded, %arg1 : tensor<2x24x4x1x16xf32>, tensor<2x40x4x16xf32>) outs(%1 : tensor<2x4x24x1x40xf32>) {
    ^bb0(%in: f32, %in_7: f32, %out: f32):
      %66 = arith.mulf %in, %in_7 : f32
      %67 = arith.addf %out, %66 : f32
      linalg.yield %67 : f32
    } -> tensor<2x4x24x1x40xf32>
    %3 = linalg.generic {indexing_maps = [#map3, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%cst_2 : tensor<f32>) outs(%0 : tensor<2x4x24x1x40xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x24x1x40xf32>
    %4 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%2, %3 : tensor<2x4x24x1x40xf32>, tensor<2x4x24x1x40xf32>) outs(%0 : tensor<2x4x24x1x40xf32>) {
    ^bb0(%in: f32, %in_7: f32, %out: f32):
      %66 = arith.mulf %in, %in_7 : f32
      linalg.yield %66 : f32
    } -> tensor<2x4x24x1x40xf32>
    %5 = tensor.empty() : tensor<1x2x4x24x40xf32>
    %6 = linalg.generic {indexing_maps = [#map5, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%4 : tensor<2x4x24x1x40xf32>) outs(%5 : tensor<1x2x4x24x40xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x4x24x40xf32>
    %7 = tensor.empty() : tensor<1x1x4x24x40xf32>
    %8 = linalg.generic {indexing_maps = [#map6, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_4 : tensor<1x4x1x24x40xf32>) outs(%7 : tensor<1x1x4x24x40xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x1x4x24x40xf32>
    %9 = linalg.generic {indexing_maps = [#map7, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%8 : tensor<1x1x4x24x40xf32>) outs(%5 : tensor<1x2x4x24x40xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x4x24x40xf32>
    %10 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%6, %9 : tensor<1x2x4x24x40xf32>, tensor<1x2x4x24x40xf32>) outs(%5 : tensor<1x2x4x24x40xf32>) {
    ^bb0(%in: f32, %in_7: f32, %out: f32):
      %66 = arith.addf %in, %in_7 : f32
      linalg.yield %66 : f32
    } -> tensor<1x2x4x24x40xf32>
    %11 = tensor.empty() : tensor<1x2x4x24xf32>
    %12 = linalg.fill ins(%cst_0 : f32) outs(%11 : tensor<1x2x4x24xf32>) -> tensor<1x2x4x24xf32>
    %13 = linalg.generic {indexing_maps = [#map4, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%10 : tensor<1x2x4x24x40xf32>) outs(%12 : tensor<1x2x4x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      %66 = arith.maximumf %out, %in : f32
      linalg.yield %66 : f32
    } -> tensor<1x2x4x24xf32>
    %14 = linalg.generic {indexing_maps = [#map9, #map10], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_1 : tensor<f32>) outs(%11 : tensor<1x2x4x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x4x24xf32>
    %15 = linalg.generic {indexing_maps = [#map10, #map10, #map10], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%14, %13 : tensor<1x2x4x24xf32>, tensor<1x2x4x24xf32>) outs(%11 : tensor<1x2x4x24xf32>) {
    ^bb0(%in: f32, %in_7: f32, %out: f32):
      %66 = arith.maximumf %in, %in_7 : f32
      linalg.yield %66 : f32
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
    ^bb0(%in: f32, %in_7: f32, %out: f32):
      %66 = arith.subf %in, %in_7 : f32
      linalg.yield %66 : f32
    } -> tensor<1x2x4x24x40xf32>
    %20 = linalg.generic {indexing_maps = [#map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%19 : tensor<1x2x4x24x40xf32>) outs(%5 : tensor<1x2x4x24x40xf32>) {
    ^bb0(%in: f32, %out: f32):
      %66 = math.exp %in : f32
      linalg.yield %66 : f32
    } -> tensor<1x2x4x24x40xf32>
    %21 = linalg.fill ins(%cst_3 : f32) outs(%11 : tensor<1x2x4x24xf32>) -> tensor<1x2x4x24xf32>
    %22 = linalg.generic {indexing_maps = [#map4, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%20 : tensor<1x2x4x24x40xf32>) outs(%21 : tensor<1x2x4x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      %66 = arith.addf %out, %in : f32
      linalg.yield %66 : f32
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
    ^bb0(%in: f32, %in_7: f32, %out: f32):
      %66 = arith.divf %in, %in_7 : f32
      linalg.yield %66 : f32
    } -> tensor<1x2x4x24x40xf32>
    %26 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%23, %23 : tensor<1x2x4x24x1xf32>, tensor<1x2x4x24x1xf32>) outs(%16 : tensor<1x2x4x24x1xf32>) {
    ^bb0(%in: f32, %in_7: f32, %out: f32):
      %66 = arith.mulf %in, %in_7 : f32
      linalg.yield %66 : f32
    } -> tensor<1x2x4x24x1xf32>
    %27 = linalg.generic {indexing_maps = [#map3, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%cst : tensor<f32>) outs(%16 : tensor<1x2x4x24x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x4x24x1xf32>
    %28 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%27, %26 : tensor<1x2x4x24x1xf32>, tensor<1x2x4x24x1xf32>) outs(%16 : tensor<1x2x4x24x1xf32>) {
    ^bb0(%in: f32, %in_7: f32, %out: f32):
      %66 = arith.divf %in, %in_7 : f32
      linalg.yield %66 : f32
    } -> tensor<1x2x4x24x1xf32>
    %expanded_5 = tensor.expand_shape %arg4 [[0], [1], [2], [3, 4]] output_shape [2, 24, 4, 1, 16] : tensor<2x24x4x16xf32> into tensor<2x24x4x1x16xf32>
    %29 = tensor.empty() : tensor<1x2x24x4x16xf32>
    %30 = linalg.generic {indexing_maps = [#map5, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_5 : tensor<2x24x4x1x16xf32>) outs(%29 : tensor<1x2x24x4x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x24x4x16xf32>
    %31 = tensor.empty() : tensor<2x4x16x1x24xf32>
    %32 = linalg.generic {indexing_maps = [#map12, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%30 : tensor<1x2x24x4x16xf32>) outs(%31 : tensor<2x4x16x1x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x16x1x24xf32>
    %33 = tensor.empty() : tensor<2x4x1x24x40xf32>
    %34 = linalg.fill ins(%cst_3 : f32) outs(%33 : tensor<2x4x1x24x40xf32>) -> tensor<2x4x1x24x40xf32>
    %35 = linalg.generic {indexing_maps = [#map13, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%32, %arg2 : tensor<2x4x16x1x24xf32>, tensor<2x40x4x16xf32>) outs(%34 : tensor<2x4x1x24x40xf32>) {
    ^bb0(%in: f32, %in_7: f32, %out: f32):
      %66 = arith.mulf %in, %in_7 : f32
      %67 = arith.addf %out, %66 : f32
      linalg.yield %67 : f32
    } -> tensor<2x4x1x24x40xf32>
    %36 = linalg.generic {indexing_maps = [#map6, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%35 : tensor<2x4x1x24x40xf32>) outs(%5 : tensor<1x2x4x24x40xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x4x24x40xf32>
    %37 = tensor.empty() : tensor<2x4x16x40xf32>
    %38 = linalg.fill ins(%cst_3 : f32) outs(%37 : tensor<2x4x16x40xf32>) -> tensor<2x4x16x40xf32>
    %39 = linalg.generic {indexing_maps = [#map14, #map15, #map16], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%32, %25 : tensor<2x4x16x1x24xf32>, tensor<1x2x4x24x40xf32>) outs(%38 : tensor<2x4x16x40xf32>) {
    ^bb0(%in: f32, %in_7: f32, %out: f32):
      %66 = arith.mulf %in, %in_7 : f32
      %67 = arith.addf %out, %66 : f32
      linalg.yield %67 : f32
    } -> tensor<2x4x16x40xf32>
    %40 = tensor.empty() : tensor<2x40x4x16xf32>
    %41 = linalg.generic {indexing_maps = [#map17, #map10], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%39 : tensor<2x4x16x40xf32>) outs(%40 : tensor<2x40x4x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x40x4x16xf32>
    %42 = linalg.generic {indexing_maps = [#map11, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%28 : tensor<1x2x4x24x1xf32>) outs(%5 : tensor<1x2x4x24x40xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x4x24x40xf32>
    %43 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%36, %42 : tensor<1x2x4x24x40xf32>, tensor<1x2x4x24x40xf32>) outs(%5 : tensor<1x2x4x24x40xf32>) {
    ^bb0(%in: f32, %in_7: f32, %out: f32):
      %66 = arith.mulf %in, %in_7 : f32
      linalg.yield %66 : f32
    } -> tensor<1x2x4x24x40xf32>
    %44 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%43, %20 : tensor<1x2x4x24x40xf32>, tensor<1x2x4x24x40xf32>) outs(%5 : tensor<1x2x4x24x40xf32>) {
    ^bb0(%in: f32, %in_7: f32, %out: f32):
      %66 = arith.mulf %in, %in_7 : f32
      linalg.yield %66 : f32
    } -> tensor<1x2x4x24x40xf32>
    %45 = linalg.generic {indexing_maps = [#map4, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%44 : tensor<1x2x4x24x40xf32>) outs(%21 : tensor<1x2x4x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      %66 = arith.addf %out, %in : f32
      linalg.yield %66 : f32
    } -> tensor<1x2x4x24xf32>
    %expanded_6 = tensor.expand_shape %45 [[0], [1], [2], [3, 4]] output_shape [1, 2, 4, 24, 1] : tensor<1x2x4x24xf32> into tensor<1x2x4x24x1xf32>
    %46 = linalg.generic {indexing_maps = [#map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_6 : tensor<1x2x4x24x1xf32>) outs(%16 : tensor<1x2x4x24x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %66 = arith.negf %in : f32
      linalg.yield %66 : f32
    } -> tensor<1x2x4x24x1xf32>
    %47 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%36, %24 : tensor<1x2x4x24x40xf32>, tensor<1x2x4x24x40xf32>) outs(%5 : tensor<1x2x4x24x40xf32>) {
    ^bb0(%in: f32, %in_7: f32, %out: f32):
      %66 = arith.divf %in, %in_7 : f32
      linalg.yield %66 : f32
    } -> tensor<1x2x4x24x40xf32>
    %48 = tensor.empty() : tensor<2x4x24xf32>
    %49 = linalg.fill ins(%cst_3 : f32) outs(%48 : tensor<2x4x24xf32>) -> tensor<2x4x24xf32>
    %50 = linalg.generic {indexing_maps = [#map18, #map19], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%46 : tensor<1x2x4x24x1xf32>) outs(%49 : tensor<2x4x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      %66 = arith.addf %out, %in : f32
      linalg.yield %66 : f32
    } -> tensor<2x4x24xf32>
    %51 = linalg.generic {indexing_maps = [#map20, #map10], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%50 : tensor<2x4x24xf32>) outs(%11 : tensor<1x2x4x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x4x24xf32>
    %52 = linalg.generic {indexing_maps = [#map8, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%51 : tensor<1x2x4x24xf32>) outs(%5 : tensor<1x2x4x24x40xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x4x24x40xf32>
    %53 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%47, %52 : tensor<1x2x4x24x40xf32>, tensor<1x2x4x24x40xf32>) outs(%5 : tensor<1x2x4x24x40xf32>) {
    ^bb0(%in: f32, %in_7: f32, %out: f32):
      %66 = arith.addf %in, %in_7 : f32
      linalg.yield %66 : f32
    } -> tensor<1x2x4x24x40xf32>
    %54 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%53, %20 : tensor<1x2x4x24x40xf32>, tensor<1x2x4x24x40xf32>) outs(%5 : tensor<1x2x4x24x40xf32>) {
    ^bb0(%in: f32, %in_7: f32, %out: f32):
      %66 = arith.mulf %in, %in_7 : f32
      linalg.yield %66 : f32
    } -> tensor<1x2x4x24x40xf32>
    %55 = linalg.generic {indexing_maps = [#map18, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%54 : tensor<1x2x4x24x40xf32>) outs(%0 : tensor<2x4x24x1x40xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x24x1x40xf32>
    %56 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%55, %3 : tensor<2x4x24x1x40xf32>, tensor<2x4x24x1x40xf32>) outs(%0 : tensor<2x4x24x1x40xf32>) {
    ^bb0(%in: f32, %in_7: f32, %out: f32):
      %66 = arith.mulf %in, %in_7 : f32
      linalg.yield %66 : f32
    } -> tensor<2x4x24x1x40xf32>
    %57 = tensor.empty() : tensor<2x4x40x16xf32>
    %58 = linalg.fill ins(%cst_3 : f32) outs(%57 : tensor<2x4x40x16xf32>) -> tensor<2x4x40x16xf32>
    %59 = linalg.generic {indexing_maps = [#map21, #map22, #map16], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%56, %expanded : tensor<2x4x24x1x40xf32>, tensor<2x24x4x1x16xf32>) outs(%58 : tensor<2x4x40x16xf32>) {
    ^bb0(%in: f32, %in_7: f32, %out: f32):
      %66 = arith.mulf %in, %in_7 : f32
      %67 = arith.addf %out, %66 : f32
      linalg.yield %67 : f32
    } -> tensor<2x4x40x16xf32>
    %60 = linalg.generic {indexing_maps = [#map23, #map10], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%59 : tensor<2x4x40x16xf32>) outs(%40 : tensor<2x40x4x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x40x4x16xf32>
    %61 = tensor.empty() : tensor<2x4x24x1x16xf32>
    %62 = linalg.fill ins(%cst_3 : f32) outs(%61 : tensor<2x4x24x1x16xf32>) -> tensor<2x4x24x1x16xf32>
    %63 = linalg.generic {indexing_maps = [#map24, #map25, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%56, %arg1 : tensor<2x4x24x1x40xf32>, tensor<2x40x4x16xf32>) outs(%62 : tensor<2x4x24x1x16xf32>) {
    ^bb0(%in: f32, %in_7: f32, %out: f32):
      %66 = arith.mulf %in, %in_7 : f32
      %67 = arith.addf %out, %66 : f32
      linalg.yield %67 : f32
    } -> tensor<2x4x24x1x16xf32>
    %64 = tensor.empty() : tensor<2x24x4x1x16xf32>
    %65 = linalg.generic {indexing_maps = [#map26, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%63 : tensor<2x4x24x1x16xf32>) outs(%64 : tensor<2x24x4x1x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x24x4x1x16xf32>
    %collapsed = tensor.collapse_shape %65 [[0], [1], [2], [3, 4]] : tensor<2x24x4x1x16xf32> into tensor<2x24x4x16xf32>
    return %collapsed, %60, %41 : tensor<2x24x4x16xf32>, tensor<2x40x4x16xf32>, tensor<2x40x4x16xf32>
  }
}

