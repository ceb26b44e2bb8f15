// Rows of only −inf are set to 0 behind the softmax: whether they are that is asked of each score, or of the maximum.
// The first five rows see no key.
// RUN: fa-opt --explain %s | FileCheck %s
// RUN: fa-run %s --in 2x3x50x32 --in 2x3x70x32 --in 2x3x70x32 --check | FileCheck %s --check-prefix=RAN
// RUN: not fa-run %s --in 2x3x50x32 --in 2x3x71x32 --in 2x3x70x32 2>&1 | FileCheck %s --check-prefix=SIZE
// CHECK: fused: softmax(Q Kᵀ) V is one attention
// CHECK: an interval of keys: 0 lower and 1 upper bounds of the row; nothing is evaluated between them
// RAN-NOT: not fused
// RAN: PASS
// SIZE: 71

#all = affine_map<(a, b, c, d) -> (a, b, c, d)>
#row = affine_map<(a, b, c, d) -> (a, b, c, 0)>
!q = tensor<2x3x50x32xf32>
!k = tensor<2x3x70x32xf32>
!s = tensor<2x3x50x70xf32>
!b = tensor<2x3x50x70xi1>
!i = tensor<2x3x50x70xindex>

func.func @f(%q: !q, %k: !k, %v: !k) -> !q {
  %s = tile.dot %q, %k transpose_b : !q, !k -> !s
  %i = tile.iota dim 2 : !i
  %j = tile.iota dim 3 : !i
  %five = arith.constant dense<5> : !i
  %j5 = arith.addi %j, %five : !i
  %c = arith.cmpi sle, %j5, %i : !i
  %low = arith.constant dense<0xFF800000> : !s
  %zero = arith.constant dense<0.0> : !s
  %x = arith.select %c, %s, %low : !b, !s
  %p = tile.softmax %x : !s
  %minus = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : !b
  %n = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%x : !s) outs(%e : !b) {
  ^bb0(%y: f32, %o: i1):
    %is = arith.cmpf oeq, %y, %minus : f32
    linalg.yield %is : i1
  } -> !b
  %true = arith.constant dense<true> : tensor<2x3x50x1xi1>
  %none = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%n : !b) outs(%true : tensor<2x3x50x1xi1>) {
  ^bb0(%y: i1, %o: i1):
    %and = arith.andi %y, %o : i1
    linalg.yield %and : i1
  } -> tensor<2x3x50x1xi1>
  %rows = tile.broadcast %none : tensor<2x3x50x1xi1> -> !b
  %g = arith.select %rows, %zero, %p : !b, !s
  %r = tile.dot %g, %v : !s, !k -> !q
  return %r : !q
}
