// jax.grad of a layer with projections: as jax 0.10.2 gives it. Written by Inputs/jax_programs.py; the versions are in packages.txt.
// RUN: fa-opt --explain %s | FileCheck %s
// RUN: fa-run %s --entry=main --in 2x24x64 --in 64x64 --in 64x64 --in 64x64 --in 64x64 --check --target=cpu | FileCheck %s --check-prefix=RAN
// RUN: not fa-run %s --entry=main --in 2x24x64x1 --in 64x64 --in 64x64 --in 64x64 --in 64x64 2>&1 | FileCheck %s --check-prefix=WRONG
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

#map = affine_map<(d0, d1) -> ()>
#map1 = affine_map<(d0, d1) -> (d0, d1)>
#map2 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>
#map3 = affine_map<(d0, d1, d2, d3) -> (d3, d2)>
#map4 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#map5 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d2, d1, d3, d5)>
#map6 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d4, d1, d5)>
#map7 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3, d4)>
#map8 = affine_map<(d0, d1, d2, d3, d4) -> ()>
#map9 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>
#map10 = affine_map<(d0, d1, d2, d3) -> ()>
#map11 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map12 = affine_map<(d0, d1, d2, d3) -> (d2, d3)>
#map13 = affine_map<(d0, d1, d2, d3) -> (0, 0, d2, d3)>
#map14 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>
#map15 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, 0)>
#map16 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d5, d1, d2)>
#map17 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, d0, d1, d4, d5)>
#map18 = affine_map<(d0, d1, d2, d3, d4) -> (d1, d3, d4, d0, d2)>
#map19 = affine_map<(d0, d1, d2, d3, d4) -> (d3, d0, d1, d2, d4)>
#map20 = affine_map<(d0, d1, d2) -> ()>
#map21 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#map22 = affine_map<(d0, d1, d2, d3) -> (d2, d3, d0)>
#map23 = affine_map<(d0, d1, d2, d3) -> (d2, d3, d1)>
#map24 = affine_map<(d0, d1, d2, d3) -> (d0, d1)>
#map25 = affine_map<(d0, d1) -> (d1, d0)>
#map26 = affine_map<(d0, d1, d2, d3, d4) -> (d1, d2, d3, d0, d4)>
#map27 = affine_map<(d0, d1, d2, d3, d4) -> (d3, d0, d4, d1, d2)>
#map28 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d5, d2, d3)>
#map29 = affine_map<(d0, d1, d2, d3, d4) -> (d1, d2, d0, d3, d4)>
#map30 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d4, d5)>
#map31 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d4, d0, d1, d5, d3)>
#map32 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3)>
#map33 = affine_map<(d0, d1, d2, d3) -> (d0, d2, d3, d1)>
#map34 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>
#map35 = affine_map<(d0, d1, d2, d3) -> (d1, d2, d3)>
#map36 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d4, d5, d2)>
#map37 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d4, d1, d5, d3)>
#map38 = affine_map<(d0, d1, d2, d3) -> (d0, d2, d1, d3)>
#map39 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3, d5)>
#map40 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d5, d1, d4)>
#map41 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d1, d3, d4)>
#map42 = affine_map<(d0, d1, d2, d3, d4) -> (d1, d2, d3, d4)>
module {
  func.func public @main(%arg0: tensor<2x24x64xf32>, %arg1: tensor<64x64xf32>, %arg2: tensor<64x64xf32>, %arg3: tensor<64x64xf32>, %arg4: tensor<64x64xf32>) -> (tensor<64x64xf32> {jax.result_info = "result[0]"}, tensor<64x64xf32> {jax.result_info = "result[1]"}, tensor<64x64xf32> {jax.result_info = "result[2]"}, tensor<64x64xf32> {jax.result_info = "result[3]"}) {
    %cst = arith.constant dense<2.000000e+00> : tensor<f32>
    %cst_0 = arith.constant dense<1.000000e+00> : tensor<f32>
    %cst_1 = arith.constant 0xFF800000 : f32
    %cst_2 = arith.constant dense<0xFF800000> : tensor<f32>
    %cst_3 = arith.constant dense<-2.38197633E+38> : tensor<f32>
    %cst_4 = arith.constant dense<true> : tensor<i1>
    %cst_5 = arith.constant dense<2.500000e-01> : tensor<f32>
    %cst_6 = arith.constant 0.000000e+00 : f32
    %cst_7 = arith.constant dense<8.000000e+00> : tensor<f32>
    %0 = tensor.empty() : tensor<64x64xf32>
    %1 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_7 : tensor<f32>) outs(%0 : tensor<64x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<64x64xf32>
    %2 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%arg1, %1 : tensor<64x64xf32>, tensor<64x64xf32>) outs(%0 : tensor<64x64xf32>) {
    ^bb0(%in: f32, %in_15: f32, %out: f32):
      %105 = arith.divf %in, %in_15 : f32
      linalg.yield %105 : f32
    } -> tensor<64x64xf32>
    %3 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%arg2, %1 : tensor<64x64xf32>, tensor<64x64xf32>) outs(%0 : tensor<64x64xf32>) {
    ^bb0(%in: f32, %in_15: f32, %out: f32):
      %105 = arith.divf %in, %in_15 : f32
      linalg.yield %105 : f32
    } -> tensor<64x64xf32>
    %4 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%arg3, %1 : tensor<64x64xf32>, tensor<64x64xf32>) outs(%0 : tensor<64x64xf32>) {
    ^bb0(%in: f32, %in_15: f32, %out: f32):
      %105 = arith.divf %in, %in_15 : f32
      linalg.yield %105 : f32
    } -> tensor<64x64xf32>
    %5 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%arg4, %1 : tensor<64x64xf32>, tensor<64x64xf32>) outs(%0 : tensor<64x64xf32>) {
    ^bb0(%in: f32, %in_15: f32, %out: f32):
      %105 = arith.divf %in, %in_15 : f32
      linalg.yield %105 : f32
    } -> tensor<64x64xf32>
    %6 = tensor.empty() : tensor<2x24x64xf32>
    %7 = linalg.fill ins(%cst_6 : f32) outs(%6 : tensor<2x24x64xf32>) -> tensor<2x24x64xf32>
    %8 = linalg.generic {indexing_maps = [#map2, #map3, #map4], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %2 : tensor<2x24x64xf32>, tensor<64x64xf32>) outs(%7 : tensor<2x24x64xf32>) {
    ^bb0(%in: f32, %in_15: f32, %out: f32):
      %105 = arith.mulf %in, %in_15 : f32
      %106 = arith.addf %out, %105 : f32
      linalg.yield %106 : f32
    } -> tensor<2x24x64xf32>
    %9 = linalg.generic {indexing_maps = [#map2, #map3, #map4], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %3 : tensor<2x24x64xf32>, tensor<64x64xf32>) outs(%7 : tensor<2x24x64xf32>) {
    ^bb0(%in: f32, %in_15: f32, %out: f32):
      %105 = arith.mulf %in, %in_15 : f32
      %106 = arith.addf %out, %105 : f32
      linalg.yield %106 : f32
    } -> tensor<2x24x64xf32>
    %expanded = tensor.expand_shape %9 [[0], [1], [2, 3]] output_shape [2, 24, 4, 16] : tensor<2x24x64xf32> into tensor<2x24x4x16xf32>
    %10 = linalg.generic {indexing_maps = [#map2, #map3, #map4], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %4 : tensor<2x24x64xf32>, tensor<64x64xf32>) outs(%7 : tensor<2x24x64xf32>) {
    ^bb0(%in: f32, %in_15: f32, %out: f32):
      %105 = arith.mulf %in, %in_15 : f32
      %106 = arith.addf %out, %105 : f32
      linalg.yield %106 : f32
    } -> tensor<2x24x64xf32>
    %expanded_8 = tensor.expand_shape %10 [[0], [1], [2, 3]] output_shape [2, 24, 4, 16] : tensor<2x24x64xf32> into tensor<2x24x4x16xf32>
    %expanded_9 = tensor.expand_shape %8 [[0], [1], [2, 3, 4]] output_shape [2, 24, 4, 1, 16] : tensor<2x24x64xf32> into tensor<2x24x4x1x16xf32>
    %11 = tensor.empty() : tensor<2x4x24x1x24xf32>
    %12 = linalg.fill ins(%cst_6 : f32) outs(%11 : tensor<2x4x24x1x24xf32>) -> tensor<2x4x24x1x24xf32>
    %13 = linalg.generic {indexing_maps = [#map5, #map6, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%expanded_9, %expanded : tensor<2x24x4x1x16xf32>, tensor<2x24x4x16xf32>) outs(%12 : tensor<2x4x24x1x24xf32>) {
    ^bb0(%in: f32, %in_15: f32, %out: f32):
      %105 = arith.mulf %in, %in_15 : f32
      %106 = arith.addf %out, %105 : f32
      linalg.yield %106 : f32
    } -> tensor<2x4x24x1x24xf32>
    %14 = linalg.generic {indexing_maps = [#map8, #map9], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%cst_5 : tensor<f32>) outs(%11 : tensor<2x4x24x1x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x24x1x24xf32>
    %15 = linalg.generic {indexing_maps = [#map9, #map9, #map9], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%13, %14 : tensor<2x4x24x1x24xf32>, tensor<2x4x24x1x24xf32>) outs(%11 : tensor<2x4x24x1x24xf32>) {
    ^bb0(%in: f32, %in_15: f32, %out: f32):
      %105 = arith.mulf %in, %in_15 : f32
      linalg.yield %105 : f32
    } -> tensor<2x4x24x1x24xf32>
    %16 = tensor.empty() : tensor<2x4x24x24xi1>
    %17 = linalg.generic {indexing_maps = [#map10, #map11], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_4 : tensor<i1>) outs(%16 : tensor<2x4x24x24xi1>) {
    ^bb0(%in: i1, %out: i1):
      linalg.yield %in : i1
    } -> tensor<2x4x24x24xi1>
    %18 = tensor.empty() : tensor<24x24xi1>
    %19 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_4 : tensor<i1>) outs(%18 : tensor<24x24xi1>) {
    ^bb0(%in: i1, %out: i1):
      linalg.yield %in : i1
    } -> tensor<24x24xi1>
    %20 = call @tril(%19) : (tensor<24x24xi1>) -> tensor<24x24xi1>
    %21 = tensor.empty() : tensor<1x1x24x24xi1>
    %22 = linalg.generic {indexing_maps = [#map12, #map11], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%20 : tensor<24x24xi1>) outs(%21 : tensor<1x1x24x24xi1>) {
    ^bb0(%in: i1, %out: i1):
      linalg.yield %in : i1
    } -> tensor<1x1x24x24xi1>
    %23 = linalg.generic {indexing_maps = [#map13, #map11], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%22 : tensor<1x1x24x24xi1>) outs(%16 : tensor<2x4x24x24xi1>) {
    ^bb0(%in: i1, %out: i1):
      linalg.yield %in : i1
    } -> tensor<2x4x24x24xi1>
    %24 = linalg.generic {indexing_maps = [#map11, #map11, #map11], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%17, %23 : tensor<2x4x24x24xi1>, tensor<2x4x24x24xi1>) outs(%16 : tensor<2x4x24x24xi1>) {
    ^bb0(%in: i1, %in_15: i1, %out: i1):
      %105 = arith.andi %in, %in_15 : i1
      linalg.yield %105 : i1
    } -> tensor<2x4x24x24xi1>
    %25:2 = call @_where(%24, %15, %cst_3) : (tensor<2x4x24x24xi1>, tensor<2x4x24x1x24xf32>, tensor<f32>) -> (tensor<1x2x4x24x24xf32>, tensor<1x2x4x24x24xi1>)
    %26 = tensor.empty() : tensor<1x2x4x24xf32>
    %27 = linalg.fill ins(%cst_1 : f32) outs(%26 : tensor<1x2x4x24xf32>) -> tensor<1x2x4x24xf32>
    %28 = linalg.generic {indexing_maps = [#map9, #map14], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%25#0 : tensor<1x2x4x24x24xf32>) outs(%27 : tensor<1x2x4x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      %105 = arith.maximumf %out, %in : f32
      linalg.yield %105 : f32
    } -> tensor<1x2x4x24xf32>
    %29 = linalg.generic {indexing_maps = [#map10, #map11], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_2 : tensor<f32>) outs(%26 : tensor<1x2x4x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x4x24xf32>
    %30 = linalg.generic {indexing_maps = [#map11, #map11, #map11], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%29, %28 : tensor<1x2x4x24xf32>, tensor<1x2x4x24xf32>) outs(%26 : tensor<1x2x4x24xf32>) {
    ^bb0(%in: f32, %in_15: f32, %out: f32):
      %105 = arith.maximumf %in, %in_15 : f32
      linalg.yield %105 : f32
    } -> tensor<1x2x4x24xf32>
    %31 = tensor.empty() : tensor<1x2x4x24x1xf32>
    %32 = linalg.generic {indexing_maps = [#map14, #map9], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%30 : tensor<1x2x4x24xf32>) outs(%31 : tensor<1x2x4x24x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x4x24x1xf32>
    %33 = tensor.empty() : tensor<1x2x4x24x24xf32>
    %34 = linalg.generic {indexing_maps = [#map15, #map9], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%32 : tensor<1x2x4x24x1xf32>) outs(%33 : tensor<1x2x4x24x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x4x24x24xf32>
    %35 = linalg.generic {indexing_maps = [#map9, #map9, #map9], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%25#0, %34 : tensor<1x2x4x24x24xf32>, tensor<1x2x4x24x24xf32>) outs(%33 : tensor<1x2x4x24x24xf32>) {
    ^bb0(%in: f32, %in_15: f32, %out: f32):
      %105 = arith.subf %in, %in_15 : f32
      linalg.yield %105 : f32
    } -> tensor<1x2x4x24x24xf32>
    %36 = linalg.generic {indexing_maps = [#map9, #map9], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%35 : tensor<1x2x4x24x24xf32>) outs(%33 : tensor<1x2x4x24x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      %105 = math.exp %in : f32
      linalg.yield %105 : f32
    } -> tensor<1x2x4x24x24xf32>
    %37 = linalg.fill ins(%cst_6 : f32) outs(%26 : tensor<1x2x4x24xf32>) -> tensor<1x2x4x24xf32>
    %38 = linalg.generic {indexing_maps = [#map9, #map14], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%36 : tensor<1x2x4x24x24xf32>) outs(%37 : tensor<1x2x4x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      %105 = arith.addf %out, %in : f32
      linalg.yield %105 : f32
    } -> tensor<1x2x4x24xf32>
    %39 = linalg.generic {indexing_maps = [#map14, #map9], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%38 : tensor<1x2x4x24xf32>) outs(%31 : tensor<1x2x4x24x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x4x24x1xf32>
    %40 = linalg.generic {indexing_maps = [#map15, #map9], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%39 : tensor<1x2x4x24x1xf32>) outs(%33 : tensor<1x2x4x24x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x4x24x24xf32>
    %41 = linalg.generic {indexing_maps = [#map9, #map9, #map9], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%36, %40 : tensor<1x2x4x24x24xf32>, tensor<1x2x4x24x24xf32>) outs(%33 : tensor<1x2x4x24x24xf32>) {
    ^bb0(%in: f32, %in_15: f32, %out: f32):
      %105 = arith.divf %in, %in_15 : f32
      linalg.yield %105 : f32
    } -> tensor<1x2x4x24x24xf32>
    %42 = linalg.generic {indexing_maps = [#map9, #map9, #map9], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%39, %39 : tensor<1x2x4x24x1xf32>, tensor<1x2x4x24x1xf32>) outs(%31 : tensor<1x2x4x24x1xf32>) {
    ^bb0(%in: f32, %in_15: f32, %out: f32):
      %105 = arith.mulf %in, %in_15 : f32
      linalg.yield %105 : f32
    } -> tensor<1x2x4x24x1xf32>
    %43 = linalg.generic {indexing_maps = [#map8, #map9], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%cst_0 : tensor<f32>) outs(%31 : tensor<1x2x4x24x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x4x24x1xf32>
    %44 = linalg.generic {indexing_maps = [#map9, #map9, #map9], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%43, %42 : tensor<1x2x4x24x1xf32>, tensor<1x2x4x24x1xf32>) outs(%31 : tensor<1x2x4x24x1xf32>) {
    ^bb0(%in: f32, %in_15: f32, %out: f32):
      %105 = arith.divf %in, %in_15 : f32
      linalg.yield %105 : f32
    } -> tensor<1x2x4x24x1xf32>
    %45 = tensor.empty() : tensor<2x4x16x1x24xf32>
    %46 = linalg.fill ins(%cst_6 : f32) outs(%45 : tensor<2x4x16x1x24xf32>) -> tensor<2x4x16x1x24xf32>
    %47 = linalg.generic {indexing_maps = [#map16, #map17, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%expanded_8, %41 : tensor<2x24x4x16xf32>, tensor<1x2x4x24x24xf32>) outs(%46 : tensor<2x4x16x1x24xf32>) {
    ^bb0(%in: f32, %in_15: f32, %out: f32):
      %105 = arith.mulf %in, %in_15 : f32
      %106 = arith.addf %out, %105 : f32
      linalg.yield %106 : f32
    } -> tensor<2x4x16x1x24xf32>
    %48 = tensor.empty() : tensor<1x2x24x4x16xf32>
    %49 = linalg.generic {indexing_maps = [#map18, #map9], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%47 : tensor<2x4x16x1x24xf32>) outs(%48 : tensor<1x2x24x4x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x24x4x16xf32>
    %50 = tensor.empty() : tensor<2x24x4x1x16xf32>
    %51 = linalg.generic {indexing_maps = [#map19, #map9], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%49 : tensor<1x2x24x4x16xf32>) outs(%50 : tensor<2x24x4x1x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x24x4x1x16xf32>
    %collapsed = tensor.collapse_shape %51 [[0], [1], [2, 3, 4]] : tensor<2x24x4x1x16xf32> into tensor<2x24x64xf32>
    %52 = linalg.generic {indexing_maps = [#map2, #map3, #map4], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%collapsed, %5 : tensor<2x24x64xf32>, tensor<64x64xf32>) outs(%7 : tensor<2x24x64xf32>) {
    ^bb0(%in: f32, %in_15: f32, %out: f32):
      %105 = arith.mulf %in, %in_15 : f32
      %106 = arith.addf %out, %105 : f32
      linalg.yield %106 : f32
    } -> tensor<2x24x64xf32>
    %53 = linalg.generic {indexing_maps = [#map20, #map21], iterator_types = ["parallel", "parallel", "parallel"]} ins(%cst : tensor<f32>) outs(%6 : tensor<2x24x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x24x64xf32>
    %54 = linalg.generic {indexing_maps = [#map21, #map21, #map21], iterator_types = ["parallel", "parallel", "parallel"]} ins(%53, %52 : tensor<2x24x64xf32>, tensor<2x24x64xf32>) outs(%6 : tensor<2x24x64xf32>) {
    ^bb0(%in: f32, %in_15: f32, %out: f32):
      %105 = arith.mulf %in, %in_15 : f32
      linalg.yield %105 : f32
    } -> tensor<2x24x64xf32>
    %55 = linalg.generic {indexing_maps = [#map20, #map21], iterator_types = ["parallel", "parallel", "parallel"]} ins(%cst_0 : tensor<f32>) outs(%6 : tensor<2x24x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x24x64xf32>
    %56 = linalg.generic {indexing_maps = [#map21, #map21, #map21], iterator_types = ["parallel", "parallel", "parallel"]} ins(%55, %54 : tensor<2x24x64xf32>, tensor<2x24x64xf32>) outs(%6 : tensor<2x24x64xf32>) {
    ^bb0(%in: f32, %in_15: f32, %out: f32):
      %105 = arith.mulf %in, %in_15 : f32
      linalg.yield %105 : f32
    } -> tensor<2x24x64xf32>
    %57 = linalg.fill ins(%cst_6 : f32) outs(%0 : tensor<64x64xf32>) -> tensor<64x64xf32>
    %58 = linalg.generic {indexing_maps = [#map22, #map23, #map24], iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%56, %collapsed : tensor<2x24x64xf32>, tensor<2x24x64xf32>) outs(%57 : tensor<64x64xf32>) {
    ^bb0(%in: f32, %in_15: f32, %out: f32):
      %105 = arith.mulf %in, %in_15 : f32
      %106 = arith.addf %out, %105 : f32
      linalg.yield %106 : f32
    } -> tensor<64x64xf32>
    %59 = linalg.generic {indexing_maps = [#map25, #map1], iterator_types = ["parallel", "parallel"]} ins(%58 : tensor<64x64xf32>) outs(%0 : tensor<64x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<64x64xf32>
    %60 = linalg.generic {indexing_maps = [#map2, #map12, #map4], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%56, %5 : tensor<2x24x64xf32>, tensor<64x64xf32>) outs(%7 : tensor<2x24x64xf32>) {
    ^bb0(%in: f32, %in_15: f32, %out: f32):
      %105 = arith.mulf %in, %in_15 : f32
      %106 = arith.addf %out, %105 : f32
      linalg.yield %106 : f32
    } -> tensor<2x24x64xf32>
    %expanded_10 = tensor.expand_shape %60 [[0], [1], [2, 3, 4]] output_shape [2, 24, 4, 1, 16] : tensor<2x24x64xf32> into tensor<2x24x4x1x16xf32>
    %61 = linalg.generic {indexing_maps = [#map26, #map9], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_10 : tensor<2x24x4x1x16xf32>) outs(%48 : tensor<1x2x24x4x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x24x4x16xf32>
    %62 = linalg.generic {indexing_maps = [#map27, #map9], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%61 : tensor<1x2x24x4x16xf32>) outs(%45 : tensor<2x4x16x1x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x16x1x24xf32>
    %63 = tensor.empty() : tensor<2x4x1x24x24xf32>
    %64 = linalg.fill ins(%cst_6 : f32) outs(%63 : tensor<2x4x1x24x24xf32>) -> tensor<2x4x1x24x24xf32>
    %65 = linalg.generic {indexing_maps = [#map28, #map6, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%62, %expanded_8 : tensor<2x4x16x1x24xf32>, tensor<2x24x4x16xf32>) outs(%64 : tensor<2x4x1x24x24xf32>) {
    ^bb0(%in: f32, %in_15: f32, %out: f32):
      %105 = arith.mulf %in, %in_15 : f32
      %106 = arith.addf %out, %105 : f32
      linalg.yield %106 : f32
    } -> tensor<2x4x1x24x24xf32>
    %66 = linalg.generic {indexing_maps = [#map29, #map9], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%65 : tensor<2x4x1x24x24xf32>) outs(%33 : tensor<1x2x4x24x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x4x24x24xf32>
    %67 = tensor.empty() : tensor<2x4x16x24xf32>
    %68 = linalg.fill ins(%cst_6 : f32) outs(%67 : tensor<2x4x16x24xf32>) -> tensor<2x4x16x24xf32>
    %69 = linalg.generic {indexing_maps = [#map30, #map31, #map32], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%62, %41 : tensor<2x4x16x1x24xf32>, tensor<1x2x4x24x24xf32>) outs(%68 : tensor<2x4x16x24xf32>) {
    ^bb0(%in: f32, %in_15: f32, %out: f32):
      %105 = arith.mulf %in, %in_15 : f32
      %106 = arith.addf %out, %105 : f32
      linalg.yield %106 : f32
    } -> tensor<2x4x16x24xf32>
    %70 = tensor.empty() : tensor<2x24x4x16xf32>
    %71 = linalg.generic {indexing_maps = [#map33, #map11], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%69 : tensor<2x4x16x24xf32>) outs(%70 : tensor<2x24x4x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x24x4x16xf32>
    %72 = linalg.generic {indexing_maps = [#map15, #map9], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%44 : tensor<1x2x4x24x1xf32>) outs(%33 : tensor<1x2x4x24x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x4x24x24xf32>
    %73 = linalg.generic {indexing_maps = [#map9, #map9, #map9], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%66, %72 : tensor<1x2x4x24x24xf32>, tensor<1x2x4x24x24xf32>) outs(%33 : tensor<1x2x4x24x24xf32>) {
    ^bb0(%in: f32, %in_15: f32, %out: f32):
      %105 = arith.mulf %in, %in_15 : f32
      linalg.yield %105 : f32
    } -> tensor<1x2x4x24x24xf32>
    %74 = linalg.generic {indexing_maps = [#map9, #map9, #map9], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%73, %36 : tensor<1x2x4x24x24xf32>, tensor<1x2x4x24x24xf32>) outs(%33 : tensor<1x2x4x24x24xf32>) {
    ^bb0(%in: f32, %in_15: f32, %out: f32):
      %105 = arith.mulf %in, %in_15 : f32
      linalg.yield %105 : f32
    } -> tensor<1x2x4x24x24xf32>
    %75 = linalg.generic {indexing_maps = [#map9, #map14], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%74 : tensor<1x2x4x24x24xf32>) outs(%37 : tensor<1x2x4x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      %105 = arith.addf %out, %in : f32
      linalg.yield %105 : f32
    } -> tensor<1x2x4x24xf32>
    %expanded_11 = tensor.expand_shape %75 [[0], [1], [2], [3, 4]] output_shape [1, 2, 4, 24, 1] : tensor<1x2x4x24xf32> into tensor<1x2x4x24x1xf32>
    %76 = linalg.generic {indexing_maps = [#map9, #map9], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%expanded_11 : tensor<1x2x4x24x1xf32>) outs(%31 : tensor<1x2x4x24x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %105 = arith.negf %in : f32
      linalg.yield %105 : f32
    } -> tensor<1x2x4x24x1xf32>
    %77 = linalg.generic {indexing_maps = [#map9, #map9, #map9], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%66, %40 : tensor<1x2x4x24x24xf32>, tensor<1x2x4x24x24xf32>) outs(%33 : tensor<1x2x4x24x24xf32>) {
    ^bb0(%in: f32, %in_15: f32, %out: f32):
      %105 = arith.divf %in, %in_15 : f32
      linalg.yield %105 : f32
    } -> tensor<1x2x4x24x24xf32>
    %78 = tensor.empty() : tensor<2x4x24xf32>
    %79 = linalg.fill ins(%cst_6 : f32) outs(%78 : tensor<2x4x24xf32>) -> tensor<2x4x24xf32>
    %80 = linalg.generic {indexing_maps = [#map19, #map34], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%76 : tensor<1x2x4x24x1xf32>) outs(%79 : tensor<2x4x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      %105 = arith.addf %out, %in : f32
      linalg.yield %105 : f32
    } -> tensor<2x4x24xf32>
    %81 = linalg.generic {indexing_maps = [#map35, #map11], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%80 : tensor<2x4x24xf32>) outs(%26 : tensor<1x2x4x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x4x24xf32>
    %82 = linalg.generic {indexing_maps = [#map14, #map9], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%81 : tensor<1x2x4x24xf32>) outs(%33 : tensor<1x2x4x24x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x4x24x24xf32>
    %83 = linalg.generic {indexing_maps = [#map9, #map9, #map9], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%77, %82 : tensor<1x2x4x24x24xf32>, tensor<1x2x4x24x24xf32>) outs(%33 : tensor<1x2x4x24x24xf32>) {
    ^bb0(%in: f32, %in_15: f32, %out: f32):
      %105 = arith.addf %in, %in_15 : f32
      linalg.yield %105 : f32
    } -> tensor<1x2x4x24x24xf32>
    %84 = linalg.generic {indexing_maps = [#map9, #map9, #map9], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%83, %36 : tensor<1x2x4x24x24xf32>, tensor<1x2x4x24x24xf32>) outs(%33 : tensor<1x2x4x24x24xf32>) {
    ^bb0(%in: f32, %in_15: f32, %out: f32):
      %105 = arith.mulf %in, %in_15 : f32
      linalg.yield %105 : f32
    } -> tensor<1x2x4x24x24xf32>
    %85 = call @_where_0(%25#1, %84) : (tensor<1x2x4x24x24xi1>, tensor<1x2x4x24x24xf32>) -> tensor<2x4x24x1x24xf32>
    %86 = linalg.generic {indexing_maps = [#map9, #map9, #map9], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%85, %14 : tensor<2x4x24x1x24xf32>, tensor<2x4x24x1x24xf32>) outs(%11 : tensor<2x4x24x1x24xf32>) {
    ^bb0(%in: f32, %in_15: f32, %out: f32):
      %105 = arith.mulf %in, %in_15 : f32
      linalg.yield %105 : f32
    } -> tensor<2x4x24x1x24xf32>
    %87 = tensor.empty() : tensor<2x4x24x16xf32>
    %88 = linalg.fill ins(%cst_6 : f32) outs(%87 : tensor<2x4x24x16xf32>) -> tensor<2x4x24x16xf32>
    %89 = linalg.generic {indexing_maps = [#map36, #map37, #map32], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%86, %expanded_9 : tensor<2x4x24x1x24xf32>, tensor<2x24x4x1x16xf32>) outs(%88 : tensor<2x4x24x16xf32>) {
    ^bb0(%in: f32, %in_15: f32, %out: f32):
      %105 = arith.mulf %in, %in_15 : f32
      %106 = arith.addf %out, %105 : f32
      linalg.yield %106 : f32
    } -> tensor<2x4x24x16xf32>
    %90 = linalg.generic {indexing_maps = [#map38, #map11], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%89 : tensor<2x4x24x16xf32>) outs(%70 : tensor<2x24x4x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x24x4x16xf32>
    %91 = tensor.empty() : tensor<2x4x24x1x16xf32>
    %92 = linalg.fill ins(%cst_6 : f32) outs(%91 : tensor<2x4x24x1x16xf32>) -> tensor<2x4x24x1x16xf32>
    %93 = linalg.generic {indexing_maps = [#map39, #map40, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%86, %expanded : tensor<2x4x24x1x24xf32>, tensor<2x24x4x16xf32>) outs(%92 : tensor<2x4x24x1x16xf32>) {
    ^bb0(%in: f32, %in_15: f32, %out: f32):
      %105 = arith.mulf %in, %in_15 : f32
      %106 = arith.addf %out, %105 : f32
      linalg.yield %106 : f32
    } -> tensor<2x4x24x1x16xf32>
    %94 = linalg.generic {indexing_maps = [#map41, #map9], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%93 : tensor<2x4x24x1x16xf32>) outs(%50 : tensor<2x24x4x1x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x24x4x1x16xf32>
    %collapsed_12 = tensor.collapse_shape %71 [[0], [1], [2, 3]] : tensor<2x24x4x16xf32> into tensor<2x24x64xf32>
    %95 = linalg.generic {indexing_maps = [#map22, #map23, #map24], iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%collapsed_12, %arg0 : tensor<2x24x64xf32>, tensor<2x24x64xf32>) outs(%57 : tensor<64x64xf32>) {
    ^bb0(%in: f32, %in_15: f32, %out: f32):
      %105 = arith.mulf %in, %in_15 : f32
      %106 = arith.addf %out, %105 : f32
      linalg.yield %106 : f32
    } -> tensor<64x64xf32>
    %96 = linalg.generic {indexing_maps = [#map25, #map1], iterator_types = ["parallel", "parallel"]} ins(%95 : tensor<64x64xf32>) outs(%0 : tensor<64x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<64x64xf32>
    %collapsed_13 = tensor.collapse_shape %90 [[0], [1], [2, 3]] : tensor<2x24x4x16xf32> into tensor<2x24x64xf32>
    %97 = linalg.generic {indexing_maps = [#map22, #map23, #map24], iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%collapsed_13, %arg0 : tensor<2x24x64xf32>, tensor<2x24x64xf32>) outs(%57 : tensor<64x64xf32>) {
    ^bb0(%in: f32, %in_15: f32, %out: f32):
      %105 = arith.mulf %in, %in_15 : f32
      %106 = arith.addf %out, %105 : f32
      linalg.yield %106 : f32
    } -> tensor<64x64xf32>
    %98 = linalg.generic {indexing_maps = [#map25, #map1], iterator_types = ["parallel", "parallel"]} ins(%97 : tensor<64x64xf32>) outs(%0 : tensor<64x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<64x64xf32>
    %collapsed_14 = tensor.collapse_shape %94 [[0], [1], [2, 3, 4]] : tensor<2x24x4x1x16xf32> into tensor<2x24x64xf32>
    %99 = linalg.generic {indexing_maps = [#map22, #map23, #map24], iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%collapsed_14, %arg0 : tensor<2x24x64xf32>, tensor<2x24x64xf32>) outs(%57 : tensor<64x64xf32>) {
    ^bb0(%in: f32, %in_15: f32, %out: f32):
      %105 = arith.mulf %in, %in_15 : f32
      %106 = arith.addf %out, %105 : f32
      linalg.yield %106 : f32
    } -> tensor<64x64xf32>
    %100 = linalg.generic {indexing_maps = [#map25, #map1], iterator_types = ["parallel", "parallel"]} ins(%99 : tensor<64x64xf32>) outs(%0 : tensor<64x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<64x64xf32>
    %101 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%59, %1 : tensor<64x64xf32>, tensor<64x64xf32>) outs(%0 : tensor<64x64xf32>) {
    ^bb0(%in: f32, %in_15: f32, %out: f32):
      %105 = arith.divf %in, %in_15 : f32
      linalg.yield %105 : f32
    } -> tensor<64x64xf32>
    %102 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%96, %1 : tensor<64x64xf32>, tensor<64x64xf32>) outs(%0 : tensor<64x64xf32>) {
    ^bb0(%in: f32, %in_15: f32, %out: f32):
      %105 = arith.divf %in, %in_15 : f32
      linalg.yield %105 : f32
    } -> tensor<64x64xf32>
    %103 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%98, %1 : tensor<64x64xf32>, tensor<64x64xf32>) outs(%0 : tensor<64x64xf32>) {
    ^bb0(%in: f32, %in_15: f32, %out: f32):
      %105 = arith.divf %in, %in_15 : f32
      linalg.yield %105 : f32
    } -> tensor<64x64xf32>
    %104 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%100, %1 : tensor<64x64xf32>, tensor<64x64xf32>) outs(%0 : tensor<64x64xf32>) {
    ^bb0(%in: f32, %in_15: f32, %out: f32):
      %105 = arith.divf %in, %in_15 : f32
      linalg.yield %105 : f32
    } -> tensor<64x64xf32>
    return %104, %103, %102, %101 : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>
  }
  func.func private @tril(%arg0: tensor<24x24xi1>) -> tensor<24x24xi1> {
    %cst = arith.constant dense<false> : tensor<i1>
    %cst_0 = arith.constant dense<0> : tensor<i32>
    %0 = tensor.empty() : tensor<24x24xi32>
    %1 = linalg.generic {indexing_maps = [#map1], iterator_types = ["parallel", "parallel"]} outs(%0 : tensor<24x24xi32>) {
    ^bb0(%out: i32):
      %9 = linalg.index 0 : index
      %10 = arith.index_cast %9 : index to i32
      linalg.yield %10 : i32
    } -> tensor<24x24xi32>
    %2 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_0 : tensor<i32>) outs(%0 : tensor<24x24xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<24x24xi32>
    %3 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%1, %2 : tensor<24x24xi32>, tensor<24x24xi32>) outs(%0 : tensor<24x24xi32>) {
    ^bb0(%in: i32, %in_1: i32, %out: i32):
      %9 = arith.addi %in, %in_1 : i32
      linalg.yield %9 : i32
    } -> tensor<24x24xi32>
    %4 = linalg.generic {indexing_maps = [#map1], iterator_types = ["parallel", "parallel"]} outs(%0 : tensor<24x24xi32>) {
    ^bb0(%out: i32):
      %9 = linalg.index 1 : index
      %10 = arith.index_cast %9 : index to i32
      linalg.yield %10 : i32
    } -> tensor<24x24xi32>
    %5 = tensor.empty() : tensor<24x24xi1>
    %6 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%3, %4 : tensor<24x24xi32>, tensor<24x24xi32>) outs(%5 : tensor<24x24xi1>) {
    ^bb0(%in: i32, %in_1: i32, %out: i1):
      %9 = arith.cmpi sge, %in, %in_1 : i32
      linalg.yield %9 : i1
    } -> tensor<24x24xi1>
    %7 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst : tensor<i1>) outs(%5 : tensor<24x24xi1>) {
    ^bb0(%in: i1, %out: i1):
      linalg.yield %in : i1
    } -> tensor<24x24xi1>
    %8 = linalg.generic {indexing_maps = [#map1, #map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%6, %arg0, %7 : tensor<24x24xi1>, tensor<24x24xi1>, tensor<24x24xi1>) outs(%5 : tensor<24x24xi1>) {
    ^bb0(%in: i1, %in_1: i1, %in_2: i1, %out: i1):
      %9 = arith.select %in, %in_1, %in_2 : i1
      linalg.yield %9 : i1
    } -> tensor<24x24xi1>
    return %8 : tensor<24x24xi1>
  }
  func.func private @_where(%arg0: tensor<2x4x24x24xi1>, %arg1: tensor<2x4x24x1x24xf32>, %arg2: tensor<f32>) -> (tensor<1x2x4x24x24xf32>, tensor<1x2x4x24x24xi1>) {
    %0 = tensor.empty() : tensor<2x4x24x24xf32>
    %1 = linalg.generic {indexing_maps = [#map10, #map11], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg2 : tensor<f32>) outs(%0 : tensor<2x4x24x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x24x24xf32>
    %2 = tensor.empty() : tensor<1x2x4x24x24xi1>
    %3 = linalg.generic {indexing_maps = [#map42, #map9], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%arg0 : tensor<2x4x24x24xi1>) outs(%2 : tensor<1x2x4x24x24xi1>) {
    ^bb0(%in: i1, %out: i1):
      linalg.yield %in : i1
    } -> tensor<1x2x4x24x24xi1>
    %4 = tensor.empty() : tensor<1x2x4x24x24xf32>
    %5 = linalg.generic {indexing_maps = [#map42, #map9], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%1 : tensor<2x4x24x24xf32>) outs(%4 : tensor<1x2x4x24x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x4x24x24xf32>
    %6 = linalg.generic {indexing_maps = [#map26, #map9], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%arg1 : tensor<2x4x24x1x24xf32>) outs(%4 : tensor<1x2x4x24x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x4x24x24xf32>
    %7 = linalg.generic {indexing_maps = [#map9, #map9, #map9, #map9], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%3, %6, %5 : tensor<1x2x4x24x24xi1>, tensor<1x2x4x24x24xf32>, tensor<1x2x4x24x24xf32>) outs(%4 : tensor<1x2x4x24x24xf32>) {
    ^bb0(%in: i1, %in_0: f32, %in_1: f32, %out: f32):
      %8 = arith.select %in, %in_0, %in_1 : f32
      linalg.yield %8 : f32
    } -> tensor<1x2x4x24x24xf32>
    return %7, %3 : tensor<1x2x4x24x24xf32>, tensor<1x2x4x24x24xi1>
  }
  func.func private @_where_0(%arg0: tensor<1x2x4x24x24xi1>, %arg1: tensor<1x2x4x24x24xf32>) -> tensor<2x4x24x1x24xf32> {
    %cst = arith.constant dense<0.000000e+00> : tensor<f32>
    %0 = tensor.empty() : tensor<1x2x4x24x24xf32>
    %1 = linalg.generic {indexing_maps = [#map8, #map9], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%cst : tensor<f32>) outs(%0 : tensor<1x2x4x24x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x4x24x24xf32>
    %2 = linalg.generic {indexing_maps = [#map9, #map9, #map9, #map9], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%arg0, %arg1, %1 : tensor<1x2x4x24x24xi1>, tensor<1x2x4x24x24xf32>, tensor<1x2x4x24x24xf32>) outs(%0 : tensor<1x2x4x24x24xf32>) {
    ^bb0(%in: i1, %in_0: f32, %in_1: f32, %out: f32):
      %5 = arith.select %in, %in_0, %in_1 : f32
      linalg.yield %5 : f32
    } -> tensor<1x2x4x24x24xf32>
    %3 = tensor.empty() : tensor<2x4x24x1x24xf32>
    %4 = linalg.generic {indexing_maps = [#map19, #map9], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%2 : tensor<1x2x4x24x24xf32>) outs(%3 : tensor<2x4x24x1x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x24x1x24xf32>
    return %4 : tensor<2x4x24x1x24xf32>
  }
}

