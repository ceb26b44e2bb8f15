// jax.nn.dot_product_attention(q, k, v, query_seq_lengths=m, key_value_seq_lengths=n): as jax 0.10.2 gives it. Written by Inputs/jax_programs.py; the versions are in packages.txt.
// RUN: fa-opt --explain %s | FileCheck %s
// RUN: fa-run %s --entry=main --in 2x24x4x16 --in 2x40x4x16 --in 2x40x4x16 --in 2 --in 2 --check --target=cpu | FileCheck %s --check-prefix=RAN
// RUN: not fa-run %s --entry=main --in 2x24x4x16x1 --in 2x40x4x16 --in 2x40x4x16 --in 2 --in 2 2>&1 | FileCheck %s --check-prefix=WRONG
// CHECK: fused: softmax(Q Kᵀ) V is one attention
// CHECK: , 0 not
// CHECK: becomes several kernels, one for each attention: its result is not returned as it is, or in another shape
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
#map7 = affine_map<(d0) -> (d0)>
#map8 = affine_map<(d0, d1, d2) -> (d1)>
#map9 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#map10 = affine_map<(d0, d1, d2) -> (d0)>
#map11 = affine_map<(d0, d1, d2) -> (0, d1, d2)>
#map12 = affine_map<(d0, d1, d2) -> (d0, 0, d2)>
#map13 = affine_map<(d0, d1, d2) -> (d2)>
#map14 = affine_map<(d0, d1, d2) -> (d0, d1, 0)>
#map15 = affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>
#map16 = affine_map<(d0, d1, d2, d3) -> (d0, 0, d2, d3)>
#map17 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>
#map18 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, 0)>
#map19 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d5, d1, d2)>
#map20 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, d0, d1, d4, d5)>
#map21 = affine_map<(d0, d1, d2, d3, d4) -> (d1, d3, d4, d0, d2)>
#map22 = affine_map<(d0, d1) -> (d1)>
#map23 = affine_map<(d0, d1) -> (d0, d1)>
#map24 = affine_map<(d0, d1) -> (d0)>
#map25 = affine_map<(d0, d1) -> (0, d1)>
#map26 = affine_map<(d0, d1) -> (d0, 0)>
#map27 = affine_map<(d0, d1, d2, d3) -> (d0, d1)>
#map28 = affine_map<(d0, d1, d2, d3, d4) -> (d1, d2, d3, d4)>
#map29 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, 0, 0)>
#map30 = affine_map<(d0, d1, d2, d3, d4) -> (d3, d0, d1, d2, d4)>
#map31 = affine_map<(d0, d1, d2, d3, d4) -> (d1, d2, d3, d0, d4)>
module {
  func.func public @main(%arg0: tensor<2x24x4x16xf32>, %arg1: tensor<2x40x4x16xf32>, %arg2: tensor<2x40x4x16xf32>, %arg3: tensor<2xi32>, %arg4: tensor<2xi32>) -> (tensor<2x24x4x16xf32> {jax.result_info = "result"}) {
    %cst = arith.constant 0xFF800000 : f32
    %cst_0 = arith.constant dense<0xFF800000> : tensor<f32>
    %cst_1 = arith.constant dense<-2.38197633E+38> : tensor<f32>
    %cst_2 = arith.constant dense<true> : tensor<i1>
    %cst_3 = arith.constant dense<2.500000e-01> : tensor<f32>
    %cst_4 = arith.constant 0.000000e+00 : f32
    %expanded = tensor.expand_shape %arg0 [[0], [1], [2], [3, 4]] output_shape [2, 24, 4, 1, 16] : tensor<2x24x4x16xf32> into tensor<2x24x4x1x16xf32>
    %0 = tensor.empty() : tensor<2x4x24x1x40xf32>
    %1 = linalg.fill ins(%cst_4 : f32) outs(%0 : tensor<2x4x24x1x40xf32>) -> tensor<2x4x24x1x40xf32>
    %2 = linalg.generic {indexing_maps = [#map, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%expanded, %arg1 : tensor<2x24x4x1x16xf32>, tensor<2x40x4x16xf32>) outs(%1 : tensor<2x4x24x1x40xf32>) {
    ^bb0(%in: f32, %in_5: f32, %out: f32):
      %77 = arith.mulf %in, %in_5 : f32
      %78 = arith.addf %out, %77 : f32
      linalg.yield %78 : f32
    } -> tensor<2x4x24x1x40xf32>
    %3 = linalg.generic {indexing_maps = [#map3, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%cst_3 : tensor<f32>) outs(%0 : tensor<2x4x24x1x40xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x24x1x40xf32>
    %4 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%2, %3 : tensor<2x4x24x1x40xf32>, tensor<2x4x24x1x40xf32>) outs(%0 : tensor<2x4x24x1x40xf32>) {
    ^bb0(%in: f32, %in_5: f32, %out: f32):
      %77 = arith.mulf %in, %in_5 : f32
      linalg.yield %77 : f32
    } -> tensor<2x4x24x1x40xf32>
    %5 = tensor.empty() : tensor<2x4x24x40xi1>
    %6 = linalg.generic {indexing_maps = [#map5, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_2 : tensor<i1>) outs(%5 : tensor<2x4x24x40xi1>) {
    ^bb0(%in: i1, %out: i1):
      linalg.yield %in : i1
    } -> tensor<2x4x24x40xi1>
    %7 = tensor.empty() : tensor<24xi32>
    %8 = linalg.generic {indexing_maps = [#map7], iterator_types = ["parallel"]} outs(%7 : tensor<24xi32>) {
    ^bb0(%out: i32):
      %77 = linalg.index 0 : index
      %78 = arith.index_cast %77 : index to i32
      linalg.yield %78 : i32
    } -> tensor<24xi32>
    %9 = tensor.empty() : tensor<1x24x1xi32>
    %10 = linalg.generic {indexing_maps = [#map8, #map9], iterator_types = ["parallel", "parallel", "parallel"]} ins(%8 : tensor<24xi32>) outs(%9 : tensor<1x24x1xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<1x24x1xi32>
    %11 = tensor.empty() : tensor<2x1x1xi32>
    %12 = linalg.generic {indexing_maps = [#map10, #map9], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg3 : tensor<2xi32>) outs(%11 : tensor<2x1x1xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<2x1x1xi32>
    %13 = tensor.empty() : tensor<2x24x1xi32>
    %14 = linalg.generic {indexing_maps = [#map11, #map9], iterator_types = ["parallel", "parallel", "parallel"]} ins(%10 : tensor<1x24x1xi32>) outs(%13 : tensor<2x24x1xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<2x24x1xi32>
    %15 = linalg.generic {indexing_maps = [#map12, #map9], iterator_types = ["parallel", "parallel", "parallel"]} ins(%12 : tensor<2x1x1xi32>) outs(%13 : tensor<2x24x1xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<2x24x1xi32>
    %16 = tensor.empty() : tensor<2x24x1xi1>
    %17 = linalg.generic {indexing_maps = [#map9, #map9, #map9], iterator_types = ["parallel", "parallel", "parallel"]} ins(%14, %15 : tensor<2x24x1xi32>, tensor<2x24x1xi32>) outs(%16 : tensor<2x24x1xi1>) {
    ^bb0(%in: i32, %in_5: i32, %out: i1):
      %77 = arith.cmpi slt, %in, %in_5 : i32
      linalg.yield %77 : i1
    } -> tensor<2x24x1xi1>
    %18 = tensor.empty() : tensor<40xi32>
    %19 = linalg.generic {indexing_maps = [#map7], iterator_types = ["parallel"]} outs(%18 : tensor<40xi32>) {
    ^bb0(%out: i32):
      %77 = linalg.index 0 : index
      %78 = arith.index_cast %77 : index to i32
      linalg.yield %78 : i32
    } -> tensor<40xi32>
    %20 = tensor.empty() : tensor<1x1x40xi32>
    %21 = linalg.generic {indexing_maps = [#map13, #map9], iterator_types = ["parallel", "parallel", "parallel"]} ins(%19 : tensor<40xi32>) outs(%20 : tensor<1x1x40xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<1x1x40xi32>
    %22 = linalg.generic {indexing_maps = [#map10, #map9], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg4 : tensor<2xi32>) outs(%11 : tensor<2x1x1xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<2x1x1xi32>
    %23 = tensor.empty() : tensor<2x1x40xi32>
    %24 = linalg.generic {indexing_maps = [#map11, #map9], iterator_types = ["parallel", "parallel", "parallel"]} ins(%21 : tensor<1x1x40xi32>) outs(%23 : tensor<2x1x40xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<2x1x40xi32>
    %25 = linalg.generic {indexing_maps = [#map14, #map9], iterator_types = ["parallel", "parallel", "parallel"]} ins(%22 : tensor<2x1x1xi32>) outs(%23 : tensor<2x1x40xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<2x1x40xi32>
    %26 = tensor.empty() : tensor<2x1x40xi1>
    %27 = linalg.generic {indexing_maps = [#map9, #map9, #map9], iterator_types = ["parallel", "parallel", "parallel"]} ins(%24, %25 : tensor<2x1x40xi32>, tensor<2x1x40xi32>) outs(%26 : tensor<2x1x40xi1>) {
    ^bb0(%in: i32, %in_5: i32, %out: i1):
      %77 = arith.cmpi slt, %in, %in_5 : i32
      linalg.yield %77 : i1
    } -> tensor<2x1x40xi1>
    %28 = tensor.empty() : tensor<2x24x40xi1>
    %29 = linalg.generic {indexing_maps = [#map14, #map9], iterator_types = ["parallel", "parallel", "parallel"]} ins(%17 : tensor<2x24x1xi1>) outs(%28 : tensor<2x24x40xi1>) {
    ^bb0(%in: i1, %out: i1):
      linalg.yield %in : i1
    } -> tensor<2x24x40xi1>
    %30 = linalg.generic {indexing_maps = [#map12, #map9], iterator_types = ["parallel", "parallel", "parallel"]} ins(%27 : tensor<2x1x40xi1>) outs(%28 : tensor<2x24x40xi1>) {
    ^bb0(%in: i1, %out: i1):
      linalg.yield %in : i1
    } -> tensor<2x24x40xi1>
    %31 = linalg.generic {indexing_maps = [#map9, #map9, #map9], iterator_types = ["parallel", "parallel", "parallel"]} ins(%29, %30 : tensor<2x24x40xi1>, tensor<2x24x40xi1>) outs(%28 : tensor<2x24x40xi1>) {
    ^bb0(%in: i1, %in_5: i1, %out: i1):
      %77 = arith.andi %in, %in_5 : i1
      linalg.yield %77 : i1
    } -> tensor<2x24x40xi1>
    %32 = tensor.empty() : tensor<2x1x24x40xi1>
    %33 = linalg.generic {indexing_maps = [#map15, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%31 : tensor<2x24x40xi1>) outs(%32 : tensor<2x1x24x40xi1>) {
    ^bb0(%in: i1, %out: i1):
      linalg.yield %in : i1
    } -> tensor<2x1x24x40xi1>
    %34 = linalg.generic {indexing_maps = [#map16, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%33 : tensor<2x1x24x40xi1>) outs(%5 : tensor<2x4x24x40xi1>) {
    ^bb0(%in: i1, %out: i1):
      linalg.yield %in : i1
    } -> tensor<2x4x24x40xi1>
    %35 = linalg.generic {indexing_maps = [#map6, #map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%6, %34 : tensor<2x4x24x40xi1>, tensor<2x4x24x40xi1>) outs(%5 : tensor<2x4x24x40xi1>) {
    ^bb0(%in: i1, %in_5: i1, %out: i1):
      %77 = arith.andi %in, %in_5 : i1
      linalg.yield %77 : i1
    } -> tensor<2x4x24x40xi1>
    %36 = call @_where(%35, %4, %cst_1) : (tensor<2x4x24x40xi1>, tensor<2x4x24x1x40xf32>, tensor<f32>) -> tensor<1x2x4x24x40xf32>
    %37 = tensor.empty() : tensor<1x2x4x24xf32>
    %38 = linalg.fill ins(%cst : f32) outs(%37 : tensor<1x2x4x24xf32>) -> tensor<1x2x4x24xf32>
    %39 = linalg.generic {indexing_maps = [#map4, #map17], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%36 : tensor<1x2x4x24x40xf32>) outs(%38 : tensor<1x2x4x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      %77 = arith.maximumf %out, %in : f32
      linalg.yield %77 : f32
    } -> tensor<1x2x4x24xf32>
    %40 = linalg.generic {indexing_maps = [#map5, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_0 : tensor<f32>) outs(%37 : tensor<1x2x4x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x4x24xf32>
    %41 = linalg.generic {indexing_maps = [#map6, #map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%40, %39 : tensor<1x2x4x24xf32>, tensor<1x2x4x24xf32>) outs(%37 : tensor<1x2x4x24xf32>) {
    ^bb0(%in: f32, %in_5: f32, %out: f32):
      %77 = arith.maximumf %in, %in_5 : f32
      linalg.yield %77 : f32
    } -> tensor<1x2x4x24xf32>
    %42 = tensor.empty() : tensor<1x2x4x24x1xf32>
    %43 = linalg.generic {indexing_maps = [#map17, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%41 : tensor<1x2x4x24xf32>) outs(%42 : tensor<1x2x4x24x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x4x24x1xf32>
    %44 = tensor.empty() : tensor<1x2x4x24x40xf32>
    %45 = linalg.generic {indexing_maps = [#map18, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%43 : tensor<1x2x4x24x1xf32>) outs(%44 : tensor<1x2x4x24x40xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x4x24x40xf32>
    %46 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%36, %45 : tensor<1x2x4x24x40xf32>, tensor<1x2x4x24x40xf32>) outs(%44 : tensor<1x2x4x24x40xf32>) {
    ^bb0(%in: f32, %in_5: f32, %out: f32):
      %77 = arith.subf %in, %in_5 : f32
      linalg.yield %77 : f32
    } -> tensor<1x2x4x24x40xf32>
    %47 = linalg.generic {indexing_maps = [#map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%46 : tensor<1x2x4x24x40xf32>) outs(%44 : tensor<1x2x4x24x40xf32>) {
    ^bb0(%in: f32, %out: f32):
      %77 = math.exp %in : f32
      linalg.yield %77 : f32
    } -> tensor<1x2x4x24x40xf32>
    %48 = linalg.fill ins(%cst_4 : f32) outs(%37 : tensor<1x2x4x24xf32>) -> tensor<1x2x4x24xf32>
    %49 = linalg.generic {indexing_maps = [#map4, #map17], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%47 : tensor<1x2x4x24x40xf32>) outs(%48 : tensor<1x2x4x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      %77 = arith.addf %out, %in : f32
      linalg.yield %77 : f32
    } -> tensor<1x2x4x24xf32>
    %50 = linalg.generic {indexing_maps = [#map17, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%49 : tensor<1x2x4x24xf32>) outs(%42 : tensor<1x2x4x24x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x4x24x1xf32>
    %51 = linalg.generic {indexing_maps = [#map18, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%50 : tensor<1x2x4x24x1xf32>) outs(%44 : tensor<1x2x4x24x40xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x4x24x40xf32>
    %52 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%47, %51 : tensor<1x2x4x24x40xf32>, tensor<1x2x4x24x40xf32>) outs(%44 : tensor<1x2x4x24x40xf32>) {
    ^bb0(%in: f32, %in_5: f32, %out: f32):
      %77 = arith.divf %in, %in_5 : f32
      linalg.yield %77 : f32
    } -> tensor<1x2x4x24x40xf32>
    %53 = tensor.empty() : tensor<2x4x16x1x24xf32>
    %54 = linalg.fill ins(%cst_4 : f32) outs(%53 : tensor<2x4x16x1x24xf32>) -> tensor<2x4x16x1x24xf32>
    %55 = linalg.generic {indexing_maps = [#map19, #map20, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg2, %52 : tensor<2x40x4x16xf32>, tensor<1x2x4x24x40xf32>) outs(%54 : tensor<2x4x16x1x24xf32>) {
    ^bb0(%in: f32, %in_5: f32, %out: f32):
      %77 = arith.mulf %in, %in_5 : f32
      %78 = arith.addf %out, %77 : f32
      linalg.yield %78 : f32
    } -> tensor<2x4x16x1x24xf32>
    %56 = tensor.empty() : tensor<1x2x24x4x16xf32>
    %57 = linalg.generic {indexing_maps = [#map21, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%55 : tensor<2x4x16x1x24xf32>) outs(%56 : tensor<1x2x24x4x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x24x4x16xf32>
    %58 = tensor.empty() : tensor<1x24xi32>
    %59 = linalg.generic {indexing_maps = [#map22, #map23], iterator_types = ["parallel", "parallel"]} ins(%8 : tensor<24xi32>) outs(%58 : tensor<1x24xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<1x24xi32>
    %60 = tensor.empty() : tensor<2x1xi32>
    %61 = linalg.generic {indexing_maps = [#map24, #map23], iterator_types = ["parallel", "parallel"]} ins(%arg3 : tensor<2xi32>) outs(%60 : tensor<2x1xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<2x1xi32>
    %62 = tensor.empty() : tensor<2x24xi32>
    %63 = linalg.generic {indexing_maps = [#map25, #map23], iterator_types = ["parallel", "parallel"]} ins(%59 : tensor<1x24xi32>) outs(%62 : tensor<2x24xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<2x24xi32>
    %64 = linalg.generic {indexing_maps = [#map26, #map23], iterator_types = ["parallel", "parallel"]} ins(%61 : tensor<2x1xi32>) outs(%62 : tensor<2x24xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<2x24xi32>
    %65 = tensor.empty() : tensor<2x24xi1>
    %66 = linalg.generic {indexing_maps = [#map23, #map23, #map23], iterator_types = ["parallel", "parallel"]} ins(%63, %64 : tensor<2x24xi32>, tensor<2x24xi32>) outs(%65 : tensor<2x24xi1>) {
    ^bb0(%in: i32, %in_5: i32, %out: i1):
      %77 = arith.cmpi slt, %in, %in_5 : i32
      linalg.yield %77 : i1
    } -> tensor<2x24xi1>
    %67 = tensor.empty() : tensor<2x24x1x1xi1>
    %68 = linalg.generic {indexing_maps = [#map27, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%66 : tensor<2x24xi1>) outs(%67 : tensor<2x24x1x1xi1>) {
    ^bb0(%in: i1, %out: i1):
      linalg.yield %in : i1
    } -> tensor<2x24x1x1xi1>
    %69 = tensor.empty() : tensor<2x24x1x1xf32>
    %70 = linalg.generic {indexing_maps = [#map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%68 : tensor<2x24x1x1xi1>) outs(%69 : tensor<2x24x1x1xf32>) {
    ^bb0(%in: i1, %out: f32):
      %77 = arith.uitofp %in : i1 to f32
      linalg.yield %77 : f32
    } -> tensor<2x24x1x1xf32>
    %71 = tensor.empty() : tensor<1x2x24x1x1xf32>
    %72 = linalg.generic {indexing_maps = [#map28, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%70 : tensor<2x24x1x1xf32>) outs(%71 : tensor<1x2x24x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x24x1x1xf32>
    %73 = linalg.generic {indexing_maps = [#map29, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%72 : tensor<1x2x24x1x1xf32>) outs(%56 : tensor<1x2x24x4x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x24x4x16xf32>
    %74 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%57, %73 : tensor<1x2x24x4x16xf32>, tensor<1x2x24x4x16xf32>) outs(%56 : tensor<1x2x24x4x16xf32>) {
    ^bb0(%in: f32, %in_5: f32, %out: f32):
      %77 = arith.mulf %in, %in_5 : f32
      linalg.yield %77 : f32
    } -> tensor<1x2x24x4x16xf32>
    %75 = tensor.empty() : tensor<2x24x4x1x16xf32>
    %76 = linalg.generic {indexing_maps = [#map30, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%74 : tensor<1x2x24x4x16xf32>) outs(%75 : tensor<2x24x4x1x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x24x4x1x16xf32>
    %collapsed = tensor.collapse_shape %76 [[0], [1], [2], [3, 4]] : tensor<2x24x4x1x16xf32> into tensor<2x24x4x16xf32>
    return %collapsed : tensor<2x24x4x16xf32>
  }
  func.func private @_where(%arg0: tensor<2x4x24x40xi1>, %arg1: tensor<2x4x24x1x40xf32>, %arg2: tensor<f32>) -> tensor<1x2x4x24x40xf32> {
    %0 = tensor.empty() : tensor<2x4x24x40xf32>
    %1 = linalg.generic {indexing_maps = [#map5, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg2 : tensor<f32>) outs(%0 : tensor<2x4x24x40xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x24x40xf32>
    %2 = tensor.empty() : tensor<1x2x4x24x40xi1>
    %3 = linalg.generic {indexing_maps = [#map28, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%arg0 : tensor<2x4x24x40xi1>) outs(%2 : tensor<1x2x4x24x40xi1>) {
    ^bb0(%in: i1, %out: i1):
      linalg.yield %in : i1
    } -> tensor<1x2x4x24x40xi1>
    %4 = tensor.empty() : tensor<1x2x4x24x40xf32>
    %5 = linalg.generic {indexing_maps = [#map28, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%1 : tensor<2x4x24x40xf32>) outs(%4 : tensor<1x2x4x24x40xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x4x24x40xf32>
    %6 = linalg.generic {indexing_maps = [#map31, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%arg1 : tensor<2x4x24x1x40xf32>) outs(%4 : tensor<1x2x4x24x40xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x2x4x24x40xf32>
    %7 = linalg.generic {indexing_maps = [#map4, #map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%3, %6, %5 : tensor<1x2x4x24x40xi1>, tensor<1x2x4x24x40xf32>, tensor<1x2x4x24x40xf32>) outs(%4 : tensor<1x2x4x24x40xf32>) {
    ^bb0(%in: i1, %in_0: f32, %in_1: f32, %out: f32):
      %8 = arith.select %in, %in_0, %in_1 : f32
      linalg.yield %8 : f32
    } -> tensor<1x2x4x24x40xf32>
    return %7 : tensor<1x2x4x24x40xf32>
  }
}

