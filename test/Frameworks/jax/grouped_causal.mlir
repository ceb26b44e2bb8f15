// jax.nn.dot_product_attention(q, k, v, is_causal=True) with grouped heads, of bfloat16: as jax 0.10.2 gives it. Written by Inputs/jax_programs.py; the versions are in packages.txt.
// RUN: fa-opt --explain %s | FileCheck %s
// RUN: fa-run %s --entry=main --in 2x24x4x16 --in 2x24x2x16 --in 2x24x2x16 --check --target=cpu | FileCheck %s --check-prefix=RAN
// RUN: not fa-run %s --entry=main --in 2x24x4x16x1 --in 2x24x2x16 --in 2x24x2x16 2>&1 | FileCheck %s --check-prefix=WRONG
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
#map17 = affine_map<(d0, d1, d2, d3, d4) -> (d1, d2, d3, d4)>
#map18 = affine_map<(d0, d1, d2, d3, d4) -> (d1, d2, d3, d0, d4)>
module {
  func.func public @main(%arg0: tensor<2x24x4x16xbf16>, %arg1: tensor<2x24x2x16xbf16>, %arg2: tensor<2x24x2x16xbf16>) -> (tensor<2x24x4x16xbf16> {jax.result_info = "result"}) {
    %cst = arith.constant 0.000000e+00 : bf16
    %cst_0 = arith.constant 0xFF800000 : f32
    %cst_1 = arith.constant dense<0xFF800000> : tensor<f32>
    %cst_2 = arith.constant dense<-2.38197633E+38> : tensor<f32>
    %cst_3 = arith.constant dense<true> : tensor<i1>
    %cst_4 = arith.constant dense<2.500000e-01> : tensor<f32>
    %cst_5 = arith.constant 0.000000e+00 : f32
    %expanded = tensor.expand_shape %arg0 [[0], [1], [2, 3], [4]] output_shape [2, 24, 2, 2, 16] : tensor<2x24x4x16xbf16> into tensor<2x24x2x2x16xbf16>
    %0 = tensor.empty() : tensor<2x2x24x2x24xf32>
    %1 = linalg.fill ins(%cst_5 : f32) outs(%0 : tensor<2x2x24x2x24xf32>) -> tensor<2x2x24x2x24xf32>
    %2 = linalg.generic {indexing_maps = [#map, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%expanded, %arg1 : tensor<2x24x2x2x16xbf16>, tensor<2x24x2x16xbf16>) outs(%1 : tensor<2x2x24x2x24xf32>) {
    ^bb0(%in: bf16, %in_6: bf16, %out: f32):
      %40 = arith.extf %in : bf16 to f32
      %41 = arith.extf %in_6 : bf16 to f32
      %42 = arith.mulf %40, %41 : f32
      %43 = arith.addf %out, %42 : f32
      linalg.yield %43 : f32
    } -> tensor<2x2x24x2x24xf32>
    %3 = linalg.generic {indexing_maps = [#map3, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%cst_4 : tensor<f32>) outs(%0 : tensor<2x2x24x2x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x2x24x2x24xf32>
    %4 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%2, %3 : tensor<2x2x24x2x24xf32>, tensor<2x2x24x2x24xf32>) outs(%0 : tensor<2x2x24x2x24xf32>) {
    ^bb0(%in: f32, %in_6: f32, %out: f32):
      %40 = arith.mulf %in, %in_6 : f32
      linalg.yield %40 : f32
    } -> tensor<2x2x24x2x24xf32>
    %5 = tensor.empty() : tensor<2x2x24x24xi1>
    %6 = linalg.generic {indexing_maps = [#map5, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_3 : tensor<i1>) outs(%5 : tensor<2x2x24x24xi1>) {
    ^bb0(%in: i1, %out: i1):
      linalg.yield %in : i1
    } -> tensor<2x2x24x24xi1>
    %7 = tensor.empty() : tensor<24x24xi1>
    %8 = linalg.generic {indexing_maps = [#map7, #map8], iterator_types = ["parallel", "parallel"]} ins(%cst_3 : tensor<i1>) outs(%7 : tensor<24x24xi1>) {
    ^bb0(%in: i1, %out: i1):
      linalg.yield %in : i1
    } -> tensor<24x24xi1>
    %9 = call @tril(%8) : (tensor<24x24xi1>) -> tensor<24x24xi1>
    %10 = tensor.empty() : tensor<1x1x24x24xi1>
    %11 = linalg.generic {indexing_maps = [#map9, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%9 : tensor<24x24xi1>) outs(%10 : tensor<1x1x24x24xi1>) {
    ^bb0(%in: i1, %out: i1):
      linalg.yield %in : i1
    } -> tensor<1x1x24x24xi1>
    %12 = linalg.generic {indexing_maps = [#map10, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%11 : tensor<1x1x24x24xi1>) outs(%5 : tensor<2x2x24x24xi1>) {
    ^bb0(%in: i1, %out: i1):
      linalg.yield %in : i1
    } -> tensor<2x2x24x24xi1>
    %13 = linalg.generic {indexing_maps = [#map6, #map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%6, %12 : tensor<2x2x24x24xi1>, tensor<2x2x24x24xi1>) outs(%5 : tensor<2x2x24x24xi1>) {
    ^bb0(%in: i1, %in_6: i1, %out: i1):
      %40 = arith.andi %in, %in_6 : i1
      linalg.yield %40 : i1
    } -> tensor<2x2x24x24xi1>
    %14 = call @_where(%13, %4, %cst_2) : (tensor<2x2x24x24xi1>, tensor<2x2x24x2x24xf32>, tensor<f32>) -> tensor<2x2x2x24x24xf32>
    %15 = tensor.empty() : tensor<2x2x2x24xf32>
    %16 = linalg.fill ins(%cst_0 : f32) outs(%15 : tensor<2x2x2x24xf32>) -> tensor<2x2x2x24xf32>
    %17 = linalg.generic {indexing_maps = [#map4, #map11], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%14 : tensor<2x2x2x24x24xf32>) outs(%16 : tensor<2x2x2x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      %40 = arith.maximumf %out, %in : f32
      linalg.yield %40 : f32
    } -> tensor<2x2x2x24xf32>
    %18 = linalg.generic {indexing_maps = [#map5, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_1 : tensor<f32>) outs(%15 : tensor<2x2x2x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x2x2x24xf32>
    %19 = linalg.generic {indexing_maps = [#map6, #map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%18, %17 : tensor<2x2x2x24xf32>, tensor<2x2x2x24xf32>) outs(%15 : tensor<2x2x2x24xf32>) {
    ^bb0(%in: f32, %in_6: f32, %out: f32):
      %40 = arith.maximumf %in, %in_6 : f32
      linalg.yield %40 : f32
    } -> tensor<2x2x2x24xf32>
    %20 = tensor.empty() : tensor<2x2x2x24x1xf32>
    %21 = linalg.generic {indexing_maps = [#map11, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%19 : tensor<2x2x2x24xf32>) outs(%20 : tensor<2x2x2x24x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x2x2x24x1xf32>
    %22 = tensor.empty() : tensor<2x2x2x24x24xf32>
    %23 = linalg.generic {indexing_maps = [#map12, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%21 : tensor<2x2x2x24x1xf32>) outs(%22 : tensor<2x2x2x24x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x2x2x24x24xf32>
    %24 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%14, %23 : tensor<2x2x2x24x24xf32>, tensor<2x2x2x24x24xf32>) outs(%22 : tensor<2x2x2x24x24xf32>) {
    ^bb0(%in: f32, %in_6: f32, %out: f32):
      %40 = arith.subf %in, %in_6 : f32
      linalg.yield %40 : f32
    } -> tensor<2x2x2x24x24xf32>
    %25 = linalg.generic {indexing_maps = [#map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%24 : tensor<2x2x2x24x24xf32>) outs(%22 : tensor<2x2x2x24x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      %40 = math.exp %in : f32
      linalg.yield %40 : f32
    } -> tensor<2x2x2x24x24xf32>
    %26 = linalg.fill ins(%cst_5 : f32) outs(%15 : tensor<2x2x2x24xf32>) -> tensor<2x2x2x24xf32>
    %27 = linalg.generic {indexing_maps = [#map4, #map11], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%25 : tensor<2x2x2x24x24xf32>) outs(%26 : tensor<2x2x2x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      %40 = arith.addf %out, %in : f32
      linalg.yield %40 : f32
    } -> tensor<2x2x2x24xf32>
    %28 = linalg.generic {indexing_maps = [#map11, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%27 : tensor<2x2x2x24xf32>) outs(%20 : tensor<2x2x2x24x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x2x2x24x1xf32>
    %29 = linalg.generic {indexing_maps = [#map12, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%28 : tensor<2x2x2x24x1xf32>) outs(%22 : tensor<2x2x2x24x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x2x2x24x24xf32>
    %30 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%25, %29 : tensor<2x2x2x24x24xf32>, tensor<2x2x2x24x24xf32>) outs(%22 : tensor<2x2x2x24x24xf32>) {
    ^bb0(%in: f32, %in_6: f32, %out: f32):
      %40 = arith.divf %in, %in_6 : f32
      linalg.yield %40 : f32
    } -> tensor<2x2x2x24x24xf32>
    %31 = tensor.empty() : tensor<2x2x2x24x24xbf16>
    %32 = linalg.generic {indexing_maps = [#map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%30 : tensor<2x2x2x24x24xf32>) outs(%31 : tensor<2x2x2x24x24xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %40 = arith.truncf %in : f32 to bf16
      linalg.yield %40 : bf16
    } -> tensor<2x2x2x24x24xbf16>
    %33 = tensor.empty() : tensor<2x2x16x2x24xbf16>
    %34 = linalg.fill ins(%cst : bf16) outs(%33 : tensor<2x2x16x2x24xbf16>) -> tensor<2x2x16x2x24xbf16>
    %35 = linalg.generic {indexing_maps = [#map13, #map14, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg2, %32 : tensor<2x24x2x16xbf16>, tensor<2x2x2x24x24xbf16>) outs(%34 : tensor<2x2x16x2x24xbf16>) {
    ^bb0(%in: bf16, %in_6: bf16, %out: bf16):
      %40 = arith.mulf %in, %in_6 : bf16
      %41 = arith.addf %out, %40 : bf16
      linalg.yield %41 : bf16
    } -> tensor<2x2x16x2x24xbf16>
    %36 = tensor.empty() : tensor<2x2x24x2x16xbf16>
    %37 = linalg.generic {indexing_maps = [#map15, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%35 : tensor<2x2x16x2x24xbf16>) outs(%36 : tensor<2x2x24x2x16xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      linalg.yield %in : bf16
    } -> tensor<2x2x24x2x16xbf16>
    %38 = tensor.empty() : tensor<2x24x2x2x16xbf16>
    %39 = linalg.generic {indexing_maps = [#map16, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%37 : tensor<2x2x24x2x16xbf16>) outs(%38 : tensor<2x24x2x2x16xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      linalg.yield %in : bf16
    } -> tensor<2x24x2x2x16xbf16>
    %collapsed = tensor.collapse_shape %39 [[0], [1], [2, 3], [4]] : tensor<2x24x2x2x16xbf16> into tensor<2x24x4x16xbf16>
    return %collapsed : tensor<2x24x4x16xbf16>
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
  func.func private @_where(%arg0: tensor<2x2x24x24xi1>, %arg1: tensor<2x2x24x2x24xf32>, %arg2: tensor<f32>) -> tensor<2x2x2x24x24xf32> {
    %0 = tensor.empty() : tensor<2x2x24x24xf32>
    %1 = linalg.generic {indexing_maps = [#map5, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg2 : tensor<f32>) outs(%0 : tensor<2x2x24x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x2x24x24xf32>
    %2 = tensor.empty() : tensor<2x2x2x24x24xi1>
    %3 = linalg.generic {indexing_maps = [#map17, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%arg0 : tensor<2x2x24x24xi1>) outs(%2 : tensor<2x2x2x24x24xi1>) {
    ^bb0(%in: i1, %out: i1):
      linalg.yield %in : i1
    } -> tensor<2x2x2x24x24xi1>
    %4 = tensor.empty() : tensor<2x2x2x24x24xf32>
    %5 = linalg.generic {indexing_maps = [#map17, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%1 : tensor<2x2x24x24xf32>) outs(%4 : tensor<2x2x2x24x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x2x2x24x24xf32>
    %6 = linalg.generic {indexing_maps = [#map18, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%arg1 : tensor<2x2x24x2x24xf32>) outs(%4 : tensor<2x2x2x24x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x2x2x24x24xf32>
    %7 = linalg.generic {indexing_maps = [#map4, #map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%3, %6, %5 : tensor<2x2x2x24x24xi1>, tensor<2x2x2x24x24xf32>, tensor<2x2x2x24x24xf32>) outs(%4 : tensor<2x2x2x24x24xf32>) {
    ^bb0(%in: i1, %in_0: f32, %in_1: f32, %out: f32):
      %8 = arith.select %in, %in_0, %in_1 : f32
      linalg.yield %8 : f32
    } -> tensor<2x2x2x24x24xf32>
    return %7 : tensor<2x2x2x24x24xf32>
  }
}

