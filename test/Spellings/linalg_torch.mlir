// The form in which torch-mlir lowers scaled_dot_product_attention: heads
// collapsed for a batch_matmul, generics with a kept dimension of size 1, the
// softmax decomposed, an additive mask that is broadcast.
// RUN: fa-opt --explain %s | FileCheck %s
// RUN: fa-run %s --in 2x3x50x32 --in 2x3x70x32 --in 2x3x70x32 --in 50x70 --check | FileCheck %s --check-prefix=RAN
// CHECK: fused: softmax(Q Kᵀ) V is one attention
// RAN-NOT: not fused
// RAN: PASS

#id3 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#kept = affine_map<(d0, d1, d2) -> (d0, d1, 0)>
#mask = affine_map<(d0, d1, d2) -> (d1, d2)>
func.func @f(%q0: tensor<2x3x50x32xf32>, %k0: tensor<2x3x70x32xf32>, %v0: tensor<2x3x70x32xf32>, %mask: tensor<50x70xf32>) -> tensor<2x3x50x32xf32> {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant -3.40282347E+38 : f32
  %scale = arith.constant 0.176776695 : f32
  %q = tensor.collapse_shape %q0 [[0, 1], [2], [3]] : tensor<2x3x50x32xf32> into tensor<6x50x32xf32>
  %k = tensor.collapse_shape %k0 [[0, 1], [2], [3]] : tensor<2x3x70x32xf32> into tensor<6x70x32xf32>
  %v = tensor.collapse_shape %v0 [[0, 1], [2], [3]] : tensor<2x3x70x32xf32> into tensor<6x70x32xf32>
  %te = tensor.empty() : tensor<6x32x70xf32>
  %kt = linalg.generic {indexing_maps = [#id3, affine_map<(d0, d1, d2) -> (d0, d2, d1)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%k : tensor<6x70x32xf32>) outs(%te : tensor<6x32x70xf32>) {
  ^bb0(%x: f32, %o: f32):
    linalg.yield %x : f32
  } -> tensor<6x32x70xf32>
  %se = tensor.empty() : tensor<6x50x70xf32>
  %s0 = linalg.fill ins(%zero : f32) outs(%se : tensor<6x50x70xf32>) -> tensor<6x50x70xf32>
  %s1 = linalg.batch_matmul ins(%q, %kt : tensor<6x50x32xf32>, tensor<6x32x70xf32>) outs(%s0 : tensor<6x50x70xf32>) -> tensor<6x50x70xf32>
  %s = linalg.generic {indexing_maps = [#id3, #mask, #id3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%s1, %mask : tensor<6x50x70xf32>, tensor<50x70xf32>) outs(%se : tensor<6x50x70xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %a = arith.mulf %x, %scale : f32
    %b = arith.addf %a, %y : f32
    linalg.yield %b : f32
  } -> tensor<6x50x70xf32>
  %re = tensor.empty() : tensor<6x50x1xf32>
  %m0 = linalg.fill ins(%low : f32) outs(%re : tensor<6x50x1xf32>) -> tensor<6x50x1xf32>
  %m = linalg.generic {indexing_maps = [#id3, #kept], iterator_types = ["parallel", "parallel", "reduction"]} ins(%s : tensor<6x50x70xf32>) outs(%m0 : tensor<6x50x1xf32>) {
  ^bb0(%x: f32, %o: f32):
    %a = arith.maximumf %x, %o : f32
    linalg.yield %a : f32
  } -> tensor<6x50x1xf32>
  %d = linalg.generic {indexing_maps = [#id3, #kept, #id3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%s, %m : tensor<6x50x70xf32>, tensor<6x50x1xf32>) outs(%se : tensor<6x50x70xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %a = arith.subf %x, %y : f32
    linalg.yield %a : f32
  } -> tensor<6x50x70xf32>
  %e = linalg.generic {indexing_maps = [#id3, #id3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%d : tensor<6x50x70xf32>) outs(%se : tensor<6x50x70xf32>) {
  ^bb0(%x: f32, %o: f32):
    %a = math.exp %x : f32
    linalg.yield %a : f32
  } -> tensor<6x50x70xf32>
  %l0 = linalg.fill ins(%zero : f32) outs(%re : tensor<6x50x1xf32>) -> tensor<6x50x1xf32>
  %l = linalg.generic {indexing_maps = [#id3, #kept], iterator_types = ["parallel", "parallel", "reduction"]} ins(%e : tensor<6x50x70xf32>) outs(%l0 : tensor<6x50x1xf32>) {
  ^bb0(%x: f32, %o: f32):
    %a = arith.addf %x, %o : f32
    linalg.yield %a : f32
  } -> tensor<6x50x1xf32>
  %p = linalg.generic {indexing_maps = [#id3, #kept, #id3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%e, %l : tensor<6x50x70xf32>, tensor<6x50x1xf32>) outs(%se : tensor<6x50x70xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %a = arith.divf %x, %y : f32
    linalg.yield %a : f32
  } -> tensor<6x50x70xf32>
  %oe = tensor.empty() : tensor<6x50x32xf32>
  %o0 = linalg.fill ins(%zero : f32) outs(%oe : tensor<6x50x32xf32>) -> tensor<6x50x32xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<6x50x70xf32>, tensor<6x70x32xf32>) outs(%o0 : tensor<6x50x32xf32>) -> tensor<6x50x32xf32>
  %r = tensor.expand_shape %o [[0, 1], [2], [3]] output_shape [2, 3, 50, 32] : tensor<6x50x32xf32> into tensor<2x3x50x32xf32>
  return %r : tensor<2x3x50x32xf32>
}
