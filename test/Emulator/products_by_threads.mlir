// Products of matrices whose tiles are copied asynchronously by all threads: as wide as the plan says, cut in rows, columns and depth.
// RUN: fa-run %s --in 600x136 --in 136x1096 --check --target=emulator:sm_80 | FileCheck %s
// CHECK: kernel   @product_part, {{.*}}grid 90x1x1, 128 threads, 2 stages
// CHECK: check {{.*}} PASS{{$}}
// RUN: not fa-run %s --in 600x136 --in 136x1096 --check --target=emulator:sm_80 --fa-mutate=drop-wait 2>&1 | FileCheck %s --check-prefix=WAIT
// WAIT: missing wait
func.func @product(%a: tensor<600x136xbf16>, %b: tensor<136x1096xbf16>) -> tensor<600x1096xbf16> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<600x1096xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<600x1096xf32>) -> tensor<600x1096xf32>
  %d = linalg.matmul ins(%a, %b : tensor<600x136xbf16>, tensor<136x1096xbf16>) outs(%f : tensor<600x1096xf32>) -> tensor<600x1096xf32>
  %t = arith.truncf %d : tensor<600x1096xf32> to tensor<600x1096xbf16>
  return %t : tensor<600x1096xbf16>
}
