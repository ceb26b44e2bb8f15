// jax.nn.dot_product_attention(q, k, v, mask=m): as jax 0.10.2 gives it. Written by Inputs/jax_programs.py; the versions are in packages.txt.
// RUN: fa-opt --explain %s | FileCheck %s
// RUN: fa-run %s --entry=main --in 2x24x4x16 --in 2x40x4x16 --in 2x40x4x16 --in 2x1x24x40 --check --target=cpu | FileCheck %s --check-prefix=RAN
// RUN: not fa-run %s --entry=main --in 2x24x4x16x1 --in 2x40x4x16 --in 2x40x4x16 --in 2x1x24x40 2>&1 | FileCheck %s --check-prefix=WRONG
// CHECK: fused: softmax(Q Kᵀ) V is one attention
// CHECK: 1 fused, 0 not
// RAN-NOT: not fused
// RAN: PASS
// RAN-NOT: FAIL
// WRONG: {{expected.*, found}}

#map = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d3, d4)>
#map1 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>
#map2 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d2, d1, d3, d5)>
#map3 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d4, d1, d5)>
#map4 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3, d4)>
#map5 = affine_map<(d0, d1, d2, d3, d4) -> ()>
#map6 = affine_map<(d0, d1, d2, d3) -> ()>
#map7 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map8 = affine_map<(d0, d1, d2, d3, d4) -> (d1, d2, d3, d4)>
#map9 = affine_map<(d0, d1, d2, d3, d4) -> (d1, d2, d0, d3, d4)>
#map10 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, 0, d3, d4)>
#map11 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>
#map12 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, 0)>
#map13 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d5, d1, d2)>
#map14 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, d0, d1, d4, d5)>
#map15 = affine_map<(d0, d1, d2, d3, d4) -> (d1, d3, d4, d0, d2)>
#map16 = affine_map<(d0, d1, d2, d3, d4) -> (d3, d0, d1, d2, d4)>
#map17 = affine_map<(d0, d1, d2, d3, d4) -> (d1, d2, d3, d0, d4)>
module {
  func.func public @main(%arg0: tensor<2x24x4x16xf32>, %arg1: tensor<2x40x4x16xf32>, %arg2: tensor<2x40x4x16xf32>, %arg3: tensor<2x1x24x40xi1>) -> (tensor<2x24x4x16xf32> {jax.result_info = "result"}) {
    %cst = arith.constant 0xFF800000 : f32
    %cst_0 = arith.constant dense<0xFF800000> : tensor<f32>
    %cst_1 = arith.constant dense<-2.38197633E+38> : tensor<f32>
    %cst_2 = arith.constant dense<true> : tensor<i1>
    %cst_3 = arith.constant dense<2.500000e-01> : tensor<f32>
    %cst_4 = arith.constant 0.000000e+00 : f32
    %expanded = tensor.expand_shape %arg0 [[0], [1], [2], [3, 4]] output_shape [2, 24, 4, 1, 16] : tensor<2x24x4x16xf32> into tensor<2x24x4x1x16xf32>
    %0 = tensor.empty() : tensor<2x1x1x24x40xi1>
    %1 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%arg3 : tensor<2x1x24x40xi1>) outs(%0 : tensor<2x1x1x24x40xi1>) {
    ^bb0(%in: i1, %out: i1):
      linalg.yield %in : i1
    } -> tensor<2x1x1x24x40xi1>
    %2 = tensor.empty() : tensor<2x4x24x1x40xf32>
    %3 = linalg.fill ins(%cst_4 : f32) outs(%2 : tensor<2x4x24x1x40xf32>) -> tensor<2x4x24x1x40xf32>
    %4 = linalg.generic {indexing_maps = [#map2, #map3, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%expanded, %arg1 : tensor<2x24x4x1x16xf32>, tensor<2x40x4x16xf32>) outs(%3 : tensor<2x4x24x1x40xf32>) {
    ^bb0(%in: f32, %in_5: f32, %out: f32):
      %39 = arith.mulf %in, %in_5 : f32
      %40 = arith.addf %out, %39 : f32
      linalg.yield %40 : f32
    } -> tensor<2x4x24x1x40xf32>
    %5 = linalg.generic {indexing_maps = [#map5, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%cst_3 : tensor<f32>) outs(%2 : tensor<2x4x24x1x40xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x24x1x40xf32>
    %6 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%4, %5 : tensor<2x4x24x1x40xf32>, tensor<2x4x24x1x40xf32>) outs(%2 : tensor<2x4x24x1x40xf32>) {
    ^bb0(%in: f32, %in_5: f32, %out: f32):
      %39 = arith.mulf %in, %in_5 : f32
      linalg.yield %39 : f32
    } -> tensor<2x4x24x1x40xf32>
    %7 = tensor.empty() : tensor<2x4x24x40xi1>
    %8 = linalg.generic {indexing_maps = [#map6, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_2 : tensor<i1>) outs(%7 : tensor<2x4x24x40xi1>) {
    ^bb0(%in: i1, %out: i1):
      linalg.yield %in : i1
    } -> tensor<2x4x24x40xi1>
    %9 = tensor.empty() : tensor<1x2x4x24x40xi1>
    %10 = linalg.generic {indexing_maps = [#map8, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%8 : tensor<2x4x24x40xi1>) outs(%9 : tensor<1x2x4x24x40xi1>) {
    ^bb0(%in: i1, %out: i1):
      linalg.yield %in : i1
    } -> tensor<1x2x4x24x40xi1>
    %11 = tensor.empty() : tensor<1x2x1x24x40xi1>
    %12 = linalg.generic {indexing_maps = [#map9, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%1 : tensor<2x1x1x24x40xi1>) outs(%11 : tensor<1x2x1x24x40xi1>) {
    ^bb0(%in: i1, %out: i1):
      linalg.yield %in : i1
    } -> tensor<1x2x1x24x40xi1>
    %13 = linalg.generic {indexing_maps = [#map10, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%12 : tensor<1x2x1x24x40xi1>) outs(%9 : tensor<1x2x4x24x40xi1>) {
    ^bb0(%in: i1, %out: i1):
      linalg.yield %in : i1
    } -> tensor<1x2x4x24x40xi1>
    %14 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%10, %13 : tensor<1x2x4x24x40xi1>, tensor<1x2x4x24x40xi1>) outs(%9 : tensor<1x2x4x24x40xi1>) {
    ^bb0(%in: i1, %in_5: i1, %out: i1):
      %39 = arith.andi %in, %in_5 : i1
      linalg.yield %39 : i1
    } -> tensor<1x2x4x24x40xi1>
    %15 = call @_where(%14, %6, %cst_1) : (tensor<1x2x4x24x40xi1>, tensor<2x4x24x1x40xf32>, tensor<f32>) -> tensor<1x2x4x24x40xf32>
    %16 = tensor.empty() : tensor<1x2x4x24xf32>
    %17 = linalg.fill ins(%cst : f32) outs(%16 : tensor<1x2x4x24xf32>) -> tensor<1x2x4x24xf32>
    %18 = linalg.generic {indexing_maps = [#map1, #map11], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%15 : tensor<1x2x4x24x40xf32>) outs(%17 : tensor<1x2x4x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      %39 = arith.maximumf %out, %in : f32
      linalg.yield %39 : f32
    } -> tensor<1x2x4x24xf32>
    %19 = linalg.generic {indexing_maps = [#map6, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_0 : tensor<f32>) outs(%16 : tensor<1x2x4x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x4x24xf32>
    %20 = linalg.generic {indexing_maps = [#map7, #map7, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%19, %18 : tensor<1x2x4x24xf32>, tensor<1x2x4x24xf32>) outs(%16 : tensor<1x2x4x24xf32>) {
    ^bb0(%in: f32, %in_5: f32, %out: f32):
      %39 = arith.maximumf %in, %in_5 : f32
      linalg.yield %39 : f32
    } -> tensor<1x2x4x24xf32>
    %21 = tensor.empty() : tensor<1x2x4x24x1xf32>
    %22 = linalg.generic {indexing_maps = [#map11, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%20 : tensor<1x2x4x24xf32>) outs(%21 : tensor<1x2x4x24x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x4x24x1xf32>
    %23 = tensor.empty() : tensor<1x2x4x24x40xf32>
    %24 = linalg.generic {indexing_maps = [#map12, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%22 : tensor<1x2x4x24x1xf32>) outs(%23 : tensor<1x2x4x24x40xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x4x24x40xf32>
    %25 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%15, %24 : tensor<1x2x4x24x40xf32>, tensor<1x2x4x24x40xf32>) outs(%23 : tensor<1x2x4x24x40xf32>) {
    ^bb0(%in: f32, %in_5: f32, %out: f32):
      %39 = arith.subf %in, %in_5 : f32
      linalg.yield %39 : f32
    } -> tensor<1x2x4x24x40xf32>
    %26 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%25 : tensor<1x2x4x24x40xf32>) outs(%23 : tensor<1x2x4x24x40xf32>) {
    ^bb0(%in: f32, %out: f32):
      %39 = math.exp %in : f32
      linalg.yield %39 : f32
    } -> tensor<1x2x4x24x40xf32>
    %27 = linalg.fill ins(%cst_4 : f32) outs(%16 : tensor<1x2x4x24xf32>) -> tensor<1x2x4x24xf32>
    %28 = linalg.generic {indexing_maps = [#map1, #map11], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%26 : tensor<1x2x4x24x40xf32>) outs(%27 : tensor<1x2x4x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      %39 = arith.addf %out, %in : f32
      linalg.yield %39 : f32
    } -> tensor<1x2x4x24xf32>
    %29 = linalg.generic {indexing_maps = [#map11, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%28 : tensor<1x2x4x24xf32>) outs(%21 : tensor<1x2x4x24x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x4x24x1xf32>
    %30 = linalg.generic {indexing_maps = [#map12, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%29 : tensor<1x2x4x24x1xf32>) outs(%23 : tensor<1x2x4x24x40xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x4x24x40xf32>
    %31 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%26, %30 : tensor<1x2x4x24x40xf32>, tensor<1x2x4x24x40xf32>) outs(%23 : tensor<1x2x4x24x40xf32>) {
    ^bb0(%in: f32, %in_5: f32, %out: f32):
      %39 = arith.divf %in, %in_5 : f32
      linalg.yield %39 : f32
    } -> tensor<1x2x4x24x40xf32>
    %32 = tensor.empty() : tensor<2x4x16x1x24xf32>
    %33 = linalg.fill ins(%cst_4 : f32) outs(%32 : tensor<2x4x16x1x24xf32>) -> tensor<2x4x16x1x24xf32>
    %34 = linalg.generic {indexing_maps = [#map13, #map14, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg2, %31 : tensor<2x40x4x16xf32>, tensor<1x2x4x24x40xf32>) outs(%33 : tensor<2x4x16x1x24xf32>) {
    ^bb0(%in: f32, %in_5: f32, %out: f32):
      %39 = arith.mulf %in, %in_5 : f32
      %40 = arith.addf %out, %39 : f32
      linalg.yield %40 : f32
    } -> tensor<2x4x16x1x24xf32>
    %35 = tensor.empty() : tensor<1x2x24x4x16xf32>
    %36 = linalg.generic {indexing_maps = [#map15, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%34 : tensor<2x4x16x1x24xf32>) outs(%35 : tensor<1x2x24x4x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x24x4x16xf32>
    %37 = tensor.empty() : tensor<2x24x4x1x16xf32>
    %38 = linalg.generic {indexing_maps = [#map16, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%36 : tensor<1x2x24x4x16xf32>) outs(%37 : tensor<2x24x4x1x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x24x4x1x16xf32>
    %collapsed = tensor.collapse_shape %38 [[0], [1], [2], [3, 4]] : tensor<2x24x4x1x16xf32> into tensor<2x24x4x16xf32>
    return %collapsed : tensor<2x24x4x16xf32>
  }
  func.func private @_where(%arg0: tensor<1x2x4x24x40xi1>, %arg1: tensor<2x4x24x1x40xf32>, %arg2: tensor<f32>) -> tensor<1x2x4x24x40xf32> {
    %0 = tensor.empty() : tensor<2x4x24x40xf32>
    %1 = linalg.generic {indexing_maps = [#map6, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg2 : tensor<f32>) outs(%0 : tensor<2x4x24x40xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x24x40xf32>
    %2 = tensor.empty() : tensor<1x2x4x24x40xf32>
    %3 = linalg.generic {indexing_maps = [#map8, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%1 : tensor<2x4x24x40xf32>) outs(%2 : tensor<1x2x4x24x40xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x4x24x40xf32>
    %4 = linalg.generic {indexing_maps = [#map17, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%arg1 : tensor<2x4x24x1x40xf32>) outs(%2 : tensor<1x2x4x24x40xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x4x24x40xf32>
    %5 = linalg.generic {indexing_maps = [#map1, #map1, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%arg0, %4, %3 : tensor<1x2x4x24x40xi1>, tensor<1x2x4x24x40xf32>, tensor<1x2x4x24x40xf32>) outs(%2 : tensor<1x2x4x24x40xf32>) {
    ^bb0(%in: i1, %in_0: f32, %in_1: f32, %out: f32):
      %6 = arith.select %in, %in_0, %in_1 : f32
      linalg.yield %6 : f32
    } -> tensor<1x2x4x24x40xf32>
    return %5 : tensor<1x2x4x24x40xf32>
  }
}

