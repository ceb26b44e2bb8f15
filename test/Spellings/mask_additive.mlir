// A mask of 0 and −inf that is added, made of a comparison and broadcast over
// batches and heads.
// RUN: fa-opt --explain %s | FileCheck %s
// RUN: fa-run %s --in 2x3x50x32 --in 2x3x70x32 --in 2x3x70x32 --check | FileCheck %s --check-prefix=RAN
// CHECK: fused: softmax(Q Kᵀ) V is one attention
// CHECK: an interval of keys: 0 lower and 1 upper bounds of the row; nothing is evaluated between them
// RAN-NOT: not fused
// RAN: PASS

!q = tensor<2x3x50x32xf32>
!k = tensor<2x3x70x32xf32>
!s = tensor<2x3x50x70xf32>
!r = tensor<2x3x50xf32>

func.func @f(%q: !q, %k: !k, %v: !k) -> !q {
  %s = tile.dot %q, %k transpose_b : !q, !k -> !s
  %i = tile.iota dim 0 : tensor<50x70xindex>
  %j = tile.iota dim 1 : tensor<50x70xindex>
  %c = arith.cmpi sgt, %j, %i : tensor<50x70xindex>
  %zero = arith.constant dense<0.0> : tensor<50x70xf32>
  %inf = arith.constant dense<0xFF800000> : tensor<50x70xf32>
  %t0 = arith.select %c, %inf, %zero : tensor<50x70xi1>, tensor<50x70xf32>
  %t1 = tile.expand_dims %t0 dim 0 : tensor<50x70xf32> -> tensor<1x50x70xf32>
  %t2 = tile.expand_dims %t1 dim 0 : tensor<1x50x70xf32> -> tensor<1x1x50x70xf32>
  %t3 = tile.broadcast %t2 : tensor<1x1x50x70xf32> -> !s
  %t = arith.addf %s, %t3 : !s
  %p = tile.softmax %t : !s
  %o = tile.dot %p, %v : !s, !k -> !q
  return %o : !q
}
