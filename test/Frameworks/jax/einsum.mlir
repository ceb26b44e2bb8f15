// jnp.einsum, jax.nn.softmax and jnp.where: as jax 0.10.2 gives it. Written by Inputs/jax_programs.py; the versions are in packages.txt.
// RUN: fa-opt --explain %s | FileCheck %s
// RUN: fa-run %s --entry=main --in 2x24x4x16 --in 2x40x4x16 --in 2x40x4x16 --check --target=cpu | FileCheck %s --check-prefix=RAN
// RUN: not fa-run %s --entry=main --in 2x24x4x16x1 --in 2x40x4x16 --in 2x40x4x16 2>&1 | FileCheck %s --check-prefix=WRONG
// CHECK: fused: softmax(Q Kᵀ) V is one attention
// CHECK: 1 fused, 0 not
// RAN-NOT: not fused
// RAN: PASS
// RAN-NOT: FAIL
// WRONG: {{expected.*, found}}

#map = affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d1, d4)>
#map1 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d1, d4)>
#map2 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>
#map3 = affine_map<(d0, d1, d2, d3) -> ()>
#map4 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map5 = affine_map<(d0) -> (d0)>
#map6 = affine_map<(d0, d1) -> (d0)>
#map7 = affine_map<(d0, d1) -> (d0, d1)>
#map8 = affine_map<(d0, d1) -> (d1)>
#map9 = affine_map<(d0, d1) -> (0, d1)>
#map10 = affine_map<(d0, d1) -> (d0, 0)>
#map11 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#map12 = affine_map<(d0, d1, d2) -> ()>
#map13 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#map14 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>
#map15 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d1, d2)>
#map16 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d3, d4)>
#map17 = affine_map<(d0, d1, d2, d3) -> (d0, d2, d3, d1)>
#map18 = affine_map<(d0, d1, d2, d3) -> (d2, d3)>
module {
  func.func public @main(%arg0: tensor<2x24x4x16xf32>, %arg1: tensor<2x40x4x16xf32>, %arg2: tensor<2x40x4x16xf32>) -> (tensor<2x24x4x16xf32> {jax.result_info = "result"}) {
    %cst = arith.constant 0xFF800000 : f32
    %cst_0 = arith.constant dense<0xFF800000> : tensor<f32>
    %cst_1 = arith.constant dense<2.500000e-01> : tensor<f32>
    %cst_2 = arith.constant 0.000000e+00 : f32
    %0 = tensor.empty() : tensor<2x4x24x40xf32>
    %1 = linalg.fill ins(%cst_2 : f32) outs(%0 : tensor<2x4x24x40xf32>) -> tensor<2x4x24x40xf32>
    %2 = linalg.generic {indexing_maps = [#map, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<2x24x4x16xf32>, tensor<2x40x4x16xf32>) outs(%1 : tensor<2x4x24x40xf32>) {
    ^bb0(%in: f32, %in_3: f32, %out: f32):
      %39 = arith.mulf %in, %in_3 : f32
      %40 = arith.addf %out, %39 : f32
      linalg.yield %40 : f32
    } -> tensor<2x4x24x40xf32>
    %3 = linalg.generic {indexing_maps = [#map3, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_1 : tensor<f32>) outs(%0 : tensor<2x4x24x40xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x24x40xf32>
    %4 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%2, %3 : tensor<2x4x24x40xf32>, tensor<2x4x24x40xf32>) outs(%0 : tensor<2x4x24x40xf32>) {
    ^bb0(%in: f32, %in_3: f32, %out: f32):
      %39 = arith.mulf %in, %in_3 : f32
      linalg.yield %39 : f32
    } -> tensor<2x4x24x40xf32>
    %5 = tensor.empty() : tensor<24xi32>
    %6 = linalg.generic {indexing_maps = [#map5], iterator_types = ["parallel"]} outs(%5 : tensor<24xi32>) {
    ^bb0(%out: i32):
      %39 = linalg.index 0 : index
      %40 = arith.index_cast %39 : index to i32
      linalg.yield %40 : i32
    } -> tensor<24xi32>
    %7 = tensor.empty() : tensor<24x1xi32>
    %8 = linalg.generic {indexing_maps = [#map6, #map7], iterator_types = ["parallel", "parallel"]} ins(%6 : tensor<24xi32>) outs(%7 : tensor<24x1xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<24x1xi32>
    %9 = tensor.empty() : tensor<40xi32>
    %10 = linalg.generic {indexing_maps = [#map5], iterator_types = ["parallel"]} outs(%9 : tensor<40xi32>) {
    ^bb0(%out: i32):
      %39 = linalg.index 0 : index
      %40 = arith.index_cast %39 : index to i32
      linalg.yield %40 : i32
    } -> tensor<40xi32>
    %11 = tensor.empty() : tensor<1x40xi32>
    %12 = linalg.generic {indexing_maps = [#map8, #map7], iterator_types = ["parallel", "parallel"]} ins(%10 : tensor<40xi32>) outs(%11 : tensor<1x40xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<1x40xi32>
    %13 = tensor.empty() : tensor<24x40xi32>
    %14 = linalg.generic {indexing_maps = [#map9, #map7], iterator_types = ["parallel", "parallel"]} ins(%12 : tensor<1x40xi32>) outs(%13 : tensor<24x40xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<24x40xi32>
    %15 = linalg.generic {indexing_maps = [#map10, #map7], iterator_types = ["parallel", "parallel"]} ins(%8 : tensor<24x1xi32>) outs(%13 : tensor<24x40xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<24x40xi32>
    %16 = tensor.empty() : tensor<24x40xi1>
    %17 = linalg.generic {indexing_maps = [#map7, #map7, #map7], iterator_types = ["parallel", "parallel"]} ins(%14, %15 : tensor<24x40xi32>, tensor<24x40xi32>) outs(%16 : tensor<24x40xi1>) {
    ^bb0(%in: i32, %in_3: i32, %out: i1):
      %39 = arith.cmpi sle, %in, %in_3 : i32
      linalg.yield %39 : i1
    } -> tensor<24x40xi1>
    %18 = call @_where(%17, %4, %cst_0) : (tensor<24x40xi1>, tensor<2x4x24x40xf32>, tensor<f32>) -> tensor<2x4x24x40xf32>
    %19 = tensor.empty() : tensor<2x4x24xf32>
    %20 = linalg.fill ins(%cst : f32) outs(%19 : tensor<2x4x24xf32>) -> tensor<2x4x24xf32>
    %21 = linalg.generic {indexing_maps = [#map4, #map11], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%18 : tensor<2x4x24x40xf32>) outs(%20 : tensor<2x4x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      %39 = arith.maximumf %out, %in : f32
      linalg.yield %39 : f32
    } -> tensor<2x4x24xf32>
    %22 = linalg.generic {indexing_maps = [#map12, #map13], iterator_types = ["parallel", "parallel", "parallel"]} ins(%cst_0 : tensor<f32>) outs(%19 : tensor<2x4x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x24xf32>
    %23 = linalg.generic {indexing_maps = [#map13, #map13, #map13], iterator_types = ["parallel", "parallel", "parallel"]} ins(%22, %21 : tensor<2x4x24xf32>, tensor<2x4x24xf32>) outs(%19 : tensor<2x4x24xf32>) {
    ^bb0(%in: f32, %in_3: f32, %out: f32):
      %39 = arith.maximumf %in, %in_3 : f32
      linalg.yield %39 : f32
    } -> tensor<2x4x24xf32>
    %24 = tensor.empty() : tensor<2x4x24x1xf32>
    %25 = linalg.generic {indexing_maps = [#map11, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%23 : tensor<2x4x24xf32>) outs(%24 : tensor<2x4x24x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x24x1xf32>
    %26 = linalg.generic {indexing_maps = [#map14, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%25 : tensor<2x4x24x1xf32>) outs(%0 : tensor<2x4x24x40xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x24x40xf32>
    %27 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%18, %26 : tensor<2x4x24x40xf32>, tensor<2x4x24x40xf32>) outs(%0 : tensor<2x4x24x40xf32>) {
    ^bb0(%in: f32, %in_3: f32, %out: f32):
      %39 = arith.subf %in, %in_3 : f32
      linalg.yield %39 : f32
    } -> tensor<2x4x24x40xf32>
    %28 = linalg.generic {indexing_maps = [#map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%27 : tensor<2x4x24x40xf32>) outs(%0 : tensor<2x4x24x40xf32>) {
    ^bb0(%in: f32, %out: f32):
      %39 = math.exp %in : f32
      linalg.yield %39 : f32
    } -> tensor<2x4x24x40xf32>
    %29 = linalg.fill ins(%cst_2 : f32) outs(%19 : tensor<2x4x24xf32>) -> tensor<2x4x24xf32>
    %30 = linalg.generic {indexing_maps = [#map4, #map11], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%28 : tensor<2x4x24x40xf32>) outs(%29 : tensor<2x4x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      %39 = arith.addf %out, %in : f32
      linalg.yield %39 : f32
    } -> tensor<2x4x24xf32>
    %31 = linalg.generic {indexing_maps = [#map11, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%30 : tensor<2x4x24xf32>) outs(%24 : tensor<2x4x24x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x24x1xf32>
    %32 = linalg.generic {indexing_maps = [#map14, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%31 : tensor<2x4x24x1xf32>) outs(%0 : tensor<2x4x24x40xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x24x40xf32>
    %33 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%28, %32 : tensor<2x4x24x40xf32>, tensor<2x4x24x40xf32>) outs(%0 : tensor<2x4x24x40xf32>) {
    ^bb0(%in: f32, %in_3: f32, %out: f32):
      %39 = arith.divf %in, %in_3 : f32
      linalg.yield %39 : f32
    } -> tensor<2x4x24x40xf32>
    %34 = tensor.empty() : tensor<2x4x16x24xf32>
    %35 = linalg.fill ins(%cst_2 : f32) outs(%34 : tensor<2x4x16x24xf32>) -> tensor<2x4x16x24xf32>
    %36 = linalg.generic {indexing_maps = [#map15, #map16, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg2, %33 : tensor<2x40x4x16xf32>, tensor<2x4x24x40xf32>) outs(%35 : tensor<2x4x16x24xf32>) {
    ^bb0(%in: f32, %in_3: f32, %out: f32):
      %39 = arith.mulf %in, %in_3 : f32
      %40 = arith.addf %out, %39 : f32
      linalg.yield %40 : f32
    } -> tensor<2x4x16x24xf32>
    %37 = tensor.empty() : tensor<2x24x4x16xf32>
    %38 = linalg.generic {indexing_maps = [#map17, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%36 : tensor<2x4x16x24xf32>) outs(%37 : tensor<2x24x4x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x24x4x16xf32>
    return %38 : tensor<2x24x4x16xf32>
  }
  func.func private @_where(%arg0: tensor<24x40xi1>, %arg1: tensor<2x4x24x40xf32>, %arg2: tensor<f32>) -> tensor<2x4x24x40xf32> {
    %0 = tensor.empty() : tensor<2x4x24x40xi1>
    %1 = linalg.generic {indexing_maps = [#map18, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg0 : tensor<24x40xi1>) outs(%0 : tensor<2x4x24x40xi1>) {
    ^bb0(%in: i1, %out: i1):
      linalg.yield %in : i1
    } -> tensor<2x4x24x40xi1>
    %2 = tensor.empty() : tensor<2x4x24x40xf32>
    %3 = linalg.generic {indexing_maps = [#map3, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg2 : tensor<f32>) outs(%2 : tensor<2x4x24x40xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x4x24x40xf32>
    %4 = linalg.generic {indexing_maps = [#map4, #map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%1, %arg1, %3 : tensor<2x4x24x40xi1>, tensor<2x4x24x40xf32>, tensor<2x4x24x40xf32>) outs(%2 : tensor<2x4x24x40xf32>) {
    ^bb0(%in: i1, %in_0: f32, %in_1: f32, %out: f32):
      %5 = arith.select %in, %in_0, %in_1 : f32
      linalg.yield %5 : f32
    } -> tensor<2x4x24x40xf32>
    return %4 : tensor<2x4x24x40xf32>
  }
}

