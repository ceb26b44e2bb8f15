// Without the maximum: a softmax only under an option.
// RUN: fa-opt --explain %s | FileCheck %s
// RUN: fa-run %s --in 2x3x50x32 --in 2x3x70x32 --in 2x3x70x32 --check --allow-no-max | FileCheck %s --check-prefix=RAN
// CHECK: 0 fused
// RAN-NOT: not fused
// RAN: PASS

!q = tensor<2x3x50x32xf32>
!k = tensor<2x3x70x32xf32>
!s = tensor<2x3x50x70xf32>
!r = tensor<2x3x50xf32>

func.func @f(%q: !q, %k: !k, %v: !k) -> !q {
  %s = tile.dot %q, %k transpose_b : !q, !k -> !s
  %e = math.exp %s : !s
  %l = tile.reduce add %e dim 3 : !s -> !r
  %l1 = tile.expand_dims %l dim 3 : !r -> tensor<2x3x50x1xf32>
  %lb = tile.broadcast %l1 : tensor<2x3x50x1xf32> -> !s
  %p = arith.divf %e, %lb : !s
  %o = tile.dot %p, %v : !s, !k -> !q
  return %o : !q
}
