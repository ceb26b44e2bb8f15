// Both dots give f16: their products are accumulated in f32 and rounded then,
// fused or not.
// RUN: fa-opt --explain %s | FileCheck %s
// RUN: fa-run %s --entry=f --in 2x3x50x32 --in 2x3x70x32 --in 2x3x70x32 --check | FileCheck %s --check-prefix=RAN
// RUN: fa-run %s --entry=product --in 50x512 --in 70x512 --check | FileCheck %s --check-prefix=PRODUCT
// CHECK: fused: softmax(Q Kᵀ) V is one attention
// CHECK: score region: arith.truncf, arith.extf
// RAN-NOT: not fused
// RAN: PASS
// PRODUCT: no attention found
// PRODUCT: PASS

!q = tensor<2x3x?x32xf16>
!h = tensor<2x3x?x?xf16>
!s = tensor<2x3x?x?xf32>
func.func @f(%q: !q, %k: !q, %v: !q) -> !q {
  %s = tile.dot %q, %k transpose_b : !q, !q -> !h
  %w = arith.extf %s : !h to !s
  %p = tile.softmax %w : !s
  %n = arith.truncf %p : !s to !h
  %o = tile.dot %n, %v : !h, !q -> !q
  return %o : !q
}

func.func @product(%a: tensor<50x512xf16>, %b: tensor<70x512xf16>) -> tensor<50x70xf16> {
  %c = tile.dot %a, %b transpose_b : tensor<50x512xf16>, tensor<70x512xf16> -> tensor<50x70xf16>
  return %c : tensor<50x70xf16>
}
