// The gradients of a layer in bf16 on Hopper: of its input and its weights. The attention is computed once, for the product behind it and for its own
// gradients, and all but small kernels have specialized warps, through the views between them.
// RUN: fa-opt %s --tile-raise-linalg --canonicalize --cse --tile-differentiate --canonicalize --cse -o %t.mlir
// RUN: fa-run %t.mlir --in 140x192 --in 192x192 --in 192x192 --in 192x192 --in 192x192 --in 140x192 --in 140x192 --check --target=emulator:sm_90a | FileCheck %s
// CHECK-COUNT-3: kernel   @layer_rest_dot{{.*}} 256 threads, 4 stages
// CHECK-NEXT: kernel   @layer_attention_roles_few, {{.*}} 256 threads
// CHECK-NEXT: kernel   @layer_rest_0, {{.*}} 256 threads, 4 stages
// CHECK-NEXT: kernel   @layer_attention_0_delta
// CHECK-NEXT: kernel   @layer_attention_0_dq_roles, {{.*}} 384 threads
// CHECK-NEXT: kernel   @layer_attention_0_dkv_roles, {{.*}} 384 threads
// CHECK-COUNT-7: kernel   @layer_rest_1_dot{{.*}} 256 threads
// CHECK-COUNT-5: check {{.*}} PASS{{$}}
!x = tensor<140x192xbf16>
!w1 = tensor<192x192xbf16>
!h = tensor<2x3x70x64xbf16>
func.func @layer(%x: !x, %wq: !w1, %wk: !w1, %wv: !w1, %o: !w1) -> !x attributes {tile.vjp_wrt = array<i64: 0, 1, 2, 3, 4>} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<140x192xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<140x192xf32>) -> tensor<140x192xf32>
  %qp = linalg.matmul ins(%x, %wq : !x, !w1) outs(%f : tensor<140x192xf32>) -> tensor<140x192xf32>
  %qt = arith.truncf %qp : tensor<140x192xf32> to !x
  %qs = tensor.expand_shape %qt [[0,1],[2,3]] output_shape [2,70,3,64] : !x into tensor<2x70x3x64xbf16>
  %qe = tensor.empty() : !h
  %q = linalg.transpose ins(%qs : tensor<2x70x3x64xbf16>) outs(%qe : !h) permutation = [0,2,1,3]
  %kp = linalg.matmul ins(%x, %wk : !x, !w1) outs(%f : tensor<140x192xf32>) -> tensor<140x192xf32>
  %kt = arith.truncf %kp : tensor<140x192xf32> to !x
  %ks = tensor.expand_shape %kt [[0,1],[2,3]] output_shape [2,70,3,64] : !x into tensor<2x70x3x64xbf16>
  %ke = tensor.empty() : !h
  %k = linalg.transpose ins(%ks : tensor<2x70x3x64xbf16>) outs(%ke : !h) permutation = [0,2,1,3]
  %vp = linalg.matmul ins(%x, %wv : !x, !w1) outs(%f : tensor<140x192xf32>) -> tensor<140x192xf32>
  %vt = arith.truncf %vp : tensor<140x192xf32> to !x
  %vs = tensor.expand_shape %vt [[0,1],[2,3]] output_shape [2,70,3,64] : !x into tensor<2x70x3x64xbf16>
  %ve = tensor.empty() : !h
  %v = linalg.transpose ins(%vs : tensor<2x70x3x64xbf16>) outs(%ve : !h) permutation = [0,2,1,3]
  %scale = arith.constant 0.001 : f32
  %a = tile.attention %q, %k, %v scale %scale : !h, !h, !h -> !h score {} mask {}
  %te = tensor.empty() : tensor<2x70x3x64xbf16>
  %t = linalg.transpose ins(%a : !h) outs(%te : tensor<2x70x3x64xbf16>) permutation = [0,2,1,3]
  %c = tensor.collapse_shape %t [[0,1],[2,3]] : tensor<2x70x3x64xbf16> into !x
  %p2 = linalg.matmul ins(%c, %o : !x, !w1) outs(%f : tensor<140x192xf32>) -> tensor<140x192xf32>
  %y = arith.truncf %p2 : tensor<140x192xf32> to !x
  return %y : !x
}
