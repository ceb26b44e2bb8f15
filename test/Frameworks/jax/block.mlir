// A layer with projections before and behind jax.nn.dot_product_attention(q, k, v, is_causal=True): as jax 0.10.2 gives it. Written by Inputs/jax_programs.py; the versions are in packages.txt.
// RUN: fa-opt --explain %s | FileCheck %s
// RUN: fa-run %s --entry=main --in 2x24x64 --in 64x64 --in 64x64 --in 64x64 --in 64x64 --check --target=cpu | FileCheck %s --check-prefix=RAN
// RUN: not fa-run %s --entry=main --in 2x24x64x1 --in 64x64 --in 64x64 --in 64x64 --in 64x64 2>&1 | FileCheck %s --check-prefix=WRONG
// CHECK: fused: softmax(Q Kᵀ) V is one attention
// CHECK: , 0 not
// CHECK: becomes several kernels, one for each attention: q is computed in the function, where a view of an argument is expected
// RAN-NOT: not fused
// RAN-DAG: kernel   @main_attention
// RAN-DAG: kernel   @main_rest
// RAN-NOT: not fused
// RAN: PASS
// RAN-NOT: FAIL
// WRONG: {{expected.*, found}}

#map = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>
#map1 = affine_map<(d0, d1, d2, d3) -> (d3, d2)>
#map2 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#map3 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d2, d1, d3, d5)>
#map4 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d4, d1, d5)>
#map5 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3, d4)>
#map6 = affine_map<(d0, d1, d2, d3, d4) -> ()>
#map7 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>
#map8 = affine_map<(d0, d1, d2, d3) -> ()>
#map9 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map10 = affine_map<(d0, d1) -> ()>
#map11 = affine_map<(d0, d1) -> (d0, d1)>
#map12 = affine_map<(d0, d1, d2, d3) -> (d2, d3)>
#map13 = affine_map<(d0, d1, d2, d3) -> (0, 0, d2, d3)>
#map14 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>
#map15 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, 0)>
#map16 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d5, d1, d2)>
#map17 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, d0, d1, d4, d5)>
#map18 = affine_map<(d0, d1, d2, d3, d4) -> (d1, d3, d4, d0, d2)>
#map19 = affine_map<(d0, d1, d2, d3, d4) -> (d3, d0, d1, d2, d4)>
#map20 = affine_map<(d0, d1, d2, d3, d4) -> (d1, d2, d3, d4)>
#map21 = affine_map<(d0, d1, d2, d3, d4) -> (d1, d2, d3, d0, d4)>
module {
  func.func public @main(%arg0: tensor<2x24x64xf32>, %arg1: tensor<64x64xf32>, %arg2: tensor<64x64xf32>, %arg3: tensor<64x64xf32>, %arg4: tensor<64x64xf32>) -> (tensor<2x24x64xf32> {jax.result_info = "result"}) {
    %cst = arith.constant 0xFF800000 : f32
    %cst_0 = arith.constant dense<0xFF800000> : tensor<f32>
    %cst_1 = arith.constant dense<-2.38197633E+38> : tensor<f32>
    %cst_2 = arith.constant dense<true> : tensor<i1>
    %cst_3 = arith.constant dense<2.500000e-01> : tensor<f32>
    %cst_4 = arith.constant 0.000000e+00 : f32
    %0 = tensor.empty() : tensor<2x24x64xf32>
    %1 = linalg.fill ins(%cst_4 : f32) outs(%0 : tensor<2x24x64xf32>) -> tensor<2x24x64xf32>
    %2 = linalg.generic {indexing_maps = [#map, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<2x24x64xf32>, tensor<64x64xf32>) outs(%1 : tensor<2x24x64xf32>) {
    ^bb0(%in: f32, %in_7: f32, %out: f32):
      %44 = arith.mulf %in, %in_7 : f32
      %45 = arith.addf %out, %44 : f32
      linalg.yield %45 : f32
    } -> tensor<2x24x64xf32>
    %3 = linalg.generic {indexing_maps = [#map, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg2 : tensor<2x24x64xf32>, tensor<64x64xf32>) outs(%1 : tensor<2x24x64xf32>) {
    ^bb0(%in: f32, %in_7: f32, %out: f32):
      %44 = arith.mulf %in, %in_7 : f32
      %45 = arith.addf %out, %44 : f32
      linalg.yield %45 : f32
    } -> tensor<2x24x64xf32>
    %expanded = tensor.expand_shape %3 [[0], [1], [2, 3]] output_shape [2, 24, 4, 16] : tensor<2x24x64xf32> into tensor<2x24x4x16xf32>
    %4 = linalg.generic {indexing_maps = [#map, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg3 : tensor<2x24x64xf32>, tensor<64x64xf32>) outs(%1 : tensor<2x24x64xf32>) {
    ^bb0(%in: f32, %in_7: f32, %out: f32):
      %44 = arith.mulf %in, %in_7 : f32
      %45 = arith.addf %out, %44 : f32
      linalg.yield %45 : f32
    } -> tensor<2x24x64xf32>
    %expanded_5 = tensor.expand_shape %4 [[0], [1], [2, 3]] output_shape [2, 24, 4, 16] : tensor<2x24x64xf32> into tensor<2x24x4x16xf32>
    %expanded_6 = tensor.expand_shape %2 [[0], [1], [2, 3, 4]] output_shape [2, 24, 4, 1, 16] : tensor<2x24x64xf32> into tensor<2x24x4x1x16xf32>
    %5 = tensor.empty() : tensor<2x4x24x1x24xf32>
    %6 = linalg.fill ins(%cst_4 : f32) outs(%5 : tensor<2x4x24x1x24xf32>) -> tensor<2x4x24x1x24xf32>
    %7 = linalg.generic {indexing_maps = [#map3, #map4, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%expanded_6, %expanded : tensor<2x24x4x1x16xf32>, tensor<2x24x4x16xf32>) outs(%6 : tensor<2x4x24x1x24xf32>) {
    ^bb0(%in: f32, %in_7: f32, %out: f32):
      %44 = arith.mulf %in, %in_7 : f32
      %45 = arith.addf %out, %44 : f32
      linalg.yield %45 : f32
    } -> tensor<2x4x24x1x24xf32>
    %8 = linalg.generic {indexing_maps = [#map6, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%cst_3 : tensor<f32>) outs(%5 : tensor<2x4x24x1x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x24x1x24xf32>
    %9 = linalg.generic {indexing_maps = [#map7, #map7, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%7, %8 : tensor<2x4x24x1x24xf32>, tensor<2x4x24x1x24xf32>) outs(%5 : tensor<2x4x24x1x24xf32>) {
    ^bb0(%in: f32, %in_7: f32, %out: f32):
      %44 = arith.mulf %in, %in_7 : f32
      linalg.yield %44 : f32
    } -> tensor<2x4x24x1x24xf32>
    %10 = tensor.empty() : tensor<2x4x24x24xi1>
    %11 = linalg.generic {indexing_maps = [#map8, #map9], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_2 : tensor<i1>) outs(%10 : tensor<2x4x24x24xi1>) {
    ^bb0(%in: i1, %out: i1):
      linalg.yield %in : i1
    } -> tensor<2x4x24x24xi1>
    %12 = tensor.empty() : tensor<24x24xi1>
    %13 = linalg.generic {indexing_maps = [#map10, #map11], iterator_types = ["parallel", "parallel"]} ins(%cst_2 : tensor<i1>) outs(%12 : tensor<24x24xi1>) {
    ^bb0(%in: i1, %out: i1):
      linalg.yield %in : i1
    } -> tensor<24x24xi1>
    %14 = call @tril(%13) : (tensor<24x24xi1>) -> tensor<24x24xi1>
    %15 = tensor.empty() : tensor<1x1x24x24xi1>
    %16 = linalg.generic {indexing_maps = [#map12, #map9], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%14 : tensor<24x24xi1>) outs(%15 : tensor<1x1x24x24xi1>) {
    ^bb0(%in: i1, %out: i1):
      linalg.yield %in : i1
    } -> tensor<1x1x24x24xi1>
    %17 = linalg.generic {indexing_maps = [#map13, #map9], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%16 : tensor<1x1x24x24xi1>) outs(%10 : tensor<2x4x24x24xi1>) {
    ^bb0(%in: i1, %out: i1):
      linalg.yield %in : i1
    } -> tensor<2x4x24x24xi1>
    %18 = linalg.generic {indexing_maps = [#map9, #map9, #map9], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%11, %17 : tensor<2x4x24x24xi1>, tensor<2x4x24x24xi1>) outs(%10 : tensor<2x4x24x24xi1>) {
    ^bb0(%in: i1, %in_7: i1, %out: i1):
      %44 = arith.andi %in, %in_7 : i1
      linalg.yield %44 : i1
    } -> tensor<2x4x24x24xi1>
    %19 = call @_where(%18, %9, %cst_1) : (tensor<2x4x24x24xi1>, tensor<2x4x24x1x24xf32>, tensor<f32>) -> tensor<1x2x4x24x24xf32>
    %20 = tensor.empty() : tensor<1x2x4x24xf32>
    %21 = linalg.fill ins(%cst : f32) outs(%20 : tensor<1x2x4x24xf32>) -> tensor<1x2x4x24xf32>
    %22 = linalg.generic {indexing_maps = [#map7, #map14], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%19 : tensor<1x2x4x24x24xf32>) outs(%21 : tensor<1x2x4x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      %44 = arith.maximumf %out, %in : f32
      linalg.yield %44 : f32
    } -> tensor<1x2x4x24xf32>
    %23 = linalg.generic {indexing_maps = [#map8, #map9], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_0 : tensor<f32>) outs(%20 : tensor<1x2x4x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x4x24xf32>
    %24 = linalg.generic {indexing_maps = [#map9, #map9, #map9], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%23, %22 : tensor<1x2x4x24xf32>, tensor<1x2x4x24xf32>) outs(%20 : tensor<1x2x4x24xf32>) {
    ^bb0(%in: f32, %in_7: f32, %out: f32):
      %44 = arith.maximumf %in, %in_7 : f32
      linalg.yield %44 : f32
    } -> tensor<1x2x4x24xf32>
    %25 = tensor.empty() : tensor<1x2x4x24x1xf32>
    %26 = linalg.generic {indexing_maps = [#map14, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%24 : tensor<1x2x4x24xf32>) outs(%25 : tensor<1x2x4x24x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x4x24x1xf32>
    %27 = tensor.empty() : tensor<1x2x4x24x24xf32>
    %28 = linalg.generic {indexing_maps = [#map15, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%26 : tensor<1x2x4x24x1xf32>) outs(%27 : tensor<1x2x4x24x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x4x24x24xf32>
    %29 = linalg.generic {indexing_maps = [#map7, #map7, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%19, %28 : tensor<1x2x4x24x24xf32>, tensor<1x2x4x24x24xf32>) outs(%27 : tensor<1x2x4x24x24xf32>) {
    ^bb0(%in: f32, %in_7: f32, %out: f32):
      %44 = arith.subf %in, %in_7 : f32
      linalg.yield %44 : f32
    } -> tensor<1x2x4x24x24xf32>
    %30 = linalg.generic {indexing_maps = [#map7, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%29 : tensor<1x2x4x24x24xf32>) outs(%27 : tensor<1x2x4x24x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      %44 = math.exp %in : f32
      linalg.yield %44 : f32
    } -> tensor<1x2x4x24x24xf32>
    %31 = linalg.fill ins(%cst_4 : f32) outs(%20 : tensor<1x2x4x24xf32>) -> tensor<1x2x4x24xf32>
    %32 = linalg.generic {indexing_maps = [#map7, #map14], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%30 : tensor<1x2x4x24x24xf32>) outs(%31 : tensor<1x2x4x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      %44 = arith.addf %out, %in : f32
      linalg.yield %44 : f32
    } -> tensor<1x2x4x24xf32>
    %33 = linalg.generic {indexing_maps = [#map14, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%32 : tensor<1x2x4x24xf32>) outs(%25 : tensor<1x2x4x24x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x4x24x1xf32>
    %34 = linalg.generic {indexing_maps = [#map15, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%33 : tensor<1x2x4x24x1xf32>) outs(%27 : tensor<1x2x4x24x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x4x24x24xf32>
    %35 = linalg.generic {indexing_maps = [#map7, #map7, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%30, %34 : tensor<1x2x4x24x24xf32>, tensor<1x2x4x24x24xf32>) outs(%27 : tensor<1x2x4x24x24xf32>) {
    ^bb0(%in: f32, %in_7: f32, %out: f32):
      %44 = arith.divf %in, %in_7 : f32
      linalg.yield %44 : f32
    } -> tensor<1x2x4x24x24xf32>
    %36 = tensor.empty() : tensor<2x4x16x1x24xf32>
    %37 = linalg.fill ins(%cst_4 : f32) outs(%36 : tensor<2x4x16x1x24xf32>) -> tensor<2x4x16x1x24xf32>
    %38 = linalg.generic {indexing_maps = [#map16, #map17, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%expanded_5, %35 : tensor<2x24x4x16xf32>, tensor<1x2x4x24x24xf32>) outs(%37 : tensor<2x4x16x1x24xf32>) {
    ^bb0(%in: f32, %in_7: f32, %out: f32):
      %44 = arith.mulf %in, %in_7 : f32
      %45 = arith.addf %out, %44 : f32
      linalg.yield %45 : f32
    } -> tensor<2x4x16x1x24xf32>
    %39 = tensor.empty() : tensor<1x2x24x4x16xf32>
    %40 = linalg.generic {indexing_maps = [#map18, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%38 : tensor<2x4x16x1x24xf32>) outs(%39 : tensor<1x2x24x4x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x24x4x16xf32>
    %41 = tensor.empty() : tensor<2x24x4x1x16xf32>
    %42 = linalg.generic {indexing_maps = [#map19, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%40 : tensor<1x2x24x4x16xf32>) outs(%41 : tensor<2x24x4x1x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x24x4x1x16xf32>
    %collapsed = tensor.collapse_shape %42 [[0], [1], [2, 3, 4]] : tensor<2x24x4x1x16xf32> into tensor<2x24x64xf32>
    %43 = linalg.generic {indexing_maps = [#map, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%collapsed, %arg4 : tensor<2x24x64xf32>, tensor<64x64xf32>) outs(%1 : tensor<2x24x64xf32>) {
    ^bb0(%in: f32, %in_7: f32, %out: f32):
      %44 = arith.mulf %in, %in_7 : f32
      %45 = arith.addf %out, %44 : f32
      linalg.yield %45 : f32
    } -> tensor<2x24x64xf32>
    return %43 : tensor<2x24x64xf32>
  }
  func.func private @tril(%arg0: tensor<24x24xi1>) -> tensor<24x24xi1> {
    %cst = arith.constant dense<false> : tensor<i1>
    %cst_0 = arith.constant dense<0> : tensor<i32>
    %0 = tensor.empty() : tensor<24x24xi32>
    %1 = linalg.generic {indexing_maps = [#map11], iterator_types = ["parallel", "parallel"]} outs(%0 : tensor<24x24xi32>) {
    ^bb0(%out: i32):
      %9 = linalg.index 0 : index
      %10 = arith.index_cast %9 : index to i32
      linalg.yield %10 : i32
    } -> tensor<24x24xi32>
    %2 = linalg.generic {indexing_maps = [#map10, #map11], iterator_types = ["parallel", "parallel"]} ins(%cst_0 : tensor<i32>) outs(%0 : tensor<24x24xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<24x24xi32>
    %3 = linalg.generic {indexing_maps = [#map11, #map11, #map11], iterator_types = ["parallel", "parallel"]} ins(%1, %2 : tensor<24x24xi32>, tensor<24x24xi32>) outs(%0 : tensor<24x24xi32>) {
    ^bb0(%in: i32, %in_1: i32, %out: i32):
      %9 = arith.addi %in, %in_1 : i32
      linalg.yield %9 : i32
    } -> tensor<24x24xi32>
    %4 = linalg.generic {indexing_maps = [#map11], iterator_types = ["parallel", "parallel"]} outs(%0 : tensor<24x24xi32>) {
    ^bb0(%out: i32):
      %9 = linalg.index 1 : index
      %10 = arith.index_cast %9 : index to i32
      linalg.yield %10 : i32
    } -> tensor<24x24xi32>
    %5 = tensor.empty() : tensor<24x24xi1>
    %6 = linalg.generic {indexing_maps = [#map11, #map11, #map11], iterator_types = ["parallel", "parallel"]} ins(%3, %4 : tensor<24x24xi32>, tensor<24x24xi32>) outs(%5 : tensor<24x24xi1>) {
    ^bb0(%in: i32, %in_1: i32, %out: i1):
      %9 = arith.cmpi sge, %in, %in_1 : i32
      linalg.yield %9 : i1
    } -> tensor<24x24xi1>
    %7 = linalg.generic {indexing_maps = [#map10, #map11], iterator_types = ["parallel", "parallel"]} ins(%cst : tensor<i1>) outs(%5 : tensor<24x24xi1>) {
    ^bb0(%in: i1, %out: i1):
      linalg.yield %in : i1
    } -> tensor<24x24xi1>
    %8 = linalg.generic {indexing_maps = [#map11, #map11, #map11, #map11], iterator_types = ["parallel", "parallel"]} ins(%6, %arg0, %7 : tensor<24x24xi1>, tensor<24x24xi1>, tensor<24x24xi1>) outs(%5 : tensor<24x24xi1>) {
    ^bb0(%in: i1, %in_1: i1, %in_2: i1, %out: i1):
      %9 = arith.select %in, %in_1, %in_2 : i1
      linalg.yield %9 : i1
    } -> tensor<24x24xi1>
    return %8 : tensor<24x24xi1>
  }
  func.func private @_where(%arg0: tensor<2x4x24x24xi1>, %arg1: tensor<2x4x24x1x24xf32>, %arg2: tensor<f32>) -> tensor<1x2x4x24x24xf32> {
    %0 = tensor.empty() : tensor<2x4x24x24xf32>
    %1 = linalg.generic {indexing_maps = [#map8, #map9], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg2 : tensor<f32>) outs(%0 : tensor<2x4x24x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x24x24xf32>
    %2 = tensor.empty() : tensor<1x2x4x24x24xi1>
    %3 = linalg.generic {indexing_maps = [#map20, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%arg0 : tensor<2x4x24x24xi1>) outs(%2 : tensor<1x2x4x24x24xi1>) {
    ^bb0(%in: i1, %out: i1):
      linalg.yield %in : i1
    } -> tensor<1x2x4x24x24xi1>
    %4 = tensor.empty() : tensor<1x2x4x24x24xf32>
    %5 = linalg.generic {indexing_maps = [#map20, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%1 : tensor<2x4x24x24xf32>) outs(%4 : tensor<1x2x4x24x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x4x24x24xf32>
    %6 = linalg.generic {indexing_maps = [#map21, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%arg1 : tensor<2x4x24x1x24xf32>) outs(%4 : tensor<1x2x4x24x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x4x24x24xf32>
    %7 = linalg.generic {indexing_maps = [#map7, #map7, #map7, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%3, %6, %5 : tensor<1x2x4x24x24xi1>, tensor<1x2x4x24x24xf32>, tensor<1x2x4x24x24xf32>) outs(%4 : tensor<1x2x4x24x24xf32>) {
    ^bb0(%in: i1, %in_0: f32, %in_1: f32, %out: f32):
      %8 = arith.select %in, %in_0, %in_1 : f32
      linalg.yield %8 : f32
    } -> tensor<1x2x4x24x24xf32>
    return %7 : tensor<1x2x4x24x24xf32>
  }
}

