// Attention to itself, causal, and to others, with projections and residuals: as jax 0.10.2 gives it. Written by Inputs/jax_programs.py; the versions are in packages.txt.
// RUN: fa-opt --explain %s | FileCheck %s
// RUN: fa-run %s --entry=main --in 2x24x4x16 --in 2x40x4x16 --in 64x64 --in 64x64 --in 64x64 --check --target=cpu | FileCheck %s --check-prefix=RAN
// RUN: not fa-run %s --entry=main --in 2x24x4x16x1 --in 2x40x4x16 --in 64x64 --in 64x64 --in 64x64 2>&1 | FileCheck %s --check-prefix=WRONG
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

#map = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d2, d1, d3, d5)>
#map1 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d4, d1, d5)>
#map2 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3, d4)>
#map3 = affine_map<(d0, d1, d2, d3, d4) -> ()>
#map4 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>
#map5 = affine_map<(d0, d1, d2, d3) -> ()>
#map6 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map7 = affine_map<(d0, d1) -> ()>
#map8 = affine_map<(d0, d1) -> (d0, d1)>
#map9 = affine_map<(d0, d1, d2, d3) -> (d2, d3)>
#map10 = affine_map<(d0, d1, d2, d3) -> (0, 0, d2, d3)>
#map11 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>
#map12 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, 0)>
#map13 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d5, d1, d2)>
#map14 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, d0, d1, d4, d5)>
#map15 = affine_map<(d0, d1, d2, d3, d4) -> (d1, d3, d4, d0, d2)>
#map16 = affine_map<(d0, d1, d2, d3, d4) -> (d3, d0, d1, d2, d4)>
#map17 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>
#map18 = affine_map<(d0, d1, d2, d3) -> (d3, d2)>
#map19 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#map20 = affine_map<(d0, d1, d2, d3) -> (d1, d2, d3, d0)>
#map21 = affine_map<(d0, d1, d2, d3, d4) -> (d1, d2, d3, d0, d4)>
#map22 = affine_map<(d0, d1, d2, d3, d4) -> (d1, d2, d3, d4)>
module {
  func.func public @main(%arg0: tensor<2x24x4x16xf32>, %arg1: tensor<2x40x4x16xf32>, %arg2: tensor<64x64xf32>, %arg3: tensor<64x64xf32>, %arg4: tensor<64x64xf32>) -> (tensor<2x24x4x16xf32> {jax.result_info = "result"}) {
    %cst = arith.constant 0xFF800000 : f32
    %cst_0 = arith.constant dense<0xFF800000> : tensor<f32>
    %cst_1 = arith.constant dense<-2.38197633E+38> : tensor<f32>
    %cst_2 = arith.constant dense<true> : tensor<i1>
    %cst_3 = arith.constant dense<2.500000e-01> : tensor<f32>
    %cst_4 = arith.constant 0.000000e+00 : f32
    %expanded = tensor.expand_shape %arg0 [[0], [1], [2], [3, 4]] output_shape [2, 24, 4, 1, 16] : tensor<2x24x4x16xf32> into tensor<2x24x4x1x16xf32>
    %0 = tensor.empty() : tensor<2x4x24x1x24xf32>
    %1 = linalg.fill ins(%cst_4 : f32) outs(%0 : tensor<2x4x24x1x24xf32>) -> tensor<2x4x24x1x24xf32>
    %2 = linalg.generic {indexing_maps = [#map, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%expanded, %arg0 : tensor<2x24x4x1x16xf32>, tensor<2x24x4x16xf32>) outs(%1 : tensor<2x4x24x1x24xf32>) {
    ^bb0(%in: f32, %in_11: f32, %out: f32):
      %72 = arith.mulf %in, %in_11 : f32
      %73 = arith.addf %out, %72 : f32
      linalg.yield %73 : f32
    } -> tensor<2x4x24x1x24xf32>
    %3 = linalg.generic {indexing_maps = [#map3, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%cst_3 : tensor<f32>) outs(%0 : tensor<2x4x24x1x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x24x1x24xf32>
    %4 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%2, %3 : tensor<2x4x24x1x24xf32>, tensor<2x4x24x1x24xf32>) outs(%0 : tensor<2x4x24x1x24xf32>) {
    ^bb0(%in: f32, %in_11: f32, %out: f32):
      %72 = arith.mulf %in, %in_11 : f32
      linalg.yield %72 : f32
    } -> tensor<2x4x24x1x24xf32>
    %5 = tensor.empty() : tensor<2x4x24x24xi1>
    %6 = linalg.generic {indexing_maps = [#map5, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_2 : tensor<i1>) outs(%5 : tensor<2x4x24x24xi1>) {
    ^bb0(%in: i1, %out: i1):
      linalg.yield %in : i1
    } -> tensor<2x4x24x24xi1>
    %7 = tensor.empty() : tensor<24x24xi1>
    %8 = linalg.generic {indexing_maps = [#map7, #map8], iterator_types = ["parallel", "parallel"]} ins(%cst_2 : tensor<i1>) outs(%7 : tensor<24x24xi1>) {
    ^bb0(%in: i1, %out: i1):
      linalg.yield %in : i1
    } -> tensor<24x24xi1>
    %9 = call @tril(%8) : (tensor<24x24xi1>) -> tensor<24x24xi1>
    %10 = tensor.empty() : tensor<1x1x24x24xi1>
    %11 = linalg.generic {indexing_maps = [#map9, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%9 : tensor<24x24xi1>) outs(%10 : tensor<1x1x24x24xi1>) {
    ^bb0(%in: i1, %out: i1):
      linalg.yield %in : i1
    } -> tensor<1x1x24x24xi1>
    %12 = linalg.generic {indexing_maps = [#map10, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%11 : tensor<1x1x24x24xi1>) outs(%5 : tensor<2x4x24x24xi1>) {
    ^bb0(%in: i1, %out: i1):
      linalg.yield %in : i1
    } -> tensor<2x4x24x24xi1>
    %13 = linalg.generic {indexing_maps = [#map6, #map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%6, %12 : tensor<2x4x24x24xi1>, tensor<2x4x24x24xi1>) outs(%5 : tensor<2x4x24x24xi1>) {
    ^bb0(%in: i1, %in_11: i1, %out: i1):
      %72 = arith.andi %in, %in_11 : i1
      linalg.yield %72 : i1
    } -> tensor<2x4x24x24xi1>
    %14 = call @_where(%13, %4, %cst_1) : (tensor<2x4x24x24xi1>, tensor<2x4x24x1x24xf32>, tensor<f32>) -> tensor<1x2x4x24x24xf32>
    %15 = tensor.empty() : tensor<1x2x4x24xf32>
    %16 = linalg.fill ins(%cst : f32) outs(%15 : tensor<1x2x4x24xf32>) -> tensor<1x2x4x24xf32>
    %17 = linalg.generic {indexing_maps = [#map4, #map11], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%14 : tensor<1x2x4x24x24xf32>) outs(%16 : tensor<1x2x4x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      %72 = arith.maximumf %out, %in : f32
      linalg.yield %72 : f32
    } -> tensor<1x2x4x24xf32>
    %18 = linalg.generic {indexing_maps = [#map5, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_0 : tensor<f32>) outs(%15 : tensor<1x2x4x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x4x24xf32>
    %19 = linalg.generic {indexing_maps = [#map6, #map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%18, %17 : tensor<1x2x4x24xf32>, tensor<1x2x4x24xf32>) outs(%15 : tensor<1x2x4x24xf32>) {
    ^bb0(%in: f32, %in_11: f32, %out: f32):
      %72 = arith.maximumf %in, %in_11 : f32
      linalg.yield %72 : f32
    } -> tensor<1x2x4x24xf32>
    %20 = tensor.empty() : tensor<1x2x4x24x1xf32>
    %21 = linalg.generic {indexing_maps = [#map11, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%19 : tensor<1x2x4x24xf32>) outs(%20 : tensor<1x2x4x24x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x4x24x1xf32>
    %22 = tensor.empty() : tensor<1x2x4x24x24xf32>
    %23 = linalg.generic {indexing_maps = [#map12, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%21 : tensor<1x2x4x24x1xf32>) outs(%22 : tensor<1x2x4x24x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x4x24x24xf32>
    %24 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%14, %23 : tensor<1x2x4x24x24xf32>, tensor<1x2x4x24x24xf32>) outs(%22 : tensor<1x2x4x24x24xf32>) {
    ^bb0(%in: f32, %in_11: f32, %out: f32):
      %72 = arith.subf %in, %in_11 : f32
      linalg.yield %72 : f32
    } -> tensor<1x2x4x24x24xf32>
    %25 = linalg.generic {indexing_maps = [#map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%24 : tensor<1x2x4x24x24xf32>) outs(%22 : tensor<1x2x4x24x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      %72 = math.exp %in : f32
      linalg.yield %72 : f32
    } -> tensor<1x2x4x24x24xf32>
    %26 = linalg.fill ins(%cst_4 : f32) outs(%15 : tensor<1x2x4x24xf32>) -> tensor<1x2x4x24xf32>
    %27 = linalg.generic {indexing_maps = [#map4, #map11], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%25 : tensor<1x2x4x24x24xf32>) outs(%26 : tensor<1x2x4x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      %72 = arith.addf %out, %in : f32
      linalg.yield %72 : f32
    } -> tensor<1x2x4x24xf32>
    %28 = linalg.generic {indexing_maps = [#map11, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%27 : tensor<1x2x4x24xf32>) outs(%20 : tensor<1x2x4x24x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x4x24x1xf32>
    %29 = linalg.generic {indexing_maps = [#map12, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%28 : tensor<1x2x4x24x1xf32>) outs(%22 : tensor<1x2x4x24x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x4x24x24xf32>
    %30 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%25, %29 : tensor<1x2x4x24x24xf32>, tensor<1x2x4x24x24xf32>) outs(%22 : tensor<1x2x4x24x24xf32>) {
    ^bb0(%in: f32, %in_11: f32, %out: f32):
      %72 = arith.divf %in, %in_11 : f32
      linalg.yield %72 : f32
    } -> tensor<1x2x4x24x24xf32>
    %31 = tensor.empty() : tensor<2x4x16x1x24xf32>
    %32 = linalg.fill ins(%cst_4 : f32) outs(%31 : tensor<2x4x16x1x24xf32>) -> tensor<2x4x16x1x24xf32>
    %33 = linalg.generic {indexing_maps = [#map13, #map14, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %30 : tensor<2x24x4x16xf32>, tensor<1x2x4x24x24xf32>) outs(%32 : tensor<2x4x16x1x24xf32>) {
    ^bb0(%in: f32, %in_11: f32, %out: f32):
      %72 = arith.mulf %in, %in_11 : f32
      %73 = arith.addf %out, %72 : f32
      linalg.yield %73 : f32
    } -> tensor<2x4x16x1x24xf32>
    %34 = tensor.empty() : tensor<1x2x24x4x16xf32>
    %35 = linalg.generic {indexing_maps = [#map15, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%33 : tensor<2x4x16x1x24xf32>) outs(%34 : tensor<1x2x24x4x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x24x4x16xf32>
    %36 = tensor.empty() : tensor<2x24x4x1x16xf32>
    %37 = linalg.generic {indexing_maps = [#map16, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%35 : tensor<1x2x24x4x16xf32>) outs(%36 : tensor<2x24x4x1x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x24x4x1x16xf32>
    %collapsed = tensor.collapse_shape %37 [[0], [1], [2], [3, 4]] : tensor<2x24x4x1x16xf32> into tensor<2x24x4x16xf32>
    %38 = tensor.empty() : tensor<2x24x4x16xf32>
    %39 = linalg.generic {indexing_maps = [#map6, #map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg0, %collapsed : tensor<2x24x4x16xf32>, tensor<2x24x4x16xf32>) outs(%38 : tensor<2x24x4x16xf32>) {
    ^bb0(%in: f32, %in_11: f32, %out: f32):
      %72 = arith.addf %in, %in_11 : f32
      linalg.yield %72 : f32
    } -> tensor<2x24x4x16xf32>
    %collapsed_5 = tensor.collapse_shape %39 [[0], [1], [2, 3]] : tensor<2x24x4x16xf32> into tensor<2x24x64xf32>
    %40 = tensor.empty() : tensor<2x24x64xf32>
    %41 = linalg.fill ins(%cst_4 : f32) outs(%40 : tensor<2x24x64xf32>) -> tensor<2x24x64xf32>
    %42 = linalg.generic {indexing_maps = [#map17, #map18, #map19], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%collapsed_5, %arg2 : tensor<2x24x64xf32>, tensor<64x64xf32>) outs(%41 : tensor<2x24x64xf32>) {
    ^bb0(%in: f32, %in_11: f32, %out: f32):
      %72 = arith.mulf %in, %in_11 : f32
      %73 = arith.addf %out, %72 : f32
      linalg.yield %73 : f32
    } -> tensor<2x24x64xf32>
    %collapsed_6 = tensor.collapse_shape %arg1 [[0], [1], [2, 3]] : tensor<2x40x4x16xf32> into tensor<2x40x64xf32>
    %43 = tensor.empty() : tensor<2x40x64xf32>
    %44 = linalg.fill ins(%cst_4 : f32) outs(%43 : tensor<2x40x64xf32>) -> tensor<2x40x64xf32>
    %45 = linalg.generic {indexing_maps = [#map17, #map18, #map19], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%collapsed_6, %arg3 : tensor<2x40x64xf32>, tensor<64x64xf32>) outs(%44 : tensor<2x40x64xf32>) {
    ^bb0(%in: f32, %in_11: f32, %out: f32):
      %72 = arith.mulf %in, %in_11 : f32
      %73 = arith.addf %out, %72 : f32
      linalg.yield %73 : f32
    } -> tensor<2x40x64xf32>
    %expanded_7 = tensor.expand_shape %45 [[0], [1], [2, 3]] output_shape [2, 40, 4, 16] : tensor<2x40x64xf32> into tensor<2x40x4x16xf32>
    %expanded_8 = tensor.expand_shape %42 [[0], [1], [2, 3, 4]] output_shape [2, 24, 4, 1, 16] : tensor<2x24x64xf32> into tensor<2x24x4x1x16xf32>
    %46 = tensor.empty() : tensor<2x4x24x1x40xf32>
    %47 = linalg.fill ins(%cst_4 : f32) outs(%46 : tensor<2x4x24x1x40xf32>) -> tensor<2x4x24x1x40xf32>
    %48 = linalg.generic {indexing_maps = [#map, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%expanded_8, %expanded_7 : tensor<2x24x4x1x16xf32>, tensor<2x40x4x16xf32>) outs(%47 : tensor<2x4x24x1x40xf32>) {
    ^bb0(%in: f32, %in_11: f32, %out: f32):
      %72 = arith.mulf %in, %in_11 : f32
      %73 = arith.addf %out, %72 : f32
      linalg.yield %73 : f32
    } -> tensor<2x4x24x1x40xf32>
    %49 = linalg.generic {indexing_maps = [#map3, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%cst_3 : tensor<f32>) outs(%46 : tensor<2x4x24x1x40xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x24x1x40xf32>
    %50 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%48, %49 : tensor<2x4x24x1x40xf32>, tensor<2x4x24x1x40xf32>) outs(%46 : tensor<2x4x24x1x40xf32>) {
    ^bb0(%in: f32, %in_11: f32, %out: f32):
      %72 = arith.mulf %in, %in_11 : f32
      linalg.yield %72 : f32
    } -> tensor<2x4x24x1x40xf32>
    %51 = tensor.empty() : tensor<2x4x24x1xf32>
    %52 = linalg.fill ins(%cst : f32) outs(%51 : tensor<2x4x24x1xf32>) -> tensor<2x4x24x1xf32>
    %53 = linalg.generic {indexing_maps = [#map4, #map11], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%50 : tensor<2x4x24x1x40xf32>) outs(%52 : tensor<2x4x24x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %72 = arith.maximumf %out, %in : f32
      linalg.yield %72 : f32
    } -> tensor<2x4x24x1xf32>
    %54 = linalg.generic {indexing_maps = [#map5, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_0 : tensor<f32>) outs(%51 : tensor<2x4x24x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x24x1xf32>
    %55 = linalg.generic {indexing_maps = [#map6, #map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%54, %53 : tensor<2x4x24x1xf32>, tensor<2x4x24x1xf32>) outs(%51 : tensor<2x4x24x1xf32>) {
    ^bb0(%in: f32, %in_11: f32, %out: f32):
      %72 = arith.maximumf %in, %in_11 : f32
      linalg.yield %72 : f32
    } -> tensor<2x4x24x1xf32>
    %56 = linalg.generic {indexing_maps = [#map20, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%55 : tensor<2x4x24x1xf32>) outs(%15 : tensor<1x2x4x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x4x24xf32>
    %57 = linalg.generic {indexing_maps = [#map11, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%56 : tensor<1x2x4x24xf32>) outs(%20 : tensor<1x2x4x24x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x4x24x1xf32>
    %58 = tensor.empty() : tensor<1x2x4x24x40xf32>
    %59 = linalg.generic {indexing_maps = [#map21, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%50 : tensor<2x4x24x1x40xf32>) outs(%58 : tensor<1x2x4x24x40xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x4x24x40xf32>
    %60 = linalg.generic {indexing_maps = [#map12, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%57 : tensor<1x2x4x24x1xf32>) outs(%58 : tensor<1x2x4x24x40xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x4x24x40xf32>
    %61 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%59, %60 : tensor<1x2x4x24x40xf32>, tensor<1x2x4x24x40xf32>) outs(%58 : tensor<1x2x4x24x40xf32>) {
    ^bb0(%in: f32, %in_11: f32, %out: f32):
      %72 = arith.subf %in, %in_11 : f32
      linalg.yield %72 : f32
    } -> tensor<1x2x4x24x40xf32>
    %62 = linalg.generic {indexing_maps = [#map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%61 : tensor<1x2x4x24x40xf32>) outs(%58 : tensor<1x2x4x24x40xf32>) {
    ^bb0(%in: f32, %out: f32):
      %72 = math.exp %in : f32
      linalg.yield %72 : f32
    } -> tensor<1x2x4x24x40xf32>
    %63 = linalg.generic {indexing_maps = [#map4, #map11], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%62 : tensor<1x2x4x24x40xf32>) outs(%26 : tensor<1x2x4x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      %72 = arith.addf %out, %in : f32
      linalg.yield %72 : f32
    } -> tensor<1x2x4x24xf32>
    %64 = linalg.generic {indexing_maps = [#map11, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%63 : tensor<1x2x4x24xf32>) outs(%20 : tensor<1x2x4x24x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x4x24x1xf32>
    %65 = linalg.generic {indexing_maps = [#map12, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%64 : tensor<1x2x4x24x1xf32>) outs(%58 : tensor<1x2x4x24x40xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x4x24x40xf32>
    %66 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%62, %65 : tensor<1x2x4x24x40xf32>, tensor<1x2x4x24x40xf32>) outs(%58 : tensor<1x2x4x24x40xf32>) {
    ^bb0(%in: f32, %in_11: f32, %out: f32):
      %72 = arith.divf %in, %in_11 : f32
      linalg.yield %72 : f32
    } -> tensor<1x2x4x24x40xf32>
    %67 = linalg.generic {indexing_maps = [#map13, #map14, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg1, %66 : tensor<2x40x4x16xf32>, tensor<1x2x4x24x40xf32>) outs(%32 : tensor<2x4x16x1x24xf32>) {
    ^bb0(%in: f32, %in_11: f32, %out: f32):
      %72 = arith.mulf %in, %in_11 : f32
      %73 = arith.addf %out, %72 : f32
      linalg.yield %73 : f32
    } -> tensor<2x4x16x1x24xf32>
    %68 = linalg.generic {indexing_maps = [#map15, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%67 : tensor<2x4x16x1x24xf32>) outs(%34 : tensor<1x2x24x4x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x24x4x16xf32>
    %69 = linalg.generic {indexing_maps = [#map16, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%68 : tensor<1x2x24x4x16xf32>) outs(%36 : tensor<2x24x4x1x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x24x4x1x16xf32>
    %collapsed_9 = tensor.collapse_shape %69 [[0], [1], [2, 3, 4]] : tensor<2x24x4x1x16xf32> into tensor<2x24x64xf32>
    %70 = linalg.generic {indexing_maps = [#map17, #map18, #map19], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%collapsed_9, %arg4 : tensor<2x24x64xf32>, tensor<64x64xf32>) outs(%41 : tensor<2x24x64xf32>) {
    ^bb0(%in: f32, %in_11: f32, %out: f32):
      %72 = arith.mulf %in, %in_11 : f32
      %73 = arith.addf %out, %72 : f32
      linalg.yield %73 : f32
    } -> tensor<2x24x64xf32>
    %expanded_10 = tensor.expand_shape %70 [[0], [1], [2, 3]] output_shape [2, 24, 4, 16] : tensor<2x24x64xf32> into tensor<2x24x4x16xf32>
    %71 = linalg.generic {indexing_maps = [#map6, #map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%39, %expanded_10 : tensor<2x24x4x16xf32>, tensor<2x24x4x16xf32>) outs(%38 : tensor<2x24x4x16xf32>) {
    ^bb0(%in: f32, %in_11: f32, %out: f32):
      %72 = arith.addf %in, %in_11 : f32
      linalg.yield %72 : f32
    } -> tensor<2x24x4x16xf32>
    return %71 : tensor<2x24x4x16xf32>
  }
  func.func private @tril(%arg0: tensor<24x24xi1>) -> tensor<24x24xi1> {
    %cst = arith.constant dense<false> : tensor<i1>
    %cst_0 = arith.constant dense<0> : tensor<i32>
    %0 = tensor.empty() : tensor<24x24xi32>
    %1 = linalg.generic {indexing_maps = [#map8], iterator_types = ["parallel", "parallel"]} outs(%0 : tensor<24x24xi32>) {
    ^bb0(%out: i32):
      %9 = linalg.index 0 : index
      %10 = arith.index_cast %9 : index to i32
      linalg.yield %10 : i32
    } -> tensor<24x24xi32>
    %2 = linalg.generic {indexing_maps = [#map7, #map8], iterator_types = ["parallel", "parallel"]} ins(%cst_0 : tensor<i32>) outs(%0 : tensor<24x24xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<24x24xi32>
    %3 = linalg.generic {indexing_maps = [#map8, #map8, #map8], iterator_types = ["parallel", "parallel"]} ins(%1, %2 : tensor<24x24xi32>, tensor<24x24xi32>) outs(%0 : tensor<24x24xi32>) {
    ^bb0(%in: i32, %in_1: i32, %out: i32):
      %9 = arith.addi %in, %in_1 : i32
      linalg.yield %9 : i32
    } -> tensor<24x24xi32>
    %4 = linalg.generic {indexing_maps = [#map8], iterator_types = ["parallel", "parallel"]} outs(%0 : tensor<24x24xi32>) {
    ^bb0(%out: i32):
      %9 = linalg.index 1 : index
      %10 = arith.index_cast %9 : index to i32
      linalg.yield %10 : i32
    } -> tensor<24x24xi32>
    %5 = tensor.empty() : tensor<24x24xi1>
    %6 = linalg.generic {indexing_maps = [#map8, #map8, #map8], iterator_types = ["parallel", "parallel"]} ins(%3, %4 : tensor<24x24xi32>, tensor<24x24xi32>) outs(%5 : tensor<24x24xi1>) {
    ^bb0(%in: i32, %in_1: i32, %out: i1):
      %9 = arith.cmpi sge, %in, %in_1 : i32
      linalg.yield %9 : i1
    } -> tensor<24x24xi1>
    %7 = linalg.generic {indexing_maps = [#map7, #map8], iterator_types = ["parallel", "parallel"]} ins(%cst : tensor<i1>) outs(%5 : tensor<24x24xi1>) {
    ^bb0(%in: i1, %out: i1):
      linalg.yield %in : i1
    } -> tensor<24x24xi1>
    %8 = linalg.generic {indexing_maps = [#map8, #map8, #map8, #map8], iterator_types = ["parallel", "parallel"]} ins(%6, %arg0, %7 : tensor<24x24xi1>, tensor<24x24xi1>, tensor<24x24xi1>) outs(%5 : tensor<24x24xi1>) {
    ^bb0(%in: i1, %in_1: i1, %in_2: i1, %out: i1):
      %9 = arith.select %in, %in_1, %in_2 : i1
      linalg.yield %9 : i1
    } -> tensor<24x24xi1>
    return %8 : tensor<24x24xi1>
  }
  func.func private @_where(%arg0: tensor<2x4x24x24xi1>, %arg1: tensor<2x4x24x1x24xf32>, %arg2: tensor<f32>) -> tensor<1x2x4x24x24xf32> {
    %0 = tensor.empty() : tensor<2x4x24x24xf32>
    %1 = linalg.generic {indexing_maps = [#map5, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg2 : tensor<f32>) outs(%0 : tensor<2x4x24x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x24x24xf32>
    %2 = tensor.empty() : tensor<1x2x4x24x24xi1>
    %3 = linalg.generic {indexing_maps = [#map22, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%arg0 : tensor<2x4x24x24xi1>) outs(%2 : tensor<1x2x4x24x24xi1>) {
    ^bb0(%in: i1, %out: i1):
      linalg.yield %in : i1
    } -> tensor<1x2x4x24x24xi1>
    %4 = tensor.empty() : tensor<1x2x4x24x24xf32>
    %5 = linalg.generic {indexing_maps = [#map22, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%1 : tensor<2x4x24x24xf32>) outs(%4 : tensor<1x2x4x24x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x4x24x24xf32>
    %6 = linalg.generic {indexing_maps = [#map21, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%arg1 : tensor<2x4x24x1x24xf32>) outs(%4 : tensor<1x2x4x24x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x4x24x24xf32>
    %7 = linalg.generic {indexing_maps = [#map4, #map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%3, %6, %5 : tensor<1x2x4x24x24xi1>, tensor<1x2x4x24x24xf32>, tensor<1x2x4x24x24xf32>) outs(%4 : tensor<1x2x4x24x24xf32>) {
    ^bb0(%in: i1, %in_0: f32, %in_1: f32, %out: f32):
      %8 = arith.select %in, %in_0, %in_1 : f32
      linalg.yield %8 : f32
    } -> tensor<1x2x4x24x24xf32>
    return %7 : tensor<1x2x4x24x24xf32>
  }
}

